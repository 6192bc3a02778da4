"""What is installed, and where: pyproject.toml, environment.yml, the wheel, the Makefile."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]


def test_the_conda_environment_is_python_and_the_project_with_its_extras() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    listed = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    pip = [{"pip": ["--editable .[all]"]}]
    assert listed == [f"python{project['requires-python']}", "pip", *pip]
    extras = project["optional-dependencies"]
    (everything,) = extras["all"]
    named = {*re.findall(r"[\w-]+", everything.partition("[")[2])}
    assert named == {*extras} - {"all", "dev", "bench", "site"}


LEFT_OUT = (
    ".*",  # .git, .venv, caches
    "__pycache__",
    "*.egg-info",
    "build",
    "dist",
    "runs",
)
DATA = (".json", ".json.gz", ".toml", ".html", ".css", ".js", ".csv", "py.typed")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel and a source archive, built of a copy: building leaves files where it works."""
    folder = tmp_path_factory.mktemp("wheel")
    shutil.copytree(ROOT, folder / "source", ignore=shutil.ignore_patterns(*LEFT_OUT))
    command = [sys.executable, "-m", "build", "--wheel", "--sdist", "--no-isolation"]
    done = subprocess.run(
        [*command, "--outdir", str(folder), "source"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> set[str]:
    """The names in the wheel."""
    (file,) = built.glob("*.whl")
    with zipfile.ZipFile(file) as archive:
        return set(archive.namelist())


def test_the_source_archive_has_the_example_and_the_pages(built: Path) -> None:
    (file,) = built.glob("*.tar.gz")
    with tarfile.open(file) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for folder, pattern in (("examples", "*.py"), ("examples", "*.toml"), ("docs", "*.md")):
        found = (each for each in (ROOT / folder).rglob(pattern) if "build" not in each.parts)
        missing = {each.relative_to(ROOT).as_posix() for each in found} - names
        assert not missing
    assert "examples/allox/src/allox_family/py.typed" in names
    for each in ("dmlrs", "edge", "elastic", "hare", "ring"):
        assert {f"models/{each}/paper.toml", f"instances/{each}/presets.toml"} <= names


def test_the_wheel_has_every_module_and_data_file_of_the_rooms(wheel: set[str]) -> None:
    """And no other file of the rooms: one list is of the source, the other of the wheel."""
    rooms = {"src/schedgap": "schedgap"} | {
        room: f"schedgap/{room}" for room in ("models", "solvers", "instances", "analysis")
    }
    expected = {
        f"{inside}/{file.relative_to(ROOT / room).as_posix()}"
        for room, inside in rooms.items()
        for file in (ROOT / room).rglob("*")
        if file.name.endswith((".py", *DATA))
    }
    assert {name for name in wheel if name.startswith("schedgap/")} == expected
    assert {"schedgap/py.typed", "schedgap/cli/entry.py"} <= wheel
    for kind in (".html", ".css", ".js"):  # what the report is made of
        assert any(name.startswith("schedgap/analysis/") and name.endswith(kind) for name in wheel)


def test_the_wheel_has_neither_tests_nor_notebooks(wheel: set[str]) -> None:
    assert {name.split("/")[0].split("-")[0] for name in wheel} == {"schedgap"}
    assert not [
        name for name in wheel if re.search(r"(^|/)(tests?|conftest|notebooks?)\b|/test_", name)
    ]
    assert not [name for name in wheel if name.endswith(".ipynb")]


def test_the_wheel_has_the_command_and_the_licence(wheel: set[str]) -> None:
    ends = {name.partition(".dist-info/")[2] for name in wheel}
    assert {"entry_points.txt", "licenses/LICENSE", "METADATA"} <= ends


def _make(*words: str, **shell: str) -> str:
    """What make would run, said by a make that knows nothing of the one that runs the tests."""
    make = shutil.which("make")
    if make is None:
        pytest.skip("no make here")
    outer = ("MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES", "MAKELEVEL", "VENV", "PYTHON")
    environment = {name: value for name, value in os.environ.items() if name not in outer}
    command = [make, "--dry-run", "--always-make", *words]
    return subprocess.run(
        command, cwd=ROOT, env=environment | shell, check=True, capture_output=True, text=True
    ).stdout


def test_make_leaves_the_environment_of_the_callers_shell_alone() -> None:
    """It would install into it, or, with `clean`, remove it."""
    spoken = _make("compare", "test", "clean", VENV="elsewhere", PYTHON="another")
    assert "-m venv .venv" in spoken
    assert "rm -rf .venv" in spoken
    assert "elsewhere" not in spoken
    assert "another" not in spoken


def test_make_takes_an_environment_that_its_command_line_names() -> None:
    spoken = _make("test", "VENV=elsewhere", "PYTHON=another")
    assert "another -m venv elsewhere" in spoken
    assert ".venv" not in spoken
