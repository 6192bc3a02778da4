"""Prices and good schedules: the fluid program, jobs by density, choices of columns, searches."""

from typing import Any

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.instances.dmlrs.compiled import Floats
from schedgap.models.dmlrs.bounds import column_generation, fluid
from schedgap.models.dmlrs.bounds.certificate_data import price_certificate, too_fine
from schedgap.models.dmlrs.bounds.pricing import priced_bound
from schedgap.models.dmlrs.heuristics.column_choice import choose, completed
from schedgap.models.dmlrs.heuristics.density import fill
from schedgap.models.dmlrs.heuristics.initial import tell
from schedgap.models.dmlrs.heuristics.large_neighborhoods import PARTS, improve
from schedgap.models.dmlrs.heuristics.partial_schedule import Board
from schedgap.models.search_state import SearchState
from schedgap.solvers import solve

SHARES = 1.0, 0.97, 0.94  # of the capacity, for the choice of columns
MOST_TIME = 0.96  # of what is left: a move at the paper's scale takes a while
CHOICE_TIME, CHOICE_SECONDS = 0.05, 8.0  # of what is left, for each choice


def begin(
    found: SearchState, instance: DmlrsInstance, *, moves: int, part: float
) -> tuple[Floats, Board] | None:
    """Tell a bracket the fluid bound and the best board of a short search.

    Returns
    -------
    tuple or None
        Prices [t, r] and that board; None when there was no time for the fluid program.
    """
    call = found.call
    settings: dict[str, Any] = {"seed": call.seed, "threads": call.threads}
    call.progress.phase("solving the fluid program")
    made = fluid.compact(instance)
    result = solve(made.program, "highs", clock=call.clock, **settings)
    if result.duals is None:
        found.trace["fluid"] = result.status
        return None
    prices = made.prices(instance, result.duals)
    tell(found, instance, priced_bound(instance, prices), price_certificate(prices))
    boards = []
    for share in PARTS:
        boards.append(Board(instance))
        fill(boards[-1], share * prices, clock=call.clock)
        found.offer(boards[-1].schedule())
    best = max(boards, key=Board.value)
    return prices, search(found, best, prices, moves=moves, part=part)


def by_columns(
    found: SearchState,
    instance: DmlrsInstance,
    prices: Floats,
    board: Board,
    *,
    grid: int,
    moves: int,
    part: float,
) -> tuple[Floats, Board]:
    """Generate columns from prices [t, r], choose among them, and search from each choice.

    Parameters
    ----------
    board : Board
        The best one so far.
    grid : int
        Parts of the work, for columns.
    moves, part
        Of each search; `part` of the time is for the columns, too.

    Returns
    -------
    tuple
        The prices of the best bound by columns, if there is one, and the best board.
    """
    call = found.call
    settings: dict[str, Any] = {"seed": call.seed, "threads": call.threads}
    checked = not too_fine(instance, grid)

    def proof(at: Floats) -> dict[str, Any] | None:
        return price_certificate(at, grid) if checked else None

    call.progress.phase("generating columns")
    columns = column_generation.generate(
        instance,
        grid=grid,
        clock=call.clock.share(part),
        prices=prices,
        on_bound=lambda bound, at: tell(found, instance, bound, proof(at)),
        **settings,
    )
    whole = [new for new in (completed(instance, each) for each in columns.tags) if new]
    found.trace |= {"rounds": columns.rounds, "columns": len(whole)}
    for share in SHARES:
        if found.closed or call.clock.expired():
            break
        call.progress.phase(f"choosing columns for {share:.0%} of the capacity")
        clock = call.clock.share(CHOICE_TIME, most=CHOICE_SECONDS)
        chosen = choose(instance, whole, prices, share, clock=clock, **settings)
        found.offer(chosen.schedule())
        better = search(found, chosen, prices, moves=moves, part=CHOICE_TIME)
        board = max(board, better, key=Board.value)
    if columns.prices is not None:
        prices = column_generation.prices_of(instance, columns.prices)
    return prices, board


def search(
    found: SearchState, board: Board, prices: Floats, *, moves: int, part: float, again: int = 0
) -> Board:
    """Search neighborhoods from a board, for so many moves and this part of the time left.

    The trace says why the last search ended. `again` counts those with other random moves before.
    """
    call = found.call
    if found.closed:
        return board
    call.progress.phase("large neighborhoods")
    clock = call.clock.share(min(part, MOST_TIME))
    better = improve(
        board,
        prices,
        moves=moves,
        clock=clock,
        seed=call.seed + again,
        on_better=lambda better: found.offer(better.schedule()),
        enough=-found.lower,
    )
    ended = "out of time" if clock.expired() else f"after {moves} moves"
    found.trace["search_ended"] = "closed" if found.closed else ended
    return better
