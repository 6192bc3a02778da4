"""Branches on completions: every tree proves a bound, and no tree that leaves schedules out."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedgap.errors import InputError
from schedgap.instances.generate import generate
from schedgap.models.dmlrs.bounds.certificate_data import completion_certificate
from schedgap.models.dmlrs.bounds.certificates import check_certificate
from schedgap.models.dmlrs.bounds.completion_branches import branch_on_completions, flattened
from schedgap.models.dmlrs.bounds.completion_trees import MAX_LEAVES, narrowed
from schedgap.models.dmlrs.bounds.pricing import priced_bound
from schedgap.models.method import Budget
from schedgap.solvers import Clock
from strategies.dmlrs import dmlrs_instances, optimum
from strategies.dmlrs_examples import TOY, TOY_2, instance_of, job

QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}


def branched(instance, value, seconds=30):
    """Each bound that branching reports for an incumbent's value, with its certificate."""
    found = []

    def on_bound(root):
        bound, branches, prices = flattened(root)
        found.append((bound, completion_certificate(branches, prices)))

    none = np.zeros((instance.horizon, len(instance.resources)))
    budget = Budget(Clock(seconds))
    branch_on_completions(instance, none, upper=lambda: -value, budget=budget, on_bound=on_bound)
    return found


@settings(max_examples=120, **QUIET)
@given(dmlrs_instances(), st.data())
def test_every_tree_with_any_prices_proves_a_bound(instance, data):
    """A random tree: each branch is below the one before it, on one of both sides."""
    jobs, T = len(instance.jobs), instance.horizon
    depth = data.draw(st.integers(0, 4)) if jobs else 0
    branches = []
    for k in range(depth):
        split = data.draw(st.integers(0, jobs - 1)), data.draw(st.integers(1, T))
        sides = (k + 1 if k + 1 < depth else -1 - depth, -1 - k)
        branches.append((*split, *(sides if data.draw(st.booleans()) else sides[::-1])))
    price = st.lists(
        st.sampled_from([0, 0.1, 1, 3, 20]), min_size=T * len(instance.resources),
        max_size=T * len(instance.resources),
    )  # fmt: skip
    prices = [
        np.array(data.draw(price), dtype=float).reshape(T, len(instance.resources))
        for _ in range(depth + 1)
    ]
    found = check_certificate(instance, completion_certificate(branches, prices))
    assert optimum(instance) <= found * (1 + 1e-12)


@settings(max_examples=120, **QUIET)
@given(dmlrs_instances(), st.sampled_from([0.0, 0.9, 1.0]))
def test_bounds_hold_and_are_what_their_certificates_prove(instance, share):
    best = optimum(instance)
    for bound, certificate in branched(instance, share * best):
        assert best <= bound + 1e-9 * best
        assert check_certificate(instance, certificate) == pytest.approx(bound, rel=1e-12)


def two_jobs_for_one_machine():
    """Two jobs of 4 worker-slots in pairs, and one machine that holds a pair: 9, 8 on time, or 0.

    Each needs both slots in which it is worth anything.
    """
    paired = {"time_per_sample": 0.2 / 3 - 8 / 300, "external_bandwidth": 300.0}
    jobs = [job(name, 1, [u, u, 0, 0], **paired) for name, u in (("j1", 9), ("j2", 8))]
    return instance_of(jobs, [{"gpu": 3, "cpu": 4}])


def test_branches_close_what_prices_leave_open():
    """4 CPUs hold a pair and a third of another: prices prove 9 + 8 / 3; one branch proves 9."""
    instance = two_jobs_for_one_machine()
    assert optimum(instance) == 9
    found = branched(instance, 9)
    assert found[-1][0] == pytest.approx(9, rel=1e-6)
    before = [bound for bound, certificate in found if not certificate["branches"]]
    assert before[-1] == pytest.approx(9 + 8 / 3, rel=1e-3)
    assert found[-1][1]["branches"]


def test_a_branch_leaves_no_completion_out():
    """A completion or a rejection, slot T + 1, is in the window of exactly one of both parts."""
    never = TOY.horizon + 1
    for first in range(1, never + 1):
        for last in range(first, never + 1):
            for c in range(1, never):
                parts = [part[0] for part in narrowed(TOY, {0: (first, last)}, 0, c)]
                for f in range(1, never + 1):
                    inside = sum(low <= f <= high for low, high in parts)
                    assert inside == (first <= f <= last)


def test_windows_by_hand():
    """TOY's j1 earns 8 at least in slot 2, 2 in slot 3, and nothing where it is rejected."""
    none = np.zeros((4, 2))
    alone = priced_bound(TOY, none)
    assert alone == pytest.approx(8 + 3 + 9)
    assert priced_bound(TOY, none, {0: (1, 2)}) == pytest.approx(alone)
    assert priced_bound(TOY, none, {0: (3, 5)}) == pytest.approx(alone - 6)
    assert priced_bound(TOY, none, {0: (5, 5)}) == pytest.approx(alone - 8)
    assert priced_bound(TOY, none, {0: (1, 1)}) == -np.inf  # it cannot be complete so early
    assert priced_bound(TOY, none, {0: (3, 2)}) == -np.inf


@pytest.mark.parametrize(
    ("branches", "prices"),
    [
        ([[0, 2, -1, -1]], []),  # the same leaf twice
        ([[0, 2, 0, -1]], []),  # a circle
        ([[0, 2, 1, 1], [1, 2, -1, -2]], []),  # the same branch twice
        ([[0, 2, 1, -1]], []),  # no such branch
        ([[3, 2, -1, -2]], []),  # no such job
        ([[0, 5, -1, -2]], []),  # no such slot
        ([[-1, 2, -1, -2]], []),
        ([[0, 0, -1, -2]], []),
        ([[0, 2, -1]], []),
        ([[0, 2, -1, -2, -3]], []),
        ([[0, 2, -1, -2]], [[2, 1, 0, 1.0]]),  # prices of no leaf
        ([[0, 2, -1, -2]], [[0, 1, 2, 1.0]]),
        ([[0, 2, -1, -2]], [[0, 5, 0, 1.0]]),
        ([[0, 2, -1, -2]], [[0, 1, 0, -1.0]]),
        ([[0, 2, k + 1, -1 - k] for k in range(3 * MAX_LEAVES)] + [[0, 2, -5000, -5001]], []),
    ],
)
def test_a_tree_that_leaves_schedules_out_is_refused(branches, prices):
    whole = {"kind": "completions", "branches": [], "prices": []}
    assert check_certificate(TOY, whole) == pytest.approx(20)
    with pytest.raises(InputError, match="certificate"):
        check_certificate(TOY, {"kind": "completions", "branches": branches, "prices": prices})


def test_a_missing_branch_is_named():
    with pytest.raises(InputError, match="no branch 1"):
        check_certificate(TOY, {"kind": "completions", "branches": [[0, 2, 1, -1]], "prices": []})


def test_prices_of_many_leaves_are_refused_before_they_fill_the_memory():
    jobs = [job("j1", 1, [1.0] + [0.0] * 999)]
    long = instance_of(jobs, horizon=1000)
    prices = [[leaf, 1, 0, 1.0] for leaf in range(10_000)]  # 16 kB each
    tracemalloc.start()
    with pytest.raises(InputError, match="10000 leaves"):
        check_certificate(long, {"kind": "completions", "branches": [], "prices": prices})
    assert tracemalloc.get_traced_memory()[1] < 50e6
    tracemalloc.stop()


def test_a_certificate_of_lower_prices_proves_less():
    """Tampering with a price changes what is proved: the checker reads no value."""
    instance = two_jobs_for_one_machine()
    bound, certificate = branched(instance, 9)[-1]
    for k, row in enumerate(certificate["prices"]):
        changed = [*certificate["prices"]]
        changed[k] = [*row[:-1], row[-1] / 2]
        told = {**certificate, "prices": changed, "value": bound}
        assert check_certificate(instance, told) >= 9


def test_without_time_the_given_prices_are_reported():
    for instance in (TOY, TOY_2, instance_of([])):
        ((bound, certificate),) = branched(instance, -1, seconds=0)
        assert certificate["branches"] == [] and bound >= optimum(instance)


def test_a_plan_may_need_almost_nothing_of_a_slot():
    """The first slot leaves 1e-10 of the work: HiGHS refuses the demand of the second."""
    work = 2 * (1 + 1e-8 + 1e-10)  # worker-slots
    rare = {"time_per_sample": work / 60 - 8 / 300, "external_bandwidth": 300.0}
    instance = instance_of([job("j1", 1, [5, 3, 1, 0], **rare)], [{"gpu": 2, "cpu": 4}])
    assert optimum(instance) == 3
    assert branched(instance, 0)[-1][0] == pytest.approx(3)


def test_bounds_are_reported_while_columns_are_generated():
    """What ends the search before the first branch loses none of them."""
    instance = generate("dmlrs", preset="medium", seed=0)
    found = branched(instance, 0.97 * 257, seconds=None)
    before = [bound for bound, certificate in found if not certificate["branches"]]
    assert len(before) > 2 and before == sorted(before, reverse=True)


def test_a_generated_instance():
    instance = generate("dmlrs", preset="medium", seed=0)
    bounds = [bound for bound, _ in branched(instance, 0.97 * 257, seconds=None)]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[-1] < bounds[0]
