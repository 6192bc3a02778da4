"""Statistics against numbers worked out by hand, against SciPy, and under what must not matter."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from schedgap.analysis.statistics import estimators as statistics
from schedgap.analysis.statistics.aggregates import by_instance, compared
from schedgap.analysis.statistics.estimators import holm, paired, paired_ratios, wilcoxon

NAN, INF = math.nan, math.inf
SEVEN = [1.0, 2.0, 3.0, 5.0, 8.0, 13.0, 21.0]
OTHER = [2.0, 2.0, 4.0, 4.0, 9.0, 20.0, 35.0]

objectives = st.lists(
    st.tuples(st.sampled_from([NAN, 0.0, 1.0, 2.0, 3.5, 10.0]), st.sampled_from([NAN, 0, 2, 7])),
    min_size=1,
    max_size=9,
)


# --- means -----------------------------------------------------------------------------------


def test_shifted_geometric_means() -> None:
    assert statistics.shifted_geometric_mean([1, 7], 1) == pytest.approx(3)  # sqrt(2 * 8) - 1
    assert statistics.shifted_geometric_mean([2, 8], 0) == pytest.approx(4)
    assert statistics.shifted_geometric_mean([2, INF], 1) == INF
    assert math.isnan(statistics.shifted_geometric_mean([], 1))


def test_an_interval_is_that_of_scipy() -> None:
    low, high, method = statistics.bootstrap(SEVEN)
    theirs = stats.bootstrap(
        (np.array(SEVEN),), np.mean, n_resamples=statistics.RESAMPLES, method="BCa",
        rng=np.random.default_rng(0),
    ).confidence_interval  # fmt: skip
    assert (low, high, method) == (theirs.low, theirs.high, "BCa")


def test_the_interval_of_a_large_sample_is_close_to_that_of_many_resamples() -> None:
    """Of a skewed sample: the interval of a normal distribution is off by far more."""
    sample = np.sort(np.random.default_rng(1).pareto(3.5, statistics.MANY + 1))
    low, high, method = statistics.bootstrap(sample)
    theirs = stats.bootstrap(
        (sample,), np.mean, n_resamples=20_000, method="BCa", batch=1000,
        rng=np.random.default_rng(0),
    ).confidence_interval  # fmt: skip
    width = theirs.high - theirs.low
    assert method == "ABC"
    assert abs(low - theirs.low) < 0.02 * width and abs(high - theirs.high) < 0.02 * width
    shift = (low + high) / 2 - sample.mean()
    assert shift > 0.05 * width
    assert statistics.bootstrap(-sample) == (-high, -low, "ABC")


def test_the_bootstrap_of_differences_is_the_paired_one() -> None:
    a, b = np.log(OTHER), np.log(SEVEN)
    order = np.argsort(a - b)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = stats.bootstrap(
            (a[order], b[order]), lambda x, y, axis=-1: np.mean(x - y, axis=axis), paired=True,
            n_resamples=statistics.RESAMPLES, method="BCa", rng=np.random.default_rng(0),
        ).confidence_interval  # fmt: skip
    found = paired(OTHER, SEVEN)
    assert (found.n, found.interval) == (7, "BCa")
    assert found.low == pytest.approx(math.exp(theirs.low))
    assert found.high == pytest.approx(math.exp(theirs.high))


def test_intervals_of_degenerate_samples() -> None:
    low, high, method = statistics.bootstrap([1.0, 2.0, 3.0])
    assert math.isnan(low) and math.isnan(high) and method == ""  # too few
    assert statistics.bootstrap([2.0] * 5) == (2, 2, "constant")
    low, high, method = statistics.bootstrap([0.0] * 9 + [1.0])
    assert method in ("BCa", "percentile") and 0 <= low < high <= 1


@given(st.lists(st.integers(-5, 5), min_size=4, max_size=8), st.randoms())
def test_order_and_sign_do_not_matter_to_an_interval(values: list[float], random: object) -> None:
    found = statistics.bootstrap(values)
    random.shuffle(values)  # type: ignore[attr-defined]
    assert statistics.bootstrap(values) == found
    mirrored = statistics.bootstrap([-value for value in values])
    assert (mirrored.low, mirrored.high) == (-found.high, -found.low)


# --- pairs -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b", "sense", "ratio"),
    [
        (6, 3, "min", 2),
        (6, 3, "max", 0.5),
        (3, 6, "max", 2),
        (0, 0, "min", 1),
        (0, 0, "max", 1),
        (5, 0, "min", INF),
        (0, 5, "min", 0),
        (0, 5, "max", INF),
        (5, 0, "max", 0),
        (-1, 2, "min", NAN),
        (NAN, 2, "min", NAN),
    ],
)
def test_a_paired_ratio_says_how_much_worse(a: float, b: float, sense: str, ratio: float) -> None:
    assert paired_ratios([a], [b], sense)[0] == pytest.approx(ratio, nan_ok=True)


def test_pairs_by_hand() -> None:
    #           loss  win  tie  0/0  x/0  fails  other fails
    found = paired([4, 1, 3, 0, 2, NAN, 5], [2, 3, 3, 0, 0, 1, NAN])
    assert (found.wins, found.ties, found.losses, found.neither) == (2, 2, 3, 0)
    assert (found.unanswered, found.unanswered_other) == (1, 1)
    assert (found.undefined, found.n) == (1, 4)  # ratios 2, 1/3, 1, 1
    assert found.ratio == pytest.approx((2 / 3) ** 0.25)
    assert found.p == 1.0  # two ranks, one of each sign


def test_a_wrong_answer_is_worse_than_none_and_none_is_worse_than_a_schedule() -> None:
    values = [1.0, NAN, NAN, NAN]
    found = paired(values, [9.0, 9.0, NAN, NAN], levels=([2, 1, 2, 1], [0, 0, 1, 1]))
    assert (found.wins, found.losses, found.neither) == (0, 3, 1)
    assert paired([NAN], [NAN], levels=([0], [0])).ties == 1  # both say that there is no schedule


def test_what_a_tie_is_depends_on_the_size_of_the_objectives() -> None:
    near = paired([1e12, 5.0], [1e12 + 1, 5.0 + 1e-12])
    assert (near.ties, near.ratio) == (2, 1.0)
    assert paired([1e-12], [2e-12]).wins == 1


def test_senses_may_differ_between_instances() -> None:
    found = paired([2, 2], [1, 1], ["min", "max"])
    assert (found.wins, found.losses, found.ratio) == (1, 1, pytest.approx(1))


@given(objectives, st.sampled_from(["min", "max"]), st.sampled_from([0.001, 3.0, 7.7e8]))
def test_the_unit_of_the_objective_does_not_matter(
    rows: list[tuple[float, float]], sense: str, unit: float
) -> None:
    a, b = (np.array(each, float) for each in zip(*rows, strict=True))
    first, second = paired(a, b, sense), paired(unit * a, unit * b, sense)
    for name in ("wins", "ties", "losses", "neither", "undefined", "n"):
        assert getattr(first, name) == getattr(second, name)
    for name in ("ratio", "low", "high", "p"):
        assert getattr(second, name) == pytest.approx(getattr(first, name), nan_ok=True, rel=1e-6)


@given(objectives, st.sampled_from(["min", "max"]))
def test_the_other_way_round_wins_are_losses(rows: list[tuple[float, float]], sense: str) -> None:
    a, b = (np.array(each, float) for each in zip(*rows, strict=True))
    one, other = paired(a, b, sense), paired(b, a, sense)
    assert (one.wins, one.losses, one.ties) == (other.losses, other.wins, other.ties)
    assert one.wins + one.ties + one.losses + one.neither == len(rows)
    assert one.ratio == pytest.approx(1 / other.ratio, nan_ok=True)
    assert one.low == pytest.approx(1 / other.high, nan_ok=True)
    assert one.p == pytest.approx(other.p, nan_ok=True)


@given(objectives, st.randoms(use_true_random=False))
def test_the_order_of_instances_does_not_matter(
    rows: list[tuple[float, float]], random: object
) -> None:
    a, b = zip(*rows, strict=True)
    random.shuffle(rows)  # type: ignore[attr-defined]
    c, d = zip(*rows, strict=True)
    assert repr(paired(a, b)) == repr(paired(c, d))


def test_wilcoxon_is_that_of_scipy() -> None:
    differences = np.log(SEVEN) - np.log(OTHER)
    nonzero = np.round(differences[differences != 0], 12)
    assert wilcoxon(differences) == stats.wilcoxon(nonzero).pvalue
    assert wilcoxon([1, 2, 3, 4, 5, 6]) == pytest.approx(2 / 2**6)  # all of one sign
    assert wilcoxon([0, 0]) == 1 and math.isnan(wilcoxon([]))


def test_holm_by_hand() -> None:
    # sorted .01, .02, .03, .04 times 4, 3, 2, 1, then never falling
    found = holm([0.03, 0.01, NAN, 0.04, 0.02])
    assert found == pytest.approx([0.06, 0.04, NAN, 0.06, 0.06], nan_ok=True)
    assert holm([0.6, 0.7]) == pytest.approx([1, 1])
    assert len(holm([])) == 0


# --- sets ------------------------------------------------------------------------------------


def test_four_values_have_an_interval_and_three_have_none() -> None:
    assert statistics.bootstrap([1.0, 2.0, 4.0]).method == ""
    low, high, method = statistics.bootstrap([1.0, 2.0, 4.0, 8.0])
    assert method == "BCa" and 1.0 < low < 3.75 < high <= 8.0


def test_a_wrong_answer_is_none() -> None:
    """Against a schedule, a wrong answer is an instance that the method did not answer."""
    found = statistics.paired([3.0, 3.0, 3.0], [4.0, 4.0, 4.0], levels=([2, 1, 0], [0, 0, 2]))
    assert (found.wins, found.losses, found.n) == (1, 2, 0)
    assert (found.unanswered, found.unanswered_other, found.undefined) == (2, 1, 0)


def test_the_common_set_is_where_all_have_a_value() -> None:
    known = pd.DataFrame(
        {"a": [1, 1, 1, 1, 0], "b": [1, 1, 0, 1, 0], "rare": [1, 0, 0, 0, 0]}, index=list("vwxyz")
    ).astype(bool)
    assert statistics.common_set(known) == (["v", "w", "y"], ["a", "b"])  # rare: 1 of 4
    assert statistics.common_set(known, share=0.25) == (["v"], ["a", "b", "rare"])
    assert statistics.common_set(known[:0]) == ([], [])


def test_methods_with_more_values_come_first() -> None:
    known = pd.DataFrame({"two": [1, 1, 0, 0], "three": [0, 1, 1, 1]}, index=list("wxyz"))
    assert statistics.common_set(known.astype(bool)) == (["x", "y", "z"], ["three"])


def test_the_virtual_best_by_hand() -> None:
    costs = pd.DataFrame({"a": [1.0, 4.0, NAN], "b": [2.0, 2.0, NAN], "c": [8.0, INF, 3.0]})
    found = statistics.virtual_best(costs)
    assert found["best"].to_dict() == {"a": 1, "b": 1, "c": 1}
    assert found["only"].to_dict() == {"a": 0, "b": 0, "c": 1}
    # without a: 2, 2, 3; with it: 1, 2, 3
    assert found.loc["a", "contribution"] == pytest.approx(2 ** (1 / 3))
    assert found.loc["c", ["n", "others_n"]].tolist() == [2, 2]
    assert found.loc["c", "contribution"] == pytest.approx(1)
    assert found.loc["c", "mean"] == pytest.approx(24**0.5)  # 8 and 3


def test_contributions_are_of_shifted_times_and_near_ones_are_ties() -> None:
    found = statistics.virtual_best(pd.DataFrame({"a": [1.0], "b": [3.0]}), shift=1.0)
    assert found["contribution"].to_dict() == pytest.approx({"a": 2.0, "b": 1.0})  # 4 to 2
    equal = statistics.virtual_best(pd.DataFrame({"a": [1.0], "b": [1.0 + 1e-12]}))
    assert equal["best"].tolist() == [1, 1] and equal["alone"].tolist() == [0, 0]


def test_an_answer_of_infinite_cost_is_an_answer() -> None:
    """A schedule x/0 is in no mean, but the best method is not the only one with a schedule."""
    costs = pd.DataFrame({"zero": [1.0, 1.0], "some": [INF, NAN]})
    found = statistics.virtual_best(costs)
    assert found["only"].to_dict() == {"zero": 1, "some": 0}
    assert found["alone"].to_dict() == {"zero": 2, "some": 0}
    assert found["n"].to_dict() == {"zero": 2, "some": 0}
    assert found["others_n"].to_dict() == {"zero": 0, "some": 2}


def test_a_profile_has_one_denominator() -> None:
    costs = pd.DataFrame({"a": [1.0, 2.0, NAN], "b": [1.0, INF, NAN]})
    assert list(statistics.profile(costs, 4)) == [("a", 1, 0.25), ("a", 2, 0.5), ("b", 1, 0.25)]


# --- progress --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "reference", "gap"),
    [(12, 10, 1 / 6), (5, 10, 0.5), (0, 0, 0), (0, 3, 1), (-1, 3, 1), (-2, -4, 0.5), (None, 3, 1),
     (3, None, 1), (3, INF, 1)],
)  # fmt: skip
def test_gaps_by_hand(value: float | None, reference: float | None, gap: float) -> None:
    assert statistics.gap(value, reference) == pytest.approx(gap)


def test_the_integral_of_a_gap_by_hand() -> None:
    steps = [(1.0, 0.5), (3.0, 0.25), (9.0, 0.0)]  # 1 until 1 s, then 0.5 for 2 s, then 0.25
    assert statistics.gap_integral(steps, 5.0) == pytest.approx(1 + 1 + 0.5)
    assert statistics.gap_integral([], 5.0) == 5
    assert statistics.gap_integral(steps, 0.5) == 0.5
    assert statistics.gap_at([0.5, 1, 2, 4, 99], steps).tolist() == [1, 0.5, 0.5, 0.25, 0]


@given(st.lists(st.tuples(st.floats(0, 10), st.floats(0, 1)), max_size=6), st.floats(0.1, 12))
def test_the_integral_is_that_of_the_step_function(
    points: list[tuple[float, float]], horizon: float
) -> None:
    steps = sorted(points)
    grid = np.linspace(0, horizon, 4001)[:-1] + horizon / 8000
    mean = statistics.gap_at(grid, steps).mean()
    assert statistics.gap_integral(steps, horizon) == pytest.approx(
        horizon * mean, abs=0.003 * horizon
    )


# --- repetitions -----------------------------------------------------------------------------


def row(instance: str, seed: str, objective: float, **more: object) -> dict[str, object]:
    """A record of method `m`, whose ratio is its objective, as `tables.records` returns it."""
    found = not math.isnan(objective)
    return {
        "family": "toy", "preset": "p", "problem": "", "method": "m", "instance": instance,
        "kind": "algorithm", "rank": 0, "sense": "min", "seed": seed, "key": f"{instance}{seed}",
        "objective": objective, "ratio_low": objective, "ratio_high": 2 * objective,
        "bound_low": NAN, "bound_high": NAN, "seconds": 1.0, "at_limit": 1.0 if found else 10.0,
        "par2": 1.0 if found else 20.0, "completed": found, "status": "feasible",
        "result": "feasible" if found else "incomplete",
    } | more  # fmt: skip


def test_two_seeds_of_two_instances_are_two_instances() -> None:
    found = by_instance(pd.DataFrame([row("i", "1", 1), row("i", "2", 3), row("j", "1", 2)]))
    assert found["instance"].tolist() == ["i", "j"]
    assert found[["tasks", "repetitions"]].to_numpy().tolist() == [[2, 2], [1, 1]]
    assert found[["ratio_low", "ratio_high"]].to_numpy().tolist() == [[2, 4], [2, 4]]
    assert found["worst_high"].tolist() == [6, 4]  # the worst is kept


def test_a_seed_that_failed_leaves_no_mean_but_a_repetition_of_it_does() -> None:
    failed = by_instance(pd.DataFrame([row("i", "1", 1), row("i", "2", NAN)])).iloc[0]
    assert math.isnan(failed["ratio_low"]) and failed["worst_low"] == 1
    assert (failed["result"], failed["level"], failed["completed"]) == ("incomplete", 1, False)
    assert failed["at_limit"] == 5.5  # (1 + 10) / 2
    again = by_instance(
        pd.DataFrame([row("i", "1", 1), row("i", "2", NAN), row("i", "2", 3)])
    ).iloc[0]
    assert (again["ratio_low"], again["result"], again["level"]) == (2, "feasible", 0)


def test_one_wrong_repetition_is_wrong() -> None:
    rows = [row("i", "1", 1), row("i", "1", 1, result="wrong"), row("i", "2", 1, result="proved")]
    found = by_instance(pd.DataFrame(rows)).iloc[0]
    assert (found["result"], found["level"]) == ("wrong", 2)


def test_a_record_skipped_for_want_of_a_licence_does_not_count_beside_one_that_ran() -> None:
    none = row("i", "1", NAN, result="skipped")
    found = by_instance(
        pd.DataFrame([row("i", "1", 2), none, row("j", "1", NAN, result="skipped")])
    )
    assert found[["tasks", "result"]].to_numpy().tolist() == [[1, "feasible"], [1, "skipped"]]
    assert found[["at_limit", "par2"]].iloc[0].tolist() == [1, 1]
    other = by_instance(pd.DataFrame([row("i", "1", 2), row("i", "2", NAN, result="skipped")]))
    assert (other["ratio_low"][0], other["result"][0], other["repetitions"][0]) == (
        2,
        "feasible",
        1,
    )


def test_of_a_wrong_seed_only_the_wrong_records_count() -> None:
    bounds = {"bound_low": 1.0, "bound_high": 2.0, "status": "optimal", "at_limit": 3.0}
    wrong = row("i", "1", 1, result="wrong", at_limit=10.0)
    found = by_instance(pd.DataFrame([row("i", "1", 1, **bounds), wrong])).iloc[0]
    assert found["at_limit"] == 10.0
    assert found[["bound_low", "bound_high", "ratio_low", "ratio_high"]].isna().all()
    assert not found[["scheduled", "optimal", "optimal_proved", "completed"]].any()


def test_an_optimum_is_proved_with_evidence_only_and_by_all_seeds() -> None:
    claimed = row("i", "1", 1, status="optimal", result="reported")
    certified = row("i", "1", 1, status="optimal", result="certified")
    proved = row("i", "1", 1, status="optimal", result="proved")
    flags = ["scheduled", "optimal", "optimal_certified", "optimal_proved", "completed"]

    def of(*rows: dict[str, object]) -> list[bool]:
        return by_instance(pd.DataFrame([*rows]))[flags].iloc[0].tolist()

    assert of(claimed) == [True, True, False, False, True]
    assert of(certified) == [True, True, True, False, True]
    assert of(claimed, proved, row("i", "1", NAN)) == [True] * 5  # both records have one seed
    assert of(proved, certified | {"seed": "2"}) == [True, True, True, False, True]
    assert of(proved, row("i", "2", 1)) == [True, False, False, False, True]
    assert of(proved, row("i", "2", NAN)) == [False] * 5


def test_algorithms_are_compared_before_baselines() -> None:
    rows = [row(name, "", 1, method="m") for name in "wx"]
    rows += [row(name, "", 1, method="a", kind="baseline") for name in "yz"]
    group = by_instance(pd.DataFrame(rows))
    found = compared(group, "ratio_low")
    assert {name: sorted(each["instance"]) for name, each in found.items()} == {"m": ["w", "x"]}
    assert set(compared(group, "ratio_low", common=False)) == {"m", "a"}


def test_for_maximization_the_mean_objective_has_the_mean_ratio() -> None:
    rows = [row("i", "1", 2, sense="max", ratio_low=6.0), row("i", "2", 6, sense="max",
                                                              ratio_low=2.0)]  # fmt: skip
    found = by_instance(pd.DataFrame(rows)).iloc[0]
    assert (found["ratio_low"], found["objective"]) == (4, pytest.approx(3))  # the best is 12


@settings(max_examples=12)
@given(
    st.lists(
        st.tuples(
            st.sampled_from("ijk"), st.sampled_from("123"), st.sampled_from([NAN, 1, 2, 4]),
            st.sampled_from("mno"),
        ),
        min_size=1, max_size=24,
    ),
    st.randoms(use_true_random=False),
)  # fmt: skip
def test_order_and_copies_of_records_do_not_matter(
    facts: list[tuple[str, str, float, str]], random: object
) -> None:
    rows = [row(*fact, method=method) for *fact, method in facts]
    frame = by_instance(pd.DataFrame(rows))
    twice = rows * 2
    random.shuffle(twice)  # type: ignore[attr-defined]
    doubled = by_instance(pd.DataFrame(twice))
    assert (doubled["tasks"] == 2 * frame["tasks"]).all()
    pd.testing.assert_frame_equal(doubled.drop(columns="tasks"), frame.drop(columns="tasks"))
