"""Offline heuristics as methods: by density, and by columns and neighborhoods with a bound."""

import numpy as np

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.models.dmlrs.heuristics.board import Board
from schedgap.models.dmlrs.heuristics.density import fill
from schedgap.models.dmlrs.heuristics.incumbents import begin, by_columns, search
from schedgap.models.dmlrs.heuristics.starting import first_bracket
from schedgap.models.dmlrs.units import in_units
from schedgap.models.method import Call, Method, Option, Outcome

COLUMN_TIME = 0.3  # of the limit, for columns
BRIEF = 0.1  # of the moves, before the last search


def _density(instance: DmlrsInstance, call: Call) -> Outcome:
    board = Board(instance)
    fill(board, np.zeros((instance.horizon, len(instance.resources))), clock=call.clock)
    return Outcome(schedule=board.schedule())


def colgen_heuristic(instance: DmlrsInstance, call: Call) -> Outcome:
    """Generate columns, choose among them, put them on machines, and search from there.

    The trace tells the bound of the columns, or of the fluid program where that is less.
    """
    found, note = first_bracket(instance, call), ""
    if not found.closed:
        moves = max(1, round(BRIEF * call.options["moves"]))
        begun = begin(found, instance, moves=moves, part=BRIEF)
        if begun is None:
            note = "the fluid program was not solved"
        else:
            grid = call.options["grid"]
            prices, best = by_columns(
                found, instance, *begun, grid=grid, moves=moves, part=COLUMN_TIME
            )
            search(found, best, prices, moves=call.options["moves"], part=1.0)
    found.trace["bound"] = -found.lower
    return found.outcome(note)


METHODS: tuple[Method, ...] = (
    Method(
        "density",
        "algorithm",
        in_units(_density),
        "all jobs known: the most utility for its part of the cluster first, each at its soonest",
        "(2)-(7)",
        ours=True,
    ),
    Method(
        "colgen-heuristic",
        "algorithm",
        in_units(colgen_heuristic),
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
