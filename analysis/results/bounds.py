"""Comparison of an objective with a bound: tolerance, grid, contradiction, status."""

import math

from schedgap.instances.solution import Kind, Sense, Status

RELATIVE = 1e-6  # relative difference up to which an objective and a bound are equal
ROUND_OFF = 1e-9  # relative
NEGLIGIBLE = 1e-15  # absolute round-off around 0


def tolerance(a: float, b: float, grid: float | None = None) -> float:
    """Return the difference up to which two values are equal: 1e-6 of the larger one.

    On a grid, two values are equal only if they are the same grid point, up to a relative round-off
    of 1e-9. All tolerances are relative, so that the unit of utilities or weights does not matter.

    Parameters
    ----------
    a, b : float
        The values.
    grid : float, optional
        Step of the grid on which all objectives lie, > 0.
    """
    larger = max(abs(a), abs(b))
    if grid is None:
        return RELATIVE * larger
    return min(RELATIVE * larger, max(grid / 2, ROUND_OFF * larger))


def meet(objective: float, bound: float, grid: float | None = None) -> bool:
    """Return whether an objective and a finite bound are equal within `tolerance`.

    Parameters
    ----------
    objective, bound : float
        The values.
    grid : float, optional
        Step of the grid on which all objectives lie, > 0.
    """
    near = abs(objective - bound) <= tolerance(objective, bound, grid)
    return near and math.isfinite(bound)


def contradict(objective: float, bound: float, sense: Sense, grid: float | None = None) -> bool:
    """Return whether a verified objective refutes a bound, by more than `tolerance`.

    Parameters
    ----------
    objective, bound : float
        The values.
    sense : {"min", "max"}
        Sense of the objective; for "min" the bound is a lower one.
    grid : float, optional
        Step of the grid on which all objectives lie, > 0.
    """
    past = bound - objective if sense == "min" else objective - bound
    return past > max(NEGLIGIBLE, tolerance(objective, bound, grid))


def tighter(a: float | None, b: float | None, sense: Sense) -> float | None:
    """Return the stronger of two bounds.

    Parameters
    ----------
    a, b : float or None
        The bounds; None stands for no bound.
    sense : {"min", "max"}
        Sense of the objective.
    """
    if a is None or b is None:
        return b if a is None else a
    return max(a, b) if sense == "min" else min(a, b)


def on_grid(bound: float, grid: float | None, sense: Sense) -> float:
    """Round a bound to the objective's grid: up for minimization, down for maximization.

    A bound that exceeds a grid point only by round-off (1e-6 of a step, or 1e-9 relative) is
    rounded to that point.

    Parameters
    ----------
    bound : float
        The bound.
    grid : float or None
        Step of the grid on which all objectives lie, > 0; None if there is no grid.
    sense : {"min", "max"}
        Sense of the objective.
    """
    if grid is None or abs(bound / grid) > 1e12:
        return bound
    steps = bound / grid
    slack = max(1e-6, 1e-9 * abs(steps))
    whole = math.ceil(steps - slack) if sense == "min" else math.floor(steps + slack)
    return max(bound, whole * grid) if sense == "min" else min(bound, whole * grid)


def derive_status(
    kind: Kind,
    objective: float | None,
    bound: float | None,
    *,
    infeasible: bool = False,
    grid: float | None = None,
) -> Status:
    """Return the status that follows from objective and bound, whatever an engine reported.

    Parameters
    ----------
    kind : str
        Kind of the method: exact, bound, algorithm or baseline.
    objective : float or None
        Verified objective of the schedule, if there is one.
    bound : float or None
        Bound of the method, if it has one.
    infeasible : bool
        Whether the method claims that no schedule exists.
    grid : float, optional
        Step of the grid on which all objectives lie, > 0.
    """
    if infeasible:
        return "infeasible"
    if objective is None:
        return "bound" if kind == "bound" and bound is not None else "unknown"
    return "optimal" if bound is not None and meet(objective, bound, grid) else "feasible"
