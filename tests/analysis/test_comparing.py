"""Runs: kept whole, resumed, merged, shared, and read back as tables."""

import errno
import json
import math
import os
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pandas as pd
import psutil
import pytest
from toy_family import toy

import schedgap as sg
from schedgap import show
from schedgap.analysis.comparing.compare import DEFAULT_TIME_LIMIT, compare
from schedgap.analysis.comparing.run import Run
from schedgap.analysis.records.folder import Folder, TaskRecord, read_record
from schedgap.analysis.report.results import collect
from schedgap.analysis.report.tables import summary_table
from schedgap.analysis.solving.choices import Choice
from schedgap.analysis.statistics.readable import readable
from schedgap.errors import EngineUnavailableError, InputError, UsageError
from schedgap.solvers.children.processes import close_children

HERE = str(Path(__file__).parent)
INSTANCES = [toy(6, 4, 2, name="down"), toy(2, 5, 8, 9, sense="max", name="up")]


def quick(folder: Path, *methods: str, **more: Any) -> Run:
    more = {"time_limit": 1, "workers": 1} | more
    return compare(more.pop("targets", INSTANCES), run=folder, methods=list(methods), **more)


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def cell(frame: pd.DataFrame, column: str, **where: str) -> Any:
    for key, value in where.items():
        frame = frame[frame[key] == value]
    assert len(frame) == 1
    return frame[column].iloc[0]


def test_the_table_holds_a_ratio_for_each_schedule(tmp_path: Path) -> None:
    run = quick(tmp_path, "exact", "first", "weak")
    table = run.table()
    assert len(table) == 6
    assert cell(table, "ratio_low", instance="down", method="first") == 3.0  # 6 / 2
    assert cell(table, "ratio_high", instance="up", method="first") == 4.5  # 9 / 2
    assert cell(table, "bound_high", instance="down", method="weak") == 2 / 1.75
    assert math.isnan(cell(table, "ratio_low", instance="down", method="weak"))
    assert run.contradictions == []


def test_the_summary_aggregates_by_hand_made_numbers(tmp_path: Path) -> None:
    summary = quick(tmp_path, "exact", "first").summary()
    first = summary[summary["method"] == "first"].iloc[0]
    assert (first["tasks"], first["instances"], first["n"]) == (2, 2, 2)
    assert (first["proved"], first["feasible"], first["optimal"]) == (0, 2, 0)
    assert (first["mean_low"], first["mean_high"]) == (3.75, 3.75)  # (3 + 4.5) / 2
    assert first["worst_high"] == 4.5
    # gaps 2 and 3.5: exp((log 3 + log 4.5) / 2) - 1 = sqrt(13.5) - 1
    assert first["gap_high"] == pytest.approx(math.sqrt(13.5) - 1)
    assert math.isnan(first["boot_low"]) and math.isnan(first["boot_high"])  # too few instances
    assert (first["guarantee_high"], first["holds"]) == (2.0, 0.5)
    assert (first["exceeded"], first["beyond"]) == (1, 1)  # 3 > 2 as promised, 4.5 > 2 without
    exact = summary[summary["method"] == "scan"].iloc[0]
    assert (exact["optimal"], exact["worst_high"]) == (2, 1)


def test_a_guarantee_stands_beside_the_measured_ratio(tmp_path: Path) -> None:
    ratios = quick(tmp_path, "exact", "first").ratios()
    down, up = (ratios[(ratios["method"] == "first") & (ratios["instance"] == name)].iloc[0]
                for name in ("down", "up"))  # fmt: skip
    assert (down["guarantee"], down["holds"], down["within"]) == (2.0, True, False)  # 3 > 2
    assert (up["holds"], up["failed"], up["within"]) == (False, "few values", None)
    assert (down["beyond"], up["beyond"]) == (False, True)  # 4.5 > 2


def test_the_profile_counts_an_instance_without_schedule_as_never(tmp_path: Path) -> None:
    profile = quick(tmp_path, "exact", "first", "partial", "fails", "outside").profile()
    steps = profile[profile["method"] == "first"][["ratio", "share"]].to_numpy().tolist()
    assert steps == [[3.0, 0.5], [4.5, 1.0]]
    assert "outside" not in set(profile["method"])
    for name in ("partial", "fails"):  # without a schedule
        (only,) = profile[profile["method"] == name].to_dict("records")
        assert (only["share"], only["n"], only["unanswered"], only["wrong"]) == (0.0, 2, 1.0, 0.0)
        assert math.isnan(only["ratio"])


def test_every_way_to_end_is_recorded(tmp_path: Path) -> None:
    names = ["hang", "crash", "fails", "too-fine", "picky", "partial", "outside", "exact"]
    run = quick(tmp_path, *names, time_limit=0.3, targets=INSTANCES[0])
    outcome = {record.method: record.outcome for record in run.records}
    assert outcome == {
        "hang": "timeout", "crash": "crash", "fails": "error", "too-fine": "skipped",
        "picky": "skipped", "partial": "done", "outside": "done", "scan": "done",
    }  # fmt: skip
    by_method = {record.method: record for record in run.records}
    assert by_method["hang"].solution is not None and by_method["hang"].solution.objective == 2
    assert by_method["hang"].progress[-2] == (pytest.approx(0, abs=0.2), 2, 1)
    assert by_method["outside"].relaxed == ("2c",)
    assert by_method["too-fine"].message == "values: too fine for the integer scale"
    assert [record.method for record in run.failures] == ["crash", "fails"]
    summary = run.summary().set_index("method")
    assert summary.loc["partial", "incomplete"] == 1
    assert math.isnan(summary.loc["outside", "mean_low"])  # outside the program: no part in it


def test_a_memory_hog_is_stopped(tmp_path: Path) -> None:
    run = quick(tmp_path, "hog", targets=INSTANCES[0], memory_limit=200, time_limit=20)
    assert run.records[0].outcome == "memory"
    assert (run.records[0].peak_memory_mb or 0) >= 200


@pytest.mark.parametrize(
    ("methods", "words"),
    [
        (["exact", "broken"], "broken: method broken returned a schedule that breaks V1"),
        (["exact", "liar"], "liar: method liar: its bound 1000000000 lies past"),
        (["exact", "past"], "past claims the bound 2.25, scan has a schedule of 2"),
        (["exact", "none"], "none proved that no schedule exists, scan has one"),
    ],
)
def test_results_that_cannot_both_be_right_are_said_aloud(
    tmp_path: Path, methods: list[str], words: str
) -> None:
    run = quick(tmp_path, *methods, targets=INSTANCES[0])
    assert len(run.contradictions) == 1 and words in run.contradictions[0]
    assert "contradiction" in run._repr_html_()


def test_what_is_outside_the_program_or_another_problem_contradicts_nothing(
    tmp_path: Path,
) -> None:
    run = quick(tmp_path, "other", "outside", "first", targets=INSTANCES[0])
    assert run.contradictions == []
    ratio = run.ratios().set_index("method")
    assert (ratio.loc["first", "low"], ratio.loc["first", "high"]) == (1.0, math.inf)


def test_a_rerun_does_nothing_again(tmp_path: Path) -> None:
    log = tmp_path / "log"
    quick(tmp_path / "r", f"first:log={log}")
    before = files(tmp_path / "r")
    heard: list[tuple[int, int]] = []
    quick(tmp_path / "r", f"first:log={log}", on_record=lambda _, done, n: heard.append((done, n)))
    assert files(tmp_path / "r") == before
    assert sorted(log.read_text().splitlines()) == ["down", "up"]
    assert heard == [(2, 2)]


def test_only_failures_are_retried(tmp_path: Path) -> None:
    for retry, changed in ((None, []), (False, []), (True, ["fails"])):
        before = {record.method: record.key for record in Run(tmp_path).records} if changed else {}
        more = {} if retry is None else {"retry": retry}
        run = quick(tmp_path, "exact", "fails", targets=INSTANCES[0], **more)
        after = {record.method: record.key for record in run.records}
        assert sorted(after) == ["fails", "scan"] and len(run) == 2
        assert len(list((tmp_path / "tasks").glob("*.json"))) == 2
        if before:
            assert [name for name in after if after[name] != before[name]] == changed


def test_what_decides_the_answer_is_another_task(tmp_path: Path) -> None:
    for more in ({}, {"seed": 1}, {"seed": 2}):
        run = quick(tmp_path, "luck", targets=INSTANCES[0], **more)
    assert len({record.task for record in run.records}) == len(run) == 3


def test_folders_are_merged_by_copying(tmp_path: Path) -> None:
    quick(tmp_path / "a", "exact", targets=INSTANCES[0])
    quick(tmp_path / "b", "first", targets=INSTANCES)
    both = Run(tmp_path / "a", tmp_path / "b")
    shutil.copytree(tmp_path / "b", tmp_path / "a", dirs_exist_ok=True)
    merged = Run(tmp_path / "a")
    assert merged.table().equals(both.table())
    assert cell(merged.table(), "ratio_low", instance="down", method="first") == 3.0


def test_a_stored_run_can_be_verified_again(tmp_path: Path) -> None:
    run = quick(tmp_path, "exact", "first", "weak", targets=INSTANCES[0])
    assert run.verify() == []
    file = next(
        f for f in (tmp_path / "tasks").glob("*.json") if '"label": "first"' in f.read_text()
    )
    file.write_text(file.read_text().replace('"objective": 6.0', '"objective": 2.0'))
    assert Run(tmp_path).verify() == [
        "down: first: objective: the file claims 2, the schedule gives 6"
    ]


def test_equal_names_are_told_apart(tmp_path: Path) -> None:
    run = quick(tmp_path, "exact", targets=[toy(1, name="x"), toy(2, name="x")])
    assert sorted(name[:3] for name in run.table()["instance"]) == ["x #", "x #"]


def test_workers_give_the_records_of_one(tmp_path: Path) -> None:
    """On real instances, the second with threads that each wait for a child."""
    instances = [sg.generate("hare", preset="small", seed=seed) for seed in (1, 2)]
    known = [method.name for method in sg.models.family("hare").methods]
    names = [name for name in ("srtf", "list-wspt", "job-alone") if name in known]
    runs = [compare(instances, run=tmp_path / str(n), methods=names, workers=n) for n in (1, 2)]
    columns = ["instance", "method", "objective", "bound", "ratio_low", "code"]
    assert runs[0].table()[columns].equals(runs[1].table()[columns])
    tasks = [[record.task for record in run.records] for run in runs]
    assert tasks[0] == tasks[1]
    assert len(runs[0]) == 2 * len(names) > 0


EIGHT = [toy(6, 4, n, name=f"i{n}") for n in range(8)]
METHOD = "first:log={log}:pause=0.2"
PROCESS = """
import sys; sys.path.insert(0, {here!r})
import toy_family; toy_family.register()
from schedgap.analysis.comparing.compare import compare
instances = [toy_family.toy(6, 4, n, name=f"i{{n}}") for n in range(8)]
compare(instances, run={run!r}, methods=[{method!r}], workers={workers})
"""


def start(folder: Path, log: Path, workers: int = 1) -> "subprocess.Popen[bytes]":
    method = METHOD.format(log=log)
    code = PROCESS.format(here=HERE, run=str(folder), method=method, workers=workers)
    return subprocess.Popen([sys.executable, "-c", code])


def test_kill_9_loses_only_the_task_in_flight(tmp_path: Path) -> None:
    folder, log = tmp_path / "r", tmp_path / "log"
    process = start(folder, log)
    deadline = time.monotonic() + 30
    while len(list((folder / "tasks").glob("[!.]*.json"))) < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.kill()
    process.wait()
    before = {name: data for name, data in files(folder).items() if "/." not in name}
    done = [name for name in before if name.startswith("tasks")]
    assert 3 <= len(done) < 8
    quick(folder, METHOD.format(log=log), targets=EIGHT, time_limit=DEFAULT_TIME_LIMIT)
    after = files(folder)
    assert {name: after[name] for name in before} == before
    assert len(Run(folder)) == 8
    assert len(log.read_text().splitlines()) in (8, 8 + 1)  # the one in flight twice, if one was


def test_an_interrupted_comparison_keeps_what_is_done_and_leaves_nothing_behind(
    tmp_path: Path,
) -> None:
    """Ctrl-C in a notebook, whose process lives on: no child does, and no claim."""

    def press(record: TaskRecord | None, done: int, count: int) -> None:
        if record is not None:
            below.update(psutil.Process().children(recursive=True))
            raise KeyboardInterrupt

    close_children()
    before, below = {*psutil.Process().children(recursive=True)}, set[psutil.Process]()
    names = ["first", "first:pause=60", "first:pause=61"]
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        quick(tmp_path, *names, targets=INSTANCES[0], time_limit=90, workers=2, on_record=press)
    assert time.monotonic() - begin < 30
    assert [record.label for record in Run(tmp_path).records] == ["first"]
    assert not [thread for thread in threading.enumerate() if "schedgap-task" in thread.name]
    assert list(Folder(tmp_path).tasks.glob(".*")) == []  # no claim
    close_children()  # the idle ones
    assert psutil.wait_procs(below - before, timeout=5)[1] == []


def test_two_processes_share_a_folder(tmp_path: Path) -> None:
    """One runs a task at a time, and the other two, in threads."""
    folder, log = tmp_path / "r", tmp_path / "log"
    both = [start(folder, log, workers) for workers in (1, 2)]
    assert [process.wait() for process in both] == [0, 0]
    assert len(Run(folder)) == 8
    assert sorted(log.read_text().splitlines()) == [f"i{n}" for n in range(8)]  # each once


def test_a_task_is_claimed_once(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.create()
    with folder.lock("k", wait=False) as mine, folder.lock("k", wait=False) as other:
        assert mine and not other
        with ThreadPoolExecutor(1) as pool:
            assert not pool.submit(lambda: folder.lock("k", wait=False).__enter__()).result()
        with folder.lock("k", wait=False) as other:
            assert not other
    with folder.lock("k", wait=False) as mine:
        assert mine
    assert list(folder.tasks.iterdir()) == []


def test_a_lock_may_be_released_by_another_thread(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.create()
    lock = folder.lock("k", wait=False)
    assert lock.__enter__()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lock.__exit__, None, None, None).result()
    with folder.lock("k", wait=False) as mine:
        assert mine


COUNT = """
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from schedgap.analysis.records.folder import Folder

def add(_):
    with folder.lock("k", wait=True):
        number = int(file.read_text())
        file.write_text(str(number + 1))

folder, file = Folder(sys.argv[1]), Path(sys.argv[1], "count")
with ThreadPoolExecutor(2) as pool:
    list(pool.map(add, range(25)))
"""


def test_threads_and_processes_wait_for_each_other(tmp_path: Path) -> None:
    """Two threads in each of two processes count to fifty, one step under each claim."""
    Folder(tmp_path).create()
    (tmp_path / "count").write_text("0")
    both = [subprocess.Popen([sys.executable, "-c", COUNT, str(tmp_path)]) for _ in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    assert (tmp_path / "count").read_text() == "50"
    assert list((tmp_path / "tasks").iterdir()) == []


HOLD = """
import sys, time
from schedgap.analysis.records.folder import Folder
with Folder(sys.argv[1]).lock("k", wait=False) as mine:
    print(mine, flush=True)
    time.sleep(600)
"""


def test_a_claim_is_dropped_with_its_process(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.create()
    line = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(line, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"True\n"
        with folder.lock("k", wait=False) as mine:
            assert not mine
        process.kill()
        process.wait()
        with folder.lock("k", wait=False) as mine:
            assert mine


@pytest.mark.skipif(sys.platform == "win32", reason="locks of another kind")
@pytest.mark.parametrize("code", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("fcntl.flock", refuse)
    assert len(quick(tmp_path, "first")) == 2
    assert list(Folder(tmp_path).tasks.glob(".*")) == []


def test_targets_are_files_folders_and_the_suite(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for instance in INSTANCES:
        sg.instances.records.write_json(tmp_path / f"in/{instance.name}.json", instance.to_data())
    run = quick(tmp_path / "r", "exact", targets=[tmp_path / "in", tmp_path / "in/up.json"])
    assert len(run) == 2
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no instance files"):
        quick(tmp_path / "r", "exact", targets=tmp_path / "empty")
    with pytest.raises(UsageError, match="no instances"):
        quick(tmp_path / "r", "exact", targets=[])


def test_a_wrong_name_is_refused_before_anything_runs(tmp_path: Path) -> None:
    for methods, message in (
        (["exact", "secnd"], "no method 'secnd'"),
        (["first:pause=x"], "option pause=x: need a number >= 0"),
        (["first:pause"], "need NAME or NAME:KEY=VALUE"),
        ([""], "need NAME or NAME:KEY=VALUE"),
        (["exact@highs"], "method scan uses no engine, not 'highs'"),
    ):
        with pytest.raises(UsageError, match=message):
            quick(tmp_path / "r", *methods)
    with pytest.raises(EngineUnavailableError, match="not installed"):
        quick(tmp_path / "r", "absent")
    assert not (tmp_path / "r").exists()


def test_a_choice_is_read_from_one_word() -> None:
    assert Choice.read("big-m@gurobi:pairwise=true") == Choice(
        "big-m", "gurobi", (("pairwise", "true"),)
    )


def test_who_schedules_outside_the_program_has_no_ratio_and_it_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = quick(tmp_path, "exact", "outside", targets=INSTANCES[0])
    summary = run.summary().set_index("method")
    assert summary["outside"].to_dict() == {"scan": "", "outside": "2c"}
    words = readable(run.summary()).set_index("method")["mean ratio"]
    assert words.to_dict() == {"scan": "1.0000", "outside": "- (outside)"}
    show.run(run, as_json=False)
    assert "outside leaves out rules (2c), so it has no ratio" in capsys.readouterr().out
    table = summary_table(collect(run).rows, "t")
    assert table.caption.endswith("outside leaves out rules (2c), so it has no ratio.")
    names, texts = ([row[k].text for row in table.rows] for k in (0, 1))
    assert dict(zip(names, texts, strict=True)) == {"scan": "1", "outside": "outside"}


def test_for_people_several_families_have_a_row_for_each_method(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few = [sg.generate("ring", preset=name) for name in ("toy", "toy-pcmax")]
    run = quick(tmp_path, "area", targets=few)
    show.run(run, as_json=False)
    assert sum("area" in line for line in capsys.readouterr().out.splitlines()) == 2
    quick(tmp_path, "first", targets=INSTANCES[0])
    run = Run(tmp_path)
    show.run(run, as_json=False, every=True)
    assert sum("area" in line for line in capsys.readouterr().out.splitlines()) == 1
    show.run(run, as_json=False)
    lines = capsys.readouterr().out.splitlines()
    assert any(line.split()[:2] == ["toy", "first"] for line in lines)
    assert any(line.startswith("all methods: schedgap show ") for line in lines)
    show.run(run, as_json=True)
    assert [row["preset"] for row in json.loads(capsys.readouterr().out)["summary"]] == [
        "toy", "toy-pcmax", ""
    ]  # fmt: skip


def test_a_broken_record_is_named(tmp_path: Path) -> None:
    quick(tmp_path, "exact", targets=INSTANCES[0])
    file = next((tmp_path / "tasks").glob("*.json"))
    file.write_text(file.read_text()[:100])
    with pytest.raises(InputError, match=r"tasks/[\w-]+\.json: line 1 column"):
        read_record(file)
    with pytest.raises(InputError, match="not a run folder"):
        Run(tmp_path / "tasks")


def test_a_run_is_readable_in_a_notebook(tmp_path: Path) -> None:
    run = quick(tmp_path, "exact", "first", targets=INSTANCES[0])
    page = run._repr_html_()
    assert "3.0000" in page
    assert repr(run) == "<run of 2 tasks on 1 instance, 0 failed, 0 skipped>"
    assert list(run.progress()["method"].unique()) == ["scan", "first"]
