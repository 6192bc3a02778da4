"""What an engine returns, and what is said of it while it runs: the same shape for all engines."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

EngineStatus = Literal["optimal", "feasible", "infeasible", "unbounded", "unknown"]

# engine name -> (module that proves it is installed, pip extra, what to do without it)
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


@dataclass(frozen=True, slots=True)
class EngineResult:
    """One solve.

    `status` follows from the numbers: `optimal` only when objective and bound meet (1e-6 relative,
    or within one step of the objective's grid). `bound` is a valid bound or None, never infinite.
    `values`: array programs, an array by column; Pyomo, values are loaded into the model and this
    is None; CP-SAT, a sequence by variable index; cvxpy, loaded into the problem. `duals` of an LP
    by row (array programs) or by constraint name (Pyomo).
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
