"""An environment in which a package is installed and used as by an outsider.

It sees the dependencies of the environment that runs the tests.
"""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import NamedTuple

# Runs command lines of schedgap and of pytest: one JSON list per line of input, one line of answer.
# All share the imported modules and the warm child processes.
COMMAND_LINES = """
import contextlib, io, json, sys
from importlib import import_module
from schedgap.cli import run

answers, sys.stdout = sys.stdout, sys.stderr
if __name__ == "__main__":
    for line in sys.stdin:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            program, *words = json.loads(line)
            code = int((run if program == "schedgap" else import_module(program).main)(words))
        print(json.dumps([code, out.getvalue(), err.getvalue()]), file=answers, flush=True)
"""


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


class Shell:
    """A process that runs command lines, one after another."""

    def __init__(self, python: Path | str, folder: Path, **environment: str) -> None:
        self.process = subprocess.Popen(
            [python, "-c", COMMAND_LINES], cwd=folder, env=os.environ | environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8",
        )  # fmt: skip

    def __call__(self, *words: object, program: str = "schedgap", code: int = 0) -> Done:
        """Run a command line."""
        assert self.process.stdin and self.process.stdout
        print(json.dumps([program, *map(str, words)]), file=self.process.stdin, flush=True)
        done = Done(*json.loads(self.process.stdout.readline()))
        assert done.code == code, f"{words}: {done}"
        assert "Traceback" not in done.err
        return done

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        assert self.process.wait(60) == 0


class Outsider(Shell):
    """An environment with a package installed, and a folder to work in."""

    def __init__(self, folder: Path, package: Path) -> None:
        self.folder = folder / "work"
        self.said: dict[str, str] = {}  # what the commands of the page printed
        self.folder.mkdir()
        environment = folder / "environment"
        run(sys.executable, "-m", "venv", "--without-pip", environment)
        scripts = "Scripts" if os.name == "nt" else "bin"
        self.python = environment / scripts / Path(sys.executable).name
        if not self.python.exists():
            self.python = environment / scripts / ("python.exe" if os.name == "nt" else "python")
        paths = {"base": str(environment), "platbase": str(environment)}
        site = Path(sysconfig.get_path("purelib", "venv", paths))
        here = sysconfig.get_path("purelib")
        (site / "dependencies.pth").write_text(f"import site; site.addsitedir({here!r})\n")
        shutil.copytree(
            package, folder / package.name, ignore=shutil.ignore_patterns("build", "*.egg-info")
        )
        run(sys.executable, "-m", "pip", "--python", self.python, "install", "--quiet", "--no-deps",
            "--no-build-isolation", "--no-index", "--disable-pip-version-check",
            folder / package.name)  # fmt: skip

        super().__init__(self.python, self.folder)


def run(*command: object) -> None:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
