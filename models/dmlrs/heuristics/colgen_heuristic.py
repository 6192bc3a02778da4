"""Offline heuristic (ours): columns, an integer program over them, large neighbourhoods.

References
----------
C. Joncour, S. Michel, R. Sadykov, D. Sverdlov, F. Vanderbeck, "Column generation based primal
heuristics", Electronic Notes in Discrete Mathematics 36 (2010).
"""

from typing import Annotated

from annotated_types import Ge, Le

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.instances.dmlrs.compiled import Floats
from schedgap.models.dmlrs.heuristics.initial import initial_state
from schedgap.models.dmlrs.heuristics.search_stages import (
    column_stage,
    fluid_stage,
    neighborhood_stage,
)
from schedgap.models.method import MethodResult, RunContext
from schedgap.models.search_state import SearchState

MOVES = 2000  # in the first round of a search without a limit on moves
PATIENCE = 2  # rounds in a row without improvement that end such a search
COLUMN_TIME_SHARE = 0.3  # fraction of the time for columns
SHORT_SHARE = 0.1  # fraction of the moves for each search before the last


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
        "until time is up or two rounds in a row find nothing better)",
        Ge(1),
    ] = None,
) -> MethodResult:
    """Generate columns, compose schedules from them, and search from there.

    The trace has the lesser bound of the columns and the fluid program.
    """
    state, note = initial_state(instance, call), ""
    if not state.closed:
        few = max(1, round(SHORT_SHARE * (moves or MOVES)))
        prices = fluid_stage(state, instance, moves=few, time_share=SHORT_SHARE)
        if prices is None:
            note = "the fluid program was not solved"
        else:
            prices = column_stage(
                state, instance, prices, grid=grid, moves=few, time_share=COLUMN_TIME_SHARE
            )
            if moves is None:
                _repeat_search(state, instance, prices)
            else:
                neighborhood_stage(state, instance, prices, moves=moves, time_share=1.0)
    state.trace["bound"] = -state.lower
    return state.outcome(note)


def _repeat_search(state: SearchState, instance: DmlrsInstance, prices: Floats) -> None:
    """Repeat the search with twice as many moves each time, until time is up or rounds fail."""
    moves, patience, seed_offset = MOVES, PATIENCE, 0
    while patience and not (state.closed or state.call.clock.expired()):
        before = state.upper
        neighborhood_stage(
            state, instance, prices, moves=moves, time_share=1.0, seed_offset=seed_offset
        )
        if state.trace["search_ended"] == "out of time":
            return
        patience = patience - 1 if state.upper == before else PATIENCE
        moves, seed_offset = 2 * moves, seed_offset + 1
    if not patience:
        state.trace["search_ended"] = f"{PATIENCE} rounds in a row found nothing better"
