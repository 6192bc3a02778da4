"""HiGHS: linear and mixed-integer programs, and linear programs that are kept between solves."""

import math
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from schedgap.solvers.children.clock import Clock
from schedgap.solvers.engines.availability import require_loadable
from schedgap.solvers.engines.engine import Request
from schedgap.solvers.engines.highs_native import (
    Watch,
    accept,
    new_engine,
    pass_program,
    pass_start,
    read_linear,
    read_mixed,
    run,
    run_once,
    set_option,
    statistics,
)
from schedgap.solvers.engines.results import TOLERANCE, EngineResult, statistics_of
from schedgap.solvers.programs.arrays import Floats, LinearProgram, Sides
from schedgap.solvers.programs.sparse import sparse


def solve_request(program: LinearProgram, request: Request) -> EngineResult:
    """Solve a program; the function of the engine `highs`.

    `request`: limits, options and callbacks.
    """
    settings: dict[str, Any] = {"threads": request.threads, "random_seed": request.seed}
    if program.is_mixed:
        settings |= {
            "mip_rel_gap": 0.0,
            "mip_abs_gap": TOLERANCE if request.grid is None else 0.999 * request.grid,
            # A restart at the root can make HiGHS 1.15.1 miss the optimum.
            "mip_allow_restart": False,
        }
    engine = new_engine(settings | request.options, logs=True, log=request.log)
    pass_program(engine, program)
    if request.start is not None:
        pass_start(engine, request.start)
    watch = Watch(engine, request.clock, request if program.is_mixed else None)
    engine.cbLogging.subscribe(watch.note)
    with request.running():
        twice = run(engine, request.clock, watch)
    if not program.is_mixed:
        result = read_linear(engine, program, request.timing)
        return replace(result, statistics=statistics_of(statistics(engine, watch)))
    return read_mixed(engine, program, request, watch, twice=twice)


class Relaxation:
    """A linear program kept in HiGHS: rows and columns can be added, and solves start warm.

    New rows and columns are numbered after the existing ones.

    `program`: the program at the start; `integer` is ignored. `threads`, `seed`: number of threads
    >= 1 and random seed >= 0. `options`: further HiGHS options by name; they override ours.
    """

    def __init__(
        self,
        program: LinearProgram,
        *,
        threads: int = 1,
        seed: int = 0,
        options: Mapping[str, object] | None = None,
    ) -> None:
        require_loadable("highs")
        settings = {"threads": threads, "random_seed": seed, "solver": "simplex"}
        self._engine = new_engine(settings | dict(options or {}))
        self._sides = Sides(
            program.cost,
            program.lower,
            program.upper,
            program.row_lower,
            program.row_upper,
            program.offset,
        )
        pass_program(self._engine, program, relaxed=True)

    def add_rows(
        self, lower: ArrayLike, upper: ArrayLike, matrix: "sparse.csr_array | ArrayLike"
    ) -> None:
        """Add rows `lower <= matrix @ x <= upper`.

        `lower`, `upper` [k]: sides of the new rows; infinite if absent. `matrix` [k, j]: entries in
        all existing columns.
        """
        rows = sparse.csr_array(matrix, dtype=np.float64)
        _shape(rows.shape[1], self._engine.getNumCol(), "columns")
        low, high = _floats(lower), _floats(upper)
        _shape(len(low), rows.shape[0], "rows")
        _shape(len(high), rows.shape[0], "rows")
        status = self._engine.addRows(
            len(low), low, high, rows.nnz, _ints(rows.indptr[:-1]), _ints(rows.indices), rows.data
        )
        accept(status, "the new rows")
        sides = self._sides
        self._sides = replace(
            sides,
            row_lower=np.append(sides.row_lower, low),
            row_upper=np.append(sides.row_upper, high),
        )

    def add_columns(
        self,
        cost: ArrayLike,
        lower: ArrayLike,
        upper: ArrayLike,
        matrix: "sparse.csr_array | ArrayLike",
    ) -> None:
        """Add columns.

        `cost`, `lower`, `upper` [k]: costs and bounds of the new columns. `matrix` [i, k]: entries
        in all existing rows.
        """
        columns = sparse.csc_array(matrix, dtype=np.float64)
        _shape(columns.shape[0], self._engine.getNumRow(), "rows")
        price, low, high = _floats(cost), _floats(lower), _floats(upper)
        for array in (price, low, high):
            _shape(len(array), columns.shape[1], "columns")
        status = self._engine.addCols(
            len(price),
            price,
            low,
            high,
            columns.nnz,
            _ints(columns.indptr[:-1]),
            _ints(columns.indices),
            columns.data,
        )
        accept(status, "the new columns")
        sides = self._sides
        self._sides = replace(
            sides,
            cost=np.append(sides.cost, price),
            lower=np.append(sides.lower, low),
            upper=np.append(sides.upper, high),
        )

    def change_bounds(self, columns: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> None:
        """Change the bounds of columns.

        `columns` [k]: numbers of the columns. `lower`, `upper` [k]: their new bounds.
        """
        chosen, low, high = _ints(columns), _floats(lower), _floats(upper)
        accept(self._engine.changeColsBounds(len(chosen), chosen, low, high), "the bounds")
        sides = self._sides
        self._sides = replace(
            sides, lower=_put(sides.lower, chosen, low), upper=_put(sides.upper, chosen, high)
        )

    def change_costs(self, columns: ArrayLike, cost: ArrayLike) -> None:
        """Change the costs of columns.

        `columns` [k]: numbers of the columns. `cost` [k]: their new costs.
        """
        chosen, price = _ints(columns), _floats(cost)
        accept(self._engine.changeColsCost(len(chosen), chosen, price), "the costs")
        self._sides = replace(self._sides, cost=_put(self._sides.cost, chosen, price))

    def change_row_bounds(self, rows: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> None:
        """Change the sides of rows.

        `rows` [k]: numbers of the rows. `lower`, `upper` [k]: their new sides.
        """
        chosen, low, high = _ints(rows), _floats(lower), _floats(upper)
        accept(self._engine.changeRowsBounds(len(chosen), chosen, low, high), "the sides")
        sides = self._sides
        self._sides = replace(
            sides,
            row_lower=_put(sides.row_lower, chosen, low),
            row_upper=_put(sides.row_upper, chosen, high),
        )

    def solve(self, clock: Clock) -> EngineResult:
        """Solve the program from the last basis; the result is as for `solve_arrays`."""
        if clock.expired():
            return EngineResult("unknown", None, None)
        begin = time.monotonic()
        watch = Watch(self._engine, clock)
        try:
            run(self._engine, clock, watch)
        finally:
            watch.leave()
        return read_linear(self._engine, self._sides, {"seconds": time.monotonic() - begin})

    @property
    def basis(self) -> Any:
        """Basis of HiGHS after the last solve; the next solve starts from the basis that is set."""
        return self._engine.getBasis()

    @basis.setter
    def basis(self, basis: Any) -> None:
        self._engine.setBasis(basis)

    def basic(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which columns [j] and which rows [i] are basic after the last solve."""
        basis = self._engine.getBasis()
        columns, rows = (
            np.array([status.name == "kBasic" for status in part], dtype=bool)
            for part in (basis.col_status, basis.row_status)
        )
        return columns, rows

    def dual_ray(self) -> Floats | None:
        """Return a dual ray [i] that shows, up to its sign, that the last program is infeasible.

        None if HiGHS has none. The ray is not verified.
        """
        ray = self._engine.getDualRay()
        return np.array(ray[2], dtype=np.float64) if ray[1] else None

    def trial(self, clock: Clock, iterations: int) -> float:
        """Return the objective after a limited number of simplex iterations, which is not a bound.

        It is infinite if the program is infeasible, and -inf if nothing is known.

        `clock`: time budget. `iterations`: limit on the number of iterations.
        """
        if clock.expired():
            return -math.inf
        watch = Watch(self._engine, clock)
        set_option(self._engine, "simplex_iteration_limit", iterations)
        try:
            run_once(self._engine, clock)
        finally:
            set_option(self._engine, "simplex_iteration_limit", 2**31 - 1)
            watch.leave()
        status = self._engine.getModelStatus().name
        if status == "kInfeasible":
            return math.inf
        if status in ("kOptimal", "kIterationLimit"):
            return float(self._engine.getInfo().objective_function_value)
        return -math.inf

    @property
    def program(self) -> LinearProgram:
        """The current linear program, without names."""
        lp = self._engine.getLp()
        entries = lp.a_matrix_
        kind = sparse.csc_array if entries.format_.name == "kColwise" else sparse.csr_array
        data = tuple(np.array(part) for part in (entries.value_, entries.index_, entries.start_))
        sides = self._sides
        return LinearProgram(
            sides.cost,
            sides.lower,
            sides.upper,
            kind(data, shape=(lp.num_row_, lp.num_col_)),
            sides.row_lower,
            sides.row_upper,
            offset=sides.offset,
        )


def _shape(got: int, wanted: int, name: str) -> None:
    if got != wanted:
        raise ValueError(f"{got} {name} given, {wanted} needed")


def _floats(values: ArrayLike) -> Floats:
    return np.asarray(values, dtype=np.float64)


def _put(array: Floats, chosen: NDArray[np.int32], values: Floats) -> Floats:
    """Return a copy with other values in the chosen places."""
    changed = array.copy()
    changed[chosen] = values
    return changed


def _ints(values: ArrayLike) -> NDArray[np.int32]:
    return np.asarray(values, dtype=np.int32)
