"""theta of family `dmlrs` against trying every placement of one slot."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedgap.instances.dmlrs import DmlrsInstance, arrays
from schedgap.models.dmlrs.algorithms.slot_placements import (
    external_exact,
    external_greedy,
    internal,
)
from schedgap.models.dmlrs.slot_options import SlotState, job_at_arrival
from strategies.dmlrs import dmlrs_instances, placements
from strategies.dmlrs_examples import TOY


def random_slot(instance: DmlrsInstance, seed: int) -> SlotState:
    """Return an empty slot at random prices for the first job; halves add up exactly."""
    shape = len(instance.machines), len(instance.resources)
    price = np.random.default_rng(seed).integers(0, 8, shape) / 2
    return SlotState(job_at_arrival(instance, 0), arrays(instance).capacity_milli, price)


def cheapest(slot: SlotState, instance: DmlrsInstance) -> dict[tuple[int, bool], float]:
    """Return the least price of (workers, internal) over all placements."""
    found: dict[tuple[int, bool], float] = {}
    for (inside, across), ways in placements(instance, 0).items():
        for way in ways:
            key = (inside or across, inside > 0)
            found[key] = min(found.get(key, np.inf), slot.option(way).cost)
    return found


@settings(max_examples=35)
@given(dmlrs_instances(max_jobs=1, max_machines=3), st.integers(0, 10**6))
def test_theta_is_the_least_price_of_any_placement(instance, seed):
    slot = random_slot(instance, seed)
    truth = cheapest(slot, instance)
    inside = {offer.workers: offer for offer in internal(slot)}
    for n, offer in inside.items():
        assert offer.internal
        assert offer.cost == pytest.approx(truth[n, True])
    reach = slot.job.bundles.workers[: slot.job.useful_bundles(0)]
    assert set(inside) == {n for n, internal in truth if internal and n in reach}
    anywhere = {offer.workers: offer for offer in external_exact(slot)}
    if len(instance.machines) > 1:
        reach = slot.job.bundles.workers[: slot.job.useful_bundles(1)]
        assert set(anywhere) == {n for n, _ in truth if n in reach}
    for n, offer in anywhere.items():
        assert offer.cost == pytest.approx(min(truth.get((n, mode), np.inf) for mode in (0, 1)))


@settings(max_examples=45)
@given(dmlrs_instances(max_jobs=1, max_machines=3), st.integers(0, 10**6))
def test_exact_options_cost_no_more_than_greedy_ones(instance, seed):
    slot = random_slot(instance, seed)
    exact = {offer.workers: offer.cost for offer in external_exact(slot)}
    greedy = {offer.workers: offer.cost for offer in external_greedy(slot)}
    assert set(greedy) <= set(exact)
    assert all(exact[n] <= greedy[n] + 1e-9 for n in greedy)


@settings(max_examples=35)
@given(dmlrs_instances(max_jobs=1, max_machines=3), st.integers(0, 10**6))
def test_every_offer_fits_and_has_its_parameter_servers(instance, seed):
    slot = random_slot(instance, seed)
    ways = {
        frozenset((h, pair) for h, pair in way.items())
        for some in placements(instance, 0).values()
        for way in some
    }
    offers = [
        *internal(slot),
        *external_exact(slot),
        *external_greedy(slot),
    ]
    assert all(frozenset(offer.counts.items()) in ways for offer in offers)


def test_a_toy_slot_by_hand():
    # GPU 1 on m1, 3 on m2; CPU 1/2 on both. Two workers and a PS: 2 + 1.5 = 3.5 on m1.
    # Three do not fit on a machine: two on m1, the third on m2, with 2 PSs: 2 + 3 + 5/2 = 7.5.
    price = np.array([[1.0, 0.5], [3.0, 0.5]])
    slot = SlotState(job_at_arrival(TOY, 0), arrays(TOY).capacity_milli, price)
    assert [(o.workers, o.cost) for o in internal(slot)] == [(1, 2.0), (2, 3.5)]
    costs = [(o.workers, o.cost) for o in external_exact(slot)]
    assert costs == [(1, 2.0), (2, 3.5), (3, 7.5), (4, 11.0)]
    assert [(o.workers, o.cost) for o in external_greedy(slot)] == costs
    assert [o.internal for o in external_exact(slot)] == [True, True, False, False]


def test_a_machine_is_chosen_by_the_price_of_all_its_units():
    # A worker costs 0 + 3 on m1 and 3.5 + 1 on m2, a PS 3 and 1. One worker with its PS: 6 or 5.5;
    # two with a PS: 9 or 10. Greedily machines stand by gamma workers and a PS, which is 9 or 10.
    price = np.array([[0.0, 3.0], [3.5, 1.0]])
    slot = SlotState(job_at_arrival(TOY, 0), arrays(TOY).capacity_milli, price)
    assert [(o.cost, o.counts) for o in internal(slot)] == [
        (5.5, {1: (1, 1)}), (9.0, {0: (2, 1)}),
    ]  # fmt: skip
    assert [o.counts for o in external_greedy(slot)[:2]] == [
        {0: (1, 1)},
        {0: (2, 1)},
    ]
