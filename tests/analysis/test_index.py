"""The index of a large folder: the same run, without reading every record."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
import toy_family
from toy_family import toy

from schedgap.analysis.comparing.compare import compare
from schedgap.analysis.comparing.run import Run
from schedgap.analysis.records import index
from schedgap.analysis.records.folder import TaskRecord
from schedgap.analysis.records.rows import TaskRow
from schedgap.errors import InputError
from schedgap.instances.records import read_json

TARGETS = [toy(6, 4, 2, name="down"), toy(2, 5, 8, 9, sense="max", name="up")]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    toy_family.register()
    folder = tmp_path_factory.mktemp("index")
    names = ["exact", "first", "weak", "fails", "partial", "outside"]
    compare(TARGETS, run=folder, methods=names, time_limit=1, workers=1)
    return folder


@pytest.fixture
def folder(original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder whose index is written however small it is."""
    monkeypatch.setattr(index, "LEAST", 1)
    monkeypatch.setattr(index, "FEW", 0)  # points of progress in it
    return shutil.copytree(original, tmp_path / "r")


def whole(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return the run as it is without an index."""
    with monkeypatch.context() as patch:
        patch.setattr(index, "LEAST", 10**9)
        return Run(folder)


def test_a_run_from_the_index_is_the_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = whole(folder, monkeypatch)
    Run(folder)
    assert (folder / index.NAME).exists()
    read: list[Path] = []
    original = index.read_record
    monkeypatch.setattr(index, "read_record", lambda file: read.append(file) or original(file))
    indexed = Run(folder)
    assert indexed.table().equals(plain.table()) and read == []
    assert [row._replace(progress=None) for row in indexed.rows] == [
        row._replace(progress=None) for row in plain.rows
    ]
    assert indexed.facts == plain.facts
    assert indexed.summary().equals(plain.summary())
    assert indexed.progress().equals(plain.progress())
    assert {len(row.progress) for row in indexed.rows if row.progress is not None} == {0}
    assert max(len(row.points()) for row in indexed.rows) > 0
    assert indexed.brackets == plain.brackets and indexed.contradictions == plain.contradictions
    assert indexed.verify() == plain.verify() == []
    for one, other in zip(indexed.records, plain.records, strict=True):
        assert dict(one) == dict(other) and one.note == other.note
        for name in type(other).model_fields:
            if name != "solution":
                assert getattr(one, name) == getattr(other, name), name
        if other.solution is not None:
            assert one.solution is not None
            assert one.solution.schedule == other.solution.schedule
            assert one.solution.trace == other.solution.trace
            assert dict(one.solution) == dict(other.solution)


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
def test_an_index_is_read_in_batches(
    folder: Path, ending: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one whose last line has no end, and one that was written on Windows."""
    expected = Run(folder).table()
    file = folder / index.NAME
    file.write_bytes(ending.join(file.read_bytes().split(b"\n")).rstrip())
    read: list[Path] = []
    monkeypatch.setattr(index, "read_record", read.append)
    for size in (1, 3, 5, 10**6):
        monkeypatch.setattr(index, "BATCH", size)
        assert Run(folder).table().equals(expected) and read == []


def test_what_records_have_in_common_is_in_the_index_once(folder: Path) -> None:
    for file in list((folder / "tasks").glob("*.json")):
        key = f"{file.stem}-again"
        (folder / f"tasks/{key}.json").write_text(json.dumps(read_json(file) | {"key": key}))
    plain = Run(folder)
    assert len(plain) == 24 and Run(folder).table().equals(plain.table())
    lines = (folder / index.NAME).read_text().splitlines()
    assert sum('{"common"' in line for line in lines) <= 12


def test_every_field_of_a_record_is_in_its_row_or_read_from_its_file() -> None:
    whole = {"certificate"}
    assert set(TaskRecord.model_fields) - whole - {"solution"} <= set(TaskRow._fields)


def test_a_changed_record_is_read_again(folder: Path) -> None:
    Run(folder)
    (file,) = (f for f in (folder / "tasks").glob("*.json") if '"label": "first"' in f.read_text()
               and '"down"' in f.read_text())  # fmt: skip
    data = json.loads(file.read_text())
    data["solution"]["objective"] = 4.0
    file.write_text(json.dumps(data))
    table = Run(folder).table().set_index(["instance", "method"])
    assert table.loc[("down", "first"), "objective"] == 4.0
    file.unlink()
    assert len(Run(folder)) == 11


def _instance(folder: Path, name: str) -> Path:
    files = (folder / "instances").glob("*.json")
    return next(file for file in files if json.loads(file.read_text())["name"] == name)


def test_an_instance_file_that_was_changed_is_read_again(folder: Path) -> None:
    """What the index says of an instance counts for one size and time of change of its file."""
    assert set(Run(folder).table()["trace"]) == {""}
    file = _instance(folder, "down")
    data = json.loads(file.read_text())
    file.write_text(json.dumps(data | {"meta": {"trace": "one", "preset": "p"}}))
    table = Run(folder).table().set_index("instance")
    assert set(table.loc["down", "trace"]) == {"one"} and set(table.loc["up", "trace"]) == {""}
    facts = file.stat()
    file.write_text(file.read_text().replace("one", "two"))  # the size stays the same
    os.utime(file, ns=(facts.st_atime_ns, facts.st_mtime_ns - 10**9))
    table = Run(folder).table().set_index("instance")
    assert set(table.loc["down", "trace"]) == {"two"} and set(table.loc["down", "preset"]) == {"p"}
    file.unlink()
    with pytest.raises(InputError, match="'compare' stores it again") as error:
        Run(folder).table()
    assert error.value.file == str(file)


def test_instance_files_that_are_in_the_index_are_not_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = Run(folder).table()
    read: list[Path] = []
    monkeypatch.setattr(index, "read_json", read.append)
    assert Run(folder).table().equals(before) and read == []


def test_folders_that_differ_in_the_settings_of_an_instance_may_be_in_any_order(
    folder: Path, tmp_path: Path
) -> None:
    other = shutil.copytree(folder, tmp_path / "other")
    for place, trace in ((folder, "one"), (other, "two")):
        file = _instance(place, "down")
        file.write_text(json.dumps(json.loads(file.read_text()) | {"meta": {"trace": trace}}))
    both = [Run(*places).table()["trace"].tolist() for places in ((folder, other), (other, folder))]
    assert both[0] == both[1] and set(both[0]) == {"one", ""}


@pytest.mark.parametrize("text", ["[1]", '{"meta": [1]}', '{"meta": {"preset": 1, "load": 2}}'])
def test_an_instance_file_that_is_no_instance_is_no_traceback(folder: Path, text: str) -> None:
    _instance(folder, "down").write_text(text)
    if text == "[1]":
        with pytest.raises(InputError, match="need one JSON object"):
            Run(folder).table()
    else:
        assert set(Run(folder).table()["preset"]) == {""}


def test_new_records_are_appended(folder: Path) -> None:
    Run(folder)
    lines = (folder / index.NAME).read_text().splitlines()
    run = compare(TARGETS, run=folder, methods=["luck"], workers=1)
    after = (folder / index.NAME).read_text().splitlines()
    assert after[: len(lines)] == lines and len(after) > len(lines) and len(run) == 14


@pytest.mark.parametrize(
    "damage",
    ["", "{", "[1]\n", "null\n", '{"index": "x"}\n', "half", "types", "row", "edited", "preset"],
)
def test_a_damaged_index_is_made_again(
    folder: Path, damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = whole(folder, monkeypatch)
    assert Run(folder).facts == plain.facts
    file = folder / index.NAME
    text = file.read_text()
    texts = {"half": text[: len(text) // 2], "types": text + '["x"]\n'}
    lines = text.splitlines(keepends=True)
    row = next(json.loads(line[9:]) for line in lines if line[9:10] == "[")
    texts["row"] = text + index._line(json.dumps([*row[:4], 1, 2, 3])) + "\n"
    texts["edited"] = text.replace('"feasible", 6.0', '"feasible", 3.0')
    texts["preset"] = text.replace('"meta": {', '"meta": {"trace": "philly", ', 1)
    assert text not in (texts["edited"], texts["preset"])
    file.write_text(texts.get(damage, damage))
    for _ in range(2):
        assert Run(folder).table().equals(plain.table()) and Run(folder).facts == plain.facts


def test_a_folder_that_cannot_be_written_is_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise InputError("cannot be written: read-only file system")

    monkeypatch.setattr(index, "write_text", refuse)
    assert len(Run(folder)) == 12 and not (folder / index.NAME).exists()


def test_a_broken_record_is_named_all_the_same(folder: Path) -> None:
    Run(folder)
    file = next((folder / "tasks").glob("*.json"))
    os.truncate(file, 50)
    with pytest.raises(InputError, match=r"tasks/[\w-]+\.json: line 1"):
        Run(folder)


def test_a_broken_link_hides_no_other_record(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Links into another folder break when that folder is moved: this is said, nothing is lost."""
    (folder / "tasks/0.json").symlink_to(folder / "nowhere.json")
    for least in (1, 10**9):
        monkeypatch.setattr(index, "LEAST", least)
        with pytest.raises(InputError, match=r"tasks/0\.json: cannot be read: no such file"):
            Run(folder)
    (folder / "tasks/0.json").unlink()
    assert len(Run(folder)) == 12


@pytest.mark.parametrize("least", [1, 10**9])
def test_a_record_that_is_replaced_meanwhile_is_no_error(
    folder: Path, least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process runs a failed task again, and removes its record between list and read."""
    monkeypatch.setattr(index, "LEAST", least)
    found = index._files(folder / "tasks")
    next((folder / "tasks").glob("*.json")).unlink()
    monkeypatch.setattr(index, "_files", lambda tasks: found)
    assert len(Run(folder)) == 11


def test_options_are_in_the_order_of_the_record(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for file in (folder / "tasks").glob("*.json"):
        data = json.loads(file.read_text())
        file.write_text(json.dumps(data | {"options": {"z": 1, "a": 2}}))
    plain = whole(folder, monkeypatch).table()
    assert set(plain["options"]) == {"z=1, a=2"}
    for _ in range(2):
        assert Run(folder).table().equals(plain)
