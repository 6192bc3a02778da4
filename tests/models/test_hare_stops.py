"""Searches stopped at any reading of the clock: what they claim then is true."""

from itertools import islice

import pytest

from schedgap.instances.generate import generate
from schedgap.instances.hare import HareInstance
from schedgap.models.hare.exact import tree
from schedgap.solvers import Clock
from strategies.hare import brute_force
from strategies.hare_batch import tiny_instances
from strategies.hare_stops import INTEGRAL_TOO_EARLY, STARTS, readings, tree_at


def small(seed: int) -> HareInstance:
    """Return an instance of the preset `small`."""
    return generate("hare", preset="small", seed=seed)  # type: ignore[return-value]  # of this family


# --- branch and price ---------------------------------------------------------------------------


def _every_stop(
    instance: HareInstance, optimum: float, start: str, *, rounding: bool, sample: int = 8
) -> int:
    """Stop at each reading until the search ends by itself, fewer of them as it gets longer."""
    schedule = STARTS[start](instance)
    for tried, k in enumerate(readings(sample), start=1):
        if tree_at(instance, optimum, schedule, k, rounding=rounding):
            return tried
    raise AssertionError


@pytest.mark.parametrize(("seed", "optimum"), [(3, 260.0), (2, 176.0)])
def test_a_tree_stopped_anywhere_claims_no_more_than_it_has_proved(
    seed: int, optimum: float
) -> None:
    assert _every_stop(small(seed), optimum, "usual", rounding=True, sample=4) > 20


@pytest.mark.parametrize("start", STARTS)
def test_a_tree_without_help_claims_no_more_than_it_has_proved(start: str) -> None:
    assert _every_stop(INTEGRAL_TOO_EARLY, 4799.0, start, rounding=False, sample=4) > 20


def test_an_integral_program_closes_nothing_before_its_columns_are_complete() -> None:
    assert brute_force(INTEGRAL_TOO_EARLY) == 4799
    for start in STARTS.values():
        for rounding in (False, True):
            schedule = start(INTEGRAL_TOO_EARLY)
            found = tree.Tree(INTEGRAL_TOO_EARLY, schedule, clock=Clock(), rounding=rounding).run()
            assert (found.lower, found.upper, found.stopped) == (4799, 4799, "")


def test_a_tree_that_branches_on_anything_open_ends_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The branch of last resort is enough for a proof by itself."""
    monkeypatch.setattr(tree.Tree, "_choose", lambda self, support: None)
    for instance in tiny_instances(12, seed=31, most_tasks=4):
        optimum = brute_force(instance)
        for start in ("usual", "fifo"):
            assert tree_at(instance, optimum, STARTS[start](instance), 10**9, rounding=False)


def test_trees_of_tiny_instances_stopped_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    stops = 0
    for instance in tiny_instances(12, seed=41):
        optimum = brute_force(instance)
        for start in ("usual", "fifo"):
            stops += _every_stop(instance, optimum, start, rounding=start == "usual", sample=4)
    assert stops > 100


@pytest.mark.nightly
def test_thousands_of_stops_of_trees() -> None:
    stops = 0
    for instance in tiny_instances(60, seed=43):
        optimum = brute_force(instance)
        for start in STARTS:
            for rounding in (False, True):
                stops += _every_stop(instance, optimum, start, rounding=rounding, sample=20)
    for seed, optimum in ((1, 228.0), (2, 176.0), (3, 260.0)):
        schedule = STARTS["fifo"](small(seed))
        for k in islice(readings(40), 200):
            stops += 1
            if tree_at(small(seed), optimum, schedule, k, rounding=False):
                break
    print(f"{stops} stops")
    assert stops > 5000
