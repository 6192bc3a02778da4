"""All jobs known (ours): columns, a choice among them, and large neighborhoods, with a bound."""

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.instances.dmlrs.compiled import Floats
from schedgap.models.dmlrs.heuristics.initial import first_bracket
from schedgap.models.dmlrs.heuristics.partial_schedule import Board
from schedgap.models.dmlrs.heuristics.search_stages import begin, by_columns, search
from schedgap.models.method import MethodResult, RunContext
from schedgap.models.search_state import SearchState

MOVES = 2000  # of a search without a limit, in its first round
PATIENCE = 2  # rounds in a row that find nothing better, before such a search ends
COLUMN_TIME = 0.3  # of the limit, for columns
BRIEF = 0.1  # of the moves, before the last search


def colgen_heuristic(instance: DmlrsInstance, call: RunContext) -> MethodResult:
    """Generate columns, choose among them, put them on machines, and search from there.

    The trace tells the bound of the columns, or of the fluid program where that is less.
    """
    found, note = first_bracket(instance, call), ""
    if not found.closed:
        limit = call.options["moves"]
        moves = max(1, round(BRIEF * (limit or MOVES)))
        begun = begin(found, instance, moves=moves, part=BRIEF)
        if begun is None:
            note = "the fluid program was not solved"
        else:
            grid = call.options["grid"]
            prices, best = by_columns(
                found, instance, *begun, grid=grid, moves=moves, part=COLUMN_TIME
            )
            if limit is None:
                _search_on(found, best, prices)
            else:
                search(found, best, prices, moves=limit, part=1.0)
    found.trace["bound"] = -found.lower
    return found.outcome(note)


def _search_on(found: SearchState, board: Board, prices: Floats) -> None:
    """Repeat the search with twice as many moves each, while time is left and a round improves."""
    moves, patience, again = MOVES, PATIENCE, 0
    while patience and not (found.closed or found.call.clock.expired()):
        better = search(found, board, prices, moves=moves, part=1.0, again=again)
        if found.trace["search_ended"] == "out of time":
            return
        patience = PATIENCE if better.value() > board.value() else patience - 1
        board, moves, again = better, 2 * moves, again + 1
    if not patience:
        found.trace["search_ended"] = f"{PATIENCE} rounds in a row found nothing better"
