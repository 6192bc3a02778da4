"""Linear programs built from named blocks of columns and rows, without arithmetic on positions."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from schedgap.solvers.programs.arrays import Floats, LinearProgram
from schedgap.solvers.programs.sparse import sparse

Ints = NDArray[np.int64]
Term = tuple[ArrayLike, ArrayLike, ArrayLike]
"""Row in the block, column in the program, coefficient: arrays that broadcast together."""


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Consecutive columns, or consecutive rows, of a program.

    `start`: position of its first column or row in the program. `shape`: the block is an array of
    this shape, in C order.
    """

    name: str
    start: int
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of columns or rows."""
        return math.prod(self.shape)

    @property
    def positions(self) -> Ints:
        """Positions in the program, as an array of the block's shape."""
        return self.start + np.arange(self.size).reshape(self.shape)

    def at(self, *index: ArrayLike) -> Ints:
        """Return the positions of some columns or rows of the block.

        `*index`: one array for each axis of the block; they broadcast together.

        Raises
        ------
        ValueError
            If an index is outside the block.
        """
        arrays = np.broadcast_arrays(*index)
        flat = np.ravel_multi_index([array.astype(np.int64) for array in arrays], self.shape)
        return np.asarray(self.start + flat, dtype=np.int64)

    def extract(self, values: Floats) -> Floats:
        """Return the part of an array that belongs to the block, in the shape of the block.

        `values` [j]: values of all columns, or duals of all rows.
        """
        part: Floats = np.asarray(values)[self.start : self.start + self.size]
        return part.reshape(self.shape)

    def names(self) -> list[str]:
        """Return names `name[1]`, or `name[1,2]` if there are two axes, and so on, from 1."""
        places = (",".join(str(k + 1) for k in index) for index in np.ndindex(*self.shape))
        return [f"{self.name}[{place}]" for place in places]


class ProgramBuilder:
    """A linear or mixed-integer program, built block by block; equal entries add up.

    Examples
    --------
    Two products from one machine: max 3 x_1 + 2 x_2 with x_1 + x_2 <= 4 and x_1 <= 3.

    >>> builder = ProgramBuilder()
    >>> x = builder.columns("x", 2, cost=[-3, -2], upper=[3, np.inf])
    >>> hours = builder.rows("hours", 1, (0, x.positions, 1.0), upper=4)
    >>> builder.program().matrix.toarray().tolist()
    [[1.0, 1.0]]
    """

    def __init__(self) -> None:
        self.column_blocks: list[Block] = []
        self.row_blocks: list[Block] = []
        self._cost: list[Floats] = []
        self._lower: list[Floats] = []
        self._upper: list[Floats] = []
        self._integer: list[NDArray[np.bool_]] = []
        self._row_lower: list[Floats] = []
        self._row_upper: list[Floats] = []
        self._entries: list[tuple[Ints, Ints, Floats]] = []

    @property
    def width(self) -> int:
        """Number of columns so far."""
        return _end(self.column_blocks)

    @property
    def height(self) -> int:
        """Number of rows so far."""
        return _end(self.row_blocks)

    def columns(
        self,
        name: str,
        shape: int | tuple[int, ...],
        *,
        cost: ArrayLike = 0.0,
        lower: ArrayLike = 0.0,
        upper: ArrayLike = np.inf,
        integer: ArrayLike = False,
    ) -> Block:
        """Add a block of columns.

        `name`: name of the block, from which `Block.names` derives the names of the columns.
        `shape`: shape of the block. `cost`, `lower`, `upper`: costs and bounds, broadcast to the
        shape. `integer`: whether the columns must be integer, broadcast to the shape.
        """
        block = Block(name, self.width, _shape(shape))
        self.column_blocks.append(block)
        self._cost.append(_filled(cost, block.shape))
        self._lower.append(_filled(lower, block.shape))
        self._upper.append(_filled(upper, block.shape))
        self._integer.append(np.broadcast_to(np.asarray(integer, bool), block.shape).ravel())
        return block

    def rows(
        self,
        name: str,
        shape: int | tuple[int, ...],
        *terms: Term,
        lower: ArrayLike = -np.inf,
        upper: ArrayLike = np.inf,
    ) -> Block:
        """Add a block of rows.

        `name`: name of the block, such as the number of the paper's equation. `shape`: shape of the
        block. `*terms`: `row` is the number in the flattened block, from 0; `column` is a position
        in the program. `lower`, `upper`: sides of the rows, broadcast to the shape; free if absent.
        """
        block = Block(name, self.height, _shape(shape))
        self.row_blocks.append(block)
        self._row_lower.append(_filled(lower, block.shape))
        self._row_upper.append(_filled(upper, block.shape))
        for row, column, coefficient in terms:
            self.add(block.start + np.asarray(row, dtype=np.int64), column, coefficient)
        return block

    def add(self, rows: ArrayLike, columns: ArrayLike, coefficients: ArrayLike) -> None:
        """Add coefficients; the three arrays broadcast together.

        `rows`, `columns`: positions in the program, as returned by `Block.at` and
        `Block.positions`.
        """
        row, column, value = np.broadcast_arrays(rows, columns, coefficients)
        self._entries.append(
            (
                row.ravel().astype(np.int64),
                column.ravel().astype(np.int64),
                value.ravel().astype(np.float64),
            )
        )

    def program(self, *, offset: float = 0.0, names: bool = False) -> LinearProgram:
        """Return the program as arrays.

        `offset`: constant of the objective. `names`: whether columns and rows have names.
        """
        integer = np.concatenate([np.zeros(0, dtype=bool), *self._integer])
        return LinearProgram(
            cost=_joined(self._cost),
            lower=_joined(self._lower),
            upper=_joined(self._upper),
            matrix=entries_matrix(self._entries, (self.height, self.width)),
            row_lower=_joined(self._row_lower),
            row_upper=_joined(self._row_upper),
            integer=integer if integer.any() else None,
            offset=offset,
            column_names=_names(self.column_blocks) if names else None,
            row_names=_names(self.row_blocks) if names else None,
        )


Entries = Mapping[int, float] | Iterable[tuple[ArrayLike, ArrayLike]]
"""Entries of one column: coefficients by row, or pairs of arrays of rows and coefficients."""


def columns_matrix(columns: Sequence[Entries], rows: int) -> "sparse.csc_array":
    """Return the matrix of columns; equal entries add up.

    `rows`: number of rows of the program.
    """
    entries: list[tuple[Ints, Ints, Floats]] = []
    for at, column in enumerate(columns):
        if isinstance(column, Mapping):
            column = [(list(column), list(column.values()))]
        for row, value in column:
            where = np.atleast_1d(np.asarray(row, dtype=np.int64)).ravel()
            amount = np.broadcast_to(np.asarray(value, dtype=np.float64), where.shape).ravel()
            entries.append((where, np.full(len(where), at), amount))
    return entries_matrix(entries, (rows, len(columns))).tocsc()


def entries_matrix(
    entries: Sequence[tuple[Ints, Ints, Floats]], shape: tuple[int, int]
) -> "sparse.csr_array":
    """Return the matrix of entries; equal entries add up.

    `entries` [e]: positions and values. `shape`: rows and columns of the matrix.
    """
    if not entries:
        return sparse.csr_array(shape, dtype=np.float64)
    row, column, value = (np.concatenate(parts) for parts in zip(*entries, strict=True))
    return sparse.csr_array((value, (row, column)), shape=shape)


def _end(blocks: Sequence[Block]) -> int:
    """Return the position after the last of consecutive blocks."""
    return blocks[-1].start + blocks[-1].size if blocks else 0


def _shape(shape: int | tuple[int, ...]) -> tuple[int, ...]:
    return shape if isinstance(shape, tuple) else (shape,)


def _filled(values: ArrayLike, shape: tuple[int, ...]) -> Floats:
    return np.array(np.broadcast_to(np.asarray(values, dtype=np.float64), shape)).ravel()


def _joined(parts: Sequence[Floats]) -> Floats:
    return np.concatenate([np.zeros(0), *parts])


def _names(blocks: Sequence[Block]) -> list[str]:
    return [name for block in blocks for name in block.names()]
