"""Tables of a run: copies, what is left out, guarantees and numbers as text."""

import math
from pathlib import Path

import pandas as pd
import pytest
from test_comparisons import exact, row, store

from schedgap.analysis.comparing.run import Run
from schedgap.analysis.records.folder import Folder
from schedgap.analysis.statistics.export import export
from schedgap.analysis.statistics.readable import _guarantee_text, as_html, readable
from schedgap.analysis.statistics.summary import _guarantees
from schedgap.analysis.statistics.tables import changed_options
from schedgap.models.family import family

NAN, INF = math.nan, math.inf


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return a run of two instances; `luck` was tried on one of them."""
    exact(tmp_path, "a", "b")
    store(tmp_path, "a", "first", 12.0)
    store(tmp_path, "b", "first", 20.0)
    store(tmp_path, "a", "luck", 11.0)
    store(tmp_path, "a", "able", 15.0)
    store(tmp_path, "b", "able", outcome="skipped")
    return Run(tmp_path)


def test_a_table_is_a_copy_and_another_question_another_table(run: Run) -> None:
    for table in (run.table, run.ratios, run.summary):
        found = table()
        found["extra"] = 1
        assert "extra" not in table()
    assert row(run.summary(), method="first")["n"] == 1
    assert row(run.summary(common=False), method="first")["n"] == 2
    assert row(run.summary(methods=["scan", "first"]), method="first")["n"] == 2
    assert set(run.summary(by_preset=False)["preset"]) == {""}
    assert row(run.summary(), method="first")["n"] == 1


def test_tables_of_an_empty_run_hold_texts(tmp_path: Path) -> None:
    """An expression on a column of texts means the same before the first task has ended."""
    Folder(tmp_path).create()
    empty = Run(tmp_path)
    for table in (empty.table(), empty.ratios(), empty.engine_tasks()):
        assert len(table) == 0
        assert table["instance"].str.len().tolist() == table["method"].str.len().tolist() == []


def test_skipped_tasks_are_not_counted_and_unknown_methods_come_last(run: Run) -> None:
    summary = run.summary()
    assert summary["method"].tolist() == ["scan", "first", "luck", "able"]
    assert row(summary, method="able")[["tasks", "instances", "skipped"]].tolist() == [1, 1, 1]


def test_a_ratio_that_equals_its_guarantee_does_not_exceed_it(run: Run) -> None:
    ratios = run.ratios()
    first = ratios[ratios["method"] == "first"].set_index("instance")
    assert first["guarantee"].tolist() == [2.0, 2.0] and first.loc["b", "low"] == 2.0
    assert first["within"].tolist() == [True, True] and not first["beyond"].any()


def test_a_method_that_is_no_more_has_no_guarantee(run: Run) -> None:
    """As in the run of an older version, which had other methods and options."""
    ratios = run.ratios()
    assert set(ratios.loc[ratios["guarantee"].notna(), "method"]) == {"first"}
    assert "able" in set(ratios["method"]) & set(run.summary()["method"])
    (able, *_) = (row for row in run.rows if row.method == "able")
    assert changed_options(able) is None
    ring = able._replace(method="sjf-bco", family="ring", instance="a", sha256="0" * 64)
    assert changed_options(ring) == {}
    usual = {each.name: each.default for each in family("ring").method("sjf-bco").options}
    assert changed_options(ring._replace(options=usual)) == {}
    for options, found in (({"kappa": 2}, {"kappa": 2}), ({"kappa": "no number"}, None)):
        assert changed_options(ring._replace(options=options)) == found


def test_what_lies_outside_the_program_is_in_no_comparison(tmp_path: Path) -> None:
    exact(tmp_path, "a")
    progress = [(0.5, 9.0, None)]
    store(tmp_path, "a", "weak", 9.0, kind="baseline", relaxed=["2c"], progress=progress)
    found = Run(tmp_path)
    assert found.pairs().empty
    assert found.integrals()["method"].tolist() == ["scan"]
    assert found.profile()["method"].tolist() == ["scan"]
    exact(tmp_path, "b")
    store(tmp_path, "b", "weak", 10.0, kind="baseline", seconds=5.0)  # all rules, on another one
    mixed = row(Run(tmp_path).integrals(), method="weak")
    assert mixed["primal_low"] == pytest.approx((10 + 5) / 2)


def test_an_incumbent_does_not_become_worse(tmp_path: Path) -> None:
    exact(tmp_path, "a")
    progress = [(2.0, 12.5, None), (1.0, 20.0, None), (3.0, 16.0, None)]
    store(tmp_path, "a", "first", 12.5, seconds=4.0, progress=progress)
    found = row(Run(tmp_path).integrals(), method="first")
    assert found["primal_low"] == pytest.approx(1 + 1 / 2 + 8 / 5)  # nothing, 20, 12.5


# --- guarantees ------------------------------------------------------------------------------


def test_guarantees_of_instances_are_put_together() -> None:
    facts = [  # instance, guarantee, holds, within, beyond
        ("a", 2.0, True, True, False), ("a", 2.5, True, False, False),
        ("b", 4.0, False, None, True), ("c", None, False, None, False),
        ("d", 3.0, False, None, True),
    ]  # fmt: skip
    names = ["instance", "guarantee", "holds", "within", "beyond"]
    frame = pd.DataFrame(facts, columns=names).assign(family="toy", preset="p", method="m")
    frame["guarantee"] = frame["guarantee"].astype(float)
    found = _guarantees(frame).iloc[0]
    assert found[["guarantee_low", "guarantee_high"]].tolist() == [2.0, 4.0]
    assert found["holds"] == pytest.approx(1 / 4)
    assert found[["exceeded", "beyond"]].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("low", "high", "holds", "exceeded", "beyond", "text"),
    [
        (2, 2, 1, 0, 0, "2"), (2, 3, 1, 0, 0, "2 to 3"), (2, 2, 1, 1, 0, "2 EXCEEDED"),
        (2, 2, 0.5, 1, 1, "2 EXCEEDED"), (2, 2, 0.5, 0, 0, "2 (void)"),
        (2, 2, 0, 0, 1, "2 (void, exceeded)"), (NAN, NAN, NAN, 0, 0, "-"),
        (NAN, NAN, 0, 0, 0, "void"),
    ],
)  # fmt: skip
def test_a_guarantee_as_text(
    low: float, high: float, holds: float, exceeded: int, beyond: int, text: str
) -> None:
    facts = {"guarantee_low": low, "guarantee_high": high, "holds": holds,
             "exceeded": exceeded, "beyond": beyond}  # fmt: skip
    assert _guarantee_text(pd.Series(facts)) == text


# --- text ------------------------------------------------------------------------------------


def test_contradictions_are_shown_as_text(tmp_path: Path) -> None:
    exact(tmp_path, "<b>")
    store(tmp_path, "<b>", "weak", bound=11.0, kind="bound")
    page = as_html(Run(tmp_path))
    assert "contradiction: " in page and "&lt;b&gt;" in page and "<b>" not in page


def test_a_bound_has_its_own_number_of_instances(tmp_path: Path) -> None:
    exact(tmp_path, "a", "b")
    for name, bound in (("a", 8.0), ("b", 5.0)):
        store(tmp_path, name, "weak", bound=bound, kind="bound")
    weak = row(readable(Run(tmp_path).summary()), method="weak")
    assert (weak["n"], weak["optimum / bound"]) == (2, "<= 1.6250")


def test_numbers_in_tables_for_readers() -> None:
    frame = pd.DataFrame(
        {"name": ["a|b", "c"], "objective": [1234.56, 123.456], "bound": [1e15, INF],
         "bound_low": [1.2, 1.0], "bound_high": [INF, 1.0], "p": [0.0, 0.5],
         "low": [0.5, NAN], "high": [1.5, NAN]}
    )  # fmt: skip
    head, _, *lines = str(export(frame, "markdown")).splitlines()
    assert head == "| name | objective | bound | bound interval | p | 95 % |"
    assert lines == [
        r"| a\|b | 1235 | 1000000000000000 | >= 1.2000 | < 0.0001 | 0.5 to 1.5 |",
        "| c | 123.5 | inf | 1.0000 | 0.5 |  |",
    ]
    latex = str(export(frame, "latex"))
    assert r"c & 123.5 & $\infty$ & 1.0000 & 0.5 &  \\" in latex
    assert r"$\geq$ 1.2000 & $<$ 0.0001 & 0.5--1.5 \\" in latex
