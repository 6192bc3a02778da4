"""What a certificate states of an elastic instance: the program before prices left out runs."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from schedgap.instances.elastic.instance import ElasticInstance
from schedgap.models.elastic.proof import Model
from schedgap.solvers.proofs.checker import ProgramSpace, RefusedError
from schedgap.solvers.proofs.vipr import Larger

MAX_ENTRIES = 1_000_000  # largest program without pools


class Pooled(NamedTuple):
    """The program that pools reduce to the one that a proof refutes."""

    left_out: int  # columns that the pools leave out
    larger: Larger | None  # None where it is too large


def pooled(instance: ElasticInstance, goal: int, proof: Mapping[str, Any]) -> Pooled | None:
    """Return the program from which the pools of a checked proof start; None without pools.

    `proof`: vectors with a key `p` are pools.
    """
    pools = [vector for vector in proof["vectors"] if "p" in vector]
    if not pools:
        return None
    small = Model(instance, goal)
    before = _size(small)
    for pool in pools:
        small.reduce(pool)
    left_out = before - _size(small)
    small.write()
    large = Model(instance, goal)
    try:
        large.write()
    except RefusedError:
        return Pooled(left_out, None)
    program = large.program
    if sum(len(entries) for entries, _, _ in program.rows) > MAX_ENTRIES:
        return Pooled(left_out, None)
    columns = {column: i for i, column in enumerate(large.columns)}
    jobs = len(large.jobs)
    rows = {cell: i for i, cell in enumerate(large.cells, jobs)}
    space = ProgramSpace(program)
    box = space.root()
    vectors = []
    for pool in pools:
        # A price of a row that holds by itself would only be paid.
        prices = [[rows[cell[0], cell[1], cell[2]], -p] for *cell, p in pool["p"]
                  if p and tuple(cell) in rows]  # fmt: skip
        reduced = [pool["o"] * cost for cost in program.cost]
        for i, price in prices:
            for j, a in program.rows[i][0].items():
                reduced[j] -= price * a
        least = [
            min((reduced[j] for j in program.rows[i][0] if box[1][j]), default=0)
            for i in range(jobs)
        ]
        vectors.append({"o": pool["o"], "d": [*prices, *([i, y] for i, y in enumerate(least))]})
        box = space.reduce(box, vectors[-1])
    own_columns = [columns[column] for column in small.columns]
    own_rows = [*range(jobs), *(rows[cell] for cell in small.cells)]
    return Pooled(left_out, Larger(program, own_columns, own_rows, vectors))


def _size(model: Model) -> int:
    return sum(len(own) for runs in model.starts for own in runs)
