"""Six ordinary acts, none of which may make a number of a study wrong without a word."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from toy_family import toy

from schedgap.analysis.comparing.compare import compare
from schedgap.analysis.comparing.run import Run
from schedgap.analysis.records.folder import TaskRecord, read_record
from schedgap.analysis.records.index import Index
from schedgap.analysis.runners.request import Limits
from schedgap.errors import InputError, UsageError

HERE = str(Path(__file__).parent)
DOWN, UP = toy(6, 4, 2, name="down"), toy(2, 5, 8, 9, sense="max", name="up")


def quick(folder: Path, *methods: str, **more: Any) -> Run:
    more = {"time_limit": 1, "workers": 1} | more
    return compare(more.pop("targets", [DOWN, UP]), run=folder, methods=list(methods), **more)


def records(folder: Path) -> list[TaskRecord]:
    return [read_record(file) for file in sorted((folder / "tasks").glob("*.json"))]


def edit(folder: Path, method: str, **changes: Any) -> None:
    """Change fields of all records of a method."""
    for file in (folder / "tasks").glob("*.json"):
        data = json.loads(file.read_text())
        if data["method"] == method:
            file.write_text(json.dumps(data | changes))


def older(run: Run) -> list[str]:
    """Return the warnings on older results, not on a computer that changed its speed."""
    return [text for text in run.warnings if "older" in text]


# --- another limit ---------------------------------------------------------------------------


def test_another_limit_is_another_row_and_an_instance_counts_once_in_each(tmp_path: Path) -> None:
    quick(tmp_path, "first", time_limit=1)
    edit(tmp_path, "first", limited=True)  # as of a search that the limit has stopped
    run = quick(tmp_path, "first", time_limit=3)
    summary = run.summary().set_index("method")
    assert summary["tasks"].to_dict() == {"first [1 s]": 2, "first [3 s]": 2}
    assert len(run) == 4 and not any(record.reused for record in run.records)
    assert set(run.table()["configuration"]) == {"first [1 s]", "first [3 s]"}
    assert set(run.table()["time_limit"]) == {1.0, 3.0}


def test_a_larger_limit_uses_what_a_smaller_one_did_not_disturb(tmp_path: Path) -> None:
    log = tmp_path / "log"
    quick(tmp_path / "r", "exact", f"first:log={log}", time_limit=1)
    heard: list[int] = []
    more = {"on_record": lambda record, done, count: heard.append(done)}
    run = quick(tmp_path / "r", "exact", f"first:log={log}", time_limit=30, **more)
    assert heard == [4] and len(log.read_text().splitlines()) == 2  # nothing was run
    counts = run.summary().set_index("method")["tasks"].to_dict()
    assert counts["scan [30 s]"] == counts["scan [1 s]"] == 2
    reused = [record for record in run.records if record.reused]
    assert {record.time_limit for record in reused} == {30.0} and len(reused) == 4
    assert {record.reused for record in reused} < {record.key for record in run.records}
    assert run.verify() == []


def test_a_smaller_limit_uses_nothing_of_a_larger_one(tmp_path: Path) -> None:
    quick(tmp_path, "exact", time_limit=30)
    run = quick(tmp_path, "exact", time_limit=1)
    assert not any(record.reused for record in run.records) and len(run) == 4


@pytest.mark.parametrize(
    ("changes", "limits", "answers"),
    [
        ({}, Limits(1, None), True),
        ({}, Limits(9, None), True),
        ({}, Limits(None, None), True),
        ({}, Limits(0.5, None), False),
        ({"limited": True}, Limits(9, None), False),
        ({"limited": None}, Limits(9, None), False),
        ({"outcome": "timeout"}, Limits(1, None), True),
        ({"outcome": "timeout"}, Limits(9, None), False),
        ({"outcome": "timeout"}, Limits(1, 4000), True),
        ({"outcome": "memory", "memory_limit": 1.0}, Limits(1, 1), True),
        ({"outcome": "memory", "memory_limit": 1.0}, Limits(1, 4000), False),
        ({"outcome": "crash"}, Limits(9, None), False),
        ({"outcome": "skipped", "solution": None}, Limits(9, 1), True),
        ({"peak_memory_mb": 300.0}, Limits(1, 200), False),
        ({"peak_memory_mb": 300.0}, Limits(1, 400), True),
        ({"peak_memory_mb": 300.0, "memory_limit": 350.0}, Limits(1, None), True),
        ({"peak_memory_mb": None}, Limits(1, 400), False),
    ],
)
def test_which_limits_a_record_answers(
    tmp_path: Path, changes: dict[str, Any], limits: Limits, answers: bool
) -> None:
    quick(tmp_path, "first", targets=DOWN)
    edit(tmp_path, "first", **changes)
    (row,) = Index(tmp_path).rows()
    assert row.answers(limits) is answers


def test_a_method_that_looks_at_the_fraction_of_its_time_is_run_again(tmp_path: Path) -> None:
    quick(tmp_path, "first", "anneal", targets=DOWN)
    assert {r.method: r.limited for r in records(tmp_path)} == {"first": False, "anneal": True}


# --- two seeds -------------------------------------------------------------------------------


def test_seeds_are_repetitions_of_one_configuration(tmp_path: Path) -> None:
    for seed in (1, 2):
        run = quick(tmp_path, "luck", seed=seed)
    table = run.table()
    assert set(table["configuration"]) == {"luck"}
    assert sorted(table["seed"]) == [1, 1, 2, 2]
    assert table["session"].nunique() == 2


# --- changed code ----------------------------------------------------------------------------


def test_results_of_older_code_are_left_out_with_a_word_and_run_again(tmp_path: Path) -> None:
    log = tmp_path / "log"
    run = quick(tmp_path / "r", f"first:log={log}", "exact")
    present = {record.code for record in run.records}
    assert len(present) == 1 and older(run) == []
    for number, file in enumerate(sorted((tmp_path / "r/tasks").glob("*.json"))):
        data = json.loads(file.read_text())  # as if the source had been changed since
        key = f"{number:032x}-{data['key'][-12:]}"
        old = data | {"code": "0123456789ab", "task": "0" * 32, "key": key}
        file.with_stem(key).write_text(json.dumps(old))
        file.unlink()
    assert len(Run(tmp_path / "r").records) == 4  # there is no other
    run = quick(tmp_path / "r", f"first:log={log}")
    assert len(log.read_text().splitlines()) == 4
    assert {record.code for record in run.records} == present and len(run) == 2
    assert older(run) == ["4 results are of older code: left out; --older to include"]
    every = Run.load(tmp_path / "r", older=True)
    assert len(every) == 6 and older(every) == []
    code = present.pop()[:4]
    label = f"first:log={log}"
    assert {name for name in every.table()["method"] if name.startswith("first")} == {
        f"{label} [code {code}]", f"{label} [code 0123]"
    }  # fmt: skip


CHANGED = """
import sys; sys.path[:0] = [{where!r}]
import toy_family; toy_family.register()
from schedgap.analysis.comparing.compare import compare
run = compare(toy_family.toy(6, 4, 2, name="down"), run={run!r}, methods=["first"], workers=1)
print(*(record.outcome for record in run.records))
"""


def test_a_changed_method_is_run_again_and_what_it_does_is_seen(tmp_path: Path) -> None:
    """The act itself: the source of the method changes between two calls of the program."""
    where = tmp_path / "source"
    where.mkdir()
    source = Path(HERE, "toy_family.py").read_text()
    said = []
    for text in (
        source,
        source.replace("    time.sleep(call.", "    assert 0\n    time.sleep(call."),
    ):
        (where / "toy_family.py").write_text(text)
        code = CHANGED.format(where=str(where), run=str(tmp_path / "r"))
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        said.append(done.stdout.split() or done.stderr)
    assert said == [["done"], ["error"]]


def test_a_run_of_other_code_alone_is_shown_with_a_word(tmp_path: Path) -> None:
    assert quick(tmp_path / "r", "first").warnings == []
    edit(tmp_path / "r", "first", code="0123456789ab")
    lines = ["2 results are of other code than that installed: 'compare' runs such tasks again"]
    assert [each for each in Run(tmp_path / "r").warnings if "code" in each] == lines
    assert [each for each in Run(tmp_path / "r", older=True).warnings if "code" in each] == []


# --- merged folders --------------------------------------------------------------------------


def two_hosts(folder: Path) -> tuple[Path, Path]:
    """Return two folders with the same tasks: the second host was slower and proved less."""
    a, b = folder / "a", folder / "b"
    for each in (a, b):
        quick(each, "exact", "first")
    for file in (b / "tasks").glob("*.json"):
        data = json.loads(file.read_text())
        if data["method"] == "scan":
            data["solution"] |= {"status": "feasible", "bound": None, "proof": None}
            file.write_text(json.dumps(data))
    return a, b


def test_the_order_of_merged_folders_changes_nothing_and_no_proof_is_lost(tmp_path: Path) -> None:
    a, b = two_hosts(tmp_path)
    one, other = Run.load(a, b), Run.load(b, a)
    assert one.table().equals(other.table()) and len(one) == 8
    assert one.brackets == other.brackets
    assert all(bracket.closed for bracket in one.brackets.values())
    assert (one.table()["ratio_low"].dropna() == one.table()["ratio_high"].dropna()).all()
    assert one.summary().equals(other.summary()) and one.progress().equals(other.progress())
    assert one.verify() == other.verify() == []


def test_a_contradiction_between_hosts_is_seen_in_both_orders(tmp_path: Path) -> None:
    a, b = two_hosts(tmp_path)
    for file in (b / "tasks").glob("*.json"):
        data = json.loads(file.read_text())
        if data["method"] == "scan" and data["instance"]["name"] == "down":
            data["solution"] |= {"bound": 3.0}
            file.write_text(json.dumps(data))
    for run in (Run.load(a, b), Run.load(b, a)):
        (words,) = run.contradictions
        assert "scan claims the bound 3, scan has a schedule of 2" in words


def test_copies_of_one_record_count_once(tmp_path: Path) -> None:
    quick(tmp_path / "a", "exact", "first")
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    merged, alone = Run.load(tmp_path / "a", tmp_path / "b"), Run.load(tmp_path / "a")
    assert merged.table().equals(alone.table()) and len(merged) == 4


def test_folders_can_be_merged_by_copying_without_loss(tmp_path: Path) -> None:
    a, b = two_hosts(tmp_path)
    both = Run.load(a, b).table()
    shutil.copytree(b, a, dirs_exist_ok=True)
    assert Run.load(a).table().equals(both) and len(both) == 8


def test_other_meta_data_in_another_folder_do_not_make_the_order_count(tmp_path: Path) -> None:
    for name, preset in (("a", "x"), ("b", "y")):
        quick(tmp_path / name, "exact", targets=DOWN)
        (file,) = (tmp_path / name / "instances").glob("*.json")
        data = json.loads(file.read_text()) | {"name": preset, "meta": {"preset": preset}}
        file.write_text(json.dumps(data))
    one, other = (Run.load(*(tmp_path / name for name in names)) for names in ("ab", "ba"))
    assert one.table().equals(other.table()) and set(one.table()["preset"]) == {"x"}


# --- changed memory limit --------------------------------------------------------------------


def test_another_memory_limit_runs_again_what_the_first_killed(tmp_path: Path) -> None:
    run = quick(tmp_path, "exact", "heavy", targets=DOWN, memory_limit=30, time_limit=20)
    first = {record.method: record.outcome for record in run.records}
    assert first["heavy"] == "memory"
    run = quick(tmp_path, "exact", "heavy", targets=DOWN, memory_limit=2000, time_limit=20)
    outcomes = dict(zip(run.table()["method"], run.table()["outcome"], strict=True))
    assert outcomes["heavy [30 MB]"] == "memory" and outcomes["heavy [2000 MB]"] == "done"


# --- retry -----------------------------------------------------------------------------------


def test_chosen_kinds_of_failures_are_run_again(tmp_path: Path) -> None:
    def keys() -> dict[str, str]:
        return {record.method: record.key for record in records(tmp_path)}

    names = ("fails", "crash", "hang", "exact")
    quick(tmp_path, *names, targets=DOWN, time_limit=0.3)
    before = keys()
    for retry, expected in (
        ("error", {"fails"}),
        ("crash,timeout", {"crash", "hang"}),
        (["error"], {"fails"}),
        ("all", {"fails", "crash", "hang"}),
    ):
        quick(tmp_path, *names, targets=DOWN, time_limit=0.3, retry=retry)
        after = keys()
        assert {name for name in after if after[name] != before[name]} == expected
        assert len(records(tmp_path)) == 4
        before = after
    with pytest.raises(UsageError, match="retry 'late': choose from timeout, memory, crash"):
        quick(tmp_path, *names, targets=DOWN, retry="late")


# --- fields and files ------------------------------------------------------------------------


def test_a_record_says_where_when_and_with_what_it_was_made(tmp_path: Path) -> None:
    run = quick(tmp_path, "spin", targets=DOWN, seed=3, memory_limit=4000)
    (record,) = run.records
    assert record.version == 3 and record.key.startswith(f"{record.task}-")
    assert record.cpu_seconds is not None and 0.15 < record.cpu_seconds < 0.6
    assert record.peak_memory_mb is not None and 10 < record.peak_memory_mb < 300
    (row,) = run.table().to_dict("records")
    session = run.sessions[row["session"]]
    assert (row["seed"], row["time_limit"], row["memory_limit"]) == (3, 1.0, 4000.0)
    assert row["host"] == session.host != "" and session.cores >= 1 and session.cpu
    assert row["schedgap"] and row["code"] == record.code and row["started"] >= session.started
    assert len(session.references) >= 1 and session.references[0][1] > 0


def test_the_peak_of_the_memory_is_that_of_the_task_alone(tmp_path: Path) -> None:
    """A recycled process does not hand on what an earlier task needed."""
    run = quick(tmp_path, "heavy:megabytes=300", targets=DOWN, time_limit=20)
    run = quick(tmp_path, "heavy:megabytes=300", "first", targets=DOWN, time_limit=20)
    peak = {record.method: record.peak_memory_mb or 0 for record in run.records}
    assert peak["heavy"] > 300 and peak["first"] < 150


def test_records_of_the_first_version_are_still_read(tmp_path: Path) -> None:
    quick(tmp_path, "exact", targets=DOWN)
    (file,) = (tmp_path / "tasks").glob("*.json")
    data = json.loads(file.read_text())
    for name in ("task", "version", "code", "session", "started", "cpu_seconds", "limited"):
        del data[name]
    data |= {"key": "1" * 32}
    file.unlink()
    (tmp_path / f"tasks/{'1' * 32}.json").write_text(json.dumps(data))
    shutil.rmtree(tmp_path / "sessions")
    run = Run.load(tmp_path)
    assert run.table()["objective"].tolist() == [2.0] and run.verify() == []
    assert run.drift() is None and run.table()["host"].tolist() == [""]
    again = quick(tmp_path, "exact", targets=DOWN)
    assert older(again) == ["1 result is of older code: left out; --older to include"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": 1}', "not a record of a task"),
        ("[1]", "need one JSON object"),
        ('{"key": "k", "outco', "line 1 column"),
        ('{"key": "k", "version": 9}', "a record of another version of schedgap: 9"),
    ],
)
def test_a_foreign_file_ends_the_comparison_before_it_begins(
    tmp_path: Path, text: str, words: str
) -> None:
    quick(tmp_path, "exact", targets=DOWN)
    (tmp_path / "tasks/foreign.json").write_text(text)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError, match=rf"tasks/foreign\.json.*{words}"):
        quick(tmp_path, "first", targets=DOWN)
    assert sorted(tmp_path.rglob("*")) == before
