"""The paper's relaxation with continuous y as a conic program, and the bound its prices prove."""

from typing import Any

import numpy as np

from schedgap.models.hare.programs.relaxation_arrays import BaseRelaxation, LoadCut
from schedgap.solvers.programs.arrays import Floats


def build(relaxed: BaseRelaxation) -> Any:
    """Return the `cvxpy.Problem` of the linear rows and of row (9) for all items of each machine.

    Parameters
    ----------
    relaxed : Relaxed
        With continuous y; `relaxation_linear.build`.

    Returns
    -------
    cvxpy.Problem
        One variable vector [j]; constraints in this order: equal rows, rows with a lower side,
        rows with an upper side, lower bounds, upper bounds, then `eq_9` by machine.
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


def tangents(relaxed: BaseRelaxation, problem: Any, duals: Any) -> tuple[list[LoadCut], Floats]:
    """Return a tangent to each row (9) at the problem's solution, and the prices of all rows.

    Parameters
    ----------
    problem : cvxpy.Problem
        Of `build`, solved: it holds the point whose loads the tangents touch.
    duals : sequence
        Of its constraints, in cvxpy's signs.

    Returns
    -------
    cuts, duals [i]
        The price of a machine's row (9) is that of its tangent, since both have the same gradient
        there; rows of `with_cuts(relaxed, cuts)`. Whatever the point and the prices, they prove a
        bound.
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


def _sides(relaxed: BaseRelaxation) -> tuple[Any, Any, Any]:
    """Rows that are equations, that have a lower side only, an upper side only."""
    low, high = np.isfinite(relaxed.program.row_lower), np.isfinite(relaxed.program.row_upper)
    return np.flatnonzero(low & high), np.flatnonzero(low & ~high), np.flatnonzero(high & ~low)


def _row_9(relaxed: BaseRelaxation, k: int) -> tuple[Floats, Floats]:
    """Return A and the right side of row (9) of machine k as linear forms [j]: A^2 <= right."""
    item = relaxed.items
    items, machines = item.train.shape
    y = items + np.arange(items) * machines + k
    weight = item.unit[:, k] * item.train[:, k]
    load, right = np.zeros((2, len(relaxed.program.cost)))
    load[y] = weight
    right[y + items * machines] = 2 * weight
    right[y] = weight * item.train[:, k]
    return load, right
