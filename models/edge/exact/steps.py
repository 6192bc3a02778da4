"""The first steps of `exact`: lists, a search with CP-SAT, prices; what they find is the bracket's.

A step that uses an engine is a stage in a process of its own.
"""

import math
from collections.abc import Mapping, Sequence

from schedgap.instances.edge import EdgeInstance
from schedgap.models.edge.bounds.column_generation import too_large
from schedgap.models.edge.bounds.reduced_cost_fixing import last_slot
from schedgap.models.edge.bounds.worker_types import TypeBound
from schedgap.models.edge.decisions import problem
from schedgap.models.edge.exact.stages import price_stage, search_stage, type_stage
from schedgap.models.edge.heuristics.list_search import Search
from schedgap.models.edge.heuristics.lists import best_list
from schedgap.models.edge.programs.dual import Prices
from schedgap.models.search_state import SearchState
from schedgap.solvers import Clock

LIST_SHARE = 0.1  # of what is left, for lists by the starts of a relaxation
MOVES = 40, 100  # of a search over lists, for each job: before there are prices, and with them


def search_lists(
    instance: EdgeInstance,
    found: SearchState,
    clock: Clock,
    starts: Mapping[int, float] | None = None,
    *,
    endless: bool = False,
) -> None:
    """Place jobs by lists, and search over these; `starts` order one more list.

    `endless`: until time is up or the bound is met, warm again and longer each time.
    """
    found.call.progress.phase("lists")

    def stop() -> bool:
        return found.closed or clock.expired()

    search = Search(instance, best_list(instance, starts, stop=stop)[1], seed=found.call.seed)
    if search.complete:
        found.offer(search.schedule())
    moves = MOVES[starts is not None] * len(instance.jobs)
    while True:
        search.run(moves, stop=stop, on_better=lambda better: found.offer(better.schedule()))
        if stop() or not endless:
            return
        moves *= 2


def bound_types(instance: EdgeInstance, found: SearchState, clock: Clock) -> tuple[TypeBound, ...]:
    """Bound the jobs of each worker type in classes of servers; return what is known of each."""
    found.call.progress.phase("bound by worker types")
    report = found.child("type-bound", type_stage, instance, clock=clock, engine="highs")
    return () if report is None else tuple(report.value)


def search_intervals(instance: EdgeInstance, found: SearchState, clock: Clock) -> None:
    """Search with CP-SAT."""
    found.call.progress.phase("CP-SAT on intervals")
    found.child(
        "cp-sat",
        search_stage,
        instance,
        found.schedule,
        found.lower,
        clock=clock,
        engine="cp-sat",
    )


def price(
    instance: EdgeInstance,
    found: SearchState,
    clock: Clock,
    upper: float = 0.0,
    types: Sequence[TypeBound] = (),
) -> Prices | None:
    """Solve the relaxation as far as an optimal schedule can reach; list jobs by its starts.

    Parameters
    ----------
    upper : float
        Prices are to reach as far as schedules below this do, too; infinite: to the horizon.
    types : sequence of TypeBound
        Of its worker types, where they are known: the first prices.
    """
    view = problem(instance)
    slots = view.slots
    if found.upper is not None and not instance.is_batch and math.isfinite(upper):
        slots = last_slot(view, int(max(found.upper, upper))) - view.first + 1
    if reason := too_large(view, slots):
        found.trace["prices"] = reason
        return None
    found.call.progress.phase("generating columns")
    report = found.child(
        "prices",
        price_stage,
        instance,
        found.schedule,
        slots,
        types,
        clock=clock,
        engine="highs",
    )
    if report is None or report.value is None:
        return None
    prices, starts = report.value
    if not instance.is_batch and not found.closed:
        search_lists(instance, found, clock.share(LIST_SHARE), starts)
    return prices  # type: ignore[no-any-return]
