"""Negotiated starts: the one who loses least gives way, and every start is a schedule."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from schedgap.models.dmlrs import rules
from schedgap.models.dmlrs.bounds.kernel import PRICING
from schedgap.models.dmlrs.bounds.solve_relaxations import initial_state
from schedgap.models.dmlrs.heuristics import negotiation, search_stages
from schedgap.models.dmlrs.heuristics.negotiation import negotiate
from schedgap.models.method import Budget, NullProgress, RunContext
from schedgap.solvers import Clock
from strategies.dmlrs import dmlrs_instances
from strategies.dmlrs_examples import MACHINE, TOY, instance_of, job
from strategies.kernels import compiled_entry, compiled_types

QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}


def prices_of(instance, price=0.1):
    return np.full((instance.horizon, len(instance.resources)), price)


def negotiated(instance, price=0.1, room=1.0, seed=0, clock=None):
    clock = clock or Clock(None)
    return negotiate(instance, prices_of(instance, price), room=room, seed=seed, clock=clock)


@settings(max_examples=15, **QUIET)
@given(dmlrs_instances(max_machines=2))
def test_a_negotiated_start_is_a_schedule(instance):
    made = negotiated(instance, room=0.9)
    data = made.schedule().to_data(instance)
    assert list(rules.check(instance, data, {})) == []
    assert rules.objective(instance, data) == pytest.approx(made.value)


def rivals(*losses):
    """Jobs of two slots each on one machine, which lose some of 60 after slot 2."""
    tables = [[60.0, 60.0, 60.0 - loss, 60.0 - loss] for loss in losses]
    return instance_of([job(f"j{k}", 1, t) for k, t in enumerate(tables)], [MACHINE])


@pytest.mark.parametrize("losses", [(1, 50), (50, 1)])
@pytest.mark.parametrize("seed", range(3))
def test_the_job_that_loses_least_gives_way(losses, seed, monkeypatch):
    """At no price, a job is inserted where it completes first: the order is the negotiated one."""
    monkeypatch.setattr(negotiation, "PLACED_SHARES", (0.0,))
    plans = negotiated(rivals(*losses), seed=seed).schedule().plans(rivals(*losses))
    assert [max(plans[k]) for k in (0, 1)] == [4 if loss == 1 else 2 for loss in losses]


def test_the_price_beyond_the_capacity_rises_until_a_job_gives_way(monkeypatch):
    """Without a rise both jobs plan slots 1 and 2, and j0 is inserted first."""
    for rise, ends in ((0.0, [2, 4]), (negotiation.RISE, [4, 2])):
        monkeypatch.setattr(negotiation, "RISE", rise)
        monkeypatch.setattr(negotiation, "PLACED_SHARES", (0.0,))
        plans = negotiated(rivals(1, 50), price=0.01).schedule().plans(rivals(1, 50))
        assert [max(plans[k]) for k in (0, 1)] == ends


def test_a_seed_repeats_the_negotiation_and_no_time_gives_none():
    assert negotiated(TOY).schedule() == negotiated(TOY).schedule()
    assert negotiated(TOY, clock=Clock(0)) is None


@pytest.mark.parametrize("instance", [TOY, instance_of([])])
def test_a_search_without_a_limit_ends(instance, monkeypatch):
    monkeypatch.setattr(search_stages, "MAX_IDLE_STARTS", 3)
    state = initial_state(instance, RunContext({}, None, Budget(), NullProgress()))
    prices = prices_of(instance)
    search_stages.search_negotiated(state, instance, prices, moves=50, time_share=0.5)
    assert state.upper == -(20 if instance is TOY else 0)
    assert state.trace["negotiated_starts"] <= 1 + 2 * 3


def test_the_compiled_pricing_is_compiled_once_for_all_jobs_and_for_one(monkeypatch):
    entry = compiled_entry(PRICING)
    plain = negotiated(TOY).schedule()
    monkeypatch.setitem(PRICING.__dict__, "plain", entry)
    assert negotiated(TOY).schedule() == plain
    assert compiled_types(entry) == 1
