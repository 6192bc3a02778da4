"""Initial state of searches of family `ring`: closed-form bounds, certificates, list schedules."""

import pytest

from schedgap.instances.generate import generate
from schedgap.instances.ring import RingInstance
from schedgap.models.method import Budget, RunContext
from schedgap.models.ring.algorithms.packing import lpt_pack
from schedgap.models.ring.bounds.certificates import check_certificate
from schedgap.models.ring.exact import exact as recipe
from schedgap.models.ring.exact.exact import exact
from schedgap.models.ring.heuristics import initial
from schedgap.models.ring.heuristics.initial import initial_state, settled_result, starting_schedule
from schedgap.models.ring.heuristics.local_search import search_stage
from schedgap.models.ring.methods import METHODS
from schedgap.models.ring.rates import no_schedule, rate_table
from schedgap.solvers import Clock
from strategies.clocks import StopAt
from strategies.ring_examples import W1, W2, W3, instance_of, job
from strategies.ring_methods import Heard, run

BY_NAME = {method.name: method for method in METHODS}
# jobs of 2 of 3 GPUs never run side by side: 2 slots each, where their work would fit into 4
WIDE = instance_of([job(name, 2, 28) for name in "abc"], [3], horizon=5)


def test_a_list_that_meets_the_bound_is_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the paper's size the longest job may be as long as a first list's schedule."""

    def never(*args: object, **kwargs: object) -> None:
        raise AssertionError("a search where nothing is left to prove")

    monkeypatch.setattr(initial, "search_runs", never)
    monkeypatch.setattr(initial, "random_orders", never)
    instance = generate("ring", preset="paper", seed=0)
    call = RunContext({}, None, Budget(), Heard())
    found = exact(instance, call)
    assert found.schedule.makespan == found.bound == rate_table(instance).longest
    assert found.certificate is not None and found.certificate["kind"] == "longest"
    assert check_certificate(instance, found.certificate) == found.bound


@pytest.mark.parametrize("instance", [W1, W2])
def test_without_time_there_is_still_a_list_and_a_bound(instance: RingInstance) -> None:
    call = RunContext({}, None, Budget(StopAt(0)), Heard())
    found = exact(instance, call)
    assert found.bound <= found.schedule.makespan <= lpt_pack(rate_table(instance)).makespan + 2
    assert check_certificate(instance, found.certificate) == found.bound


def test_lists_stop_when_time_is_up() -> None:
    """W1: all of them end in slot 8; the longest job takes 4, and nothing here shows more."""
    clock = StopAt(10**6)
    initial_state(W1, RunContext({}, None, Budget(clock), Heard()))
    needed = 10**6 - clock.readings_left
    assert needed > 60  # random orders, and runs of SJF-BCO
    for k in range(0, needed, 3):
        clock = StopAt(k)
        found = initial_state(W1, RunContext({}, None, Budget(clock), Heard()))
        assert (found.lower, found.upper) == (4, 8) and found.certificate["kind"] == "longest"
        assert -5 <= clock.left[0] <= 0  # a few more readings until it is noticed


@pytest.mark.parametrize("name", ["exact", "rar-ddls-cp", "rar-ddls", "branch-simulate"])
def test_a_bound_past_the_horizon_leaves_no_schedule(name: str) -> None:
    """6 slots one after the other; there is no search, so no engine is needed."""
    assert no_schedule(WIDE) is None
    outcome = run(BY_NAME[name], WIDE, seconds=0)
    assert outcome.infeasible and "takes 6 slots or more, the horizon is 5" in outcome.note
    assert outcome.certificate is not None and check_certificate(WIDE, outcome.certificate) == 6


def test_a_search_says_why_it_ended() -> None:
    """W3's list meets no free bound; W1 has only rings, which no lane holds; area closes W2."""
    ends = {}
    for name, instance, clock in (
        ("met", W2, Clock()), ("rounds", W1, Clock()), ("time", W3, StopAt(3))
    ):  # fmt: skip
        found = initial_state(instance, RunContext({}, None, Budget(), Heard()))
        known, lower = found.schedule, int(found.lower)
        report = search_stage(found, instance, known, lower, budget=Budget(clock))
        ends[name] = report.trace["end"]
    assert ends == {
        "met": "the bound is met", "rounds": "all rounds are done", "time": "time is up"
    }  # fmt: skip


def test_programs_for_too_many_ways_are_not_built(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a limit of 5 pairs W1 is too large, and local search has all of the time."""
    monkeypatch.setattr(recipe, "MANY_PAIRS", 5)
    found = exact(W1, RunContext({}, None, Budget(Clock(20)), Heard()))
    assert found.schedule.makespan == 8 and found.bound == 7  # by configurations
    assert set(found.trace) == {"pattern-lp", "local-search"}


def test_a_bracket_that_is_open_has_no_outcome() -> None:
    call = RunContext({}, None, Budget(), Heard())
    assert settled_result(W1, initial_state(W1, call)) is None
    closed = initial_state(W2, call)
    assert closed.upper == 6  # area 6
    outcome = settled_result(W2, closed)
    assert outcome is not None and outcome.schedule.makespan == 6
    assert starting_schedule(W2) is not None and starting_schedule(WIDE) is None
