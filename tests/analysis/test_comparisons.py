"""Comparisons of the methods of a run, against numbers worked out by hand."""

import io
import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from reports import proof_claim
from toy_family import toy

from schedgap.analysis.comparing.run import Run
from schedgap.analysis.records.folder import Folder
from schedgap.analysis.statistics.aggregates import RESULTS
from schedgap.analysis.statistics.export import FORMATS, export
from schedgap.analysis.statistics.readable import readable
from schedgap.errors import UsageError

NAN = math.nan


def store(
    folder: Path,
    name: str,
    method: str,
    objective: float | None = None,
    *,
    bound: float | None = None,
    seconds: float = 1.0,
    **more: Any,
) -> None:
    """Store a record of a method on the instance `name`."""
    sense = more.pop("sense", "min")
    other = 100 + sum(map(ord, name))  # so that each name is another instance
    instance = toy(10, 20, other, name=name, sense=sense)
    out = Folder(folder)
    out.create()
    out.store_instance(instance)
    kind, proof = more.pop("kind", "algorithm"), more.pop("proof", "tree")
    met = objective is not None and objective == bound
    status = "optimal" if met else "feasible" if objective is not None else "bound"
    solution = {
        "family": "toy", "version": 1, "instance": name, "instance_sha256": instance.sha256,
        "method": method, "engine": None, "kind": kind, "options": {}, "seed": None,
        "status": more.pop("status", status), "sense": sense, "objective": objective,
        "bound": bound, "seconds": seconds, "schedule": None if objective is None else {"place": 0},
        "proof": proof_claim(proof),
    }  # fmt: skip
    label, seed = more.pop("label", method), more.pop("seed", None)
    empty = objective is None and bound is None and solution["status"] != "infeasible"
    out.store(
        {
            "key": f"{name}-{label}-{seed}-{more.pop('again', 0)}", "outcome": "done",
            "message": "", "method": method, "label": label,
            "instance": {"name": name, "family": "toy", "sha256": instance.sha256},
            "kind": kind, "engine": None, "options": {}, "seed": seed, "problem": "",
            "sense": sense, "time_limit": 10.0, "solution": None if empty else solution,
            "certificate": {"kind": "toy", "value": bound} if proof == "certificate" else None,
        } | more
    )  # fmt: skip


def exact(folder: Path, *names: str, **more: Any) -> None:
    """Store a proved optimum of 10 on each instance."""
    for name in names:
        store(folder, name, "scan", 10.0, bound=10.0, kind="exact", **more)


def row(frame: pd.DataFrame, **where: str) -> "pd.Series[Any]":
    for column, value in where.items():
        frame = frame[frame[column] == value]
    assert len(frame) == 1
    return frame.iloc[0]


# --- the common set --------------------------------------------------------------------------


@pytest.fixture
def unequal(tmp_path: Path) -> Path:
    """Store four instances; `luck` is tried on the two easy ones only."""
    exact(tmp_path, "a", "b", "c", "d")
    for name, objective in {"a": 10.0, "b": 12.0, "c": 40.0, "d": 40.0}.items():
        store(tmp_path, name, "first", objective)
    for name, objective in {"a": 11.0, "b": 15.0}.items():
        store(tmp_path, name, "luck", objective)
    return tmp_path


def test_means_beside_each_other_are_over_the_same_instances(unequal: Path) -> None:
    """On its two easy instances luck looks twice as good as first, which beats it on both."""
    summary = Run(unequal).summary()
    first, luck = (row(summary, method=name) for name in ("first", "luck"))
    assert (first["n"], luck["n"]) == (2, 2)
    assert (first["mean_low"], luck["mean_low"]) == (pytest.approx(1.1), pytest.approx(1.3))
    assert (first["instances"], luck["instances"], first["worst_low"]) == (4, 2, 4.0)
    own = Run(unequal).summary(common=False)
    assert row(own, method="first")[["n", "mean_low"]].tolist() == [4, 2.55]
    assert row(own, method="luck")[["n", "mean_low"]].tolist() == [2, 1.3]
    pair = row(Run(unequal).pairs(), method="first", other="luck")
    assert (pair["wins"], pair["losses"], pair["instances"]) == (2, 0, 2)


def test_a_method_that_was_hardly_tried_has_no_mean(unequal: Path) -> None:
    (unequal / "tasks/b-luck-None-0.json").unlink()
    summary = Run(unequal).summary()
    assert summary.set_index("method")["n"].to_dict() == {"scan": 4, "first": 4, "luck": 0}
    luck = row(summary, method="luck")
    assert math.isnan(luck["mean_low"]) and luck["worst_low"] == pytest.approx(1.1)
    chosen = Run(unequal).summary(methods=["scan", "luck"])
    assert chosen["method"].tolist() == ["scan", "luck"]


def test_two_seeds_are_repetitions_of_an_instance(tmp_path: Path) -> None:
    exact(tmp_path, "a", "b")
    for name, seed, objective in (("a", 1, 10.0), ("a", 2, 14.0), ("b", 1, 11.0), ("b", 2, 11.0)):
        store(tmp_path, name, "luck", objective, seed=seed)
    luck = row(Run(tmp_path).summary(), method="luck")
    assert luck[["tasks", "instances", "feasible", "n"]].tolist() == [4, 2, 2, 2]
    assert luck["mean_low"] == pytest.approx((1.2 + 1.1) / 2)
    assert luck["worst_low"] == pytest.approx(1.4)
    last = Run(tmp_path).profile().groupby("method").last()
    assert last.loc["luck", ["share", "n"]].tolist() == [1.0, 2]


def test_configurations_are_in_natural_order(tmp_path: Path) -> None:
    for kappa in (1, 16, 2, 8, 0.5, 0.25):
        store(tmp_path, "a", "first", 12.0, label=f"first:kappa={kappa}")
    found = [name.partition("=")[2] for name in Run(tmp_path).summary()["method"]]
    assert found == ["0.25", "0.5", "1", "2", "8", "16"]


# --- results ---------------------------------------------------------------------------------


def test_every_task_has_one_result(tmp_path: Path) -> None:
    exact(tmp_path, "a")
    store(tmp_path, "a", "none", status="infeasible", kind="exact")  # a schedule refutes it
    store(tmp_path, "a", "past", bound=11.0, kind="bound")
    store(tmp_path, "a", "weak", bound=9.0, kind="bound")
    store(tmp_path, "a", "hang", 12.0, outcome="timeout", kind="exact")
    store(tmp_path, "a", "words", 10.0, bound=10.0, proof="engine", kind="exact")
    store(tmp_path, "a", "dual", 10.0, bound=10.0, proof="certificate", kind="exact")
    for kind in ("tree", "search"):
        store(tmp_path, "a", kind, 10.0, bound=10.0, proof=kind, kind="exact")
    store(tmp_path, "a", "partial", outcome="timeout")
    store(tmp_path, "a", "crash", outcome="crash", kind="exact")
    store(tmp_path, "a", "broken", outcome="invalid")
    store(tmp_path, "a", "outside", 10.0, relaxed=["2c"], kind="baseline")
    store(tmp_path, "a", "picky", outcome="skipped", kind="exact")
    run = Run(tmp_path)
    table = run.table().set_index("method")["result"]
    assert table.to_dict() == {
        "scan": "proved", "dual": "certified", "none": "wrong", "past": "wrong", "weak": "bounded",
        "hang": "feasible", "words": "reported", "partial": "incomplete", "crash": "failed",
        "broken": "wrong",
        "outside": "relaxed", "picky": "skipped", "tree": "proved", "search": "certified",
    }  # fmt: skip
    summary = run.summary().set_index("method")
    for method, result in table.items():
        counts = summary.loc[method, [*RESULTS]].to_dict()
        assert counts.pop(result) == 1 and set(counts.values()) == {0}
    optimal = ["optimal", "optimal_certified", "optimal_proved"]
    assert summary.loc["words", optimal].tolist() == [1, 0, 0]
    assert summary.loc["dual", optimal].tolist() == [1, 1, 0]
    assert summary.loc["tree", optimal].tolist() == [1, 1, 1]


def test_one_wrong_record_makes_its_instance_wrong_whatever_the_others_say(tmp_path: Path) -> None:
    """The same method ran twice, as on two computers: once well, once with a wrong schedule."""
    exact(tmp_path, "a", "b")
    store(tmp_path, "a", "first", 12.0)
    store(tmp_path, "b", "first", 15.0, seconds=2.0)
    store(tmp_path, "b", "first", outcome="invalid", again=1)
    run = Run(tmp_path)
    first = row(run.summary(), method="first")
    assert first[["feasible", "wrong", "scheduled", "n"]].tolist() == [1, 1, 1, 1]
    assert (first["mean_low"], first["worst_low"]) == (pytest.approx(1.2), pytest.approx(1.2))
    last = row(run.profile().groupby("method").tail(1), method="first")
    assert last[["share", "unanswered", "wrong"]].tolist() == [0.5, 0.0, 0.5]
    times = row(run.times(), method="first")
    assert times[["n", "completed", "common_n"]].tolist() == [2, 1, 1]
    assert times["par2"] == pytest.approx((2 * 21) ** 0.5 - 1)  # 1 s and 2 * 10 s
    integral = row(run.integrals(), method="first")
    assert integral["primal_low"] == pytest.approx((1 + 9 * 2 / 12 + 10) / 2)


def test_a_guarantee_is_exceeded_only_where_it_is_certain(tmp_path: Path) -> None:
    """The ratio is between 1 and 4, the guarantee 2: the optimum may be 20."""
    store(tmp_path, "a", "first", 20.0)
    store(tmp_path, "a", "weak", bound=5.0, kind="bound")
    run = Run(tmp_path)
    ratio = row(run.ratios(), method="first")
    assert ratio[["low", "high", "guarantee", "within"]].tolist() == [1.0, 4.0, 2.0, True]
    first = row(run.summary(), method="first")
    assert first["exceeded"] == 0
    assert first[["gap_low", "gap_high"]].tolist() == pytest.approx([0.0, 3.0])


def test_a_wrong_seed_is_not_hidden_by_one_that_was_skipped(tmp_path: Path) -> None:
    exact(tmp_path, "a")
    store(tmp_path, "a", "first", outcome="invalid", seed=1)
    store(tmp_path, "a", "first", outcome="skipped", seed=2)
    first = row(Run(tmp_path).summary(), method="first")
    assert first[["wrong", "skipped"]].tolist() == [1, 0]


def test_a_schedule_of_infinite_ratio_is_an_answer(tmp_path: Path) -> None:
    """Utility 0 against 8: infinitely worse, which is neither a failure nor a number."""
    store(tmp_path, "a", "scan", 8.0, bound=8.0, kind="exact", sense="max")
    store(tmp_path, "a", "first", 0.0, sense="max")
    store(tmp_path, "b", "scan", 8.0, bound=8.0, kind="exact", sense="max")
    store(tmp_path, "b", "first", 4.0, sense="max")
    run = Run(tmp_path)
    last = row(run.profile().groupby("method").tail(1), method="first")
    assert last[["share", "unanswered", "wrong"]].tolist() == [0.5, 0.0, 0.0]
    best = run.virtual_best().set_index("method")
    assert best["only"].to_dict() == {"scan": 0, "first": 0}
    assert best["alone"].to_dict() == {"scan": 2, "first": 0}
    assert row(run.summary(), method="first")["infinite"] == 1


def test_a_proof_that_there_is_no_schedule_solves_the_instance(tmp_path: Path) -> None:
    store(tmp_path, "a", "none", status="infeasible", kind="exact")
    store(tmp_path, "a", "first")
    summary = Run(tmp_path).summary().set_index("method")
    assert summary["proved"].to_dict() == {"none": 1, "first": 0}
    pair = Run(tmp_path).pairs().iloc[0]
    assert (pair["method"], pair["wins"], pair["n"]) == ("none", 1, 0)


# --- pairs -----------------------------------------------------------------------------------


def test_pairs_count_failures_as_losses_and_wrong_answers_below_them(tmp_path: Path) -> None:
    for name, ours, theirs in (("a", 10.0, 20.0), ("b", 15.0, 15.0), ("c", 18.0, 12.0)):
        store(tmp_path, name, "first", ours)
        store(tmp_path, name, "luck", theirs)
    store(tmp_path, "d", "first", outcome="timeout")
    store(tmp_path, "d", "luck", 19.0)
    store(tmp_path, "e", "first", outcome="timeout")
    store(tmp_path, "e", "luck", outcome="invalid")
    (pair,) = Run(tmp_path).pairs().to_dict("records")
    assert (pair["instances"], pair["wins"], pair["ties"], pair["losses"]) == (5, 2, 1, 2)
    assert (pair["unanswered"], pair["unanswered_other"], pair["n"]) == (1, 0, 3)
    assert pair["ratio"] == pytest.approx((10 / 20 * 18 / 12) ** (1 / 3))
    assert math.isnan(pair["low"]) and pair["interval"] == ""  # three values are too few


def test_p_values_of_a_preset_are_adjusted_together(tmp_path: Path) -> None:
    for place in range(7):
        for method, objective in (("first", 10.0), ("luck", 11.0 + place), ("partial", 11.0)):
            store(tmp_path, f"i{place}", method, objective)
    pairs = Run(tmp_path).pairs().set_index(["method", "other"])
    assert pairs.loc[("first", "luck"), "p"] == pytest.approx(2 / 2**7)
    assert pairs.loc[("first", "luck"), "holm"] == pytest.approx(3 * 2 / 2**7)  # three pairs
    assert pairs.loc[("first", "partial"), "interval"] == "constant"
    two = Run(tmp_path).pairs(methods=["first", "luck"]).iloc[0]
    assert two["holm"] == two["p"]


def test_where_more_is_better_pairs_turn_round(tmp_path: Path) -> None:
    store(tmp_path, "a", "first", 20.0, sense="max")
    store(tmp_path, "a", "luck", 10.0, sense="max")
    (pair,) = Run(tmp_path).pairs().to_dict("records")
    assert (pair["wins"], pair["losses"], pair["ratio"]) == (1, 0, 0.5)


# --- times -----------------------------------------------------------------------------------


@pytest.fixture
def timed(tmp_path: Path) -> Path:
    """Store two exact methods: scan ends after 1 s and 3 s, words after 7 s or is stopped."""
    exact(tmp_path, "a", seconds=1.0)
    exact(tmp_path, "b", seconds=3.0)
    store(tmp_path, "a", "words", 10.0, bound=10.0, kind="exact", seconds=7.0)
    store(tmp_path, "b", "words", 11.0, kind="exact", seconds=10.2, outcome="timeout")
    store(tmp_path, "a", "first", 12.0, seconds=0.5)
    return tmp_path


def test_times_in_three_modes(timed: Path) -> None:
    found = Run(timed).times().set_index("method")
    scan, words = found.loc["scan"], found.loc["words"]
    assert scan[["n", "completed", "common_n"]].tolist() == [2, 2, 1]
    assert words[["n", "completed", "common_n"]].tolist() == [2, 1, 1]
    assert scan["at_limit"] == scan["par2"] == pytest.approx(8**0.5 - 1)  # sqrt(2 * 4) - 1
    assert words["at_limit"] == pytest.approx(88**0.5 - 1)  # sqrt(8 * 11) - 1
    assert words["par2"] == pytest.approx(168**0.5 - 1)  # sqrt(8 * 21) - 1
    assert (scan["common"], words["common"]) == (pytest.approx(1), pytest.approx(7))
    shifted = Run(timed).times(shift=9.0).set_index("method").loc["scan"]
    assert shifted["at_limit"] == pytest.approx(120**0.5 - 9)  # sqrt(10 * 12) - 9
    summary = Run(timed).summary().set_index("method").loc["words"]
    assert summary["seconds"] == pytest.approx((8 * 11.2) ** 0.5 - 1)  # as taken: 7 and 10.2
    assert summary["seconds_n"] == 2


def test_a_method_that_failed_at_once_has_no_time(tmp_path: Path) -> None:
    exact(tmp_path, "a", "b")
    store(tmp_path, "a", "first", 12.0, seconds=0.5)
    store(tmp_path, "b", "first", outcome="error")
    store(tmp_path, "a", "crash", outcome="error")
    summary = Run(tmp_path).summary().set_index("method")
    assert summary.loc["first", ["seconds", "seconds_n"]].tolist() == [pytest.approx(0.5), 1]
    shown = readable(Run(tmp_path).summary()).set_index("method")["seconds"]
    assert shown["first"] == "0.5" and shown["crash"] == "-"


def test_a_wrong_answer_completes_nothing(tmp_path: Path) -> None:
    exact(tmp_path, "a")
    store(tmp_path, "a", "liar", 20.0, bound=20.0, kind="exact", seconds=0.01)
    times = Run(tmp_path).times().set_index("method")
    assert times.loc["liar", ["completed", "at_limit", "par2"]].tolist() == [
        0,
        pytest.approx(10),
        pytest.approx(20),
    ]
    for by in ("seconds", "objective"):
        profile = Run(tmp_path).profile(by).set_index("method")
        assert profile["share"].to_dict() == {"scan": 1.0, "liar": 0.0}
        assert profile["wrong"].to_dict() == {"scan": 0.0, "liar": 1.0}


def test_profiles_have_one_denominator_and_keep_kinds_apart(timed: Path) -> None:
    times = Run(timed).profile("seconds")
    steps = times[["kind", "method", "seconds", "share", "n"]].to_numpy().tolist()
    assert steps == [
        ["exact", "scan", 1.0, 0.5, 2], ["exact", "scan", 3.0, 1.0, 2],
        ["exact", "words", 7.0, 0.5, 2], ["algorithm", "first", 0.5, 0.5, 2],
    ]  # fmt: skip
    ratios = Run(timed).profile().groupby("method").last()
    assert ratios["share"].to_dict() == {"scan": 1.0, "words": 1.0, "first": 0.5}
    assert ratios["unanswered"].to_dict() == {"scan": 0, "words": 0, "first": 0.5}


def test_contributions_to_the_virtual_best(timed: Path) -> None:
    by_time = Run(timed).virtual_best("seconds").set_index("method")
    assert by_time.index.tolist() == ["scan", "words"]
    assert by_time["only"].to_dict() == {"scan": 1, "words": 0}
    # without scan 7 s on a; with it 1 s: (7 + 1) / (1 + 1)
    assert by_time.loc["scan", "contribution"] == pytest.approx(4)
    by_value = Run(timed).virtual_best().set_index("method")
    assert by_value["best"].to_dict() == {"scan": 2, "words": 1, "first": 0}
    assert by_value["alone"].to_dict() == {"scan": 1, "words": 0, "first": 0}
    # without scan 10 and 11, with it 10 and 10
    assert by_value.loc["scan", "contribution"] == pytest.approx(1.1**0.5)
    assert by_value.loc["first", "mean"] == pytest.approx(1.2)


# --- progress --------------------------------------------------------------------------------


def test_integrals_by_hand(tmp_path: Path) -> None:
    progress = [(1.0, 20.0, None), (3.0, 12.5, 8.0), (4.0, 10.0, 8.0)]
    store(tmp_path, "a", "scan", 10.0, bound=10.0, kind="exact", seconds=6.0, progress=progress)
    store(tmp_path, "b", "scan", kind="exact", outcome="timeout")
    found = Run(tmp_path).integrals().set_index("method").loc["scan"]
    # gaps: 1 for 1 s, 10 / 20 for 2 s, 2.5 / 12.5 for 1 s, then 0; on b 1 for 10 s
    primal = (1 + 1 + 0.2 + 10) / 2
    assert found[["n", "horizon", "primal_low"]].tolist() == [2, 10, pytest.approx(primal)]
    assert found["primal_high"] == pytest.approx(primal)
    # gap of the bound: 1 for 3 s, 2 / 10 for 3 s, then 0
    assert found["dual_low"] == found["dual_high"] == pytest.approx((3 + 0.6 + 10) / 2)
    # primal-dual: 1 for 3 s, 4.5 / 12.5 for 1 s, 2 / 10 for 2 s
    assert found["primal_dual"] == pytest.approx((3 + 0.36 + 0.4 + 10) / 2)
    gaps = Run(tmp_path).gaps([0.5, 1.0, 5.0])
    assert gaps["primal_low"].tolist() == [1, 0.75, 0.5]


def test_integrals_weigh_seeds_and_not_records(tmp_path: Path) -> None:
    """Seed 1 ran on two computers: the integrals are 0 + 10 / 2 and 10 / 2, and 10."""
    exact(tmp_path, "a", seconds=0.0)
    for again in (0, 1):
        store(tmp_path, "a", "first", 20.0, seconds=0.0, seed=1, again=again)
    store(tmp_path, "a", "first", None, outcome="timeout", seed=2)
    found = row(Run(tmp_path).integrals(), method="first")
    assert found["primal_low"] == pytest.approx((5 + 10) / 2)


def test_integrals_end_at_the_smallest_limit_and_count_what_was_not_tried(tmp_path: Path) -> None:
    """10 s on `a` and 4 s on `b`, which `first` never tried: a gap of 1 throughout there."""
    exact(tmp_path, "a", seconds=0.0)
    exact(tmp_path, "b", seconds=0.0, time_limit=4.0)
    store(tmp_path, "a", "first", 20.0, seconds=2.0, progress=[[3.0, 20.0, None]])
    found = row(Run(tmp_path).integrals(), method="first")
    assert (found["n"], found["horizon"]) == (2, 4.0)
    # until its end after 2 s nothing, then half: a later point of progress is one of its end
    assert found["primal_low"] == pytest.approx(((2 + 2 / 2) + 4) / 2)


def test_the_slowest_task_is_that_of_all_records(tmp_path: Path) -> None:
    for again, seconds in enumerate((1.0, 3.0, 2.0)):
        store(tmp_path, "a", "first", 20.0, seconds=seconds, again=again)
    assert row(Run(tmp_path).summary(), method="first")["slowest"] == 3.0


def test_integrals_are_intervals_where_the_optimum_is_one(tmp_path: Path) -> None:
    store(tmp_path, "a", "first", 12.0, seconds=0.0)
    store(tmp_path, "a", "weak", bound=9.0, kind="bound", seconds=0.0)
    found = Run(tmp_path).integrals().set_index("method")
    assert found.loc["first", ["primal_low", "primal_high"]].tolist() == [0, pytest.approx(2.5)]
    assert found.loc["weak", ["dual_low", "dual_high"]].tolist() == [0, pytest.approx(2.5)]
    assert math.isnan(found.loc["first", "primal_dual"])


def test_what_the_result_does_not_confirm_is_not_counted(tmp_path: Path) -> None:
    """A bound of 11 past the optimum, and a schedule of 9 that was never verified."""
    progress = [(1.0, 9.0, None), (2.0, 10.0, 11.0)]
    store(tmp_path, "a", "scan", 10.0, bound=10.0, kind="exact", seconds=4.0, progress=progress)
    found = Run(tmp_path).integrals().iloc[0]
    assert found[["primal_low", "dual_low"]].tolist() == [2, 4]


# --- export ----------------------------------------------------------------------------------


def test_tables_are_exported(unequal: Path, tmp_path: Path) -> None:
    run = Run(unequal)
    again = pd.read_csv(io.StringIO(str(export(run.pairs(), "csv"))), keep_default_na=False)
    assert again["wins"].tolist() == run.pairs()["wins"].tolist()
    latex = str(export(run.summary(), "latex", tmp_path / "t.tex"))
    assert (tmp_path / "t.tex").read_text() == latex
    lines = latex.splitlines()
    assert lines[:2] == [r"\begin{tabular}{llrrrrrrrlr}", r"\toprule"]
    assert lines[-2:] == [r"\bottomrule", r"\end{tabular}"]
    assert r"luck & algorithm & 2 & 0 & 2 & 2 & 1.3000 & 1.5000 & - & - & 1 \\" in lines
    assert lines.count(r"\addlinespace") == 1  # between exact and algorithm
    markdown = str(export(run.pairs(), "markdown")).splitlines()
    assert markdown[1].startswith("| --- | --- | --- | ---: |")
    assert "| toy | scan | first | 4 | 3 | 1 | 0 |" in markdown[2]
    assert len(readable(run.summary())) == 3


def test_the_table_of_a_run_shows_technical_columns_only_where_they_differ(tmp_path: Path) -> None:
    store(tmp_path, "a", "first", 12.0, bound=9.0)
    head = str(export(Run(tmp_path).table(), "markdown")).splitlines()[0]
    assert "method" in head and "objective" in head and "bound interval" in head
    assert "time_limit" not in head and "key" not in head and "configuration" not in head
    store(tmp_path, "b", "first", 12.0, bound=9.0, time_limit=20.0)
    assert "time_limit" in str(export(Run(tmp_path).table(), "markdown")).splitlines()[0]


def test_latex_is_escaped_and_intervals_are_rounded_outwards() -> None:
    frame = pd.DataFrame(
        {"method": ["a_b & 50 %"], "mean_low": [1.23456], "mean_high": [1.23411 * 1.01],
         "seconds": [-0.000123456], "p": [1e-9], "n": [12]}
    )  # fmt: skip
    latex = str(export(frame, "latex"))
    row = r"a\_b \& 50 \% & 1.2345--1.2465 & $-$0.0001235 & $<$ 0.0001 & 12 \\"
    assert row in latex.splitlines()


def test_unknown_formats_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="choose one of csv, parquet, latex, markdown"):
        export(pd.DataFrame(), "xlsx")  # type: ignore[arg-type]
    assert len(FORMATS) == 4


def test_parquet_keeps_every_column(unequal: Path) -> None:
    table = Run(unequal).table()
    data = export(table, "parquet")
    assert isinstance(data, bytes)
    pd.testing.assert_frame_equal(pd.read_parquet(io.BytesIO(data)), table, check_dtype=False)


def test_to_be_stopped_with_a_schedule_is_not_to_complete_a_task(tmp_path: Path) -> None:
    store(tmp_path, "a", "first", 12.0, outcome="timeout", seconds=10.0)
    store(tmp_path, "b", "first", 12.0)
    assert row(Run(tmp_path).times(), method="first")[["n", "completed"]].tolist() == [2, 1]


def test_a_bound_alone_is_no_result_of_an_exact_method(tmp_path: Path) -> None:
    store(tmp_path, "a", "scan", bound=9.0, kind="exact", outcome="timeout")
    assert Run(tmp_path).table()["result"].tolist() == ["incomplete"]
