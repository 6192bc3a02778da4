"""Offline heuristics as methods: by density, and by columns and neighborhoods with a bound."""

import numpy as np

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.models.dmlrs import colgen
from schedgap.models.dmlrs.board import Board
from schedgap.models.dmlrs.column_choice import choose, completed
from schedgap.models.dmlrs.density import fill
from schedgap.models.dmlrs.incumbents import begin, search
from schedgap.models.dmlrs.starting import first_bracket
from schedgap.models.method import Call, Method, Option, Outcome

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
    moves = max(1, round(BRIEF * call.options["moves"]))
    begun = begin(found, instance, moves=moves, part=BRIEF)
    if begun is None:
        return found.outcome("the fluid program was not solved")
    prices, best = begun
    clock, settings = call.clock, {"seed": call.seed, "threads": call.threads}
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
        better = search(found, board, prices, moves=moves, part=BRIEF)
        best = max(best, better, key=Board.value)
    search(found, best, prices, moves=call.options["moves"], part=1.0)
    return found.outcome()


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
