"""First prices and a first good schedule: the fluid program, jobs by density, a short search."""

from typing import Any

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.instances.dmlrs.arrays import Floats
from schedgap.models.bracket import Bracket
from schedgap.models.dmlrs import fluid
from schedgap.models.dmlrs.board import Board
from schedgap.models.dmlrs.density import fill
from schedgap.models.dmlrs.neighborhoods import PARTS, improve
from schedgap.models.dmlrs.pricing import priced_bound
from schedgap.solvers import solve


def begin(
    found: Bracket, instance: DmlrsInstance, *, moves: int, part: float
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
    found.bound(-priced_bound(instance, prices))
    boards = []
    for share in PARTS:
        boards.append(Board(instance))
        fill(boards[-1], share * prices, clock=call.clock)
        found.offer(boards[-1].schedule())
    best = max(boards, key=Board.value)
    return prices, search(found, best, prices, moves=moves, part=part)


def search(found: Bracket, board: Board, prices: Floats, *, moves: int, part: float) -> Board:
    """Search neighborhoods from a board, for so many moves and this part of the time left."""
    call = found.call
    if found.closed:
        return board
    call.progress.phase("large neighborhoods")
    return improve(
        board,
        prices,
        moves=moves,
        clock=call.clock.share(part),
        seed=call.seed,
        on_better=lambda better: found.offer(better.schedule()),
        enough=-found.lower,
    )
