"""Run folders that were edited, moved or copied badly: one line that says so, and nothing wrong."""

import json
import os
from pathlib import Path

import pytest
import toy_family
from toy_family import toy

from schedgap.analysis.comparing.compare import compare
from schedgap.analysis.comparing.run import Run
from schedgap.cli import run
from schedgap.errors import InputError

TARGET = toy(6, 4, 2, name="down")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    toy_family.register()
    compare(TARGET, run=tmp_path, methods=["exact", "first"], workers=1, time_limit=5)
    return tmp_path


def test_an_instance_that_was_changed_is_not_believed(folder: Path) -> None:
    """A guarantee or a schedule of the changed instance would belong to another experiment."""
    (file,) = (folder / "instances").glob("*.json")
    data = json.loads(file.read_text())
    data["values"][1] = 3
    file.write_text(json.dumps(data))
    with pytest.raises(InputError, match="changed: not the instance on which the methods ran") as e:
        Run(folder).instance(TARGET.sha256)
    assert e.value.file == str(file)
    with pytest.raises(InputError, match="changed"):
        Run(folder).summary()


def test_a_missing_instance_is_named_and_stored_again(folder: Path) -> None:
    (file,) = (folder / "instances").glob("*.json")
    file.unlink()
    with pytest.raises(InputError, match="'compare' stores it again") as error:
        Run(folder).table()
    assert error.value.file == str(file)
    compare(TARGET, run=folder, methods=["exact", "first"], workers=1, time_limit=5)
    assert Run(folder).table()["objective"].tolist() == [2.0, 6.0]


def test_links_to_a_folder_and_copies_of_it_count_once(folder: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(folder)
    assert len(Run(folder, link)) == len(Run(folder, folder)) == 2


def _files(folder: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize(
    "words",
    [["show"], ["table"], ["table", "--of", "results"], ["report"], ["verify"], ["diff"]],
    ids=" ".join,
)
def test_a_record_of_another_version_is_one_line_and_nothing_changes(
    folder: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    file = min((folder / "tasks").glob("*.json"))
    file.write_text(json.dumps(json.loads(file.read_text()) | {"version": 9, "later": {}}))
    before = _files(folder)
    assert run([*words, *[str(folder)] * (2 if words == ["diff"] else 1)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line == f"schedgap: {file}: a record of another version of schedgap: 9"
    assert _files(folder) == before


def test_a_folder_that_is_read_only_is_shown(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = _files(folder)
    for place in (folder, *folder.iterdir()):
        if place.is_dir():
            place.chmod(0o555)
    try:
        if os.access(folder, os.W_OK):
            pytest.skip("this user may write into any folder")
        assert [run([name, str(folder)]) for name in ("show", "table", "verify")] == [0, 0, 0]
        capsys.readouterr()
        assert run(["report", str(folder)]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.endswith("report.html: cannot be written: permission denied")
    finally:
        for place in (folder, *folder.iterdir()):
            place.chmod(0o755)
    assert _files(folder) == before
