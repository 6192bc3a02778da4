"""`exact` and its programs by intervals: optima by hand and by enumeration, bounds below them."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedgap.errors import ScaleError
from schedgap.instances.generate import generate
from schedgap.instances.ring import RingInstance
from schedgap.models.method import Budget, RunContext
from schedgap.models.ring.exact import exact, interval_stages
from schedgap.models.ring.exact.interval_stages import (
    destructive_bound_stage,
    dispatch_in_order,
)
from schedgap.models.ring.heuristics.initial import initial_state
from schedgap.models.ring.methods import METHODS
from schedgap.models.ring.programs import intervals, printed
from schedgap.models.ring.programs.intervals import Detail
from schedgap.models.ring.rates import rate_table
from schedgap.models.search_state import SearchState
from schedgap.solvers import Clock
from schedgap.solvers.children.processes import run_child
from schedgap.solvers.engines.results import SEEDS, EngineResult
from strategies.ring import optimum, ring_instances
from strategies.ring_cp_sat import Answer
from strategies.ring_examples import W1, W2, W3, instance_of, job
from strategies.ring_methods import Heard, run

BY_NAME = {method.name: method for method in METHODS}
EXACT = BY_NAME["exact"]
QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}
TINY = ring_instances(max_jobs=3, max_servers=3, max_slots=4)
SMALL = ring_instances(max_jobs=4, max_servers=3, max_slots=4)
CROWDED = ring_instances(max_jobs=4, max_servers=3, max_slots=4, placeable=True).filter(
    lambda instance: len(instance.jobs) >= 3
)


def answers(instances: list[RingInstance]) -> list[Answer]:
    reply = run_child("strategies.ring_cp_sat:answers", instances, engine="cp-sat")
    found: list[Answer] = reply.result()
    return found


def agree(instances: list[RingInstance]) -> None:
    for instance, found in zip(instances, answers(instances), strict=True):
        best = optimum(instance)
        assert found.plain == found.cut == found.sets == best
        if best is None:
            continue
        assert found.free is not None and found.pairs is not None
        assert found.free <= found.pairs <= best
        rings = [each for each in instance.jobs if each.gpus > 1]
        if len(rings) <= 2:  # no job can meet two others
            assert found.pairs == best


@settings(max_examples=2, **QUIET)
@given(st.lists(TINY, min_size=12, max_size=12))
def test_programs_agree_with_enumeration_and_relaxations_are_below(
    instances: list[RingInstance],
) -> None:
    agree(instances)


@pytest.mark.nightly
@settings(max_examples=30, **QUIET)
@given(st.lists(SMALL, min_size=20, max_size=20))
def test_programs_agree_with_enumeration_at_length(instances: list[RingInstance]) -> None:
    agree(instances)


@pytest.mark.parametrize(
    ("instance", "best", "free"), [(W1, 7, 4), (W2, 6, 6), (W3, 8, 7)], ids=["W1", "W2", "W3"]
)
def test_the_worked_examples(instance: RingInstance, best: int, free: int) -> None:
    """W1: alone each ring takes 4 slots, so both could end in slot 4 if rings never met."""
    (found,) = answers([instance])
    assert found.plain == found.cut == found.sets == best
    assert found.free is not None and free <= found.free <= best
    assert found.pairs == best  # no ring meets two others


def exactly(instance: RingInstance) -> float | None:
    heard = Heard()
    outcome = run(EXACT, instance, heard=heard)
    if outcome.infeasible:
        assert not heard.makespans
        return None
    assert outcome.bound == outcome.schedule.makespan
    assert outcome.trace["proof"] and max(heard.bounds) == outcome.bound
    return float(outcome.bound)


@settings(max_examples=6, **QUIET)
@given(TINY)
def test_exact_agrees_with_enumeration(instance: RingInstance) -> None:
    assert exactly(instance) == optimum(instance)


@pytest.mark.nightly
@settings(max_examples=600, **QUIET)
@given(st.one_of(SMALL, CROWDED))
def test_exact_methods_agree_at_length(instance: RingInstance) -> None:
    """Jobs too large for the cluster, and horizons too short, among them."""
    best = optimum(instance)
    assert exactly(instance) == best
    found = run(BY_NAME["branch-simulate"], instance)
    assert found.infeasible == (best is None) and found.bound == best
    if len(instance.jobs) <= 3 and printed.unsupported_reason(instance) is None:
        found = run(BY_NAME["rar-ddls"], instance, engine="highs", seconds=600)
        assert found.infeasible == (best is None) and found.bound == best


def test_a_ring_that_meets_two_others_goes_through_all_stages() -> None:
    """Three rings of 3 on five servers of 2."""
    jobs = [job(name, 3, 12, 4 / 3) for name in "abc"]
    instance = instance_of(jobs, [2, 2, 2, 2, 2], horizon=40)
    (found,) = answers([instance])
    assert found.plain == found.cut == found.sets == exactly(instance)


def test_overlaps_of_jobs_that_exclude_each_other_add_up() -> None:
    """Three rings of 4 on 9 GPUs: two at a time. The middle one meets both, one after the other."""
    table = rate_table(instance_of([job(name, 4, 24, 4 / 3) for name in "abc"], [3, 3, 3]))
    assert intervals.exclusive_groups(table, 0, [1, 2]) == [(1, 2)]
    table = rate_table(instance_of([job(name, 3, 24, 4 / 3) for name in "abc"], [3, 3, 3]))
    assert intervals.exclusive_groups(table, 0, [1, 2]) == [(1,), (2,)]


def test_a_job_without_a_way_to_end_in_time_leaves_no_program() -> None:
    """W1: 24 iterations at 7 a slot take 4 slots."""
    assert ends_by(W1, 3, "free") is None
    assert ends_by(W1, 4, "free") is True


def test_jobs_that_cannot_be_spread_in_time_do_not_count_as_rings() -> None:
    """a as in W1 takes 4 slots with b, whose 8 iterations take 4 inside s2 and 8 if spread."""
    instance = instance_of([job("a", 4, 24, 4 / 3), job("b", 2, 8, 20.0)], [3, 3])
    assert ends_by(instance, 4, "slots") is True
    assert ends_by(instance, 4, "sets") is True


def ends_by(instance: RingInstance, horizon: int, detail: str, **more: bool) -> bool | None:
    child = "strategies.ring_cp_sat:ends_by"
    reply = run_child(child, instance, horizon, detail=detail, engine="cp-sat", **more)
    found: bool | None = reply.result()
    return found


@pytest.mark.parametrize("detail", ["free", "sets"])
def test_makespans_are_refuted_one_by_one(detail: str) -> None:
    """W1, from 4 up: 4, 5 and 6 are refuted, 7 is met."""
    heard = Heard()
    found = initial_state(W1, RunContext({}, "cp-sat", Budget(Clock(60)), heard))
    found.child(
        "makespans", destructive_bound_stage, W1, found.schedule, 4, detail, engine="cp-sat"
    )
    assert (found.lower, found.upper) == (7, 7)
    assert heard.makespans == [8, 7] and heard.bounds == [4, 5, 6, 7]


def test_questions_after_the_largest_seed_have_small_seeds() -> None:
    found = initial_state(W1, RunContext({}, "cp-sat", Budget(Clock(60), seed=SEEDS - 1), Heard()))
    given = W1, found.schedule, 4, "sets"
    report = found.child("makespans", destructive_bound_stage, *given, engine="cp-sat")
    assert report is not None and report.complete
    assert (found.lower, found.upper) == (7, 7)


def test_a_makespan_is_asked_for_in_two_ways_before_the_other_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An engine that leaves the bound 4 undecided refutes 7 in the end; the incumbent ends in 8."""
    unknown, refuted = (EngineResult(s, None, None) for s in ("unknown", "infeasible"))
    assert asked_for("free", [unknown] * 3 + [refuted], monkeypatch) == [
        (4, "pairs"), (4, "free"), (7, "pairs"), (7, "free")
    ]  # fmt: skip


def test_a_plan_that_ends_too_late_leads_to_the_whole_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    late, refuted = (EngineResult(s, None, None) for s in ("optimal", "infeasible"))
    assert asked_for("free", [late] + [refuted] * 4, monkeypatch) == [
        (4, "pairs"), (4, "sets"), (5, "pairs"), (6, "sets"), (7, "pairs")
    ]  # fmt: skip


def asked_for(
    detail: Detail, answers: list[EngineResult], monkeypatch: pytest.MonkeyPatch
) -> list[tuple[int, Detail]]:
    """Return the questions about W1 that get these answers; seeds and shares of time change.

    With `optimal` come the plans in which both rings start in slot 1 on all servers.
    """
    asked, seeds, left = list[tuple[int, Detail]](), list[int](), iter(answers)
    both = [1, 1], [{0: 2, 1: 2}, {0: 2, 1: 2}]

    def ask(
        instance: RingInstance, horizon: int, detail: Detail, incumbent: object, budget: Budget
    ) -> tuple[EngineResult, object]:
        asked.append((horizon, detail))
        seeds.append(budget.seed)
        answer = next(left)
        return answer, both if answer.status == "optimal" else None

    monkeypatch.setattr(interval_stages, "_ask", ask)
    budget = Budget(Clock(600))
    found = initial_state(W1, RunContext({}, "cp-sat", budget, Heard()))
    report = destructive_bound_stage(found, W1, found.schedule, 4, detail, budget=budget)
    assert report.complete and seeds == list(range(len(asked)))
    return asked


def test_a_plan_that_collides_is_executed_in_its_order() -> None:
    """Both rings of W1 from slot 1 on all of two servers: the second waits for the first's end."""
    made = dispatch_in_order(W1, [1, 2], [{0: 2, 1: 2}, {0: 2, 1: 2}])
    assert made is not None
    assert [(run.start, run.end) for run in made.runs.values()] == [(1, 4), (5, 8)]


def test_progress_beyond_whole_numbers_is_left_out_not_rounded() -> None:
    """Rings of one slot, 10^13 units of progress, and one job of 90,000 slots: 10^18 x 60 sets."""
    short = {"batch_size": 1, "forward_time_per_sample": 4e-10, "backward_time": 5e-10}
    jobs = [job(f"r{n}", 4, 10**9, 1e-9, **short) for n in range(6)]
    long = job("long", 1, 90_000, batch_size=1, forward_time_per_sample=0.5, backward_time=0.5)
    instance = instance_of(
        [*jobs, long], [3] * 10, horizon=100_000, rate_scale=10_000, overhead_per_server=0.0
    )
    assert max(rate_table(instance).required_progress) == 10**13
    with pytest.raises(ScaleError, match="beyond CP-SAT's whole numbers"):
        ends_by(instance, 90_000, "sets")
    found = initial_state(instance, RunContext({}, "cp-sat", Budget(Clock(60)), Heard()))
    report = found.child("m", destructive_bound_stage, instance, None, 1, "sets", engine="cp-sat")
    assert report is not None and not report.infeasible and not report.complete
    assert "whole numbers" in report.trace["left_out"]


def test_a_wrong_last_word_of_cp_sat_is_not_believed() -> None:
    """The presolve of CP-SAT 9.15 says 50, or that 48 cannot be: `branch-simulate` executes 48."""
    jobs = [
        job("j1", 2, 36363, 5e-4 / 3, batch_size=4, forward_time_per_sample=6.875e-06,
            backward_time=2.75e-05),
        job("j2", 1, 92307, 4e-3 / 9, batch_size=1, forward_time_per_sample=5.416666666666667e-06,
            backward_time=4 * 5.416666666666667e-06),
        job("j3", 6, 109090, 4e-3 / 9, batch_size=1, forward_time_per_sample=2.2916666666666666e-06,
            backward_time=4 * 2.2916666666666666e-06),
        job("j4", 6, 184615, 0.0, batch_size=1, forward_time_per_sample=2.70833875e-06,
            backward_time=1.0833355e-05),
    ]  # fmt: skip
    instance = instance_of(
        jobs, [3, 4, 1], horizon=60, rate_scale=10_000, overhead_per_server=1e-5 / 3,
        bandwidth_between=2.0, bandwidth_within=100.0, contention_factor=1.0,
        degradation={"kind": "linear", "alpha": 0.0},
    )  # fmt: skip
    best = run(BY_NAME["branch-simulate"], instance)
    assert best.bound == best.schedule.makespan == 48
    (found,) = answers([instance])
    assert found.plain == found.cut == found.sets == exactly(instance) == 48


def test_what_cannot_be_is_infeasible() -> None:
    """W1's optimum is 7."""
    jobs = [job(name, 4, 24, 4 / 3) for name in "ab"]
    assert exactly(instance_of(jobs, [3, 3, 3], horizon=6)) is None
    assert exactly(instance_of(jobs, [3, 3, 3], horizon=7)) == 7


def test_many_jobs_are_searched_before_a_program_repeats_the_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The lists end at 27; the longest job takes 23 slots, which a search attains."""
    instance = generate("ring", preset="medium", seed=22)
    monkeypatch.setattr(exact, "MANY_JOBS", len(instance.jobs))
    monkeypatch.setattr(exact, "EARLY_SECONDS", 600.0)
    monkeypatch.setattr(exact, "EARLY_SHARE", 1.0)
    monkeypatch.setattr(SearchState, "child", None)  # this process has the compiled code
    outcome = run(EXACT, instance)
    assert outcome.bound == outcome.schedule.makespan == 23
    assert "local-search" in outcome.trace and "pattern-lp" not in outcome.trace
