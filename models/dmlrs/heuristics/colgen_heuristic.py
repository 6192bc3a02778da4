"""Offline heuristic (ours): columns, an integer program over them, large neighbourhoods.

References
----------
C. Joncour, S. Michel, R. Sadykov, D. Sverdlov, F. Vanderbeck, "Column generation based primal
heuristics", Electronic Notes in Discrete Mathematics 36 (2010).
"""

from typing import Annotated

from annotated_types import Ge, Le

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.models.dmlrs.bounds.machine_patterns import is_too_large
from schedgap.models.dmlrs.heuristics.initial import initial_state
from schedgap.models.dmlrs.heuristics.search_stages import (
    column_stage,
    fluid_stage,
    neighborhood_stage,
    repeat_search,
)
from schedgap.models.method import MethodResult, RunContext

MOVES = 2000  # in the first round of a search without a limit on moves
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

    Large instances are searched without columns. The trace has the lesser bound of the columns and
    the fluid program.
    """
    state, note = initial_state(instance, call), ""
    if not state.closed:
        few = max(1, round(SHORT_SHARE * (moves or MOVES)))
        prices = fluid_stage(state, instance, moves=few, time_share=SHORT_SHARE)
        if prices is None:
            note = "the fluid program was not solved"
        else:
            if not is_too_large(instance):  # else there is time for few columns, if any
                prices = column_stage(
                    state, instance, prices, grid=grid, moves=few, time_share=COLUMN_TIME_SHARE
                )
            if moves is None:
                repeat_search(state, instance, prices, moves=MOVES)
            else:
                neighborhood_stage(state, instance, prices, moves=moves, time_share=1.0)
    state.trace["bound"] = -state.lower
    return state.outcome(note)
