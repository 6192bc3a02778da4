"""Benchmarks of engines: tasks, wrong answers, permutations, tables, files."""

import gzip
import importlib
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import NamedTemporaryFile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import schedgap as sg
from schedgap import show
from schedgap.analysis.benchmarks.answers import Checks, Reports
from schedgap.analysis.benchmarks.child import Order, built, solve_formulation
from schedgap.analysis.benchmarks.formulation import (
    DEFAULTS,
    Formulation,
    is_benchmarked,
    reserved,
)
from schedgap.analysis.comparing.bench import option
from schedgap.analysis.records.index import LEAST, NAME, Index
from schedgap.analysis.runners.request import Request
from schedgap.analysis.statistics.engine_files import TRACE, benchopt, paver
from schedgap.analysis.statistics.tables import instances
from schedgap.errors import ContradictionError, EngineUnavailableError, UsageError
from schedgap.models.family import family
from schedgap.solvers.children.clock import Clock
from schedgap.solvers.children.processes import cores
from schedgap.solvers.children.worker import PRELOAD
from schedgap.solvers.engines.availability import engine_status, require_loadable
from schedgap.solvers.engines.engine import Engine
from schedgap.solvers.engines.highs import solve_request
from schedgap.solvers.engines.registry import ENGINES
from schedgap.solvers.engines.solve import solve
from schedgap.solvers.programs.arrays import LinearProgram

# An engine of another package: it solves with HiGHS, and then lies as its option `lie` says.
LIAR = """
import time
from dataclasses import replace
from schedgap.solvers.engines.engine import Engine

def lie(program, request):
    from schedgap.solvers.engines.highs import solve_request
    kind = request.options.pop("lie", "")
    if kind == "bound alone":
        request._on_incumbent = None
    if kind == "fault":
        raise ValueError("a fault of the engine")
    if kind == "silent":
        return request.result("unknown", "silent")
    found = solve_request(program, request)
    off = None if found.values is None else found.values + 1.0  # breaks a row
    if kind.startswith("hang") and len(program.cost) > 9:  # not where its options are tried
        low, high = found.objective - 1.0, found.objective + 1.0
        wrong = "values" in kind or "earlier" in kind
        request.incumbent(off if wrong else found.values,
                          {"objective": low, "earlier": high}.get(kind.split()[-1]))
        if "earlier" in kind:  # one more, which is right and no better than the wrong one
            request.incumbent(found.values)
        request.bound(high if "bound" in kind else low)
        time.sleep(600)
    if kind == "reported objective":
        request.incumbent(found.values, found.objective + 1.0)
    if kind == "reported values":
        request.incumbent(off, found.objective + 1.0)
    if kind == "reported bound":
        request.bound(found.objective + 1.0)
    if kind == "reported no number":
        request.incumbent(found.values / 0.0)
    if kind == "reported too few":
        request.incumbent(found.values[1:])
    if kind == "objective":
        return replace(found, objective=found.objective - 1.0, bound=None, status="feasible")
    if kind == "worse objective":
        return replace(found, objective=found.objective + 1.0, bound=None, status="feasible")
    if kind == "bound alone":
        high = found.bound + 1.0
        return replace(found, bound=high, objective=None, values=None, status="unknown")
    if kind == "bound":
        return replace(found, bound=found.bound + 1.0, status="feasible")
    if kind == "infeasible":
        return replace(found, status="infeasible", objective=None, bound=None, values=None)
    if kind == "unbounded":
        return replace(found, status="unbounded", objective=None, bound=None, values=None)
    if kind == "values":
        return replace(found, values=off)
    if kind == "no values":
        return replace(found, values=None)
    return found

ENGINE = Engine("liar", "Liar", package="liar", module="liar", takes=("mixed-integer",), solve=lie)
BROKEN = Engine("broken", "Broken", package="liar", module="broken_native",
                takes=("mixed-integer",), solve=lie)
"""
BROKEN = 'raise OSError("\\nlibbroken.so.1: no such file\\nmore on it")'
LIES = (
    "objective",
    "worse objective",
    "bound",
    "bound alone",
    "infeasible",
    "unbounded",
    "values",
    "no values",
    "reported objective",
    "reported values",
    "reported bound",
    "reported no number",
    "reported too few",
)


@pytest.fixture(scope="module", name="toy")
def made_toy():
    return sg.generate("hare", preset="toy")


@pytest.fixture(scope="module", name="quick")
def made_quick():
    """An instance whose program an engine solves in a tenth of the time."""
    return sg.generate("dmlrs", preset="toy")


@pytest.fixture(scope="module", name="run")
def made_run(toy, tmp_path_factory):
    """Two engines, one that does not take the program, two orders of rows and columns."""
    return sg.bench(
        toy,
        models="paper",
        engines=["highs", "cp-sat", "highs:presolve=off"],
        permutations=2,
        time_limit=30,
        run=tmp_path_factory.mktemp("bench") / "run",
    )


@pytest.fixture(scope="module", name="liar")
def installed_liar(tmp_path_factory):
    """Install the engine that lies, and one whose native library is missing."""
    folder = tmp_path_factory.mktemp("liar")
    (folder / "liar.py").write_text(LIAR)
    (folder / "broken_native.py").write_text(BROKEN)
    facts = folder / "liar-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: liar\nVersion: 1.0\n")
    points = "[schedgap.engines]\nliar = liar:ENGINE\nbroken = liar:BROKEN\n"
    (facts / "entry_points.txt").write_text(points)
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    ENGINES.__dict__.pop("_installed", None)
    try:
        yield folder
    finally:
        sys.path.remove(str(folder))
        ENGINES.__dict__.pop("_installed", None)


@pytest.fixture(scope="module", name="lies")
def made_lies(quick, liar):
    """An engine that lies, and once not, next to the reference."""
    engines = ["liar", *(f"liar:lie={lie}" for lie in LIES)]
    return sg.bench(quick, models="paper", engines=engines, time_limit=30, run=liar / "run")


def of(run, **facts):
    """Return the records of a benchmark with these values."""
    return [
        each
        for each in run.records
        if each.formulation and all(getattr(each, name) == value for name, value in facts.items())
    ]


def test_each_task_is_verified_and_has_its_own_clock_log_and_statistics(run):
    for record in of(run, label=next(each.label for each in of(run, engine="highs"))):
        solution = record.solution
        best = run.brackets[record.instance.sha256, ""].best
        assert (solution.status, solution.objective, solution.bound) == ("optimal", best, best)
        assert solution.proof.kind == "engine" and record.certificate is None
        parts = record.build_seconds + record.engine_seconds
        assert solution.seconds == pytest.approx(parts, abs=1e-3)
        assert record.confirm_seconds == 0 and record.engine_cpu_seconds > 0
        assert record.statistics["columns"] > record.statistics["integers"] > 0
        assert record.statistics["nodes"] >= 0 and record.formulation == "big-m"
        assert (record.threads, record.workers) == (1, 1)
        if hasattr(os, "sched_setaffinity"):
            assert len(record.pinned) == 1
        log = run.folders[0].path / "logs" / record.log
        assert b"HiGHS" in gzip.decompress(log.read_bytes())
    assert {each.permutation for each in of(run, engine="highs")} == {0, 1}


def test_a_label_has_program_engine_version_and_changed_options(run):
    version = importlib.import_module("importlib.metadata").version("highspy")
    labels = {each.label for each in of(run, engine="highs")}
    assert labels == {f"paper@highs {version}", f"paper@highs {version} [presolve=off]"}


def test_an_engine_that_does_not_take_the_program_is_refused(run):
    records = of(run, engine="cp-sat")
    assert {each.outcome for each in records} == {"skipped"}
    assert all("continuous" in each.message for each in records)
    row = run.engines().set_index("engine").loc["cp-sat"]
    assert (row["refused"], row["n"], row["solved"]) == (2, 0, 0) and math.isnan(row["seconds"])


def test_an_engine_that_is_not_installed_is_a_cell_of_the_table(toy, monkeypatch):
    from schedgap.solvers.engines import availability

    known = availability.importlib.util.find_spec
    monkeypatch.setattr(
        availability.importlib.util,
        "find_spec",
        lambda name, *more: None if name == "pyscipopt" else known(name, *more),
    )
    run = sg.bench(toy, models="paper", engines="scip", reference="none", time_limit=20)
    row = run.engines().iloc[0]
    assert (row["refused"], row["repetitions"], row["note"]) == (1, 0, "not installed")


def test_an_engine_that_cannot_be_loaded_is_refused(quick, liar):
    run = sg.bench(quick, models="paper", engines="broken", reference="none", time_limit=20)
    row = run.engines().iloc[0]
    assert (row["refused"], row["failed"], row["n"]) == (1, 0, 0)
    assert row["note"] == "refused: cannot be loaded: libbroken.so.1: no such file"
    assert engine_status("broken") == "cannot be loaded"
    with pytest.raises(EngineUnavailableError, match="engine broken cannot be loaded: libbroken"):
        require_loadable("broken")
    assert PRELOAD["broken"] == "broken_native"


def test_the_reference_is_not_ranked_but_certifies_what_is_proved(run):
    frame = run.engines()
    assert not frame["method"].str.startswith("exact").any()
    row = frame[(frame["engine"] == "highs") & (frame["options"] == "")].iloc[0]
    assert (row["tasks"], row["found"], row["solved"], row["proved"]) == (2, 2, 2, 2)
    assert (row["wrong"], row["timeouts"], row["failed"], row["n"]) == (0, 0, 0, 1)
    assert row["repetitions"] == 2 and row["spread"] >= 1 and row["ratio"] >= 1
    every = instances(run).set_index("method")["repetitions"]
    assert every[row["method"]] == 2 and every["exact"] == 1
    assert row["best"] <= row["seconds"] <= row["par2"] + 1e-9
    alone = sg.bench(
        sg.generate("hare", preset="toy"), models="paper", engines="highs", reference="none"
    ).engines()
    assert (alone["solved"].iloc[0], alone["proved"].iloc[0]) == (1, 0)


def test_each_lie_is_counted_as_wrong_and_contradicts_nothing(lies):
    frame = lies.engines().set_index("options")
    assert (frame.loc["", "wrong"], frame.loc["", "solved"]) == (0, 1)
    for lie in LIES:
        row = frame.loc[f"lie={lie}"]
        assert (row["wrong"], row["solved"], row["proved"], row["found"]) == (1, 0, 0, 0), lie
        assert row["seconds"] == pytest.approx(30) and row["par2"] == pytest.approx(60)
    assert len(lies.wrong_answers) == len(LIES) and lies.contradictions == []
    assert any("states the objective" in text for text in lies.wrong_answers)


def test_of_an_engine_that_hangs_the_last_incumbent_counts_and_no_proof(quick, liar):
    engine = "liar:lie=hang"
    run = sg.bench(quick, models="paper", engines=engine, time_limit=1, run=liar / "hanging")
    (record,) = of(run)
    best = run.brackets[record.instance.sha256, ""].best
    assert (record.outcome, record.solution.status) == ("timeout", "feasible")
    assert record.solution.trace["limited"] is True
    assert record.solution.objective == best and record.solution.bound is None
    assert record.statistics["columns"] > 0 and record.build_seconds > 0
    row = run.engines().iloc[0]
    assert (row["timeouts"], row["found"], row["solved"], row["wrong"]) == (1, 1, 0, 0)
    assert row["seconds"] == pytest.approx(1)


def test_of_an_engine_that_hangs_what_it_has_reported_is_checked(quick, liar):
    lies = ("hang values", "hang objective", "hang bound", "hang earlier")
    engines = [f"liar:lie={lie}" for lie in lies]
    run = sg.bench(quick, models="paper", engines=engines, time_limit=1, reference="none",
                   workers=min(2, cores()), run=liar / "hanging-lies")  # fmt: skip
    frame = run.engines().set_index("options")
    assert list(frame["wrong"]) == [1, 1, 1, 1] and frame["found"].sum() == 0
    texts = ("break row", "states the objective", "the bound", "break row")
    for lie, said in zip(lies, texts, strict=True):
        assert said in next(each.message for each in of(run) if f"[lie={lie}]" in each.label)


PROGRAM = LinearProgram(
    [1.0, 2.0], [0.0, 0.0], [9.0, 9.0], [[1.0, 1.0]], [2.0], [9.0], [True, True]
)


@pytest.mark.parametrize(
    ("values", "value", "bound", "said"),
    [
        ([2.0, 1.0], 4.0, 2.0, ""),
        ([2.0, 0.0], 2.0, 2.0, "reported an incumbent of 20, and then states the objective 40"),
        ([2.0, 1.0], 4.0, 4.1, "reported the bound 41, and then states the objective 40"),
        ([2.0, 1.0], 4.0, 4.0 + 3e-4, ""),
        ([2.0, 1.0], 3.9, 2.0, "states the objective 39, but the values that it reported have 40"),
        ([1.0, 0.0], 1.0, 2.0, "the values that it reported break row 0 by 1"),
        ([10.0, 0.0], 10.0, 2.0, "break row 0 by 1"),
        ([-1.0, 3.0], 5.0, 2.0, "break bound of column 0 by 1"),
    ],
)
def test_what_an_engine_reports_is_checked_against_its_answer(values, value, bound, said):
    reports = Reports(bound=bound)
    reports.add(value, np.array(values))
    checks = Checks(PROGRAM, 10.0, True, "odd")
    if not said:
        checks.reports(reports, 4.0)
        return
    with pytest.raises(ContradictionError, match=said):
        checks.reports(reports, 4.0)


@pytest.mark.parametrize(("family", "better"), [("hare", -1.0), ("dmlrs", 1.0)])
def test_a_schedule_is_checked_against_what_is_stated(family, better):
    runner = Formulation("paper", "highs").prepare(sg.generate(family, preset="toy"), Request())
    for stated, bound in ((100.0 - better, 100.0 + better), (None, None)):
        runner.compare(100.0, stated, bound)
    runner.compare(None, 1.0, 1.0)
    with pytest.raises(ContradictionError, match="states the objective"):
        runner.compare(100.0, 100.0 + better)
    with pytest.raises(ContradictionError, match="reported the bound"):
        runner.compare(100.0, None, 100.0 - better)


def test_a_repeated_solve_has_the_options_of_the_first(toy, monkeypatch):
    given = []

    def noted(program, request):
        given.append(dict(request.options))
        request.options.clear()
        return solve_request(program, request)

    engine = Engine("noted", "Noted", package="highspy", module="json", takes=("mixed-integer",),
                    solve=noted, repeats=(("again", {"again": 1}),))  # fmt: skip
    monkeypatch.setitem(ENGINES._known, "noted", engine)
    monkeypatch.setitem(DEFAULTS, "noted", {"usual": 2})
    how = Formulation("paper", "noted", engine_options=(("own", 3),), confirm=True)
    with NamedTemporaryFile() as log:
        solve_formulation(
            lambda _: None, "schedgap.models.hare", toy, "big-m", how, 30, log.name, ()
        )
    assert given == [{"usual": 2, "own": 3}, {"usual": 2, "own": 3, "again": 1}]


def test_an_engine_without_an_answer_has_not_reached_its_limit(quick, liar, capsys):
    run = sg.bench(
        quick, models="paper", engines="liar:lie=silent", reference="none", time_limit=60
    )
    assert (run.engines().iloc[0]["wrong"], of(run)[0].outcome) == (0, "done")
    show.run(run, as_json=False)
    assert "no schedule: ended before any limit" in capsys.readouterr().err


def test_the_reason_of_a_failure_is_printed(quick, liar, capsys):
    run = sg.bench(quick, models="paper", engines="liar:lie=fault", reference="none", time_limit=60)
    show.benchmark(run, as_json=False)
    out, err = capsys.readouterr()
    assert "failed" in out.splitlines()[0]
    assert "paper@liar 1.0 [lie=fault]: error: " in err and "a fault of the engine" in err


def test_a_lie_does_not_touch_the_ratios_of_others(lies):
    exact = lies.table().set_index("method").loc["exact"]
    assert (exact["ratio_low"], exact["ratio_high"]) == (1, 1)


def test_a_wrong_answer_loses_against_every_right_one(lies):
    pairs = lies.engine_pairs()
    honest = [name for name in set(pairs["method"]) | set(pairs["other"]) if "lie" not in name]
    for row in pairs.to_dict("records"):
        if row["method"] in honest:
            assert (row["wins"], row["losses"]) == (1, 0)
        elif row["other"] in honest:
            assert (row["wins"], row["losses"]) == (0, 1)


@settings(max_examples=6)
@given(number=st.integers(1, 10**6))
def test_a_permutation_leaves_the_optimum_and_the_schedule_unchanged(number):
    toy = sg.generate("hare", preset="toy")
    made = built(family("hare"), toy, "time-indexed", narrow=True)
    order = Order.of(made.program, number)
    permuted = order.apply(made.program)
    assert sorted(permuted.cost) == sorted(made.program.cost)
    first, second = (
        solve(program, "highs", clock=Clock(30)) for program in (made.program, permuted)
    )
    assert first.status == second.status == "optimal"
    assert second.objective == pytest.approx(first.objective)
    values = order.back(second.values)
    assert made.program.objective(values) == pytest.approx(second.objective)
    body = made.program.matrix @ values
    assert (body >= made.program.row_lower - 1e-6).all()
    assert (body <= made.program.row_upper + 1e-6).all()


NARROW = [
    (owner.name, key)
    for owner in map(family, ("hare", "elastic", "ring"))
    for key, program in owner.programs.items()
    if program.narrow and is_benchmarked(owner, key)
]


@pytest.mark.parametrize(("name", "key"), NARROW)
def test_a_narrow_program_gives_a_schedule_as_good_as_the_full_one(name, key):
    run = sg.bench(name, preset="toy", models=key, engines="highs", narrow=True, time_limit=120)
    row = run.engines().iloc[0]
    if "quadratic rows" not in row["note"]:
        assert (row["proved"], row["failed"], row["wrong"]) == (1, 0, 0)


def test_quadratic_rows_are_permuted_with_their_columns():
    instance = sg.generate("elastic", preset="toy")
    made = built(family("elastic"), instance, "paper-miqcp", narrow=True)
    assert made.quadratics
    order = Order.of(made.program, 3)
    point = np.random.default_rng(0).random(len(made.program.cost))
    moved = point[order.columns]

    def value(row, x):
        product = zip(row.coefficient, row.first, row.second, strict=True)
        linear = zip(row.linear, row.columns, strict=True)
        return sum(c * x[i] * x[j] for c, i, j in product) + sum(c * x[i] for c, i in linear)

    for row in made.quadratics:
        assert value(order.quadratic(row), moved) == pytest.approx(value(row, point))
    assert order.back(moved) == pytest.approx(point)


def test_what_is_in_the_folder_is_not_run_again(run, toy):
    told = []
    sg.bench(
        toy,
        models="paper",
        engines=["highs", "cp-sat", "highs:presolve=off"],
        permutations=2,
        time_limit=30,
        run=run.folders[0].path,
        on_record=lambda record, done, total: told.append((record, done, total)),
    )
    assert told == [(None, 7, 7)]


def test_a_killed_benchmark_continues(tmp_path):
    terms = {
        "targets": "dmlrs", "preset": "toy", "models": "paper", "engines": ["highs"],
        "permutations": 4, "time_limit": 30, "run": str(tmp_path / "run"),
    }  # fmt: skip
    text = f"import schedgap as sg\nsg.bench(**{terms!r})\n"
    process = subprocess.Popen([sys.executable, "-c", text])
    tasks = tmp_path / "run" / "tasks"
    while not (found := list(tasks.glob("*.json")) if tasks.is_dir() else []):
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = {file: file.stat().st_mtime_ns for file in found}
    run = sg.bench(**terms)
    assert len(of(run)) == 4 and {each.outcome for each in of(run)} == {"done"}
    assert all(file.stat().st_mtime_ns == when for file, when in before.items())
    assert len(list(tasks.glob("*.json"))) == len(run)  # nothing was run again
    assert all((tmp_path / "run" / "logs" / each.log).is_file() for each in of(run))


def test_cores_are_reserved_once():
    with reserved(1) as first:
        if not first:
            pytest.skip("this system does not bind processes")
        with reserved(1) as second:
            assert not set(first) & set(second)
        with reserved(10**6) as none:
            assert none == ()
    with reserved(1) as again:
        assert again == first


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"engines": "highs:presolv=off"}, "did you mean presolve"),
        ({"engines": "gurobi:threads=2"}, "a benchmark has settings of its own"),
        (
            {"engines": "gurobi", "engine_options": {"gurobi": {"TimeL*": 9}}},
            "option gurobi:TimeL*",
        ),
        ({"engines": "highs:Random_Seed=2"}, "a benchmark has settings of its own"),
        ({"engines": "hihgs"}, "did you mean 'highs'"),
        ({"engines": "clarabel"}, "no programs with integer variables"),
        ({"models": "fluid-lp"}, "is a relaxation: choose from big-m, time-indexed"),
        ({"models": "big"}, "no program 'big'"),
        ({"threads": 10**4}, "this process may use"),
        ({"threads": 0}, "threads 0: need an integer from 1 to 10000"),
        ({"threads": []}, "threads: need at least one"),
        ({"seeds": []}, "seeds: need at least one"),
        ({"engine_seeds": -1}, "engine seeds -1: need an integer"),
        ({"engines": []}, "engines: need at least one"),
        ({"models": []}, "models: need at least one"),
        ({"targets": "har"}, "no family has this name: choose one of hare"),
        ({"workers": 10**4}, "tasks at a time"),
        ({"engines": "highs", "engine_options": {"scip": {"a": 1}}}, "not one of highs"),
        ({"reference": "nothing"}, "no method 'nothing'"),
        ({"permutations": 0}, "permutations"),
    ],
)
def test_bad_arguments_are_refused_before_anything_runs(arguments, text, tmp_path):
    with pytest.raises(UsageError) as caught:
        sg.bench(**{"targets": "hare", "preset": "toy", "run": tmp_path / "run"} | arguments)
    assert text in str(caught.value) and not (tmp_path / "run").exists()


def test_a_preset_needs_a_family(toy):
    with pytest.raises(UsageError, match="only with a family"):
        sg.bench(toy, preset="toy")


def test_options_of_engines_are_typed():
    assert [option(text) for text in ("a=1", "b=0.5", "c=off", "d=true")] == [
        ("a", 1), ("b", 0.5), ("c", "off"), ("d", True),
    ]  # fmt: skip
    with pytest.raises(UsageError, match="need NAME=VALUE"):
        option("a")


def test_other_tables_and_the_report_work_without_a_reference(toy, tmp_path):
    run = sg.bench(toy, models="paper", engines="highs", reference="none", run=tmp_path / "run")
    for table in (run.table, run.summary, run.ratios, run.pairs, run.times, run.virtual_best,
                  run.integrals, run.gaps, run.progress, run.profile):  # fmt: skip
        assert table() is not None
    assert run.verify() == []
    page = run.report().read_text()
    assert 'id="engines"' in page and f"logs/{of(run)[0].log}" in page


def test_parts_of_the_table_compare_within_themselves(run):
    assert set(run.engines("model")["within"]) == {"paper"}
    assert set(run.engines("engine")["within"]) == {"highs", "cp-sat"}
    assert run.engines("size")["within"].str.endswith("nonzeros").all()
    assert (run.engines("model", shift=1.0)["n"] <= 1).all()


def test_paver_gets_a_trace_file_for_each_configuration(run, lies):
    files = paver(run)
    assert len(files) == 3
    text = next(text for name, text in files.items() if "presolve" in name)
    head, rows = text.splitlines()[:8], text.splitlines()[8:]
    assert head[2] == "* " + ",".join(TRACE) and "* TIMELIMIT,30" in head
    values = dict(zip(TRACE, rows[0].split(","), strict=True))
    assert (values["ModelStatus"], values["SolverStatus"], values["Direction"]) == ("1", "1", "0")
    assert values["InputFileName"].startswith("hare-toy~s0p") and values["MIP"] == "highs"
    assert float(values["ObjectiveValue"]) == run.brackets[of(run)[0].instance.sha256, ""].best
    wrong = [row for name, text in paver(lies).items() if "lie=" in name
             for row in text.splitlines() if not row.startswith("*")]  # fmt: skip
    statuses = [dict(zip(TRACE, row.split(","), strict=True)) for row in wrong]
    assert {(each["ModelStatus"], each["ObjectiveValue"]) for each in statuses} == {("13", "NA")}


def test_benchopt_gets_its_columns(run):
    frame = benchopt(run)
    assert {"objective_value", "time", "solver_name", "data_name", "idx_rep"} <= set(frame.columns)
    assert sorted(frame[frame["p_solver_engine"] == "cp-sat"]["idx_rep"]) == [0, 1]


def test_the_index_keeps_what_a_benchmark_records(run, tmp_path):
    record = of(run, engine="highs")[0]
    data = record.model_dump(mode="json")
    tasks = tmp_path / "tasks"
    tasks.mkdir()
    import json

    for number in range(LEAST + 1):
        file = tasks / f"{record.task}-{number:012d}.json"
        file.write_text(json.dumps(data | {"key": file.stem}))
    Index(tmp_path).rows()
    assert (tmp_path / NAME).exists()
    again = Index(tmp_path).rows()[0]
    for name in ("formulation", "threads", "workers", "permutation", "log", "statistics"):
        assert getattr(again, name) == getattr(record, name), name
    assert again.pinned == [*record.pinned]


def test_threads_and_confirmation_are_recorded(toy, tmp_path):
    run = sg.bench(toy, models="paper", engines="highs", confirm=True, reference="none",
                   time_limit=30, run=Path(tmp_path, "run"))  # fmt: skip
    (record,) = of(run)
    assert record.label.endswith("[confirm]") and record.statistics["confirm"]
    assert record.confirm_seconds > 0
    assert record.solution.seconds == pytest.approx(
        record.build_seconds + record.engine_seconds, abs=1e-3
    )
