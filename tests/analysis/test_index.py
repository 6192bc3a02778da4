"""The index of a large folder: the same run, without reading every record."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest
import toy_family
from toy_family import toy

from schedgap.analysis.comparing.compare import compare
from schedgap.analysis.comparing.run import Run
from schedgap.analysis.records import index, rows
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
    monkeypatch.setattr(rows, "FEW", 0)  # points of progress in it
    return shutil.copytree(original, tmp_path / "r")


def whole(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return the run as it is without an index."""
    with monkeypatch.context() as patch:
        patch.setattr(index, "LEAST", 10**9)
        return Run(folder)


@contextmanager
def database(folder: Path) -> Iterator[sqlite3.Connection]:
    """Open the index as another program, and commit what it does."""
    with closing(sqlite3.connect(folder / index.NAME)) as opened, opened:
        yield opened


def indexed(folder: Path) -> dict[str, tuple[Any, ...]]:
    """Return the rows of the records in the index."""
    with database(folder) as opened:
        return {row[0]: row for row in opened.execute("SELECT * FROM tasks")}


def test_a_run_from_the_index_is_the_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = whole(folder, monkeypatch)
    Run(folder)
    assert (folder / index.NAME).exists()
    read: list[Path] = []
    original = index.read_record
    monkeypatch.setattr(index, "read_record", lambda file: read.append(file) or original(file))
    run = Run(folder)
    assert run.table().equals(plain.table()) and read == []
    assert run.rows == plain.rows and run.facts == plain.facts
    for one, other in zip(run.rows, plain.rows, strict=True):
        assert [*map(type, one)] == [*map(type, other)]
    assert run.summary().equals(plain.summary())
    assert run.progress().equals(plain.progress())
    assert {row.progress for row in run.rows} == {"[]", None}
    assert max(len(row.points()) for row in run.rows) > 0
    assert run.brackets == plain.brackets and run.contradictions == plain.contradictions
    assert run.verify() == plain.verify() == []
    for one, other in zip(run.records, plain.records, strict=True):
        assert dict(one) == dict(other) and one.note == other.note
        for name in type(other).model_fields:
            if name != "solution":
                assert getattr(one, name) == getattr(other, name), name
        if other.solution is not None:
            assert one.solution is not None
            assert one.solution.schedule == other.solution.schedule
            assert one.solution.trace == other.solution.trace
            assert dict(one.solution) == dict(other.solution)


def test_few_points_of_progress_are_in_the_index(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "FEW", 20)
    expected = Run(folder).progress()
    monkeypatch.setattr(rows, "read_record", None)
    assert len(expected) > 0 and Run(folder).progress().equals(expected)


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
    assert len(Run(folder)) == 11 and file.name not in indexed(folder)


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


def test_new_records_are_added(folder: Path) -> None:
    Run(folder)
    before = indexed(folder)
    run = compare(TARGETS, run=folder, methods=["luck"], workers=1)
    after = indexed(folder)
    assert before.items() < after.items() and len(after) == len(run) == 14


def flip(file: Path, places: slice) -> None:
    """Change bytes of a file."""
    data = bytearray(file.read_bytes())
    data[places] = bytes(byte ^ 0xFF for byte in data[places])
    file.write_bytes(data)


DAMAGES = {
    "an empty file": lambda file: file.write_bytes(b""),
    "no database": lambda file: file.write_text('{"index": "x"}'),
    "half of it": lambda file: os.truncate(file, file.stat().st_size // 2),
    "its head": lambda file: flip(file, slice(100)),
    "its end": lambda file: flip(file, slice(-300, None)),
    "every 50th byte": lambda file: flip(file, slice(100, None, 50)),
    "a strange journal": lambda file: Path(f"{file}-journal").write_bytes(os.urandom(2000)),
}
EDITS = {
    "an objective": "UPDATE tasks SET objective = 3.0 WHERE objective = 6.0",
    "a name": "UPDATE tasks SET name = 'x' || name",
    "facts": "UPDATE instances SET facts = replace(facts, 'meta', 'other')",
    "a text that is no UTF-8": "UPDATE tasks SET message = CAST(x'ff' AS TEXT)",
    "no table": "DROP TABLE tasks",
    "another table": "DROP TABLE tasks; CREATE TABLE tasks (name); INSERT INTO tasks VALUES (1)",
    "another version": "PRAGMA user_version = 1",
}


@pytest.mark.parametrize("damage", [*DAMAGES, *EDITS])
def test_a_damaged_index_is_made_again(
    folder: Path, damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = whole(folder, monkeypatch)
    assert Run(folder).facts == plain.facts
    expected, file = indexed(folder), folder / index.NAME
    if damage in DAMAGES:
        DAMAGES[damage](file)
    else:
        with database(folder) as opened:
            opened.executescript(EDITS[damage])
    for _ in range(2):
        run = Run(folder)
        assert run.table().equals(plain.table()) and run.facts == plain.facts
    assert indexed(folder) == expected
    assert sorted(each.name for each in folder.glob("index*")) == [index.NAME]


def test_random_damage_never_changes_a_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = whole(folder, monkeypatch).rows
    Run(folder)
    data = (folder / index.NAME).read_bytes()
    random = Random(1)
    for _ in range(100):
        damaged = bytearray(data)
        for _ in range(random.choice([1, 10, 100])):
            damaged[random.randrange(len(data))] = random.randrange(256)
        (folder / index.NAME).write_bytes(damaged)
        assert Run(folder).rows == plain


def test_the_index_of_former_versions_is_removed(folder: Path) -> None:
    (folder / "index.jsonl").write_text('{"index": "schedgap", "version": 10}')
    assert len(Run(folder)) == 12 and not (folder / "index.jsonl").exists()


def test_a_process_that_is_killed_while_it_writes_changes_nothing(folder: Path) -> None:
    expected = Run(folder).table()
    before = indexed(folder)
    writing = (
        "import os, signal, sqlite3, sys; database = sqlite3.connect(sys.argv[1]); "
        "database.execute('PRAGMA cache_size = 1'); database.execute('BEGIN IMMEDIATE'); "
        "database.execute('UPDATE tasks SET objective = 1, message = zeroblob(9000)'); "
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    ended = subprocess.run([sys.executable, "-c", writing, folder / index.NAME], check=False)
    assert ended.returncode == -signal.SIGKILL and (folder / f"{index.NAME}-journal").exists()
    assert Run(folder).table().equals(expected)
    assert indexed(folder) == before and not (folder / f"{index.NAME}-journal").exists()


def test_processes_that_write_at_once_have_the_same_run(folder: Path) -> None:
    listing = (
        "import sys; from pathlib import Path; from schedgap.analysis.records import index; "
        "index.LEAST = 1; rows = index.Index(Path(sys.argv[1])).rows(); "
        "print([(row.key, row.objective) for row in rows])"
    )
    command = [sys.executable, "-c", listing, folder]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    texts = {process.communicate()[0] for process in started}
    assert len(texts) == 1 and [process.returncode for process in started] == [0, 0, 0]
    assert len(indexed(folder)) == 12 == len(Run(folder))


def test_an_index_that_another_process_has_locked_is_not_waited_for_long(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = Run(folder).table()
    before = indexed(folder)
    next((folder / "tasks").glob("*.json")).touch()  # it would be written again
    monkeypatch.setattr(index, "WAIT", 0.0)
    with database(folder) as opened:
        opened.execute("BEGIN EXCLUSIVE")
        assert Run(folder).table().equals(expected)
    assert indexed(folder) == before
    assert Run(folder).table().equals(expected) and indexed(folder) != before


def test_a_folder_in_which_no_index_can_be_made_is_read(folder: Path) -> None:
    (folder / index.NAME).mkdir()
    assert len(Run(folder)) == 12 and (folder / index.NAME).is_dir()


def test_folders_with_an_index_can_be_merged_by_copying(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = shutil.copytree(folder, tmp_path / "other")
    for place, file in enumerate(sorted((folder / "tasks").glob("*.json"))):
        file.unlink() if place % 2 else (other / "tasks" / file.name).unlink()
    assert len(Run(folder)) == len(Run(other)) == 6
    expected = Run(folder, other).table()
    shutil.copytree(other, folder, dirs_exist_ok=True)  # times of change are kept
    for _ in range(2):
        assert Run(folder).table().equals(expected)
    assert len(indexed(folder)) == 12 and whole(folder, monkeypatch).table().equals(expected)


def test_records_of_earlier_versions_are_in_the_index(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = {"task", "code", "session", "started", "cpu_seconds", "limited", "own", "reused"}
    for file in (folder / "tasks").glob("*.json"):
        data = {key: value for key, value in read_json(file).items() if key not in later}
        data["instance"].pop("grid")
        file.write_text(json.dumps(data | {"version": 1, "start_seconds": 0.5}))
    plain = whole(folder, monkeypatch)
    for _ in range(2):
        assert Run(folder).rows == plain.rows and Run(folder).warnings == plain.warnings
    assert len(indexed(folder)) == 12


def test_python_may_have_been_built_without_sqlite(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sqlite3", None)
    assert len(Run(folder)) == 12 and not (folder / index.NAME).exists()


def test_numbers_are_as_in_the_record(folder: Path) -> None:
    """SQLite has integers of 64 bits, and no truth values."""
    values = {"seed": 2**70, "limited": False, "start_seconds": -0.0, "permutation": 3}
    for file in (folder / "tasks").glob("*.json"):
        file.write_text(json.dumps(read_json(file) | values))
    for _ in range(2):
        for row in Run(folder).rows:
            assert {name: repr(getattr(row, name)) for name in values} == {
                name: repr(value) for name, value in values.items()
            }
    assert len(indexed(folder)) == 12


def test_a_number_that_the_index_cannot_keep_is_read(folder: Path) -> None:
    file = next((folder / "tasks").glob("*.json"))
    file.write_text(json.dumps(read_json(file) | {"threads": 2**70}))
    for _ in range(2):
        assert max(row.threads or 0 for row in Run(folder).rows) == 2**70


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
