"""OASiS of family `dmlrs`: a slot with workers and PSs apart, and the whole run."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.instances.dmlrs import arrays
from schedgap.models.dmlrs.baselines.oasis import oasis, separated, worker_machines
from schedgap.models.dmlrs.rules import check
from schedgap.models.dmlrs.slot_options import SlotState, job_at_arrival
from schedgap.models.method import Budget, NullProgress, RunContext
from schedgap.solvers import Clock
from strategies.dmlrs import dmlrs_instances, optimum, placements
from strategies.dmlrs_examples import TOY, TOY_2
from strategies.dmlrs_methods import METHODS


def test_half_of_the_machines_hold_workers():
    assert [worker_machines(H, 0.5) for H in (1, 2, 3, 4, 5)] == [1, 1, 2, 2, 3]
    assert worker_machines(10, 0.3) == 3 and worker_machines(4, 1.0) == 4


@settings(max_examples=50, deadline=None)
@given(dmlrs_instances(max_jobs=1, max_machines=4), st.data())
def test_a_separated_slot_is_the_cheapest_of_its_kind(instance, data):
    """Against all placements of an empty slot whose machines hold one kind each."""
    view = arrays(instance)
    H, R = view.capacity.shape
    first = data.draw(st.integers(1, H))
    price = np.array(data.draw(st.lists(st.integers(0, 9), min_size=H * R, max_size=H * R)))
    slot = SlotState(
        job_at_arrival(instance, 0), view.capacity_milli, price.reshape(H, R).astype(float)
    )
    found = {offer.workers: offer for offer in separated(slot, first)}
    least: dict[int, float] = {}
    for (_, n), ways in placements(instance, 0).items():
        for placed in ways if n else ():
            apart = all(s == 0 if h < first else w == 0 for h, (w, s) in placed.items())
            if apart:
                least[n] = min(least.get(n, np.inf), slot.option(placed).cost)
    useful_bundles = slot.job.bundles.workers[: slot.job.useful_bundles(1)]
    kept = {n: cost for n, cost in least.items() if n in useful_bundles}
    assert {n: offer.cost for n, offer in found.items()} == pytest.approx(kept)
    assert not any(offer.internal for offer in found.values())


def test_oasis_on_the_toy():
    """Workers on m1 only: 2 across in each slot. j1 needs 7.2 worker-slots, thus all four slots.

    Its delay would be 3, worth nothing; j2 takes them, worth 1. j3 comes too late.
    """
    found = oasis(TOY)
    assert found.schedule.admitted == ("j2",) and found.schedule.value(TOY) == 1
    assert {row.machine for row in found.schedule.allocations if row.workers} == {"m1"}
    assert {row.machine for row in found.schedule.allocations if row.ps} == {"m2"}


def test_on_one_machine_nobody_runs():
    assert oasis(TOY_2).schedule.admitted == ()


@settings(max_examples=40, deadline=None)
@given(dmlrs_instances(max_machines=3), st.sampled_from([0.3, 0.5, 0.7]))
def test_oasis_keeps_the_rules_and_is_no_better_than_the_optimum(instance, share):
    schedule = oasis(instance, worker_share=share).schedule
    assert list(check(instance, schedule.to_data(instance), {})) == []
    assert schedule.value(instance) <= optimum(instance) + 1e-9


def test_the_method_runs():
    method = METHODS["oasis"]
    outcome = method(TOY, RunContext(method.parse({}), None, Budget(Clock(10)), NullProgress()))
    assert outcome.schedule.value(TOY) == 1 and outcome.trace["payoffs"]["j2"] > 0
