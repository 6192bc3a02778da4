"""The exact programs of family `elastic`: optima by hand, by enumeration, and by one another."""

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedgap.errors import ScaleError
from schedgap.instances.elastic import ElasticInstance, ElasticSchedule
from schedgap.models.elastic import rules
from schedgap.models.elastic.heuristics.initial import known_windows, starting_schedule
from schedgap.models.elastic.methods import PROGRAMS
from schedgap.models.elastic.modes import cluster, modes
from schedgap.models.elastic.programs import compact, intervals, linearised
from schedgap.models.elastic.programs.columns import placements as minimal
from schedgap.models.elastic.programs.columns import runs_from, schedule_of
from schedgap.models.elastic.time_windows import windows
from schedgap.solvers import Clock, solve
from schedgap.solvers.children.processes import run_child
from strategies.elastic import (
    best_schedule,
    brute_force,
    elastic_instances,
    instance_of,
    placements,
    usage,
)
from strategies.elastic_examples import BATCH, J1, RING, TOY

OPTIMA = [(TOY, 27), (BATCH, 5), (RING, 5)]
Solve = Callable[[ElasticInstance], float]


def value(instance: ElasticInstance, schedule: ElasticSchedule) -> float:
    """Return the objective by the rules, which must accept the schedule."""
    data = schedule.to_data(instance)
    assert list(rules.check(instance, data, {})) == []
    return rules.objective(instance, data)


def _pyomo(module: Any) -> Solve:
    def optimum(instance: ElasticInstance) -> float:
        model = module.build(instance, span=known_windows(instance))
        result = solve(model, "highs", clock=Clock(60))
        if result.status == "infeasible":
            return math.inf
        assert result.status == "optimal"
        found = value(instance, module.read(model, instance))
        assert found == pytest.approx(result.objective, rel=1e-6)
        return found

    return optimum


def _compact(instance: ElasticInstance) -> float:
    runs = compact.enumerate_runs(instance, known_windows(instance), 200_000)
    assert runs is not None
    model = compact.build(instance, runs=runs)
    result = solve(model, "highs", clock=Clock(60))
    if result.status == "infeasible":
        return math.inf
    assert result.status == "optimal"
    return value(instance, compact.read(model, instance))


HIGHS = {
    "paper-milp": _pyomo(linearised),
    "compact-exponential": _compact,
}


@pytest.mark.parametrize(("instance", "optimum"), OPTIMA)
@pytest.mark.parametrize("name", HIGHS)
def test_programs_find_the_optima_of_the_examples(
    name: str, instance: ElasticInstance, optimum: float
) -> None:
    assert HIGHS[name](instance) == pytest.approx(optimum)


def agree(instance: ElasticInstance) -> None:
    optimum = brute_force(instance)
    for name, program_of in HIGHS.items():
        assert program_of(instance) == pytest.approx(optimum), name


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(elastic_instances(max_jobs=2))
def test_programs_agree_with_enumeration(instance: ElasticInstance) -> None:
    agree(instance)


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(elastic_instances(max_jobs=2, integer=False))
def test_programs_agree_with_enumeration_on_fractions(instance: ElasticInstance) -> None:
    agree(instance)


@pytest.mark.nightly
@settings(max_examples=600, deadline=None, suppress_health_check=list(HealthCheck))
@given(elastic_instances())
def test_programs_agree_with_enumeration_at_length(instance: ElasticInstance) -> None:
    agree(instance)


@settings(max_examples=20, deadline=None)
@given(elastic_instances())
def test_an_optimal_schedule_lies_in_the_windows(instance: ElasticInstance) -> None:
    """An optimal schedule from enumeration ends each job within what the first schedule allows."""
    start = starting_schedule(instance)
    optimum, best = best_schedule(instance)
    if start is None or best is None:
        return
    assert (value(instance, start) >= optimum) is not instance.is_batch or optimum == value(
        instance, start
    )
    span = windows(instance, start.value(instance))
    assert span is not None
    for j, job in enumerate(instance.jobs):
        if job.id in best.placements:
            assert best.completion(job.id) <= span.end[j]


@settings(max_examples=45, deadline=None)
@given(elastic_instances(max_jobs=1))
def test_minimal_placements_hold_no_more_than_any_placement(instance: ElasticInstance) -> None:
    """For each enumerated placement a minimal one is as short and holds no more anywhere."""
    view = cluster(instance)
    job = instance.jobs[0]
    found = []
    for mode in modes(instance, 0):
        for workers, ps in minimal(view, mode):
            run = view.place(mode, 1, dict(workers), dict(ps))
            found.append((run.duration, usage(instance, run)))
    for run in placements(instance, job):
        use = usage(instance, run)
        assert any(
            d <= run.duration and all(a <= b + 1e-9 for a, b in zip(held, use, strict=True))
            for d, held in found
        )


def test_rows_are_named_after_equations() -> None:
    from pyomo.environ import Constraint

    def names(model: Any) -> set[str]:
        return {row.name for row in model.component_objects(Constraint) if len(row)}

    assert {"eq_2a", "eq_2b", "eq_2c", "eq_2d", "eq_2e", "eq_2h", "eq_2i"} <= names(
        PROGRAMS["paper-milp"](TOY)
    )
    assert "eq_7a" in names(PROGRAMS["paper-milp"](BATCH))
    assert {"eq_8a", "eq_8b"} <= names(PROGRAMS["compact-exponential"](BATCH))
    assert "eq_9a" in names(PROGRAMS["dual-lp"](BATCH))


@pytest.mark.parametrize(("instance", "optimum"), OPTIMA)
def test_the_dual_program_is_worth_the_linear_relaxation(
    instance: ElasticInstance, optimum: float
) -> None:
    """Weak duality holds on either side of the optimum, and the toy has no gap."""
    model = PROGRAMS["dual-lp"](instance)
    result = solve(model, "highs", clock=Clock(60))
    assert result.objective is not None
    if instance.is_batch:
        assert result.objective >= optimum - 1e-6
    else:
        assert result.objective == pytest.approx(optimum)


def test_a_long_horizon_is_scheduled_without_a_table_of_slots() -> None:
    # (12e6 + 6) / 3 = 4,000,002 slots with three workers on two servers; two such jobs exclude
    # each other there, and 6,000,000 + 4,000,002 is what one after the other cannot be below
    long = {**J1, "train_time": {"w1": 1e6}}
    instance = instance_of([long, long])
    start = starting_schedule(instance)
    assert start is not None
    assert value(instance, start) == 3 * (1 + 4_000_002) + 3 * (1 + 2 * 4_000_002)


def agree_in_cp_sat(instances: list[ElasticInstance]) -> None:
    found = run_child(
        "strategies.elastic_cp_sat:schedules", instances, engine="cp-sat", limit=600
    ).result()
    for instance, each in zip(instances, found, strict=True):
        for schedule in each or ():
            none = 0.0 if instance.is_batch else math.inf
            optimum = none if schedule is None else value(instance, schedule)
            assert optimum == pytest.approx(brute_force(instance))


@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(elastic_instances(max_jobs=2), min_size=4, max_size=4))
def test_cp_sat_agrees_with_enumeration(instances: list[ElasticInstance]) -> None:
    agree_in_cp_sat([TOY, BATCH, RING, *instances])


@pytest.mark.nightly
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(elastic_instances(), min_size=10, max_size=10))
def test_cp_sat_agrees_with_enumeration_at_length(instances: list[ElasticInstance]) -> None:
    agree_in_cp_sat(instances)


def test_weights_without_a_step_are_refused_by_cp_sat() -> None:
    instance = instance_of([{**J1, "weight": math.pi}])
    with pytest.raises(ScaleError, match="weights"):
        intervals.build(instance, span=known_windows(instance))


@pytest.mark.parametrize(("batches", "workers", "duration"), [(1, 2, 2), (2, 4, 2)])
def test_a_split_run_that_cp_sat_puts_on_one_server_is_read_in_a_mode(
    batches: int, workers: int, duration: int
) -> None:
    """Split, 3 workers take 2 slots, and 4 take 3. On one server 2 and 4 workers take 2 slots."""
    job = {"batches_per_chunk": batches, "chunks": 4, "gradient_size": 0.2}
    ring = instance_of(
        [{**job, "train_time": {"w1": 1}, "update_time": 0}],
        architecture="ring_allreduce",
        servers=[{"id": h, "capacity": {"gpu": 4, "cpu": 8, "bandwidth": 4}} for h in ("s1", "s2")],
    )
    own = modes(ring, 0)
    split = max((mode for mode in own if not mode.central), key=lambda mode: mode.workers)
    values = {f"z[0,{k}]": int(mode == split) for k, mode in enumerate(own)}
    values |= {"start[0]": 2, "y[0,0,0]": split.workers}
    named = [SimpleNamespace(name=name) for name in values]
    model: Any = SimpleNamespace(proto=SimpleNamespace(variables=named))
    schedule = intervals.read(model, ring, [*values.values()])
    assert list(rules.check(ring, schedule.to_data(ring), {})) == []
    (run,) = runs_from(ring, schedule)
    assert run.mode in own
    assert (run.start, run.mode.workers, run.mode.duration) == (2, workers, duration)


def test_a_schedule_of_nothing_is_read() -> None:
    assert schedule_of(BATCH, []).placements == {}
