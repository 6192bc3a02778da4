"""Results, statuses, tolerances and callbacks that all engines have in common."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

EngineStatus = Literal["optimal", "feasible", "infeasible", "unbounded", "unknown"]

# Called with (objective, values) of a better solution; values as in EngineResult.
OnIncumbent = Callable[[float, Any], None]
# Called with a better bound on the optimum.
OnBound = Callable[[float], None]

TOLERANCE = 1e-6  # relative gap between objective and bound of a proved optimum
SEEDS = 2**31  # every engine takes seeds below it
INFINITE = 1e20  # engines report this or more if there is no bound

# Numbers on a solve that engines report about themselves. `cuts` counts the cutting planes in the
# linear programs; the presolved sizes are 0 if presolve has solved the program.
STATISTICS = (
    "nodes",
    "iterations",
    "root_bound",
    "root_seconds",
    "cuts",
    "presolved_rows",
    "presolved_columns",
    "presolved_nonzeros",
)


def statistics_of(known: Mapping[str, float | None]) -> dict[str, float | None]:
    """Return a value for each of `STATISTICS`: None for those that the engine does not report.

    `known`: values by name; None or an infinite number means that the engine has none.

    Raises
    ------
    ValueError
        If a name is not one of `STATISTICS`.
    """
    unknown = sorted(set(known) - set(STATISTICS))
    if unknown:
        raise ValueError(f"no statistic {unknown[0]}: there are {', '.join(STATISTICS)}")
    values = ((name, known.get(name)) for name in STATISTICS)
    return {
        name: None if value is None or not abs(value) < INFINITE else value
        for name, value in values
    }


@dataclass(frozen=True, slots=True)
class EngineResult:
    """Result of one solve.

    The status follows from the numbers: `optimal` only if objective and bound meet (1e-6 relative,
    or within one step of the objective's grid). `bound` is a valid finite bound or None. `values`
    is an array: by column for programs as arrays, and by variable index for CP-SAT. For Pyomo and
    cvxpy it is None, because the values are stored in the model. `duals` are the dual values of a
    linear program, by row (arrays) or constraint name (Pyomo). `info["contradiction"]` is set if
    the engine's bound lies past its own incumbent; the bound is then dropped. `statistics` has a
    value for each of `STATISTICS`, None if the engine does not report it.
    """

    status: EngineStatus
    objective: float | None
    bound: float | None
    values: Any = None
    duals: Any = None
    seconds: float = 0.0  # wall-clock time of the engine's run, without building
    engine_cpu_seconds: float = 0.0  # CPU time of this process in the same interval
    build_seconds: float = 0.0  # wall-clock time to build the model in the engine
    log: str = ""
    info: Mapping[str, Any] = field(default_factory=dict)
    statistics: Mapping[str, float | None] = field(default_factory=lambda: statistics_of({}))


@dataclass(frozen=True, slots=True)
class Judgement:
    """Status that follows from an engine's incumbent and bound."""

    status: EngineStatus
    objective: float | None
    bound: float | None
    info: Mapping[str, Any]


def derive_status(
    objective: float | None,
    bound: float | None,
    *,
    sense: Literal["min", "max"] = "min",
    grid: float | None = None,
) -> Judgement:
    """Derive the status of a stopped search from its incumbent and its bound.

    `objective`, `bound`: as reported by the engine; NaN, infinite and extremely large numbers count
    as None. `sense`: sense of the objective. `grid`: a number > 0 of which every feasible objective
    is a multiple; the bound is rounded to it.

    The status is `optimal` if the numbers meet, otherwise `feasible` if there is an incumbent, or
    `unknown`.
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
