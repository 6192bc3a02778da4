"""First steps of `exact`: list schedules, CP-SAT, and prices; results go to the search state.

A step that needs an engine is a stage in a child process. The module joins the stages of `stages`,
the lists of `heuristics` and the bounds to the search state.
"""

import math
from collections.abc import Mapping, Sequence

from schedgap.instances.edge import EdgeInstance
from schedgap.models.edge.bounds.column_generation import too_large
from schedgap.models.edge.bounds.reduced_cost_fixing import last_slot
from schedgap.models.edge.bounds.worker_types import TypeBound
from schedgap.models.edge.decisions import compiled, sense
from schedgap.models.edge.exact.build_programs import cp_sat
from schedgap.models.edge.exact.prove import prove_goal
from schedgap.models.edge.exact.stages import price_stage, type_stage
from schedgap.models.edge.heuristics.list_search import OrderAnnealing
from schedgap.models.edge.heuristics.lists import best_list
from schedgap.models.edge.programs.dual import CapacityPrices
from schedgap.models.method import Budget
from schedgap.models.program import Known, program_stage
from schedgap.models.refute import refute_stage
from schedgap.models.search_state import SearchState

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
    moves = MOVES[starts is not None] * len(instance.jobs)
    while True:
        search.run(moves, stop=stop, on_better=lambda better: state.incumbent(better.schedule()))
        if stop() or not endless:
            return
        moves *= 2


def refute(
    instance: EdgeInstance, state: SearchState, budget: Budget, *, step: float = 1.0
) -> None:
    """Refute values below the incumbent's over the program of the proof.

    `state`: receives schedules, bounds, and the proof. `step`: as for `refute_stage`.
    """
    state.call.progress.phase("refuting better values")
    state.child(
        "refute",
        refute_stage,
        instance,
        prove_goal,
        state.lower,
        state.upper,
        sense=sense(instance),
        step=step,
        budget=budget,
        engine="highs",
    )


def bound_types(
    instance: EdgeInstance, state: SearchState, budget: Budget
) -> tuple[TypeBound, ...]:
    """Bound the jobs of each worker type with merged servers; return these bounds.

    `state`: receives the bound on all jobs.
    """
    state.call.progress.phase("bound by worker types")
    report = state.child("type-bound", type_stage, instance, budget=budget, engine="highs")
    return () if report is None else tuple(report.value)


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


def price(
    instance: EdgeInstance,
    state: SearchState,
    budget: Budget,
    upper: float = 0.0,
    types: Sequence[TypeBound] = (),
) -> CapacityPrices | None:
    """Solve the relaxation of (4), then try lists ordered by its mean starts; return its prices.

    `state`: receives bounds and schedules. Prices cover all slots that a schedule better than its
    incumbent can use. `upper`: they also cover the slots that schedules with an objective below
    this can use; inf: all. `types`: bounds of worker types, whose prices are the first ones.

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
        types,
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
