"""Every block of docs/how-do-i.md runs and prints what the page shows.

`python tests/test_how_do_i_page.py` writes the outputs and the pictures of the page anew.
"""

import base64
import contextlib
import io
import json
import math
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

import schedgap as sg
from schedgap.cli import run as command_line

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE, PICTURES = DOCS / "how-do-i.md", DOCS / "img" / "how-do-i"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```\n(?:\n?```text\n(.*?)^```\n)?", re.M | re.S)
TIME = re.compile(r"\d[\d.e-]*(?= s\b)|(?<=seconds)( +)[\d.e-]+")


class Session:
    """What the blocks of the page have in common: names, and the pictures that they drew."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}
        self.drawn: dict[str, sg.Figure] = {}

    def output(self, language: str, block: str) -> str:
        """Return what a block prints."""
        printed, faults = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(faults):
            if language == "python":
                exec(compile(block, PAGE.name, "exec"), self.names)
            else:
                for command in commands(block):
                    print(f"$ {command}")
                    code = self.run(shlex.split(command, comments=True))
                    assert code == 0, (command, printed.getvalue(), faults.getvalue())
        self.drawn |= {
            name: each for name, each in self.names.items() if isinstance(each, sg.Figure)
        }
        return "\n".join(line.rstrip() for line in printed.getvalue().splitlines()) + "\n"

    @staticmethod
    def run(words: list[str]) -> int:
        """Run a command in this process and return its exit code; `| grep WORD` may follow."""
        if "|" in words:
            before, after = words[: words.index("|")], words[words.index("|") + 1 :]
            with contextlib.redirect_stdout(io.StringIO()) as piped:
                code = Session.run(before)
            print("\n".join(line for line in piped.getvalue().split("\n") if after[1] in line))
            return code
        if words[0] == "grep":
            text = Path(words[2]).read_text(encoding="utf-8")
            print("\n".join(line for line in text.split("\n") if words[1] in line))
            return 0
        if words[:3] == ["python", "-m", "schedgap.proof"]:
            done = subprocess.run([sys.executable, *words[1:]], capture_output=True, text=True)
            print(done.stdout + done.stderr, end="")
            return done.returncode
        assert words[0] == "schedgap"
        return command_line(words[1:])


def commands(block: str) -> list[str]:
    """Return the commands of a block; in a script, only those that run schedgap."""
    found = re.findall(r"^(?:\$|srun) (.*)$", block, re.M)
    assert found
    return found


def blocks(text: str) -> Iterator[tuple[str, str, str | None]]:
    """Yield language, source and shown output of each block."""
    for language, block, shown in BLOCK.findall(text):
        if language == "console":
            yield language, block, block
        elif language != "text":
            yield language, block, shown or None


def data(figure: sg.Figure) -> list[dict[str, Any]]:
    """Return what a figure shows: names and places of its traces."""
    found = json.loads(figure.to_json(engine="json"))["data"]
    kept = ("type", "name", "x", "y", "base", "width")
    return [{key: _rounded(_unpacked(each[key])) for key in kept if key in each} for each in found]


def _unpacked(value: Any) -> Any:
    """Return an array of Plotly as a list."""
    if isinstance(value, dict) and "bdata" in value:
        return np.frombuffer(base64.b64decode(value["bdata"]), value["dtype"]).tolist()
    return value


def _rounded(value: Any) -> Any:
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    return float(f"{value:.6g}") if isinstance(value, float) and math.isfinite(value) else value


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[tuple[str, str]], Session]:
    """Shown and actual output of each block, run in one session."""
    return run_page(tmp_path_factory.mktemp("page"))


def run_page(folder: Path) -> tuple[list[tuple[str, str]], Session]:
    """Run all blocks in a folder."""
    session, found = Session(), []
    with contextlib.chdir(folder):
        for language, block, shown in blocks(PAGE.read_text(encoding="utf-8")):
            if language == "bash":  # a script of a batch system
                for command in commands(block):
                    session.output("console", f"$ {command}\n")
                continue
            found.append((shown or "\n", session.output(language, block)))
    return found, session


def test_every_block_prints_what_the_page_shows(
    outputs: tuple[list[tuple[str, str]], Session],
) -> None:
    for shown, actual in outputs[0]:
        assert TIME.sub("#", shown) == TIME.sub("#", actual)


def test_every_picture_shows_what_the_page_draws(
    outputs: tuple[list[tuple[str, str]], Session],
) -> None:
    shown = re.findall(r"img/how-do-i/([\w-]+)\.svg", PAGE.read_text(encoding="utf-8"))
    assert len(set(shown)) == len(list(PICTURES.glob("*.svg"))) >= 4
    for name in shown:
        stored = json.loads((PICTURES / f"{name}.json").read_text(encoding="utf-8"))
        assert stored == data(outputs[1].drawn[name.replace("-", "_")]), name


def test_the_page_on_statistics_explains_the_pairs_shown_here(
    outputs: tuple[list[tuple[str, str]], Session],
) -> None:
    (row,) = outputs[1].names["fifty"].pairs().itertuples()
    shown = f"| {row.wins} | {row.ties} | {row.losses} | {row.ratio:.4g} | {row.p:.5f} |"
    assert shown in (DOCS / "statistics.md").read_text(encoding="utf-8")


def test_there_are_twenty_tasks_and_the_list_leads_to_each() -> None:
    text = PAGE.read_text(encoding="utf-8")
    titles = re.findall(r"^## (?!Gallery)(.*)$", text, re.M)
    tasks = [each.lower().replace(",", "").replace(" ", "-") for each in titles]
    assert len(tasks) >= 20
    assert sorted(re.findall(r"\]\(#([\w-]+)\)", text.partition("\n## ")[0])) == sorted(tasks)


def write() -> None:
    """Write the outputs into the page, and the pictures into their folder."""
    os.environ["SOURCE_DATE_EPOCH"] = "0"
    mpl.rcParams["svg.hashsalt"] = "schedgap"
    with tempfile.TemporaryDirectory() as folder:
        found, session = run_page(Path(folder))
    actual = iter(found)

    def renewed(match: re.Match[str]) -> str:
        language, block, _ = match.groups()
        if language in ("bash", "text"):
            return match[0]
        printed = next(actual)[1]
        if language == "console":
            block = printed
        text = f"```{language}\n{block}```\n"
        if language == "python" and printed.strip():
            text += f"```text\n{printed}```\n"
        return text

    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(BLOCK.sub(renewed, text), encoding="utf-8")
    PICTURES.mkdir(exist_ok=True)
    for name in set(re.findall(r"img/how-do-i/([\w-]+)\.svg", text)):
        figure = session.drawn[name.replace("-", "_")]
        figure.save(PICTURES / f"{name}.svg")
        lines = ",\n ".join(json.dumps(each) for each in data(figure))
        (PICTURES / f"{name}.json").write_text(f"[{lines}]\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(write())
