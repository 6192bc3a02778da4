"""The commands: what they print, what they write, how they exit."""

import inspect
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

import schedgap as sg
from schedgap import show
from schedgap.analysis.comparing.compare import DEFAULT_TIME_LIMIT
from schedgap.cli import app, compare
from schedgap.instances import FAMILIES

Call = Callable[..., Any]
posix = pytest.mark.skipif(os.name == "nt", reason="signals and shells are those of POSIX")


def test_more_workers_than_cores_are_capped_in_one_line(
    schedgap: Call, toy_file: Call, tmp_path: Path
) -> None:
    line = ("compare", toy_file(3, 1), "--methods", "first", "--run", tmp_path, "--workers")
    first = schedgap(*line, 10_000).err.splitlines()[0]
    assert first.startswith("schedgap: workers 10000: ") and "one for each core" in first
    assert "workers" not in schedgap(*line, 1).err


def test_older_results_are_said_to_be_left_out_and_can_be_shown_everywhere(
    schedgap: Call, toy_file: Call, tmp_path: Path
) -> None:
    line = ("compare", toy_file(3, 1), "--workers", 1, "--run", tmp_path / "r", "--methods")
    assert schedgap(*line, "exact,first").code == 0
    for number, file in enumerate((tmp_path / "r/tasks").glob("[!.]*.json")):
        data = json.loads(file.read_text())  # as if the source had been changed since
        key = f"{number:032x}-{data['key'][-12:]}"
        file.unlink()
        data |= {"code": "0123456789ab", "task": "0" * 32, "key": key}
        file.with_name(f"{key}.json").write_text(json.dumps(data))
    assert schedgap(*line, "first").code == 0
    said = "schedgap: 2 results are of older code: left out; --older to include"
    results = ("table", tmp_path / "r", "--of", "results")
    for command in (("show", tmp_path / "r"), results, ("diff", tmp_path / "r", tmp_path / "r")):
        assert said in schedgap(*command).err.splitlines()
        done = schedgap(*command, "--older")
        assert done.code == 0 and said not in done.err
    assert len(schedgap(*results).out.splitlines()) == 1 + 1
    assert len(schedgap(*results, "--older").out.splitlines()) == 1 + 3
    assert schedgap("verify", tmp_path / "r").out == "3 tasks: no violations found\n"


def test_a_table_of_contradictory_results_says_so(
    schedgap: Call, toy_file: Call, tmp_path: Path
) -> None:
    line = ("compare", toy_file(3, 1), "--workers", 1, "--methods", "exact,past")
    assert schedgap(*line, "--run", tmp_path / "r").code == 70
    done = schedgap("table", tmp_path / "r")
    assert done.code == 70 and "contradiction: t: past claims" in done.err
    assert done.out.startswith("family,preset,method,")


def test_import_is_quick_and_loads_no_engine() -> None:
    code = (
        "import time, sys; t = time.process_time(); import schedgap; "
        "print(time.process_time() - t); import schedgap.models, schedgap.analysis; "
        "schedgap.methods(); names = 'highspy ortools gurobipy cvxpy pyomo pandas plotly'; "
        "print([name for name in names.split() if name in sys.modules])"
    )
    lines = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert float(lines[0]) < 0.3
    assert lines[1] == "[]"


def test_a_comparison_imports_no_charts() -> None:
    names = ("plotly", "matplotlib")
    code = f"import schedgap, sys; schedgap.compare; print({{*{names}}} & {{*sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_every_public_name_is_there() -> None:
    for name in sg.__all__:
        assert getattr(sg, name) is not None
    assert set(sg.__all__) <= set(dir(sg))
    with pytest.raises(AttributeError, match="no attribute 'solv'"):
        sg.solv  # noqa: B018 - the point


@pytest.mark.parametrize(
    "command",
    [
        command.name or str(command.callback.__name__)
        for command in app.registered_commands
        if command.callback
    ],
)
def test_help_teaches_by_example(schedgap: Call, command: str) -> None:
    done = schedgap(command, "--help")
    assert done.code == 0 and f"schedgap {command}" in done.out and "Example:" in done.out


def test_help_shows_defaults_in_brackets(schedgap: Call) -> None:
    """Rich would read `[default: ...]` as markup and drop it."""
    text = " ".join(schedgap("compare", "--help").out.replace("│", " ").split())
    assert "[default: one per core]" in text and "[default: all whose engines" in text


def test_without_arguments_the_help_is_shown() -> None:
    done = subprocess.run([sys.executable, "-m", "schedgap"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "") and "COMMAND" in done.stdout


def test_methods_as_a_table_and_as_a_list(schedgap: Call) -> None:
    done = schedgap("methods", "toy", "--all")
    assert done.code == 0 and "= scan" in done.out and "Seconds to wait." in done.out
    rows = schedgap("methods", "toy", "--json").json
    assert rows[0] == {
        "family": "toy", "method": "exact", "kind": "exact", "engines": [], "source": "test",
        "ours": False, "alias_of": "scan", "summary": "scan.", "options": [],
    }  # fmt: skip
    by_name = {row["method"]: row for row in rows}
    assert by_name["other"]["options"] == [
        {
            "name": "fixed",
            "type": "bool",
            "default": True,
            "choices": [],
            "help": "Another problem.",
        }
    ]
    assert {row["family"] for row in schedgap("methods", "--json").json} >= {"toy", "hare"}


def test_presets_as_a_table_and_as_a_list(schedgap: Call) -> None:
    done = schedgap("presets", "hare")
    assert "--set" in done.out and "arrival_span" in done.out and "12-20" in done.out
    rows = {row["preset"]: row for row in schedgap("presets", "hare", "--json").json}
    assert rows["small"]["seeded"] and not rows["toy"]["options"]
    assert rows["paper"]["files"] == ["jobs", "machines", "rates"]
    assert schedgap("presets", "none").code == 2


def test_generate_writes_what_python_makes(schedgap: Call, tmp_path: Path) -> None:
    file = tmp_path / "small.json"
    done = schedgap("generate", "hare", "--preset", "small", "--seed", 3, "--out", file)
    assert done.code == 0 and "hare instance" in done.out
    assert sg.load(file) == sg.generate("hare", preset="small", seed=3)


def test_schema_is_one_json_document(schedgap: Call) -> None:
    schema = schedgap("schema", "hare").json
    assert {"family", "jobs", "gpus"} <= set(schema["properties"])


def test_solve_prints_the_solution_that_it_writes(
    schedgap: Call, toy_file: Call, tmp_path: Path
) -> None:
    out = tmp_path / "a.json"
    done = schedgap("solve", toy_file(3, 1, 2), "--out", out, "--json", "--time-limit", 20)
    assert (done.code, done.err) == (0, "")
    assert done.json == json.loads(out.read_text())
    assert (done.json["status"], done.json["options"]) == ("optimal", {"time_limit": 20.0})
    plain = schedgap("solve", toy_file(3, 1, 2), "--method", "first", "--set", "pause=0")
    assert "objective  3" in plain.out and "bound      -" in plain.out
    shown = schedgap("solve", toy_file(3, 1, 2)).out
    assert "ratio      1 (reported by the method, not proved)" in shown
    for family, proof, words in (
        ("elastic", "off", "certified: no-contention"),
        ("elastic", "30", "proved by a tree"),
        ("edge", "off", "proved by a tree"),  # which the search writes
    ):
        file = tmp_path / f"{family}.json"
        schedgap("generate", family, "--preset", "toy", "--out", file)
        said = schedgap("solve", file, "--method", "exact", "--proof", proof).out
        assert f"1 ({words})" in said


@pytest.mark.parametrize(
    ("method", "code", "status", "line"),
    [
        ("exact", 0, "optimal", None),
        ("weak", 0, "bound", None),
        ("none", 3, "infeasible", "t.json: none: infeasible: job 'j1' cannot end"),
        ("silent", 4, "unknown", "t.json: silent: unknown: too large: 17 columns"),
        ("mute", 4, "unknown", "t.json: mute: unknown: ended before any limit"),
        ("partial", 4, "unknown", "t.json: partial: unknown: 1 of 2 jobs left"),
    ],
)
def test_solve_exits_by_its_status_and_always_writes(
    schedgap: Call,
    toy_file: Call,
    tmp_path: Path,
    method: str,
    code: int,
    status: str,
    line: str | None,
) -> None:
    out = tmp_path / "a.json"
    done = schedgap("solve", toy_file(3, 1), "--method", method, "--out", out, "--json")
    assert done.code == code
    assert done.json["status"] == json.loads(out.read_text())["status"] == status
    assert done.err == "" if line is None else done.line.endswith(line)


def test_solve_warns_of_long_synchronization_and_solves(schedgap: Call, tmp_path: Path) -> None:
    instance = sg.generate("hare", preset="ce1").to_data()
    instance["jobs"][0]["synchronization_time"] = {"kind": 3}
    file = tmp_path / "long.json"
    file.write_text(json.dumps(instance))
    done = schedgap("solve", file, "--method", "list-wspt", "--json")
    assert done.code == 0 and done.json["status"] == "feasible"
    assert f"{file}: warning: jobs[0]: synchronization takes longer" in done.err


def test_verify_exits_1_when_a_rule_is_broken(
    schedgap: Call, toy_file: Call, tmp_path: Path
) -> None:
    file, out = toy_file(3, 1), tmp_path / "a.json"
    schedgap("solve", file, "--out", out)
    assert schedgap("verify", file, out).out.startswith("feasible, objective 1\n")
    assert schedgap("verify", file, out, "--json").json == {
        "feasible": True, "objective": 1.0, "violations": [],
        "bound_status": "unchecked", "optimality_status": "unchecked",
    }  # fmt: skip
    out.write_text(json.dumps(json.loads(out.read_text()) | {"schedule": {"place": 9}}))
    done = schedgap("verify", file, out, "--json")
    assert done.code == 1 and done.err == ""
    assert done.json == {
        "feasible": False,
        "objective": None,
        "violations": [{"rule": "V1", "message": "no place 9", "amount": 1.0}],
        "bound_status": "unchecked",
        "optimality_status": "refuted",
    }
    assert "V1: no place 9" in schedgap("verify", file, out).out


def test_verify_strict_exits_1_on_what_it_cannot_check(
    schedgap: Call, toy_file: Call, tmp_path: Path
) -> None:
    file, out = toy_file(3, 1), tmp_path / "a.json"
    schedgap("solve", file, "--out", out)
    done = schedgap("verify", file, out)
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[1:] == [
        "bound 1: reported, no certificate", "optimal: reported by scan",
    ]  # fmt: skip
    assert schedgap("verify", file, out, "--strict").code == 1
    schedgap("solve", file, "--method", "weak", "--out", out)
    assert schedgap("verify", file, out, "--strict").code == 0
    schedgap("solve", file, "--method", "first", "--out", out)
    assert schedgap("verify", file, out, "--strict").code == 0


def test_verify_takes_a_schedule_alone(schedgap: Call, toy_file: Call, tmp_path: Path) -> None:
    file, alone = toy_file(3, 1), tmp_path / "mine.json"
    alone.write_text('{"place": 0}')
    assert schedgap("verify", file, alone).out == "feasible, objective 3\n"
    assert schedgap("verify", file, alone, "--strict", "--json").json == {
        "feasible": True, "objective": 3.0, "violations": [],
        "bound_status": None, "optimality_status": None,
    }  # fmt: skip
    alone.write_text('{"place": 7}')
    assert schedgap("verify", file, alone).code == 1
    alone.write_text('{"plaec": 7}')
    done = schedgap("verify", file, alone)
    assert done.code == 2 and done.line == f"{alone}: schedule.place: missing key"


def test_verify_takes_a_real_schedule_alone(schedgap: Call, tmp_path: Path) -> None:
    file, out, alone = (tmp_path / name for name in ("toy.json", "a.json", "alone.json"))
    schedgap("generate", "hare", "--preset", "toy", "--out", file)
    assert schedgap("solve", file, "--method", "srtf", "--out", out).code == 0
    alone.write_text(json.dumps(json.loads(out.read_text())["schedule"]))
    assert schedgap("verify", file, alone).out == schedgap("verify", file, out).out


def test_verify_says_which_rules_a_schedule_leaves_out(
    schedgap: Call, toy_file: Call, tmp_path: Path
) -> None:
    file, out = toy_file(3, 1), tmp_path / "a.json"
    schedgap("solve", file, "--method", "outside", "--out", out)
    assert schedgap("verify", file, out, "--json").json["relaxed"] == ["2c"]
    assert "outside the program: without 2c" in schedgap("verify", file, out).out


def test_verify_checks_the_certificate_of_a_bound(
    schedgap: Call, toy_file: Call, tmp_path: Path
) -> None:
    file, out = toy_file(3, 1), tmp_path / "a.json"
    schedgap("solve", file, "--method", "weak", "--out", out)
    done = schedgap("verify", file, out)
    assert done.code == 0
    assert done.out == "no schedule\nbound 0.75: certified (toy)\n"
    out.write_text(json.dumps(json.loads(out.read_text()) | {"bound": 0.9}))
    assert schedgap("verify", file, out).code == 1
    (tmp_path / "a.certificate.json").unlink()
    done = schedgap("verify", file, out)
    assert done.code == 2 and "a.json: schedule: nothing to verify" in done.line


def test_a_certificate_that_is_none_is_named(schedgap: Call, tmp_path: Path) -> None:
    file, out = tmp_path / "toy.json", tmp_path / "a.json"
    schedgap("generate", "hare", "--preset", "toy", "--out", file)
    assert schedgap("solve", file, "--method", "fluid-lp", "--out", out).code == 0
    beside = tmp_path / "a.certificate.json"
    data = json.loads(beside.read_text())
    data["certificate"]["kind"] = "magic"
    beside.write_text(json.dumps(data))
    done = schedgap("verify", file, out)
    assert done.code == 2 and done.line.startswith(f"{beside}: certificate.kind: ")


@posix
def test_a_killed_method_says_so_beside_its_schedule(schedgap: Call, toy_file: Call) -> None:
    done = schedgap("solve", toy_file(3, 1), "--method", "crash", "--json")
    assert done.code == 0 and done.json["objective"] == 1
    assert done.line.endswith("t.json: crash: feasible: SIGSEGV")


def test_compare_shows_ratios_and_exits_70_on_a_contradiction(
    schedgap: Call, toy_file: Call, tmp_path: Path
) -> None:
    file, folder = toy_file(3, 1), tmp_path / "r"
    one = ("compare", file, "--workers", 1, "--run", folder, "--methods")
    done = schedgap(*one, "exact,first")
    assert done.code == 0 and "3.0000" in done.out
    assert done.err.splitlines()[0] == "schedgap: 0 of 2 tasks are done"  # one line per task
    assert done.err.splitlines()[2].startswith("schedgap: 2/2 t: ")
    document = schedgap(*one, "exact,first", "--json").json
    assert [row["method"] for row in document["summary"]] == ["scan", "first"]
    assert document["contradictions"] == []
    done = schedgap(*one, "past")
    assert done.code == 70
    assert "contradiction: t: past claims the bound 1.25, scan has a schedule of 1" in done.err
    assert len(list((folder / "tasks").glob("[!.]*.json"))) == 3


def test_a_stored_run_is_shown_verified_and_compared(
    schedgap: Call, toy_file: Call, tmp_path: Path
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    line = ("compare", toy_file(3, 1), "--workers", 1, "--methods", "exact,first", "--run")
    shown = schedgap(*line, first).out.splitlines()[0:3]
    assert schedgap(*line, second).code == 0
    assert schedgap("show", first).out.splitlines()[0:3] == shown
    assert schedgap("verify", first).out == "2 tasks: no violations found\n"
    for name in ("results", "summary", "ratios", "pairs", "times", "virtual-best", "integrals",
                 "gaps", "progress", "profile"):  # fmt: skip
        lines = schedgap("table", first, "--of", name).out.splitlines()
        assert len(lines) >= 2 and "," in lines[0], name
    assert r"\begin{tabular}" in schedgap("table", first, "--format", "latex").out
    markdown = tmp_path / "summary.md"
    assert schedgap("table", first, "--format", "markdown", "--out", markdown).out == ""
    assert markdown.read_text().startswith("|")
    for wrong in (("--of", "sumary"), ("--format", "cvs"), ("--format", "parquet")):
        assert schedgap("table", first, *wrong).code == 2
    done = schedgap("diff", first, second)
    assert done.code == 0 and "2 tasks in both runs, 0 differences" in done.out
    (file,) = (
        each
        for each in (second / "tasks").glob("[!.]*.json")
        if json.loads(each.read_text())["method"] == "first"
    )
    record = json.loads(file.read_text())
    record["solution"]["objective"] = 2.0
    file.write_text(json.dumps(record))
    done = schedgap("diff", first, second)
    assert done.code == 1 and "objective" in done.out
    done = schedgap("verify", second)
    assert done.code == 1 and "t: first: objective" in done.out and "2 tasks: 1 wrong" in done.out
    assert schedgap("verify", second, "--json").json["violations"]
    done = schedgap("verify", toy_file(3, 1))
    assert done.code == 2 and "need an instance and its solution, or a run folder" in done.line


@posix
def test_compare_names_what_failed(schedgap: Call, toy_file: Call, tmp_path: Path) -> None:
    done = schedgap(
        "compare", toy_file(3, 1), "--workers", 1, "--run", tmp_path / "r",
        "--methods", "exact,fails,crash,picky,partial",
    )  # fmt: skip
    assert done.code == 0
    said = "ValueError: a bug of ours (toy_family.py, line "
    assert f"t: fails: error: family toy: method fails: {said}" in done.err
    assert "t: crash: crash: SIGSEGV\n" in done.err
    assert "/5 t: crash: crash, feasible, 1, " in done.err
    assert "t: partial: no schedule: 1 of 2 jobs left\n" in done.err
    lines = [line for line in done.err.splitlines() if "reference task" not in line]
    assert len(lines) == 1 + 5 + 3  # progress, then three remarks


def test_report_writes_its_page_where_it_is_told(
    schedgap: Call, toy_file: Call, tmp_path: Path
) -> None:
    folder = tmp_path / "r"
    line = ("compare", toy_file(3, 1), "--workers", 1, "--methods", "exact,first", "--run", folder)
    assert schedgap(*line).code == 0
    assert schedgap("report", folder).out.strip() == str(folder / "report.html")
    assert schedgap("report", folder, "--out", tmp_path / "x.html").code == 0
    assert (tmp_path / "x.html").read_text().startswith("<!doctype html>")
    assert sg.report(str(folder)) == folder / "report.html"  # one folder needs no list
    done = schedgap("report", tmp_path)
    assert done.code == 2 and done.line.endswith("not a run folder: it has no folder 'tasks'")


def test_the_same_limit_from_python_and_from_the_command_line() -> None:
    assert inspect.signature(compare).parameters["time_limit"].default == DEFAULT_TIME_LIMIT


@posix
def test_a_reader_that_leaves_is_no_error(tmp_path: Path) -> None:
    done = subprocess.run(
        f"{sys.executable} -m schedgap methods --json | true; echo ${{PIPESTATUS[0]}}",
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        text=True,
    )
    assert done.stderr == "" and done.stdout.strip() in ("0", "141")


def test_what_is_registered_for_the_end_of_the_process_is_done() -> None:
    code = (
        "import atexit, sys; atexit.register(print, 'end'); sys.argv = ['schedgap', 'show', '-']; "
        "from schedgap.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2 and done.stdout == "end\n" and "not a run folder" in done.stderr


@posix
def test_ctrl_c_is_quiet_and_exits_130(tmp_path: Path, toy_file: Call) -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parents[1] / 'analysis')!r}); "
        "import toy_family; toy_family.register(); from schedgap.cli import main; main()"
    )
    line = [sys.executable, "-c", code, "solve", str(toy_file(3, 1)), "--method", "first"]
    process = subprocess.Popen(
        [*line, "--set", "pause=30", "--set", f"log={tmp_path / 'log'}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    deadline = time.monotonic() + 20
    while not (tmp_path / "log").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=10)
    assert (process.returncode, out, err) == (130, b"", b"")


@posix
@pytest.mark.parametrize("blow", ["SIGINT", "SIGKILL"])
def test_no_worker_outlives_a_comparison(tmp_path: Path, blow: str) -> None:
    """Two workers, on real instances; what is done is kept."""
    folder = tmp_path / "r"
    arguments = ["compare", "quick", "--methods", "srtf,big-m", "--workers", "2"]
    line = [sys.executable, "-m", "schedgap", *arguments, "--run", str(folder)]
    process = subprocess.Popen(line, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while len(list(folder.glob("tasks/[!.]*.json"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    below = psutil.Process(process.pid).children(recursive=True)
    assert len(below) >= 2
    os.kill(process.pid, getattr(signal, blow))
    _, err = process.communicate(timeout=20)
    assert process.returncode == (130 if blow == "SIGINT" else -9)
    assert b"Traceback" not in err
    _, alive = psutil.wait_procs(below, timeout=5)
    assert alive == []
    assert len(sg.Run(folder)) >= 2


def test_help_and_verify_load_little() -> None:
    names = ("numpy", "pandas", "plotly", "pyomo", "rich.console", "scipy")
    code = (
        "import sys, schedgap.cli, schedgap.analysis.results.verifying; "
        f"print([name for name in {names} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def _loaded_by_verify(name: str, method: str, schedgap: Call, folder: Path) -> list[str]:
    """The modules of a process that has verified what a method says of a family's toy."""
    file, found = folder / "a.json", folder / "b.json"
    schedgap("generate", name, "--preset", "toy", "--out", file)
    schedgap("solve", file, "--method", method, "--out", found)
    code = (
        "import sys; from schedgap.cli import app; "
        f"app(['verify', {str(file)!r}, {str(found)!r}], standalone_mode=False); "
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1].split()


@pytest.mark.parametrize("name", FAMILIES)
def test_verify_imports_no_search(name: str, schedgap: Call, tmp_path: Path) -> None:
    """Of a family: its table of methods, its facts, its rules, and the checker of certificates."""
    modules = _loaded_by_verify(name, "job-alone", schedgap, tmp_path)
    ours = [module for module in modules if module.startswith("schedgap.models.")]
    rooms = {module.split(".")[3] for module in ours if module.count(".") > 3}
    assert f"schedgap.models.{name}.rules" in modules
    assert not rooms & {"exact", "heuristics", "baselines"}
    assert not {"highspy", "ortools", "gurobipy", "cvxpy", "pyomo", "scipy"} & set(modules)


@pytest.mark.parametrize("name", FAMILIES)
def test_verifying_a_schedule_loads_no_numpy(name: str, schedgap: Call, tmp_path: Path) -> None:
    """A third of a start's time; only certificates of bounds are evaluated with arrays."""
    method = next(each["method"] for each in sg.methods(name) if each["kind"] == "baseline")
    modules = _loaded_by_verify(name, method, schedgap, tmp_path)
    assert f"schedgap.models.{name}.rules" in modules
    assert not {"numpy", "scipy", "pandas", "rich.console", "highspy", "pyomo"} & set(modules)


def test_control_characters_of_a_file_do_not_reach_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show.lines("2 violation(s)\nV1: \x1b[2J :smile: [red]")
    assert capsys.readouterr().out == "2 violation(s)\nV1: \\x1b[2J :smile: [red]\n"


def test_many_instances_are_generated_by_one_call(schedgap: Call, tmp_path: Path) -> None:
    folder, alone = tmp_path / "many", tmp_path / "alone.json"
    done = schedgap("generate", "hare", "--preset", "toy", "--seeds", "1-2,5", "--out", folder)
    assert done.code == 0 and len(done.out.splitlines()) == 3
    assert sorted(file.name for file in folder.iterdir()) == [
        "hare-toy-1.json", "hare-toy-2.json", "hare-toy-5.json"
    ]  # fmt: skip
    schedgap("generate", "hare", "--preset", "toy", "--seed", "5", "--out", alone)
    assert (folder / "hare-toy-5.json").read_bytes() == alone.read_bytes()


def test_version(schedgap: Call) -> None:
    assert schedgap("--version").out == f"schedgap {sg.__version__}\n"


def test_worst_case_prints_and_keeps_the_find(schedgap: Call, tmp_path: Path) -> None:
    words = "worst-case ring --method list-scheduling --jobs 3 --evaluations 15 --time-limit 500"
    done = schedgap(*words.split(), "--out", tmp_path / "find")
    assert done.code == 0
    assert "ratio to optimum" in done.out
    assert "seed 0, 15 evaluations" in done.out
    assert sg.load(tmp_path / "find" / "instance.json").meta["worst_case"]["ratio"][0] > 1
    again = schedgap(*words.split(), "--out", tmp_path / "find", "--json")
    assert again.json["confirmed"] is True


def test_worst_case_grid_is_a_table_of_pairs(schedgap: Call) -> None:
    words = "worst-case ring --method sjf-bco,lpt-pack --jobs 2 --evaluations 4 --grid --json"
    table = schedgap(*words.split()).json
    assert set(table) == set(table["sjf-bco"]) == {"sjf-bco", "lpt-pack"}
    assert table["sjf-bco"]["sjf-bco"] == 1


def test_worst_case_says_what_is_wrong_in_one_line(schedgap: Call) -> None:
    for words, text in (
        ("ring", "need --method"),
        ("ring --method sjf-bco --guarantee theorem_9", "no guarantee 'theorem_9'"),
        ("toy --method first", "does not say what a search may change"),
        ("ring --method a,b --grid --guarantee theorem_5", "--grid compares methods"),
        ("ring --method a,b --grid --preset small", "leave out --preset and --fixed"),
        ("ring --method a,b --grid --fixed arrival", "leave out --preset and --fixed"),
    ):
        done = schedgap("worst-case", *words.split())
        assert done.code == 2
        assert text in done.err
        assert len(done.err.splitlines()) == 1


def test_a_file_of_the_other_kind_is_named(schedgap: Call, toy_file: Call, tmp_path: Path) -> None:
    file, found = toy_file(3, 1), tmp_path / "solution.json"
    schedgap("solve", file, "--method", "first", "--out", found)
    for command in ("verify", "judge"):
        done = schedgap(command, file, file)
        assert done.code == 2 and done.err.endswith(f"{file}: an instance; need a solution\n")
        done = schedgap(command, found, file)
        assert done.code == 2 and done.err.endswith(f"{found}: a solution; need an instance\n")
    for arguments in (("solve", found, "--method", "first"), ("compare", found)):
        done = schedgap(*arguments)
        assert done.code == 2 and done.err.endswith(f"{found}: a solution; need an instance\n")
    done = schedgap("solve", file, "--method", "cmd:cat {instance}")
    assert done.code == 1 and "returned an instance: need a schedule" in done.err


def test_errors_of_the_parser_name_the_command_and_what_may_be_meant(schedgap: Call) -> None:
    done = schedgap("solve", "a.json", "--time-limt", 3)
    assert done.code == 2 and "(did you mean '--time-limit'" in done.err
    assert done.err.endswith("(see 'schedgap solve --help')\n")
    assert schedgap("solve").err.endswith("(see 'schedgap solve --help')\n")
    assert schedgap("solv").err.endswith("Did you mean 'solve'? (see 'schedgap --help')\n")
    done = schedgap("generate", "hare", "--set", "jbos=3", "--out", "a.json")
    assert done.code == 2 and done.err.endswith("(did you mean 'jobs'?)\n")
