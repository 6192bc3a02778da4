"""Offline heuristics as methods: by density, and by columns and neighborhoods with a bound."""

import numpy as np

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.instances.dmlrs.arrays import Floats
from schedgap.models.bracket import Bracket
from schedgap.models.dmlrs import colgen, fluid
from schedgap.models.dmlrs.board import Board
from schedgap.models.dmlrs.column_choice import choose, completed
from schedgap.models.dmlrs.density import fill
from schedgap.models.dmlrs.neighborhoods import PARTS, improve
from schedgap.models.dmlrs.pricing import priced_bound
from schedgap.models.dmlrs.starting import first_bracket
from schedgap.models.method import Call, Method, Option, Outcome
from schedgap.solvers import solve

SHARES = 1.0, 0.97, 0.94  # of the capacity, for the choice of columns
COLUMN_TIME = 0.3  # of the limit, for columns
CHOICE_TIME, CHOICE_SECONDS = 0.05, 8.0  # of the limit, for each choice
BRIEF = 0.1  # of the moves, after each choice


def _density(instance: DmlrsInstance, call: Call) -> Outcome:
    board = Board(instance)
    fill(board, np.zeros((instance.horizon, len(instance.resources))), clock=call.clock)
    return Outcome(schedule=board.schedule())


def colgen_heuristic(instance: DmlrsInstance, call: Call) -> Outcome:
    """Generate columns, choose among them, put them on machines, and search from there."""
    found = first_bracket(instance, call)
    if found.closed:
        return found.outcome()
    clock, settings = call.clock, {"seed": call.seed, "threads": call.threads}
    call.progress.phase("solving the fluid program")
    made = fluid.compact(instance)
    result = solve(made.program, "highs", clock=clock, **settings)
    if result.duals is None:
        return found.outcome(f"the relaxation was not solved ({result.status})")
    prices = made.prices(instance, result.duals)
    found.bound(-priced_bound(instance, prices))
    boards = []
    for part in PARTS:
        boards.append(Board(instance))
        fill(boards[-1], part * prices, clock=clock)
        found.offer(boards[-1].schedule())
    best = _improved(found, max(boards, key=Board.value), prices, BRIEF)
    call.progress.phase("generating columns")
    columns = colgen.generate(
        instance,
        grid=call.options["grid"],
        clock=clock.share(COLUMN_TIME),
        prices=prices,
        on_bound=found.bound,
        **settings,
    )
    whole = [new for new in (completed(instance, each) for each in columns.tags) if new]
    found.trace |= {"rounds": columns.rounds, "columns": len(whole)}
    for share in SHARES:
        if found.closed or clock.expired():
            break
        call.progress.phase(f"choosing columns for {share:.0%} of the capacity")
        own = clock.share(CHOICE_TIME, most=CHOICE_SECONDS)
        board = choose(instance, whole, prices, share, clock=own, **settings)
        found.offer(board.schedule())
        best = max(best, _improved(found, board, prices, BRIEF), key=Board.value)
    _improved(found, best, prices, 1.0)
    return found.outcome()


def _improved(found: Bracket, board: Board, prices: Floats, part: float) -> Board:
    """Search from a board with a part of the moves, and of the time that is left."""
    call = found.call
    if found.closed:
        return board
    call.progress.phase("large neighborhoods")
    return improve(
        board,
        prices,
        moves=max(1, round(part * call.options["moves"])),
        clock=call.clock.share(part),
        seed=call.seed,
        on_better=lambda better: found.offer(better.schedule()),
    )


METHODS: tuple[Method, ...] = (
    Method(
        "density",
        "algorithm",
        _density,
        "all jobs known: the most utility for its part of the cluster first, each at its soonest",
        "(2)-(7)",
        ours=True,
    ),
    Method(
        "colgen-heuristic",
        "algorithm",
        colgen_heuristic,
        "all jobs known: columns, an integer program over them, and large neighborhoods",
        "(2)-(9)",
        ours=True,
        engines=("highs",),
        options=(
            Option("grid", "int", 400, "parts of the work, for columns", least=1, most=100_000),
            Option("moves", "int", 2000, "of the last search, at most", least=1),
        ),
        seeded=True,
    ),
)
