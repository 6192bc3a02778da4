"""The paper's relaxation with continuous y as a conic program, and its dual bound.

Each row (9) bounds the square of a linear form by a linear form, a second-order cone. The bound is
that of linear tangents with the duals of the cones.

References
----------
M. Skutella, "Convex quadratic and semidefinite programming relaxations in scheduling", Journal of
the ACM 48 (2001): convex quadratic relaxations for unrelated machines.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from schedgap.models.hare.programs.relaxation_arrays import BaseRelaxation, LoadCut
from schedgap.solvers.programs.arrays import Floats

if TYPE_CHECKING:
    import cvxpy


def build(relaxed: BaseRelaxation) -> "cvxpy.Problem":
    """Build the conic program: the linear rows, and row (9) for all items of each machine.

    Returns
    -------
    cvxpy.Problem
        One vector variable [j]; constraints in this order: equations, rows with a lower side, rows
        with an upper side, lower bounds, upper bounds, then `eq_9` by machine.
    """
    import cvxpy

    program = relaxed.program
    v = cvxpy.Variable(len(program.cost), name="v")
    equal, low, high = _sides(relaxed)
    constraints = [
        program.matrix[equal] @ v == program.row_lower[equal],
        program.matrix[low] @ v >= program.row_lower[low],
        program.matrix[high] @ v <= program.row_upper[high],
        v >= program.lower,
        v <= program.upper,
    ]
    for k in range(len(relaxed.items.size)):
        load, right = _row_9(relaxed, k)
        constraints.append(cvxpy.square(load @ v) <= right @ v)
    return cvxpy.Problem(cvxpy.Minimize(program.cost @ v), constraints)


def tangents(
    relaxed: BaseRelaxation, problem: "cvxpy.Problem", duals: Sequence[Floats]
) -> tuple[list[LoadCut], Floats]:
    """Return a tangent to each row (9) at the solution, and the prices of all rows.

    `relaxed`: as given to `build`. `problem`: result of `build`, with the solution at which the
    tangents touch. `duals`: duals of its constraints, with the signs of cvxpy.

    Returns
    -------
    list of LoadCut
        One tangent per machine.
    array [i]
        Prices of the rows of `with_cuts(relaxed, cuts)`. A tangent takes the price of its row (9),
        since both have the same gradient there. Any point and any prices prove some bound.
    """
    (variable,) = problem.variables()
    values = np.zeros(len(relaxed.program.cost)) if variable.value is None else variable.value
    every = np.arange(len(relaxed.items.count))
    machines = range(len(relaxed.items.size))
    cuts = [LoadCut(k, every, float(_row_9(relaxed, k)[0] @ values)) for k in machines]
    prices = np.zeros(len(relaxed.program.row_lower))
    equal, low, high = _sides(relaxed)
    prices[equal], prices[low], prices[high] = -duals[0], duals[1], -duals[2]
    return cuts, np.append(prices, [-float(dual) for dual in duals[5:]])


def _sides(
    relaxed: BaseRelaxation,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows that are equations, have a lower side only, and have an upper side only."""
    low, high = np.isfinite(relaxed.program.row_lower), np.isfinite(relaxed.program.row_upper)
    return np.flatnonzero(low & high), np.flatnonzero(low & ~high), np.flatnonzero(high & ~low)


def _row_9(relaxed: BaseRelaxation, k: int) -> tuple[Floats, Floats]:
    """Return the linear forms [j] of row (9) of machine k: load A and right side, A^2 <= right."""
    item = relaxed.items
    items, machines = item.train.shape
    y = items + np.arange(items) * machines + k
    weight = item.unit[:, k] * item.train[:, k]
    load, right = np.zeros((2, len(relaxed.program.cost)))
    load[y] = weight
    right[y + items * machines] = 2 * weight
    right[y] = weight * item.train[:, k]
    return load, right
