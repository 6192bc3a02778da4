"""CP-SAT: constraint programs, and integer programs with bounded columns."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from schedgap.errors import UsageError
from schedgap.solvers.children import meter
from schedgap.solvers.children.clock import Clock
from schedgap.solvers.engines.availability import require_loadable
from schedgap.solvers.engines.engine import Request, reject_option
from schedgap.solvers.engines.results import (
    EngineResult,
    OnBound,
    OnIncumbent,
    derive_status,
    statistics_of,
)
from schedgap.solvers.programs.arrays import LinearProgram

if TYPE_CHECKING:
    from ortools.sat.python import cp_model, cp_model_helper


_LARGEST = 2**53  # sums of products stay below it, so doubles represent them


def solve_request(program: LinearProgram, request: Request) -> EngineResult:
    """Solve an integer program; the function of the engine `cp-sat` for programs as arrays.

    Numbers are taken as the shortest decimals that denote them, and scaled to integers.

    `program`: all columns must be integer and have finite bounds. `request`: limits, options and
    callbacks.

    Raises
    ------
    UsageError
        If a column is continuous or unbounded, or numbers cannot be scaled to integers below 2^53.
    """
    model, size = _build(program)

    def better(_: float, values: NDArray[np.int64]) -> None:
        request.incumbent(values)
        if request.error is not None:
            raise request.error

    def closer(bound: float) -> None:
        request.bound(bound / size + program.offset)
        if request.error is not None:
            raise request.error

    with request.running():
        result = solve_model(
            model,
            clock=request.clock,
            threads=request.threads,
            seed=request.seed,
            start=None if request.start is None else request.start.tolist(),
            on_incumbent=better if request.wants_incumbents else None,
            on_bound=closer,
            options=request.options,
            log=request.log,
        )
    return request.result(
        "infeasible" if result.status == "infeasible" else "solved",
        result.log,
        values=result.values,
        bound=None if result.bound is None else result.bound / size + program.offset,
        info=result.info,
        statistics=result.statistics,
    )


def _build(program: LinearProgram) -> "tuple[cp_model.CpModel, int]":
    """Return the model, and how many units of its objective are 1 in the program's."""
    from ortools.sat.python import cp_model

    lower, upper = program.lower, program.upper
    integer = np.zeros(len(lower), bool) if program.integer is None else program.integer
    for fault, what in ((~integer, "continuous"), (np.isinf(lower) | np.isinf(upper), "unbounded")):
        for j in np.flatnonzero(fault)[:1].tolist():
            name = f" ({program.column_names[j]})" if program.column_names is not None else ""
            column = f"column {j}{name} is {what}"
            raise UsageError(f"CP-SAT takes integer columns with finite bounds; {column}")
    model = cp_model.CpModel()
    bounds = zip(lower.astype(int).tolist(), upper.astype(int).tolist(), strict=True)
    columns = [model.new_int_var(low, high, "") for low, high in bounds]
    reach = np.maximum(abs(lower), abs(upper))
    matrix = program.matrix
    for i in range(matrix.shape[0]):
        part = slice(matrix.indptr[i], matrix.indptr[i + 1])
        place = matrix.indices[part]
        entries, scale = _whole(matrix.data[part], reach[place], f"row {i}")
        low, high = (
            _side(program.row_lower[i], scale, math.ceil),
            _side(program.row_upper[i], scale, math.floor),
        )
        body = cp_model.LinearExpr.weighted_sum([columns[j] for j in place], entries)
        model.add_linear_constraint(body, low, high)
    cost, size = _whole(program.cost, reach, "the objective")
    model.minimize(cp_model.LinearExpr.weighted_sum(columns, cost))
    return model, size


def _whole(
    numbers: NDArray[np.float64], reach: NDArray[np.float64], name: str
) -> tuple[list[int], int]:
    """Return numbers scaled to integers, and the scale; `reach` bounds the columns."""
    if (numbers == np.rint(numbers)).all():
        scaled, scale = [int(number) for number in numbers.tolist()], 1
    else:
        exact = [Fraction(repr(number)) for number in numbers.tolist()]
        scale = math.lcm(*(number.denominator for number in exact))
        scaled = [int(number * scale) for number in exact]
    if sum(abs(a) * int(most) for a, most in zip(scaled, reach.tolist(), strict=True)) >= _LARGEST:
        raise UsageError(f"CP-SAT takes integers below 2^53; {name} cannot be scaled to such")
    return scaled, scale


def _side(side: float, scale: int, rounded: Callable[[Fraction], int]) -> int:
    """Return a side of a scaled row, rounded inward except for round-off."""
    if abs(side) * scale >= _LARGEST:
        return int(math.copysign(_LARGEST, side))
    exact = Fraction(repr(float(side))) * scale
    nearest = round(exact)
    return nearest if abs(exact - nearest) <= 1e-9 * max(1, abs(nearest)) else rounded(exact)


def solve_model(
    model: "cp_model.CpModel",
    *,
    clock: Clock,
    threads: int = 1,
    seed: int = 0,
    grid: float | None = None,
    start: Sequence[float | None] | None = None,
    on_incumbent: OnIncumbent | None = None,
    on_bound: OnBound | None = None,
    options: Mapping[str, object] | None = None,
    log: Path | None = None,
) -> EngineResult:
    """Solve a `cp_model.CpModel`.

    `model`: not changed. Without an objective, any solution is optimal with objective 0. `clock`:
    time budget; if it has expired, nothing is solved. `threads`, `seed`: number of search workers
    >= 1 (with 1, the search is deterministic) and random seed >= 0. `grid`: a number > 0 of which
    every feasible objective is a multiple. `start` [variable index]: hints; None or NaN for
    variables without one. If None, the hints of the model are used. `on_incumbent`, `on_bound`:
    called with improvements, possibly from another thread. `options`: further parameters of CP-SAT
    by name; they override ours. `log`: file for the log.

    `values` is an integer array by variable index.

    Raises
    ------
    UsageError
        If CP-SAT rejects an option.
    ValueError
        If CP-SAT rejects the model.
    EngineUnavailableError
        If this process has loaded HiGHS.
    """
    require_loadable("cp-sat")
    if clock.expired():
        return EngineResult("unknown", None, None)
    from ortools.sat.python import cp_model

    begin = time.monotonic()
    if start is not None:
        model = _hinted(model, start)
    solver = cp_model.CpSolver()
    _set(solver, {"num_workers": threads, "random_seed": seed} | dict(options or {}))
    bounds: list[float] = []
    errors: list[BaseException] = []

    def better_bound(bound: float) -> None:
        bounds.append(bound)
        if on_bound is not None and not errors:
            try:
                on_bound(bound)
            except BaseException as error:  # noqa: BLE001 - must not pass through native code; raised below
                errors.append(error)
                solver.stop_search()

    class Solutions(cp_model.CpSolverSolutionCallback):  # type: ignore[misc]  # untyped base
        def on_solution_callback(self) -> None:
            if on_incumbent is not None and not errors:
                try:
                    on_incumbent(self.objective_value, _values(self.Response()))
                except BaseException as error:  # noqa: BLE001 - as above
                    errors.append(error)
                    self.stop_search()

    solver.best_bound_callback = better_bound
    left = clock.remaining()
    if math.isfinite(left):
        solver.parameters.max_time_in_seconds = left
    with ExitStack() as running:
        if log is not None:
            stream = running.enter_context(open(log, "w", buffering=1, encoding="utf-8"))
            _set(solver, {"log_search_progress": True, "log_to_stdout": False})
            solver.log_callback = lambda line: print(line, file=stream)
        built = time.monotonic()
        spent = running.enter_context(meter.engine())
        status = solver.solve(model, Solutions() if on_incumbent is not None else None)
    timing: dict[str, Any] = {
        "seconds": spent.engine,
        "engine_cpu_seconds": spent.engine_cpu,
        "build_seconds": built - begin,
    }
    if errors:
        raise errors[0]

    name = status.name
    words = f"CP-SAT: {name.lower()}"
    if name == "MODEL_INVALID":
        raise ValueError(f"CP-SAT finds the model invalid: {model.validate()}")
    if name == "INFEASIBLE":
        return EngineResult("infeasible", None, None, log=words, **timing)
    has_solution = name in ("OPTIMAL", "FEASIBLE")
    response = solver.response_proto
    # Before the first bound is known, the response has 0, which is not a bound.
    bound = response.best_objective_bound if bounds or name == "OPTIMAL" else None
    sense = _sense(model)
    verdict = derive_status(
        response.objective_value if has_solution else None, bound, sense=sense, grid=grid
    )
    # Its branches are not nodes of a tree.
    timing["statistics"] = statistics_of({"iterations": response.num_lp_iterations})
    info = {"branches": response.num_branches, "conflicts": response.num_conflicts}
    return EngineResult(
        verdict.status,
        verdict.objective,
        verdict.bound,
        _values(response) if has_solution else None,
        log=words,
        info=info | dict(verdict.info),
        **timing,
    )


def _values(response: "cp_model_helper.CpSolverResponse") -> NDArray[np.int64]:
    return np.fromiter(response.solution, dtype=np.int64, count=len(response.solution))


def _sense(model: "cp_model.CpModel") -> Literal["min", "max"]:
    """Return "max" if the model maximizes, which CP-SAT stores as a negative scaling."""
    proto = model.proto
    if proto.has_floating_point_objective():
        return "max" if proto.floating_point_objective.maximize else "min"
    return "max" if proto.objective.scaling_factor < 0 else "min"


def _hinted(model: "cp_model.CpModel", start: Sequence[float | None]) -> "cp_model.CpModel":
    """Return a copy of the model with only these hints."""
    copy = model.clone()
    copy.clear_hints()
    if len(start) != len(copy.proto.variables):
        raise ValueError(f"{len(start)} hints for {len(copy.proto.variables)} variables")
    for index, value in enumerate(start):
        if value is not None and not math.isnan(value):
            copy.proto.solution_hint.vars.append(index)
            copy.proto.solution_hint.values.append(round(value))
    return copy


def _set(solver: "cp_model.CpSolver", options: Mapping[str, object]) -> None:
    for name, value in options.items():
        try:
            setattr(solver.parameters, name, value)
        except (AttributeError, TypeError, ValueError):
            raise reject_option("CP-SAT", name, value, dir(solver.parameters)) from None
