"""Results, statuses, tolerances and callbacks that all engines have in common."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

EngineStatus = Literal["optimal", "feasible", "infeasible", "unbounded", "unknown"]

# engine -> (module that shows whether it is installed, pip extra)
ENGINES: dict[str, tuple[str, str]] = {
    "highs": ("highspy", ""),
    "gurobi": ("gurobipy", "gurobi"),
    "cp-sat": ("ortools", "cp-sat"),
    "clarabel": ("cvxpy", "convex"),
}

# Called with (objective, values) of a better solution; values as in EngineResult.
OnIncumbent = Callable[[float, Any], None]
# Called with a better bound on the optimum.
OnBound = Callable[[float], None]

TOLERANCE = 1e-6  # relative gap between objective and bound of a proved optimum
INFINITE = 1e20  # engines report this or more if there is no bound

# engine -> tolerances for exact programs: tight enough for rows with small integers, and far from
# 1e-6 and 1e-9, at which the presolve of HiGHS 1.15.1 has missed optima
USUAL_TOLERANCES: dict[str, dict[str, float]] = {
    "highs": {"mip_feasibility_tolerance": 1e-7},
    "gurobi": {"FeasibilityTol": 1e-7, "IntFeasTol": 1e-7},
}

# engine -> tolerances for integer programs whose rows must distinguish values that differ by less
# than the usual 1e-6
LEAST_TOLERANCES: dict[str, dict[str, float]] = {
    "highs": {"mip_feasibility_tolerance": 1e-9, "primal_feasibility_tolerance": 1e-9},
    "gurobi": {"FeasibilityTol": 1e-9, "IntFeasTol": 1e-9},
}


@dataclass(frozen=True, slots=True)
class EngineResult:
    """Result of one solve.

    The status follows from the numbers: `optimal` only if objective and bound meet (1e-6 relative,
    or within one step of the objective's grid). `bound` is a valid finite bound or None. `values`
    is an array by column for programs as arrays and by variable index for CP-SAT; for Pyomo and
    cvxpy it is None, because the values are stored in the model. `duals` are those of a linear
    program, by row (arrays) or by constraint name (Pyomo). `info["contradiction"]` is set if the
    engine's bound lies past its own incumbent; the bound is then dropped.
    """

    status: EngineStatus
    objective: float | None
    bound: float | None
    values: Any = None
    duals: Any = None
    seconds: float = 0.0  # of the solve without building
    build_seconds: float = 0.0  # to build the model in the engine
    log: str = ""
    info: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Judgement:
    """Status that follows from an engine's incumbent and bound."""

    status: EngineStatus
    objective: float | None
    bound: float | None
    info: Mapping[str, Any]


def judge(
    objective: float | None,
    bound: float | None,
    *,
    sense: Literal["min", "max"] = "min",
    grid: float | None = None,
) -> Judgement:
    """Derive the status of a stopped search from its incumbent and its bound.

    Parameters
    ----------
    objective, bound : float or None
        As reported by the engine; NaN, infinite and extremely large numbers count as None.
    sense : {"min", "max"}
        Sense of the objective.
    grid : float or None
        A number > 0 of which every feasible objective is a multiple; the bound is rounded to it.

    Returns
    -------
    Judgement
        `optimal` if the numbers meet, otherwise `feasible` if there is an incumbent, or `unknown`.
    """
    if objective is None or not abs(objective) < INFINITE:
        objective = None
    if bound is None or not abs(bound) < INFINITE:
        bound = None
    if bound is not None and grid is not None:
        bound = _on_grid(bound, grid) if sense == "min" else -_on_grid(-bound, grid)
    if objective is None:
        return Judgement("unknown", None, bound, {})
    if bound is None:
        return Judgement("feasible", objective, None, {})
    gap = objective - bound if sense == "min" else bound - objective
    tolerance = TOLERANCE * max(1.0, abs(objective))
    if gap < -tolerance:
        info = {"contradiction": f"bound {bound!r} is past the incumbent {objective!r}"}
        return Judgement("feasible", objective, None, info)
    if gap <= tolerance:
        return Judgement("optimal", objective, objective if gap < 0 else bound, {})
    return Judgement("feasible", objective, bound, {})


def _on_grid(bound: float, grid: float) -> float:
    """Round a lower bound up to the grid, with 0.0005 steps of tolerance for round-off."""
    return math.ceil(bound / grid - 5e-4) * grid
