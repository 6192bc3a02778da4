"""What an objective and a bound say together: grid, meeting, contradiction, status."""

import math

from schedgap.instances.solution import Kind, Sense, Status

RELATIVE = 1e-6  # objective and bound meet within this share of the larger one
ROUND_OFF = 1e-9  # relative
NOTHING = 1e-15  # round-off around 0


def tolerance(a: float, b: float, grid: float | None = None) -> float:
    """Return by how much two values may differ and be one: 1e-6 of the larger one.

    Values on a grid are one only where they are the same point of it, a share of 1e-9 left to
    round-off. Nothing depends on the unit of utilities or weights.
    """
    larger = max(abs(a), abs(b))
    if grid is None:
        return RELATIVE * larger
    return min(RELATIVE * larger, max(grid / 2, ROUND_OFF * larger))


def meet(objective: float, bound: float, grid: float | None = None) -> bool:
    """Return whether the two are equal: within 1e-6 relative, or on the objective's grid."""
    near = abs(objective - bound) <= tolerance(objective, bound, grid)
    return near and math.isfinite(bound)


def contradict(objective: float, bound: float, sense: Sense, grid: float | None = None) -> bool:
    """Return whether a verified objective lies on the wrong side of a bound by more than that."""
    past = bound - objective if sense == "min" else objective - bound
    return past > max(NOTHING, tolerance(objective, bound, grid))


def tighter(a: float | None, b: float | None, sense: Sense) -> float | None:
    """Return the stronger of two bounds; None is no bound."""
    if a is None or b is None:
        return b if a is None else a
    return max(a, b) if sense == "min" else min(a, b)


def on_grid(bound: float, grid: float | None, sense: Sense) -> float:
    """Return the first value of the objective's grid that the bound admits.

    A bound that lies above a grid point by round-off alone (1e-6 of a step, or 1e-9 relative)
    stays at that point.
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
    """Return the status that the numbers earn; an engine's word plays no part."""
    if infeasible:
        return "infeasible"
    if objective is None:
        return "bound" if kind == "bound" and bound is not None else "unknown"
    return "optimal" if bound is not None and meet(objective, bound, grid) else "feasible"
