"""The script that compares two run folders: what it calls a difference, and its exit codes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from compare_runs import main
from toy_family import toy

import schedgap as sg
from schedgap.instances.records import write_json

INSTANCES = [toy(6, 4, 2, name="down"), toy(2, 5, 8, 9, sense="max", name="up")]


def fill(folder: Path, *methods: str, **more: Any) -> Path:
    more = {"time_limit": 1, "workers": 1} | more
    sg.compare(more.pop("targets", INSTANCES), run=folder, methods=list(methods), **more)
    return folder


def edit(folder: Path, label: str, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the records of a label on the instance `down`."""
    for file in (folder / "tasks").glob("*.json"):
        record = json.loads(file.read_text())
        if (record["label"], record["instance"]["name"]) == (label, "down"):
            change(record)
            write_json(file, record)


def rename(folder: Path, old: str, new: str) -> None:
    """Give a method another name in all its records."""
    for file in (folder / "tasks").glob("*.json"):
        record = json.loads(file.read_text())
        if record["method"] == old:
            record["method"] = record["solution"]["method"] = new
            record["label"] = new + record["label"].removeprefix(old)
            write_json(file, record)


def compared(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, list[list[str]]]:
    """Return the exit code and the table's rows as words."""
    capsys.readouterr()
    code = main([str(argument) for argument in arguments])
    lines = capsys.readouterr().out.splitlines()
    return code, [line.split() for line in lines if line.startswith("  toy ")]


def test_two_runs_of_the_same_tasks_do_not_differ(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ("exact", "first", "weak", "luck", "broken")
    a, b = (fill(tmp_path / name, *names) for name in "ab")
    assert main([str(a), str(b)]) == 0
    assert capsys.readouterr().out == "0 differences in 10 tasks\n"


@pytest.mark.parametrize(
    ("label", "change", "row"),
    [
        ("scan", lambda r: r["solution"].update(objective=3.0), ["objective", "2.0", "3.0"]),
        ("scan", lambda r: r["solution"].update(objective=2 + 1e-8), ["objective"]),
        ("scan", lambda r: r["solution"].update(bound=None), ["bound", "2.0", "-"]),
        (
            "scan",
            lambda r: r["solution"].update(status="feasible"),
            ["status", "optimal", "feasible"],
        ),
        ("first", lambda r: r.update(outcome="timeout"), ["outcome", "done", "timeout"]),
        ("weak", lambda r: r["certificate"]["rows"].append(3), ["certificate.rows[2]", "absent"]),
        ("weak", lambda r: r["certificate"].update(value=1), ["certificate.value", "1.75", "1"]),
        ("weak", lambda r: r["certificate"].update(more=1), ["certificate.more", "absent", "1"]),
        ("weak", lambda r: r.update(certificate=None), ["certificate"]),
    ],
)
def test_each_field_that_differs_is_a_row(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], label: str, change: Any, row: list[str]
) -> None:
    a, b = (fill(tmp_path / name, "exact", "first", "weak") for name in "ab")
    edit(b, label, change)
    code, rows = compared(capsys, a, b)
    assert code == 1 and len(rows) == 1
    assert rows[0][:2] == ["toy", "down"]
    assert rows[0][3 : 4 + len(row)] == [label, *row]


@pytest.mark.parametrize(
    ("label", "change"),
    [
        ("scan", lambda r: r["solution"].update(objective=2 + 1e-10, seconds=7.0)),
        ("scan", lambda r: r.update(start_seconds=3.0, peak_memory_mb=5.0, message="x")),
        ("weak", lambda r: r["certificate"].update(value=1.75 + 1e-12, seconds=3.0)),
    ],
)
def test_times_and_round_off_are_no_difference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], label: str, change: Any
) -> None:
    a, b = (fill(tmp_path / name, "exact", "weak") for name in "ab")
    edit(b, label, change)
    assert compared(capsys, a, b) == (0, [])


def test_what_only_one_folder_holds_is_a_difference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = fill(tmp_path / "a", "exact", "first", targets=INSTANCES[0])
    b = fill(tmp_path / "b", "exact", "weak", targets=INSTANCES[0])
    code, rows = compared(capsys, a, b)
    assert code == 1
    assert [row[3:6] for row in rows] == [["first", "record", "done,"], ["weak", "record", "-"]]
    assert compared(capsys, a, b, "--ignore", "first", "--ignore", "weak") == (0, [])


def test_seeds_and_options_tell_tasks_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, seeds in (("a", (1, 2)), ("b", (1, 3))):
        for seed in seeds:
            fill(tmp_path / name, "luck", targets=INSTANCES[0], seed=seed)
    fill(tmp_path / "a", "exact", targets=INSTANCES[0], time_limit=2)
    fill(tmp_path / "b", "exact", targets=INSTANCES[0], time_limit=3)
    _, rows = compared(capsys, tmp_path / "a", tmp_path / "b")
    found = [" ".join(row[3:]).split(" record ") for row in rows]
    assert found == [
        ["luck, seed 2", 'done, with {"time_limit": 1.0} -'],
        ["luck, seed 3", '- done, with {"time_limit": 1.0}'],
        ["scan", 'done, with {"time_limit": 2.0} -'],
        ["scan", '- done, with {"time_limit": 3.0}'],
    ]


def test_methods_and_labels_have_other_names_in_the_first_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ("exact", "first:pause=0.1", "first")
    a, b = (fill(tmp_path / name, *names) for name in "ab")
    rename(a, "scan", "old-scan")
    rename(a, "first", "old-first")
    assert compared(capsys, a, b)[0] == 1
    every = ("--rename", "old-scan=scan", "--rename", "old-first=first")
    assert compared(capsys, a, b, *every) == (0, [])
    label = ("--rename", "old-scan=scan", "--rename", "old-first:pause=0.1=first:pause=0.1")
    code, rows = compared(capsys, a, b, *label)
    assert code == 1 and [row[3] for row in rows] == ["first", "old-first"] * 2
    assert compared(capsys, a, b, *label, "--ignore", "first", "--ignore", "old-first") == (0, [])


def test_one_family_may_be_compared_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = fill(tmp_path / "a", "exact", targets=INSTANCES[0])
    b = fill(tmp_path / "b", "exact", "area", targets=[INSTANCES[0], sg.generate("ring")])
    assert compared(capsys, a, b)[0] == 1
    assert compared(capsys, a, b, "--family", "toy") == (0, [])


def test_bad_input_ends_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = fill(tmp_path / "a", "exact", "first")
    empty = tmp_path / "empty"
    empty.mkdir()
    for arguments, message in (
        ((a, empty), "not a run folder"),
        ((a, a, "--rename", "scan"), "need OLD=NEW"),
        ((a, a, "--rename", "scan=a", "--rename", "scan=b"), "need OLD=NEW"),
        ((a, a, "--rename", "first:pause=x"), "need OLD=NEW"),
    ):
        assert main([str(argument) for argument in arguments]) == 2
        assert message in capsys.readouterr().err
    for wrong in (["--family", "no-such"], ["--no-such"]):
        with pytest.raises(SystemExit) as ended:
            main([str(a), str(a), *wrong])
        assert ended.value.code == 2
    record = next((a / "tasks").glob("*.json"))
    copied = record.with_name("0" * 32 + ".json")
    copied.write_text(record.read_text())
    assert main([str(a), str(a)]) == 2
    assert "the same task as" in capsys.readouterr().err
    copied.write_text("{")
    assert main([str(a), str(a)]) == 2
    assert f"{copied.name}: line 1" in capsys.readouterr().err
