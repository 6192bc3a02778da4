"""A restricted master: rows by name, columns that a pricing problem adds, prices read by name.

A linear program with too many columns is solved over some of them: the restricted master. A pricing
problem takes the master's dual prices. It returns columns of negative reduced cost and a Lagrangian
bound. The loop and its dual stabilisation are in `solvers.loops.column_generation`. With this
module, a family describes its rows and columns.

References
----------
C. Barnhart, E. L. Johnson, G. L. Nemhauser, M. W. P. Savelsbergh, P. H. Vance, "Branch-and-price:
column generation for solving huge integer programs", Operations Research 46 (1998).
P. Wentges, "Weighted Dantzig-Wolfe decomposition for linear mixed-integer programming",
International Transactions in Operational Research 4 (1997).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from schedgap.solvers.children.clock import Clock
from schedgap.solvers.loops.column_generation import (
    ColumnGenerationResult,
    Columns,
    Priced,
    Pricing,
    generate_columns,
)
from schedgap.solvers.programs.arrays import Floats, LinearProgram
from schedgap.solvers.programs.builder import Block, Entries, ProgramBuilder, columns_matrix
from schedgap.solvers.programs.sparse import sparse

Tag = TypeVar("Tag")

__all__ = ["Block", "MasterSolution", "Priced", "Pricing", "RestrictedMaster", "prices_at_most"]


@dataclass(frozen=True, slots=True, eq=False)
class MasterSolution(Generic[Tag]):
    """What column generation found.

    `bound`: the best Lagrangian bound, and `duals` [i] the prices that prove it. `support`: the
    columns that are positive in the last master, those without a tag left out. `result`: objective
    of the last master, rounds, and history.
    """

    bound: float | None
    duals: Floats | None
    support: tuple[tuple[Tag, float], ...]
    result: ColumnGenerationResult


class RestrictedMaster(Generic[Tag]):
    """Rows, and the columns to begin with; all columns are >= 0.

    Declare all rows first, then the columns to begin with, then call `solve`.

    Examples
    --------
    Cutting stock: rolls of 10 into pieces of 3 and 4, 5 and 4 of them, with the fewest rolls.

    >>> master = RestrictedMaster()
    >>> demand = master.rows("demand", 2, lower=[5, 4])
    >>> cuts = [(3, 0), (0, 2)]
    >>> master.begin(master.columns([1, 1], [{0: 3}, {1: 2}], cuts))
    >>> def pricing(duals):
    ...     value = demand.extract(duals)
    ...     best = max([(3, 0), (2, 1), (0, 2)], key=lambda cut: value @ cut)
    ...     least = min(0.0, 1 - value @ best)  # reduced cost of the best way to cut
    ...     bound = value @ [5, 4] / max(1.0, value @ best)
    ...     return Priced(master.columns([1], [{0: best[0], 1: best[1]}], [best]), bound)
    >>> round(master.solve(pricing, clock=Clock(None)).bound, 6)
    3.25
    """

    def __init__(self) -> None:
        self._rows = ProgramBuilder()
        self._start: list[Columns] = []
        self._upper: list[Floats] = []
        self._tags: list[Tag | None] = []

    @property
    def height(self) -> int:
        """Number of rows."""
        return self._rows.height

    def rows(
        self,
        name: str,
        shape: int | tuple[int, ...],
        *,
        lower: ArrayLike = -np.inf,
        upper: ArrayLike = np.inf,
    ) -> Block:
        """Add a block of rows.

        `name`: for readers. `shape`: of the block: (pools, slots), say. `lower`, `upper`: broadcast
        to the shape; a side that is not given is free.
        """
        return self._rows.rows(name, shape, lower=lower, upper=upper)

    def columns(
        self, cost: ArrayLike, entries: Sequence[Entries], tags: Sequence[Tag | None] | None = None
    ) -> Columns:
        """Return columns for `begin`, or for the pricing problem to return.

        `cost` is [k]. `entries` [k]: of each column: coefficients by position of the row, or pairs
        of arrays (rows, coefficients); positions as `Block.at` gives them. `tags` [k]: what each
        column stands for; None for a column of no interest, such as an artificial.
        """
        tags = [None] * len(entries) if tags is None else tags
        return Columns(cost, columns_matrix(entries, self.height), tags)

    def artificial(self, rows: Block, cost: ArrayLike) -> Columns:
        """Return one column for each row of a block that fills the row by itself.

        `cost`: broadcast to the block's shape. Where the columns stand for nothing, it has to
        exceed what a row can be worth, or the master's optimum would contain them.
        """
        costs = np.broadcast_to(np.asarray(cost, dtype=np.float64), rows.shape).ravel()
        return self.columns(costs, [{int(row): 1.0} for row in rows.positions.ravel()])

    def begin(self, columns: Columns, *, upper: ArrayLike = np.inf) -> None:
        """Add columns that are there from the start.

        `columns`: as `columns` or `artificial` return them. `upper`: upper bounds, broadcast over
        the columns.
        """
        if len(columns.tags):
            self._start.append(columns)
            self._upper.append(
                np.broadcast_to(np.asarray(upper, dtype=np.float64), len(columns.tags))
            )
            self._tags += columns.tags

    def duals(self, values: Mapping[Block, ArrayLike]) -> Floats:
        """Return duals [i] of all rows from the duals of some blocks; the others are 0.

        `values`: broadcast to the block's shape. The sign is the engine's: positive where a row's
        lower side binds, negative where its upper side does.
        """
        duals = np.zeros(self.height)
        for block, value in values.items():
            block.extract(duals)[...] = value
        return duals

    def program(self) -> LinearProgram:
        """Return the master over the columns to begin with."""
        rows = self._rows.program()
        if not self._start:
            # HiGHS wants a column: one that is fixed at 0.
            empty = sparse.csr_array((self.height, 1), dtype=np.float64)
            zero = np.zeros(1)
            return LinearProgram(zero, zero, zero, empty, rows.row_lower, rows.row_upper)
        upper = np.concatenate(self._upper)
        return LinearProgram(
            cost=np.concatenate([np.asarray(part.cost, dtype=np.float64) for part in self._start]),
            lower=np.zeros(len(upper)),
            upper=upper,
            matrix=sparse.hstack([sparse.csc_array(part.matrix) for part in self._start]),
            row_lower=rows.row_lower,
            row_upper=rows.row_upper,
        )

    def solve(
        self,
        pricing: Pricing,
        *,
        clock: Clock,
        smoothing: float = 0.6,
        gap: float = 1e-6,
        rounds: int | None = None,
        duals: Floats | None = None,
        seed: int = 0,
        threads: int = 1,
        on_bound: Callable[[float, Floats], None] | None = None,
        basis: Any = None,
    ) -> MasterSolution[Tag]:
        """Generate columns until none improves, or the clock is up.

        `pricing`: from duals [i] to columns and the Lagrangian bound, or None when it ran out of
        time. `smoothing`, `gap`, `rounds`, `basis`: as of `generate_columns`. `duals` [i]: good
        prices to begin with, as `duals` returns them. `on_bound`: told of every better bound, with
        the duals [i] that prove it.
        """
        asked: list[Floats] = []

        def price(at: Floats) -> Priced | None:
            asked[:] = [at]
            return pricing(at)

        def better(bound: float) -> None:  # comes right after the pricing that has proved it
            if on_bound is not None:
                on_bound(bound, asked[0])

        program = self.program()
        result = generate_columns(
            program,
            price,
            clock=clock,
            smoothing=smoothing,
            gap=gap,
            rounds=rounds,
            prices=duals,
            seed=seed,
            threads=threads,
            on_bound=better,
            basis=basis,
        )
        support: list[tuple[Tag, float]] = []
        if result.values is not None:
            tags = [*(self._tags or [None]), *result.tags]
            pairs = zip(tags, result.values.tolist(), strict=True)
            support = [(tag, value) for tag, value in pairs if tag is not None and value > 1e-6]
        return MasterSolution(result.bound, result.prices, tuple(support), result)


def prices_at_most(block: Block, duals: Floats) -> Floats:
    """Return the prices >= 0 of rows `<= upper`, in the block's shape.

    `duals` [i]: of all rows, the engine's sign; duals of the wrong sign count as 0.
    """
    return np.maximum(0.0, -block.extract(duals)) + 0.0  # no -0.0
