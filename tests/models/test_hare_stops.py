"""Searches stopped at any reading of the clock: what they claim then is true."""

from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np
import pytest

import schedgap as sg
from schedgap.instances.generate import generate
from schedgap.instances.hare import HareInstance
from schedgap.models.hare import FAMILY
from schedgap.models.hare.baselines.gavel_fifo import gavel_fifo
from schedgap.models.hare.bounds.certificates import check_certificate
from schedgap.models.hare.exact import branch_and_price, exact, stages
from schedgap.models.hare.exact.kernel import JobWindows
from schedgap.models.hare.heuristics import initial
from schedgap.models.hare.heuristics.local_search import LocalSearch
from schedgap.models.hare.integer_time import steps
from schedgap.models.hare.methods import METHODS
from schedgap.models.method import Budget
from schedgap.models.search_state import SearchState, StageResult
from schedgap.solvers import Clock
from strategies.clocks import StopAt
from strategies.hare import brute_force, instance_of
from strategies.hare_batch import tiny_instances
from strategies.hare_stops import (
    INTEGRAL_TOO_EARLY,
    STARTS,
    Judge,
    method_at,
    readings,
    stops_of,
    tree_at,
    whole_bracket,
)


def small(seed: int) -> HareInstance:
    """Return an instance of the preset `small`."""
    return generate("hare", preset="small", seed=seed)  # type: ignore[return-value]  # of this family


# --- branch and price ---------------------------------------------------------------------------


def _every_stop(
    instance: HareInstance, optimum: float, start: str, *, sample: int = 3, first: int = 12
) -> int:
    """Stop at each reading until the search ends by itself, fewer of them as it gets longer."""
    schedule = STARTS[start](instance)
    for tried, k in enumerate(readings(sample, first), start=1):
        if tree_at(instance, optimum, schedule, k):
            return tried
    raise AssertionError


@pytest.mark.parametrize(("seed", "optimum"), [(3, 260.0), (2, 176.0)])
def test_a_tree_stopped_anywhere_claims_no_more_than_it_has_proved(
    seed: int, optimum: float
) -> None:
    assert _every_stop(small(seed), optimum, "usual") > 15


@pytest.fixture
def no_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes draw no list schedules, which would find the optimum first."""
    monkeypatch.setattr(branch_and_price.BranchAndPrice, "_round", lambda self, support: None)


@pytest.mark.usefixtures("no_lists")
@pytest.mark.parametrize("start", STARTS)
def test_a_tree_without_help_claims_no_more_than_it_has_proved(start: str) -> None:
    assert _every_stop(INTEGRAL_TOO_EARLY, 4799.0, start) > 15


@pytest.mark.usefixtures("no_lists")
def test_an_integral_program_closes_nothing_before_its_columns_are_complete() -> None:
    assert brute_force(INTEGRAL_TOO_EARLY) == 4799
    for start in STARTS.values():
        schedule = start(INTEGRAL_TOO_EARLY)
        found = branch_and_price.BranchAndPrice(INTEGRAL_TOO_EARLY, schedule, budget=Budget()).run()
        assert (found.lower, found.upper, found.stopped) == (4799, 4799, "")


def test_a_tree_that_branches_on_anything_open_ends_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The branch of last resort is enough for a proof by itself."""
    monkeypatch.setattr(branch_and_price.BranchAndPrice, "_choose", lambda self, support: None)
    for instance in tiny_instances(12, seed=31, most_tasks=4):
        optimum = brute_force(instance)
        for start in ("usual", "fifo"):
            assert tree_at(instance, optimum, STARTS[start](instance), 10**9)


def test_the_branch_of_last_resort_divides_starts_and_kinds_until_one_of_each_is_left() -> None:
    job = {"rounds": 1, "tasks_per_round": 1, "training_time": {"k": 1, "l": 2}}
    instance = instance_of({"g": "k", "h": "l"}, [job])
    search = branch_and_price.BranchAndPrice(instance, gavel_fifo(instance), budget=Budget())
    mask = np.zeros((1, 2, search.jobs[0].span + 1), dtype=np.bool_)
    branches = []
    for kind, start in [(0, 0), (1, 0), (0, 1)]:
        mask[0, kind, start] = True
        windows = JobWindows(search.jobs[0].root.barrier, mask)
        branch = search._any_branch([windows])
        branches.append(branch and branch.by)
    assert branches == [None, "kind", "start"]


def test_a_price_closes_the_last_schedule_if_it_needs_too_many_gpus() -> None:
    """Both jobs can only start at once on the one GPU; without a price their bound is 1 + 1."""
    job = {"rounds": 1, "tasks_per_round": 1, "training_time": {"k": 1}}
    instance = instance_of({"g": "k"}, [job, job])
    search = branch_and_price.BranchAndPrice(instance, gavel_fifo(instance), budget=Budget())
    windows = []
    for each in search.jobs:
        mask = np.zeros((1, 1, each.span + 1), dtype=np.bool_)
        mask[0, 0, 0] = True
        windows.append(JobWindows(each.root.barrier, mask))
    none = np.zeros(len(search.capacity))
    assert search._price(none, windows)[0] < search.upper
    closing = search._offer_last(none, windows)
    assert closing is not None
    assert search._price(closing, windows)[0] >= search.upper


def test_trees_of_tiny_instances_stopped_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    stops = 0
    for instance in tiny_instances(8, seed=41):
        optimum = brute_force(instance)
        for start in ("usual", "fifo"):
            stops += _every_stop(instance, optimum, start)
    assert stops > 60


# --- the other stages, and whole methods --------------------------------------------------------


def _tiny(count: int, seed: int) -> list[tuple[HareInstance, float]]:
    instances = tiny_instances(count, seed, most_tasks=5)
    return [(instance, brute_force(instance)) for instance in instances]


def test_local_search_stopped_anywhere_offers_schedules_only() -> None:
    for instance, optimum in _tiny(6, seed=51):
        for k in range(1, 40, 3):
            judge = Judge(instance, optimum)
            found = whole_bracket(instance, judge.call(StopAt(k)))
            budget = found.call.budget
            search = LocalSearch(
                instance, budget.seed, lambda best, _, at=found: at.incumbent(best)
            )
            stages.improve(found, search, budget, 20)
            stages.improve(found, search, budget, 20)
            judge.outcome(found.outcome())
            assert found.schedule is not None and found.lower == float("-inf")


def test_prices_of_gpu_time_stopped_anywhere_prove_what_they_claim() -> None:
    heard = 0
    for instance, optimum in _tiny(4, seed=53):
        for k in (1, 2, 3, 5, 8, 13, 21, 10**6):
            judge = Judge(instance, optimum)
            clock = StopAt(k)
            found = whole_bracket(instance, judge.call(clock))
            stages.lagrangian_stage(found, instance, budget=Budget(clock))
            outcome = found.outcome()
            assert outcome.bound is not None and outcome.certificate is not None
            judge.outcome(outcome)
            heard += judge.heard
    assert heard > 32


def test_engines_stopped_anywhere_claim_no_more_than_they_have_proved() -> None:
    cases = [
        (name, instance, optimum, k, {})
        for instance, optimum in _tiny(3, seed=57)
        if steps(instance).horizon <= 60
        for name in ("big-m", "time-indexed")
        for k in (1, 2, 3, 4, 6, 9, 14, 10**6)
    ]
    assert stops_of("highs", cases) >= 16
    cases = [
        ("cp-sat", instance, brute_force(instance, variant), k, {"synchronization": variant})
        for instance in tiny_instances(8, seed=59, most_tasks=4)
        for variant in ("relaxed", "fixed")
        for k in (1, 3, 6, 10**6)
    ]
    assert stops_of("cp-sat", cases) == 64


@pytest.mark.parametrize("start", ["usual", "fifo"])
def test_exact_stopped_anywhere_claims_no_more_than_it_has_proved(
    start: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if start == "fifo":  # the complete searches begin at once
        monkeypatch.setattr(stages, "MOVES", 0)
        monkeypatch.setattr(
            initial, "starting_schedules", lambda instance, variant: [gavel_fifo(instance)]
        )
    [method] = [method for method in METHODS if method.name == "exact"]
    instance, optimum = next(
        (instance, optimum)
        for instance, optimum in _tiny(80, seed=61)
        if steps(instance).to_objective(steps(instance).critical_path_value) < 0.9 * optimum
    )
    for k in (1, 2, 4, 9, 16, 25, 40, 160, 1000):
        method_at(instance, optimum, method, k)
    assert method_at(INTEGRAL_TOO_EARLY, 4799.0, method, 10**6).readings_left > 0


def test_exact_of_fixed_synchronization_stopped_anywhere() -> None:
    [method] = [method for method in METHODS if method.name == "exact"]
    instance = next(
        instance
        for instance in tiny_instances(40, seed=67, most_tasks=5)
        if brute_force(instance) < brute_force(instance, "fixed") < float("inf")
    )
    optimum = brute_force(instance, "fixed")
    for k in (1, 3, 12):
        method_at(instance, optimum, method, k, synchronization="fixed")
    done = method_at(instance, optimum, method, 10**6, synchronization="fixed")
    assert done.readings_left > 0


def test_bounds_that_meet_keep_their_certificate() -> None:
    """One task on each of two GPUs: the critical paths are the optimum."""
    job = {"rounds": 2, "tasks_per_round": 1, "training_time": {"k": 3}, "arrival": 1}
    instance = instance_of({"g1": "k", "g2": "k"}, [job, job | {"weight": 4}])
    solution = sg.solve(instance, "exact", time_limit=20)
    assert solution.status == "optimal" and solution.certificate is not None
    assert check_certificate(instance, solution.certificate) == solution.bound == 35


@pytest.mark.nightly
def test_thousands_of_stops_of_trees() -> None:
    stops = 0
    for instance in tiny_instances(100, seed=43):
        optimum = brute_force(instance)
        for start in STARTS:
            stops += _every_stop(instance, optimum, start, sample=8, first=60)
    for seed, optimum in ((1, 228.0), (2, 176.0), (3, 260.0)):
        schedule = STARTS["fifo"](small(seed))
        for k in islice(readings(40), 100):
            stops += 1
            if tree_at(small(seed), optimum, schedule, k):
                break
    print(f"{stops} stops")
    assert stops >= 10_000


def test_a_killed_search_leaves_the_rest_of_the_time_to_cp_sat(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Branch and price is killed for its memory, for example, before its first word."""
    run: Callable[..., StageResult | None] = SearchState.child

    def child(found: SearchState, name: str, *args: Any, **more: Any) -> StageResult | None:
        return None if name == "branch-and-price" else run(found, name, *args, **more)

    monkeypatch.setattr(SearchState, "child", child)
    monkeypatch.setattr(exact, "LATE_MOVES", 10)
    [method] = [method for method in METHODS if method.name == "exact"]
    judge = Judge(INTEGRAL_TOO_EARLY, 4799.0)
    outcome = FAMILY.run(method, INTEGRAL_TOO_EARLY, judge.call(Clock(30)))
    judge.outcome(outcome)
    assert "cp-sat" in outcome.trace and outcome.schedule is not None
    assert outcome.schedule.value(INTEGRAL_TOO_EARLY) == 4799
