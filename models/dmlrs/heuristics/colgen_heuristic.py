"""Offline heuristic (ours): prices by column generation, and a search of jobs inserted at them."""

import math
from typing import Annotated

from annotated_types import Ge, Le

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.models.dmlrs.bounds.machine_patterns import is_too_large
from schedgap.models.dmlrs.bounds.solve_relaxations import initial_state, solve_columns
from schedgap.models.dmlrs.heuristics.search_stages import list_stage, search
from schedgap.models.method import MethodResult, RunContext

MOVES = 2000  # moves of the first round, if the option `moves` sets no limit
COLUMN_TIME_SHARE = 0.3  # fraction of the time for columns


def colgen_heuristic(
    instance: DmlrsInstance,
    call: RunContext,
    *,
    grid: Annotated[
        int, "number of grid steps of a job's work, for columns", Ge(1), Le(100_000)
    ] = 400,
    moves: Annotated[
        int | None,
        "moves of the last search (default: rounds of 2000 moves, then twice as many each time, "
        "until time is up or three rounds in a row find nothing better)",
        Ge(1),
    ] = None,
) -> MethodResult:
    """Generate columns, and search at their prices.

    Large instances are searched without columns. The trace has the lesser bound of the columns and
    the fluid program.
    """
    state, note = initial_state(instance, call), ""
    prices = None if state.closed else list_stage(state, instance)
    if prices is not None:
        if not is_too_large(instance):  # else there is time for few columns, if any
            budget = call.budget.share(COLUMN_TIME_SHARE)
            prices = solve_columns(state, instance, prices, grid=grid, budget=budget)
        search(state, instance, prices, moves=moves or MOVES, rounds=1 if moves else math.inf)
    elif not state.closed:
        note = "the fluid program was not solved"
    state.trace["bound"] = -state.lower
    return state.outcome(note)
