"""The stages of `exact`, each in a child process with the engine that it needs."""

import math

from schedgap.errors import ScaleError
from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.bounds.solve_relaxations import schedule_lp_bound
from schedgap.models.elastic.exact.build_programs import cp_sat
from schedgap.models.elastic.exact.prove import prove_goal
from schedgap.models.elastic.heuristics.initial import starting_schedule
from schedgap.models.elastic.modes import modes
from schedgap.models.elastic.programs.whole_numbers import exact_integers
from schedgap.models.elastic.proof import weight_unit
from schedgap.models.elastic.time_windows import windows
from schedgap.models.method import Budget, Progress, RunContext
from schedgap.models.program import Known, program_stage
from schedgap.models.refute import refute
from schedgap.models.search_state import Relay, SearchState, StageProgress, StageResult

STEP = 0.2  # a refuted goal is raised by this share of the gap to the incumbent


def refute_values(instance: ElasticInstance, state: SearchState, budget: Budget) -> None:
    """Refute all values below the incumbent's, or find better schedules."""
    sense, grid = -1 if instance.is_batch else 1, float(weight_unit(instance))
    refute(state, instance, prove_goal, budget, sense=sense, grid=grid, step=STEP, lowers=True)


def interval_size(instance: ElasticInstance, state: SearchState) -> float:
    """Return the size of the interval model; infinite where it cannot be in integers."""
    value = None if state.schedule is None else state.schedule.value(instance)
    span = windows(instance, value)
    assert span is not None
    try:
        exact_integers(instance, span)
    except ScaleError:
        return math.inf
    return variables(instance)


def variables(instance: ElasticInstance) -> int:
    """Return the size of the interval model."""
    pairs = len(instance.worker_types) * (1 + len(instance.ps_types))
    whole = sum(len(modes(instance, j)) for j in range(len(instance.jobs)))
    return whole + len(instance.jobs) * len(instance.servers) * pairs


def search_intervals(instance: ElasticInstance, state: SearchState, budget: Budget) -> None:
    """Search with CP-SAT on intervals, between the bound and the incumbent."""
    known = Known(state.schedule, state.lower)
    one = {"interleave_search": True} if budget.threads == 1 else None  # neighbourhoods, too
    state.child(
        "cp-sat", program_stage, cp_sat, instance, known, {}, "cp-sat", one,
        budget=budget, engine="cp-sat",
    )  # fmt: skip


def relaxation_stage(
    progress: StageProgress, instance: ElasticInstance, *, budget: Budget
) -> StageResult:
    """Bound by `schedule-lp`.

    `progress`: receives the bounds.
    """
    own: Progress = Relay(progress, lambda bound: -bound) if instance.is_batch else progress
    result = schedule_lp_bound(instance, RunContext({}, "highs", budget, own), starting_schedule)
    trace = {"bound": result.bound} | dict(result.trace)
    return StageResult(infeasible=result.infeasible, trace=trace)
