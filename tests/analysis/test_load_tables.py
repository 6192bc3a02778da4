"""Ratios by trace and load: table, terminal, report, and the command `compare traces`."""

import io
import math
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from test_report import store
from toy_family import toy

from schedgap.analysis.comparing.compare import compare
from schedgap.analysis.comparing.run import Run
from schedgap.analysis.intervals import interval_text
from schedgap.analysis.report.loads import load_figure, load_figures
from schedgap.analysis.report.page import write_report
from schedgap.analysis.statistics.loads import FIRST_COME, METHODS, by_load, matrix, paper_algorithm
from schedgap.cli import run as command
from schedgap.instances.families import FAMILIES
from schedgap.instances.traces.matrix import trace_instances
from schedgap.models.family import family

DATA = Path(__file__).parents[1] / "data" / "traces"
CHOSEN = ["pd-ors", "fifo", "density", "sjf-bco", "first-fit", "job-alone"]


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("traces")
    shutil.copy(DATA / "philly.csv", place)
    (place / "notes.md").write_text("not a trace\n")
    return place


@pytest.fixture(scope="module")
def run(traces: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a run of dmlrs and ring on the file under two loads."""
    made = trace_instances(traces, families=["dmlrs", "ring"], loads=(0.5, 1), jobs=4)
    assert len(made) == 4
    folder = tmp_path_factory.mktemp("run") / "r"
    return compare(made, run=folder, methods=CHOSEN, time_limit=30, workers=1)


def test_trace_and_load_are_columns(run: Run) -> None:
    frame = run.table()
    assert set(frame["trace"]) == {"philly"} and set(frame["load"]) == {0.5, 1.0}
    slotted = frame[frame["family"] == "dmlrs"]
    assert (abs(slotted["load_reached"] / slotted["load"] - 1) <= 0.05).all()
    assert set(slotted["instance"]) == {"dmlrs-philly-load0.5", "dmlrs-philly-load1"}


def test_the_table_has_the_papers_algorithm_the_first_come_and_the_best(run: Run) -> None:
    frame = run.loads()
    rows = {(r["family"], r["load"], r["role"]): r for r in frame.to_dict("records")}
    assert len(rows) == len(frame) == 2 * 2 * 3
    whole = run.table().set_index(["family", "load", "method"])
    for (name, load, role), row in rows.items():
        wanted = {"paper": {"dmlrs": "pd-ors", "ring": "sjf-bco"}[name]}
        wanted["fifo"] = {"dmlrs": "fifo", "ring": "first-fit"}[name]
        same = whole.loc[(name, load)]
        tried = same[same["kind"].isin(["algorithm", "baseline"])]
        assert row["method"] == wanted.get(role, row["method"])
        assert row["low"] == pytest.approx(tried.loc[row["method"], "ratio_low"])
        assert row["high"] == pytest.approx(tried.loc[row["method"], "ratio_high"])
        if role == "best":
            assert row["low"] == pytest.approx(tried["ratio_low"].min())
        assert row["instances"] == row["schedules"] == 1


def test_repetitions_count_once_and_a_refuted_claim_is_no_known_optimum(
    tmp_path: Path,
) -> None:
    """Of two instances, one has its record twice, and one a bound that a schedule refutes."""
    for place, (best, bound) in enumerate([(10.0, 10.0), (10.0, 20.0)]):
        load = {"load": {"asked": 1.0, "reached": 1.0}, "trace": "t"}
        instance = toy(20 + 20 * place, 10, name=f"i{place}").replace(meta=load)
        store(tmp_path, instance, "first", objective=20.0 + 20 * place)
        store(tmp_path, instance, "scan", kind="exact", objective=best, bound=bound, place=1,
              status="optimal")  # fmt: skip
        if not place:
            store(tmp_path, instance, "first", objective=20.0, key="again")
    row = Run(tmp_path).loads().iloc[0]
    assert row[["role", "method", "instances", "schedules"]].tolist() == ["paper", "first", 2, 2]
    assert row["low"] == 3 and row["closed"] == 1


def test_the_matrix_has_a_column_for_each_load(run: Run) -> None:
    shown = matrix(by_load(run))
    assert list(shown.columns) == ["family", "method", "trace", "load 0.5", "load 1"]
    assert list(shown["method"]) == ["pd-ors", "fifo", "best", "sjf-bco", "first-fit", "best"]
    assert (shown["trace"] == "philly").all()
    assert all(cell != "-" for cell in shown.to_numpy().ravel())


def test_a_star_says_that_all_optima_are_known() -> None:
    row = {
        "family": "hare", "trace": "t", "load": 1.0, "reached": 1.0, "role": "paper",
        "method": "hare", "instances": 2, "closed": 2, "schedules": 2, "low": 1.25, "high": 1.25,
    }  # fmt: skip
    other = row | {"load": 2.0, "closed": 1, "high": 1.5}
    shown = matrix(pd.DataFrame([row, other]))
    assert shown["load 1"][0] == "1.2500*" and shown["load 2"][0] == "1.2500 to 1.5000"


def test_the_best_has_a_schedule_of_every_instance_and_obeys_all_rules() -> None:
    facts = [  # instance, load reached, method, kind, low, high, outside, problem
        ("a", 0.8, "hare", "algorithm", 2.0, 2.0, "", ""),
        ("b", 1.2, "hare", "algorithm", 1.0, 1.5, "", ""),
        ("a", 0.8, "list", "baseline", 1.0, 1.0, "", ""),
        ("a", 0.8, "gavel-fifo", "baseline", 3.0, 3.0, "", ""),
        ("b", 1.2, "gavel-fifo", "baseline", 2.0, 3.0, "", ""),
        ("a", 0.8, "exact", "exact", 1.0, 1.0, "", ""),
        ("a", 0.8, "srtf", "baseline", None, None, "7", ""),
        ("b", 1.2, "srtf", "baseline", None, None, "7", ""),
        ("b", 1.2, "fifo", "baseline", 1.0, 1.0, "", "fixed"),
    ]
    names = ["instance", "load_reached", "method", "kind", "ratio_low", "ratio_high", "outside",
             "problem"]  # fmt: skip
    frame = pd.DataFrame(facts, columns=names).assign(family="hare", trace="t", load=1.0)
    each = frame.drop(columns=["load_reached", "trace", "load"]).assign(result="feasible")
    brackets = {("A", ""): Bracket(closed=True), ("B", ""): Bracket(closed=False)}
    given = Given({"table": frame, "instances": each}, {"A": "a", "B": "b"}, brackets)
    by_role = by_load(given).set_index("role")  # type: ignore[arg-type]
    assert by_role["method"].to_dict() == {"paper": "hare", "fifo": "gavel-fifo", "best": "hare"}
    assert by_role.loc["paper", ["low", "high", "schedules"]].tolist() == [1.5, 1.75, 2]
    assert by_role.loc["best", ["instances", "closed"]].tolist() == [2, 1]
    assert by_role["reached"].tolist() == pytest.approx([1.0] * 3)  # mean over instances
    brackets["B", ""].closed = True
    assert set(by_load(given)["closed"]) == {2}  # type: ignore[arg-type]
    each.loc[each["method"] == "hare", "result"] = "skipped"
    assert "paper" not in set(by_load(given)["role"])  # type: ignore[arg-type]


@dataclass
class Bracket:
    """What is known of the optimum of an instance."""

    closed: bool


@dataclass
class Given:
    """A run whose tables are known."""

    tables: dict[str, pd.DataFrame]
    names: dict[str, str]
    brackets: dict[tuple[str, str], Bracket]


def test_a_run_without_loads_has_an_empty_table(hare_record: Run) -> None:
    frame = by_load(hare_record)
    assert frame.empty and load_figures(frame, "hare") == []


@pytest.fixture
def hare_record(tmp_path: Path) -> Run:
    from schedgap.instances.generate import generate

    return compare(generate("hare"), run=tmp_path / "r", methods=["list"], workers=1)


def test_the_report_draws_the_ratios_by_load(run: Run, tmp_path: Path) -> None:
    frame = by_load(run)
    rows = frame[frame["family"] == "dmlrs"]
    figure = load_figure(rows)
    assert [trace.name for trace in figure.data] == [
        "pd-ors, philly", "fifo, philly", "the best, philly",
    ]  # fmt: skip
    for trace, role in zip(figure.data, ("paper", "fifo", "best"), strict=True):
        points = rows[rows["role"] == role]
        assert list(trace.x) == pytest.approx([0.5, 1.0], rel=0.02)
        assert list(trace.y) == list(points["low"])
        ends = [low + up for low, up in zip(trace.y, trace.error_y.array, strict=True)]
        assert ends == pytest.approx(list(points["high"]))
        texts = map(interval_text, points["low"], points["high"])
        assert all(a in b for a, b in zip(texts, trace.hovertext, strict=True))
    ((key, title, _, picture),) = load_figures(frame, "dmlrs")
    assert key == "loads-dmlrs" and title == "Ratios by offered load."
    table = pd.read_csv(io.StringIO(picture["csv"]))
    assert len(table) == 6 and set(table["role"]) == {"paper", "fifo", "best"}
    page = write_report(run.folders[0].path, tmp_path / "page.html").read_text(encoding="utf-8")
    assert 'data-figure="loads-dmlrs"' in page and 'data-figure="loads-ring"' in page


@pytest.mark.parametrize("name", FAMILIES)
def test_the_methods_of_traces_have_each_role(name: str) -> None:
    kinds: Mapping[str, str] = {each.name: each.kind for each in family(name).methods}
    here = [method for method in METHODS if method in kinds]
    assert "exact" in here and paper_algorithm(name) in here
    assert FIRST_COME.get(name, "fifo") in here
    assert len(here) >= 4  # one of them is a heuristic of ours


# --- the command ---------------------------------------------------------------------------------


def test_compare_traces_prints_the_matrix(
    traces: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["compare", "traces", "--traces-from", str(traces), "--run", str(tmp_path / "r")]
    words += ["--families", "hare", "--loads", "1", "--jobs", "2", "--seeds", "0-1"]
    assert command([*words, "--methods", "list,gavel-fifo", "--workers", "1"]) == 0
    said = capsys.readouterr()
    assert f"{traces / 'notes.md'}: not recognised as a trace, left out" in said.err
    assert "load 1" in said.out and "mean ratios by offered load" in said.out
    stored = Run(tmp_path / "r").table()
    assert set(stored["instance"]) == {"hare-philly-seed0-load1", "hare-philly-seed1-load1"}
    assert command(["table", str(tmp_path / "r"), "--of", "loads"]) == 0
    table = capsys.readouterr().out.splitlines()
    assert table[0].startswith("family,trace,load,reached,role,method")
    assert len(table) == 3  # first come, first served, and the best


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["traces"], "traces: need --traces-from DIR"),
        (["x.json", "--loads", "1"], "--loads: only with --traces-from"),
        (["x.json", "--traces-from", "."], "--traces-from: need the target 'traces'"),
        (["traces", "--traces-from", "DIR", "--loads", "1,y"], "option load=y: need a number"),
        (["traces", "--traces-from", "DIR", "--seeds", "z"], "--seeds z: need numbers"),
        (["traces", "--traces-from", "no-such"], "no-such: not a folder"),
        (["traces", "--traces-from", "DIR", "--families", "hair"], "no family 'hair'"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(
    words: list[str],
    message: str,
    traces: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = [str(traces) if word == "DIR" else word for word in words]
    assert command(["compare", *given, "--run", str(tmp_path / "r")]) == 2
    said = capsys.readouterr()
    lines = [line for line in said.err.splitlines() if "not recognised" not in line]
    assert len(lines) == 1 and message in lines[0]
    assert not (tmp_path / "r").exists() and said.out == ""


def test_the_page_has_the_numbers_of_its_data() -> None:
    """Each row of the table in docs/traces.md, from docs/traces/loads.csv."""
    docs = Path(__file__).parents[2] / "docs"
    page = (docs / "traces.md").read_text(encoding="utf-8").splitlines()
    frame = pd.read_csv(docs / "traces/loads.csv")
    for (name, trace), group in frame.groupby(["family", "trace"]):
        by = {(row["role"], row["load"]): row for row in group.to_dict("records")}
        roles = [(role, load) for role in ("paper", "fifo", "best") for load in (0.5, 1.0, 2.0)]
        cells = [_text(by[each]) if each in by else "-" for each in roles]
        assert f"| {name} | {trace} | {' | '.join(cells)} |" in page
    assert sum(line.startswith(f"| {name} | ") for name in FAMILIES for line in page) >= 25


def _text(row: Mapping[Any, Any]) -> str:
    star = "*" if row["closed"] == row["instances"] else ""
    low, high = row["low"], row["high"]
    if low == high:
        return f"{low:.4f}{star}"
    return f"{math.floor(100 * low) / 100:.2f}-{math.ceil(100 * high) / 100:.2f}{star}"
