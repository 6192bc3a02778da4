"""Rows of a linear program, added in sets."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from schedgap.solvers.programs.sparse import sparse

Floats = NDArray[np.float64]
Term = tuple[ArrayLike, ArrayLike, ArrayLike]  # row in its set (from 0), column, coefficient


class Rows:
    """Sets of rows over a fixed number of columns; terms of the same row and column add up.

    Parameters
    ----------
    columns : int
        Number of columns.
    """

    def __init__(self, columns: int) -> None:
        self.columns = columns
        self.parts: list[Any] = []
        self.sets: list[tuple[str, int]] = []  # name and number of rows
        self.lower: list[Floats] = []
        self.upper: list[Floats] = []

    def add(
        self,
        name: str,
        *terms: Term,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
    ) -> None:
        """Add a set of rows under one name.

        Parameters
        ----------
        name : str
            Name of the set, such as `eq_5`.
        *terms : Term
            Arrays (row in the set from 0, column, coefficient) that broadcast together.
        lower, upper : array [k], optional
            Sides of the rows; free if absent.
        """
        parts = [np.broadcast_arrays(*term) for term in terms]
        row, column, value = (np.concatenate([part[k].ravel() for part in parts]) for k in range(3))
        count = len(np.asarray(upper if lower is None else lower))
        entries = value.astype(float), (row.astype(np.int64), column.astype(np.int64))
        self.sets.append((name, count))
        self.parts.append(sparse.csr_array(entries, shape=(count, self.columns)))
        self.lower.append(np.full(count, -np.inf) if lower is None else np.asarray(lower, float))
        self.upper.append(np.full(count, np.inf) if upper is None else np.asarray(upper, float))

    def names(self) -> list[str]:
        """Return the row names `name[1]`, `name[2]`, ... of all sets."""
        return [f"{name}[{row}]" for name, count in self.sets for row in range(1, count + 1)]

    def arrays(self) -> tuple["sparse.csr_array", Floats, Floats]:
        """Return matrix [i, j], row_lower [i] and row_upper [i]."""
        matrix = sparse.csr_array(sparse.vstack(self.parts, format="csr"))
        return matrix, np.concatenate(self.lower), np.concatenate(self.upper)
