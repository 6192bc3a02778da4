"""The programs of family `ring`: optima by hand, by enumeration, and compared with each other."""

import math

import pytest
from hypothesis import HealthCheck, given, settings

from schedgap.errors import UsageError
from schedgap.instances.ring import RingInstance
from schedgap.models.ring import rules
from schedgap.models.ring.heuristics.initial import starting_schedule
from schedgap.models.ring.methods import METHODS, PROGRAMS
from schedgap.models.ring.programs import printed
from schedgap.models.ring.rates import no_schedule, rate_table
from schedgap.solvers import Clock, solve
from strategies.ring import optimum, ring_instances
from strategies.ring_examples import W1, W2, W3, instance_of, job
from strategies.ring_methods import Heard, run

BY_NAME = {method.name: method for method in METHODS}
QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}


def makespan(instance: RingInstance, **given: int) -> float:
    """Return the program's optimum by the rules, which must accept the schedule."""
    model = printed.build(instance, **given) if given else PROGRAMS["rar-ddls"](instance)
    result = solve(model, "highs", clock=Clock(300), grid=1)
    if result.status == "infeasible":
        return math.inf
    assert result.status == "optimal" and result.objective is not None
    schedule = printed.read(model, instance)
    assert schedule is not None
    data = schedule.to_data(instance)
    assert list(rules.check(instance, data, {})) == []
    # a solution may say that a job takes longer than it does; at the optimum none that matters
    assert rules.objective(instance, data) == pytest.approx(result.objective)
    return rules.objective(instance, data)


@pytest.mark.parametrize(("instance", "best"), [(W1, 7), (W2, 6), (W3, 8)])
def test_the_program_finds_the_optima_of_the_examples(instance: RingInstance, best: int) -> None:
    assert makespan(instance) == best


def test_the_program_begins_below_the_best_of_the_lists() -> None:
    """W2: SJF-BCO and `lpt-pack` have 7, random orders have 6."""
    first = starting_schedule(W2)
    assert first is not None and first.makespan == 6


def test_equal_servers_are_used_from_the_first_on() -> None:
    """28 iterations at 14 per slot, on one of three servers."""
    model = PROGRAMS["rar-ddls"](instance_of([job("a", 1, 28)], [1, 1, 1]))
    assert solve(model, "highs", clock=Clock(60)).objective == pytest.approx(2)
    assert [round(model.y[0, s].value) for s in range(3)] == [1, 0, 0]


def test_a_horizon_below_the_optimum_is_infeasible() -> None:
    assert makespan(W1, horizon=6) == math.inf
    assert makespan(W1, horizon=7) == 7


def agree(instance: RingInstance) -> None:
    best = optimum(instance)
    if no_schedule(instance) is not None:
        assert best is None
        with pytest.raises(UsageError, match="no program"):
            PROGRAMS["rar-ddls"](instance)
    elif printed.unsupported_reason(instance) is None:
        assert makespan(instance) == (math.inf if best is None else best)


@settings(max_examples=10, **QUIET)
@given(ring_instances(max_jobs=3, max_servers=3, max_slots=4, placeable=True))
def test_the_program_agrees_with_enumeration(instance: RingInstance) -> None:
    agree(instance)


@pytest.mark.nightly
@settings(max_examples=300, **QUIET)
@given(ring_instances(max_jobs=3, max_servers=3, max_slots=4, placeable=True))
def test_the_program_agrees_with_enumeration_at_length(instance: RingInstance) -> None:
    agree(instance)


def test_work_that_a_tolerance_could_forgive_is_refused() -> None:
    # 1 000 003 is a prime number: need and rates share nothing but the scale's 10
    fine = instance_of([job("a", 2, 1_000_003, 1.0)], [2], rate_scale=10, horizon=100_000)
    assert "smaller rate_scale" in str(printed.unsupported_reason(fine))
    assert printed.unsupported_reason(W1) is None


def test_rates_and_need_are_divided_by_what_they_share() -> None:
    # 24 iterations at 10, 7, 3, 6 a slot share nothing; 60 at 14 share 2
    table = rate_table(W1)
    assert printed.progress_divisor(table, 0) == 1
    alone = rate_table(instance_of([job("a", 1, 60)], [1]))
    assert alone.rates(0, 1) == (14,) and printed.progress_divisor(alone, 0) == 2


def test_equal_jobs_start_in_list_order() -> None:
    assert printed.equal_jobs(W1) == [(0, 1)]
    assert printed.equal_jobs(W2) == [(0, 1), (2, 3), (3, 4)]  # the estimate is not in the model
    assert printed.equal_jobs(W3) == []


def test_programs_for_export() -> None:
    assert set(PROGRAMS) <= set(BY_NAME)
    for build in PROGRAMS.values():
        assert solve(build(W1), "highs", clock=Clock(60), grid=1).objective == pytest.approx(7)
    assert PROGRAMS["rar-ddls"](W3).mk.bounds == (7, 8)  # area, and a first schedule
    none = instance_of([job("a", 4, 24)], [3])
    large = instance_of([job(f"j{n}", 2, 3000) for n in range(30)],
                        [2, 3, 4], horizon=100_000)  # fmt: skip
    for instance, name in ((none, "rar-ddls"), (none, "complete-pool"), (large, "rar-ddls")):
        with pytest.raises(UsageError):
            PROGRAMS[name](instance)


def test_the_rows_of_the_paper_are_there() -> None:
    model = PROGRAMS["rar-ddls"](W3)
    names = {constraint.name for constraint in model.component_objects(ctype=_rows())}
    for label in ("1", "1_t", "2", "3_act", "3_w", "4", "5_use", "6_c", "6_L", "6_lev", "9"):
        assert f"eq_{label}" in names


def _rows() -> type:
    import pyomo.environ as pyo

    return pyo.Constraint


# --- methods -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["rar-ddls", "branch-simulate"])
@pytest.mark.parametrize(("instance", "best"), [(W1, 7), (W2, 6), (W3, 8)])
def test_exact_methods_prove_the_optima(name: str, instance: RingInstance, best: int) -> None:
    heard = Heard()
    outcome = run(BY_NAME[name], instance, heard=heard)
    assert outcome.schedule.makespan == outcome.bound == best
    assert outcome.trace["proof"]
    assert min(heard.makespans) == best and max(heard.bounds) <= best


@pytest.mark.parametrize("name", ["rar-ddls", "branch-simulate"])
def test_exact_methods_prove_that_there_is_no_schedule(name: str) -> None:
    jobs = [job("a", 4, 24, 4 / 3), job("b", 4, 24, 4 / 3)]
    assert run(BY_NAME[name], instance_of(jobs, [3, 3, 3], horizon=6)).infeasible
    slow = instance_of(jobs, [3, 3, 3], bandwidth_between=0.5)
    outcome = run(BY_NAME[name], slow)
    assert outcome.infeasible and "no progress" in outcome.note


def test_a_program_beyond_reason_is_not_built() -> None:
    jobs = [job(f"j{n}", 2, 3000, 1.0) for n in range(30)]
    outcome = run(BY_NAME["rar-ddls"], instance_of(jobs, [2, 3, 4], horizon=100_000))
    assert outcome.note.startswith("too large: about")
    assert outcome.schedule is not None and outcome.bound is not None


def test_a_stopped_search_keeps_schedule_and_bound() -> None:
    jobs = [job(f"j{n}", 2 + n % 4, 60 + 7 * n, 4 / 3) for n in range(12)]
    outcome = run(BY_NAME["branch-simulate"], instance_of(jobs, [3] * 4, horizon=400), seconds=0.3)
    assert outcome.schedule is not None and outcome.bound < outcome.schedule.makespan
