"""What an engine returns, and what is said of it while it runs: the same shape for all engines."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

EngineStatus = Literal["optimal", "feasible", "infeasible", "unbounded", "unknown"]

# engine name -> (module that proves it is installed, pip extra)
ENGINES: dict[str, tuple[str, str]] = {
    "highs": ("highspy", ""),
    "gurobi": ("gurobipy", "gurobi"),
    "cp-sat": ("ortools", "cp-sat"),
    "clarabel": ("cvxpy", "convex"),
}

# Called with (objective, values): a better solution was found, values as in EngineResult.
OnIncumbent = Callable[[float, Any], None]
# Called with a bound on the optimum that has become better.
OnBound = Callable[[float], None]

TOLERANCE = 1e-6  # relative, between objective and bound of a proved optimum
INFINITE = 1e20  # engines write this or more for "no bound"

# engine name -> options of an exact program: near enough for rows of small whole numbers, and far
# from where the presolve of HiGHS 1.15.1 has lost optima (at 1e-6 and at 1e-9)
USUAL_TOLERANCES: dict[str, dict[str, float]] = {
    "highs": {"mip_feasibility_tolerance": 1e-7},
    "gurobi": {"FeasibilityTol": 1e-7, "IntFeasTol": 1e-7},
}

# engine name -> options of an integer program whose rows are nearer than the usual 1e-6 to values
# that they must tell apart
LEAST_TOLERANCES: dict[str, dict[str, float]] = {
    "highs": {"mip_feasibility_tolerance": 1e-9, "primal_feasibility_tolerance": 1e-9},
    "gurobi": {"FeasibilityTol": 1e-9, "IntFeasTol": 1e-9},
}


@dataclass(frozen=True, slots=True)
class EngineResult:
    """One solve.

    `status` follows from the numbers: `optimal` only when objective and bound meet (1e-6 relative,
    or within one step of the objective's grid). `bound` is a valid bound or None, never infinite.
    `values`: array programs, an array by column; Pyomo, values are loaded into the model and this
    is None; CP-SAT, a sequence by variable index; cvxpy, loaded into the problem. `duals` of an LP
    by row (array programs) or by constraint name (Pyomo). `info["contradiction"]` is there when the
    engine's bound lies past its own incumbent; the bound is then dropped.
    """

    status: EngineStatus
    objective: float | None
    bound: float | None
    values: Any = None
    duals: Any = None
    seconds: float = 0.0  # solve alone
    build_seconds: float = 0.0  # hand-over to the engine
    log: str = ""
    info: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Judgement:
    """What an engine's two numbers prove."""

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
        As the engine says; NaN, infinite and absurdly large numbers count as None.
    sense : "min" or "max"
        Of both numbers.
    grid : float or None
        A step > 0 of which every feasible objective is a multiple; the bound is rounded to it.

    Returns
    -------
    Judgement
        `optimal` when the numbers meet, `feasible` with an incumbent otherwise, else `unknown`.
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
    """Round a lower bound up to the grid; half a thousandth of a step is left for round-off."""
    return math.ceil(bound / grid - 5e-4) * grid
