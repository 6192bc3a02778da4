"""The steps of `exact`: lists, CP-SAT, prices, refutation; results go to the search state.

A step that needs an engine runs a stage, a function `*_stage`, in a child process.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from schedgap.instances.edge import EdgeInstance, EdgeSchedule
from schedgap.models.edge.bounds.column_generation import reporter, solve_bound, too_large
from schedgap.models.edge.bounds.reduced_cost_fixing import last_slot
from schedgap.models.edge.bounds.worker_types import (
    TypeBound,
    certificate,
    solve_types,
    whole_bound,
)
from schedgap.models.edge.decisions import compiled, sense
from schedgap.models.edge.exact.build_programs import cp_sat
from schedgap.models.edge.exact.prove import prove_goal
from schedgap.models.edge.heuristics.list_search import OrderAnnealing
from schedgap.models.edge.heuristics.lists import best_list
from schedgap.models.edge.placements import runs_from_schedule
from schedgap.models.edge.programs.dual import CapacityPrices
from schedgap.models.method import Budget
from schedgap.models.program import Known, program_stage
from schedgap.models.refute import refute_stage
from schedgap.models.search_state import SearchState, StageProgress, StageResult

FEW_JOBS = 13  # up to which CP-SAT is asked early
LIST_SHARE = 0.1  # of the remaining time, for lists ordered by the relaxation
MOVES = 40, 100  # of the annealing, for each job: without and with an order from the relaxation


def search_lists(
    instance: EdgeInstance,
    state: SearchState,
    budget: Budget,
    starts: Mapping[int, float] | None = None,
    *,
    endless: bool = False,
) -> None:
    """Build list schedules and improve the best one by annealing.

    `state`: receives the schedules. `starts`: a slot for each job (index), which gives one more
    order. `endless`: repeat with twice as many moves until time is up or the gap is closed.
    """
    state.call.progress.phase("lists")

    def stop() -> bool:
        return state.closed or budget.clock.expired()

    order = best_list(instance, starts, stop=stop)[1]
    search = OrderAnnealing(instance, order, seed=budget.seed)
    if search.complete:
        state.incumbent(search.schedule())
    moves = MOVES[starts is not None]

    def report(better: OrderAnnealing) -> None:
        state.incumbent(better.schedule())

    if endless:
        search.run_until(moves=moves, patience=math.inf, stop=stop, on_better=report)
    else:
        search.run(moves * len(instance.jobs), stop=stop, on_better=report)


def refute(
    instance: EdgeInstance, state: SearchState, budget: Budget, *, step: float = 1.0
) -> None:
    """Refute values below the incumbent's over the program of the proof.

    `state`: receives schedules, bounds, and the proof. `step`: as for `refute_stage`; below 1, the
    values rise from the certified bound.
    """
    state.call.progress.phase("refuting better values")
    state.child(
        "refute",
        refute_stage,
        instance,
        prove_goal,
        state.lower if step >= 1 else state.certified,
        state.upper,
        sense=sense(instance),
        step=step,
        budget=budget,
        engine="highs",
    )


def search_intervals(instance: EdgeInstance, state: SearchState, budget: Budget) -> None:
    """Solve the interval model by CP-SAT.

    `state`: receives schedules and bounds; its incumbent is the starting point.
    """
    state.call.progress.phase("CP-SAT on intervals")
    state.child(
        "cp-sat",
        program_stage,
        cp_sat,
        instance,
        Known(state.schedule, state.lower),
        {"max_intervals": None},
        "cp-sat",
        budget=budget,
        engine="cp-sat",
    )


def bound_types(instance: EdgeInstance, state: SearchState, budget: Budget) -> None:
    """Bound the jobs of each worker type with merged servers.

    `state`: receives the bound on all jobs.
    """
    state.call.progress.phase("bound by worker types")
    state.child("type-bound", type_stage, instance, budget=budget, engine="highs")


def type_stage(found: StageProgress, instance: EdgeInstance, *, budget: Budget) -> StageResult:
    """Bound the jobs of each worker type; `value` is the list of these bounds.

    `found`: receives bounds on the whole problem.
    """
    view = compiled(instance)

    def report(bounds: Sequence[TypeBound]) -> None:
        if (bound := whole_bound(view, bounds)) > found.lower:
            found.bound(bound, certificate(instance, bounds))

    bounds = solve_types(view, budget=budget, on_better=report)
    trace = {"by_type": {instance.worker_types[each.worker_type]: each.bound for each in bounds}}
    return StageResult(trace=trace, value=bounds)


def price(
    instance: EdgeInstance,
    state: SearchState,
    budget: Budget,
    upper: float = 0.0,
) -> CapacityPrices | None:
    """Solve the relaxation of (4), then try lists ordered by its mean starts; return its prices.

    `state`: receives bounds and schedules. Prices cover all slots that a schedule better than its
    incumbent can use. `upper`: they also cover the slots that schedules with an objective below
    this can use; inf: all.

    Returns
    -------
    CapacityPrices or None
        None if the relaxation is too large, or time was up before the first bound.
    """
    view = compiled(instance)
    slots = view.slots
    if state.upper is not None and not instance.is_batch and math.isfinite(upper):
        slots = last_slot(view, int(max(state.upper, upper))) - view.first + 1
    if reason := too_large(view, slots):
        state.trace["prices"] = reason
        return None
    state.call.progress.phase("generating columns")
    report = state.child(
        "prices",
        price_stage,
        instance,
        state.schedule,
        slots,
        budget=budget,
        engine="highs",
    )
    if report is None or report.value is None:
        return None
    prices, starts = report.value
    if not instance.is_batch and not state.closed:
        search_lists(instance, state, budget.share(LIST_SHARE), starts)
    assert isinstance(prices, CapacityPrices)
    return prices


def price_stage(
    found: StageProgress,
    instance: EdgeInstance,
    schedule: EdgeSchedule | None,
    slots: int,
    *,
    budget: Budget,
) -> StageResult:
    """Solve the relaxation of (4) by column generation.

    `found`: receives bounds. `schedule`: its runs are the first columns. `slots`: number of slots
    with prices.

    Returns
    -------
    StageResult
        `value`: prices and the mean start of each job by index, or None.
    """
    view = compiled(instance)
    relaxation = solve_bound(
        view,
        slots=slots,
        first_runs=() if schedule is None else runs_from_schedule(instance, schedule),
        budget=budget,
        on_bound=reporter(view, found.bound, found.lower - 1),  # which may lack a certificate
    )
    starts: dict[int, float] = {}
    for run, share in relaxation.runs:
        starts[run.job] = starts.get(run.job, 0.0) + share * run.start
    trace: dict[str, Any] = {"slots": slots, "bound": relaxation.bound}
    trace |= {"master": relaxation.result.objective, "rounds": relaxation.result.rounds}
    value = None if relaxation.prices is None else (relaxation.prices, starts)
    return StageResult(infeasible=relaxation.infeasible, trace=trace, value=value)
