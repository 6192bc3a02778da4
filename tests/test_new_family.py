"""`schedgap new-family`: what it writes is installed and used as by an outsider."""

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from outsider import Outsider
from schedgap.cli import run
from schedgap.instances.families import FAMILIES

NAME = "template_2"  # a name that contains what is replaced


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("new") / "two"
    assert run(["new-family", NAME, "--out", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def outsider(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outsider]:
    made = Outsider(tmp_path_factory.mktemp("outsider"), package)
    yield made
    made.close()


def test_names_are_replaced_throughout(package: Path) -> None:
    files = sorted(each for each in package.rglob("*") if each.is_file())
    assert {each.relative_to(package).as_posix() for each in files} == {
        "pyproject.toml", "tests/test_template_2.py",
        *(f"src/template_2_family/{name}" for name in (
            "__init__.py", "algorithms.py", "exact.py", "instance.py", "paper.toml", "presets.toml",
            "program.py", "py.typed", "rules.py",
        )),
    }  # fmt: skip
    for file in files:
        rest = re.sub("template_2(_family)?|Template2(Instance|Schedule)", "", file.read_text())
        assert "template" not in rest.lower(), file
    project = tomllib.loads((package / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["schedgap.families"] == {NAME: "template_2_family"}


def test_its_tests_pass(outsider: Outsider, package: Path) -> None:
    words = ("-q", "-p", "no:cacheprovider", "--rootdir", package, "-o", "addopts=", package)
    assert re.search(r"\b22 passed", outsider(*words, program="pytest").out)


def test_every_command_knows_it(outsider: Outsider) -> None:
    listed = outsider("methods", NAME, "--all").out
    assert re.findall(rf"^{NAME} +(\S+) +(\S+)", listed, re.MULTILINE) == [
        ("exact", "exact"), ("longest-first", "algorithm"), ("listed", "baseline"),
        ("pigeonhole", "bound"),
    ]  # fmt: skip
    outsider("generate", NAME, "--seed", 1, "--out", "one.json")
    outsider("solve", "one.json", "--out", "best.json")
    assert (
        "optimal: certified (pigeonhole;"
        in outsider("verify", "one.json", "best.json", "--strict").out
    )
    outsider("export", "one.json", "--model", "paper", "--out", "one.lp")
    outsider("generate", NAME, "--preset", "large", "--out", "large.json")
    outsider("compare", "one.json", "large.json", "--time-limit", 5, "--run", "runs/new")
    assert outsider("verify", "runs/new").out.strip().endswith("no violations found")
    outsider("report", "runs/new")
    assert "identical machines" in (outsider.folder / "runs/new/report.html").read_text("utf-8")


def test_its_broken_plan_is_drawn_with_marks(outsider: Outsider) -> None:
    outsider("generate", NAME, "--out", "two.json")
    jobs = json.loads((outsider.folder / "two.json").read_text())["jobs"]
    plan = [{"job": job["id"], "machine": 1, "start": 0} for job in jobs]
    (outsider.folder / "plan.json").write_text(json.dumps({"jobs": plan}))
    assert "V3" in outsider("judge", "two.json", "plan.json", "--gantt", "plan.html", code=1).out
    assert "breaks V3" in (outsider.folder / "plan.html").read_text("utf-8")


def test_an_existing_family_is_refused(outsider: Outsider) -> None:
    assert "there is a family of this name" in outsider("new-family", NAME, code=2).err


@pytest.mark.parametrize("name", ["hare", "My", "1st", "a-b", "class", "é", ""])
def test_a_bad_name_is_one_line(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["new-family", name, "--out", str(tmp_path / "new")]) == 2
    said = capsys.readouterr().err
    assert said.startswith("schedgap: name ") and said.count("\n") == 1
    assert not (tmp_path / "new").exists()


def test_a_folder_appears_only_when_it_is_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also after a kill in the middle of the writing, and the command then works."""
    writes = Path.write_text
    left = [3]

    def killed(self: Path, *args: object, **keywords: object) -> int:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return writes(self, *args, **keywords)  # type: ignore[arg-type]

    monkeypatch.setattr(Path, "write_text", killed)
    monkeypatch.setattr("shutil.rmtree", lambda *args, **keywords: None)
    run(["new-family", "another", "--out", str(tmp_path / "new")])
    assert [each.name for each in tmp_path.iterdir()] == [".new.unfinished"]
    monkeypatch.undo()
    assert run(["new-family", "another", "--out", str(tmp_path / "new")]) == 0
    assert [each.name for each in tmp_path.iterdir()] == ["new"]
    assert (tmp_path / "new/pyproject.toml").exists()


def test_an_existing_folder_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    for place, fault in (
        (tmp_path, "exists already"),
        (tmp_path / "file/new", "cannot be written"),
    ):
        assert run(["new-family", "another", "--out", str(place)]) == 2
        said = capsys.readouterr().err
        assert fault in said and said.count("\n") == 1
    assert [each.name for each in tmp_path.iterdir()] == ["file"]
    assert "another" not in FAMILIES
