"""Pyomo models as arrays, with their names, and values stored back into the model."""

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from schedgap.errors import UsageError
from schedgap.solvers.engines.results import EngineResult, OnBound, OnIncumbent
from schedgap.solvers.programs.arrays import Floats, LinearProgram
from schedgap.solvers.programs.sparse import sparse

if TYPE_CHECKING:
    import pyomo.core as pyo


FEASIBLE = 1e-6  # relative tolerance of rows, as of the engines


@dataclass(frozen=True, slots=True)
class Quadratic:
    """`lower <= sum_k coefficient_k x_first_k x_second_k + sum_l linear_l x_column_l <= upper`."""

    name: str
    first: tuple[int, ...]
    second: tuple[int, ...]
    coefficient: tuple[float, ...]
    columns: tuple[int, ...]
    linear: tuple[float, ...]
    lower: float
    upper: float


class InfeasibleModelError(Exception):
    """A row without variables is violated."""


@dataclass(frozen=True, slots=True)
class PyomoArrays:
    """The active part of a model as arrays, always as a minimization.

    `program` has the linear rows and the linear part of the objective; `square` is the quadratic
    part of the objective, also to be minimized.
    """

    model: "pyo.ConcreteModel"
    program: LinearProgram
    variables: tuple[Any, ...]  # Pyomo variables [j]
    constraints: tuple[Any, ...]  # Pyomo constraints [i]
    sense: Literal["min", "max"]
    quadratics: tuple[Quadratic, ...] = ()
    square: Quadratic | None = None

    def in_model_sense(self, number: float) -> float:
        """Convert an objective or bound of the program to the model's sense, or back."""
        return -number if self.sense == "max" else number

    def start(self) -> Floats:
        """Return the values of the variables [j], NaN if they have none."""
        return np.array([math.nan if v.value is None else float(v.value) for v in self.variables])

    def named(self) -> LinearProgram:
        """Return the program with the names of the model, which are slow to compute."""
        return replace(
            self.program,
            column_names=[variable.name for variable in self.variables],
            row_names=[constraint.name for constraint in self.constraints],
        )

    def load(self, values: Floats) -> None:
        """Store values in the model; variables that occur in no row get the value nearest to 0.

        `values` [j]: values of the columns.
        """
        import pyomo.core as pyo

        for variable, value in zip(self.variables, values.tolist(), strict=True):
            is_integer = not variable.is_continuous()
            variable.set_value(round(value) if is_integer else value, skip_validation=True)
        for variable in self.model.component_data_objects(pyo.Var, active=True):
            if variable.value is None:
                low, high = _bounds(variable)
                variable.set_value(min(max(0.0, low), high), skip_validation=True)


def compile_model(model: "pyo.ConcreteModel", *, quadratic: bool = False) -> PyomoArrays:
    """Convert a Pyomo model to arrays.

    `model`: with at most one active objective; not changed. `quadratic`: whether to accept
    quadratic rows and a quadratic objective.

    Raises
    ------
    UsageError
        If a row or the objective has a higher degree, or there are several objectives.
    InfeasibleModelError
        If a row without variables is violated.
    """
    import pyomo.core as pyo
    from pyomo.common.errors import InfeasibleConstraintException, InvalidExpressionError

    objectives = list(model.component_data_objects(pyo.Objective, active=True))
    if len(objectives) > 1:
        raise UsageError(f"the model has {len(objectives)} active objectives, not one")
    try:
        return _compile_rows(model)
    except InfeasibleConstraintException as error:
        raise InfeasibleModelError(str(error)) from None
    except InvalidExpressionError as error:
        if not quadratic:
            raise UsageError(f"this engine accepts only linear rows: {error}") from None
    rows = list(model.component_data_objects(pyo.Constraint, active=True))
    bodies = [(row, row.body) for row in rows] + [
        (objective, objective.expr) for objective in objectives
    ]
    curved = [row for row, body in bodies if body.polynomial_degree() not in (0, 1)]
    for row in curved:
        row.deactivate()
    try:
        arrays = _compile_rows(model)
    except InfeasibleConstraintException as error:
        raise InfeasibleModelError(str(error)) from None
    except InvalidExpressionError as error:  # a power of fixed variables, which Pyomo leaves
        raise UsageError(
            f"{str(error).rstrip('.')}: where variables are fixed, give them equal bounds instead"
        ) from None
    finally:
        for row in curved:
            row.activate()
    return _with_quadratics(arrays, curved)


def _compile_rows(model: "pyo.ConcreteModel") -> PyomoArrays:
    """Compile the linear rows; leave out rows of fixed variables that only round-off violates."""
    import pyomo.core as pyo
    from pyomo.common.errors import InfeasibleConstraintException

    try:
        return _compile_linear(model)
    except InfeasibleConstraintException:
        rows = model.component_data_objects(pyo.Constraint, active=True)
        met = [row for row in rows if row.body.is_fixed() and _nearly_met(row)]
        for row in met:
            row.deactivate()
        try:
            return _compile_linear(model)
        finally:
            for row in met:
                row.activate()


def _nearly_met(row: Any) -> bool:
    """Return whether a constant row holds up to the tolerance of the engines."""
    import pyomo.core as pyo

    body, low, high = pyo.value(row.body, exception=False), row.lb, row.ub  # no limit is None
    if body is None:  # zero times a variable without a value
        return False
    return (low is None or body >= low - FEASIBLE * max(1.0, abs(low))) and (
        high is None or body <= high + FEASIBLE * max(1.0, abs(high))
    )


def solve_compiled(
    arrays: PyomoArrays,
    engine: Callable[..., EngineResult],
    *,
    start: bool | None,
    on_incumbent: OnIncumbent | None,
    on_bound: OnBound | None,
    build_seconds: float,
    **rest: Any,
) -> EngineResult:
    """Solve a compiled model with an engine's array function and store the values in the model.

    `engine`: the engine's `solve_arrays`. `start`: whether to start from the values of the
    variables. `on_incumbent`, `on_bound`: called with improvements in the model's sense.
    `build_seconds`: time of the compilation. `**rest`: further parameters of `engine`.
    """

    def incumbent(objective: float, values: Floats) -> None:
        if on_incumbent is not None:
            arrays.load(values)
            on_incumbent(arrays.in_model_sense(objective), None)

    def bound(value: float) -> None:
        if on_bound is not None:
            on_bound(arrays.in_model_sense(value))

    first = arrays.start() if start else None
    result = engine(
        arrays.program,
        start=None if first is None or np.isnan(first).all() else first,
        on_incumbent=None if on_incumbent is None else incumbent,
        on_bound=None if on_bound is None else bound,
        **rest,
    )
    if result.values is not None:
        arrays.load(result.values)
    duals = None
    if result.duals is not None and not arrays.quadratics:
        pairs = zip(arrays.constraints, result.duals.tolist(), strict=True)
        duals = {constraint.name: arrays.in_model_sense(price) for constraint, price in pairs}
    return replace(
        result,
        objective=None if result.objective is None else arrays.in_model_sense(result.objective),
        bound=None if result.bound is None else arrays.in_model_sense(result.bound),
        values=None,
        duals=duals,
        build_seconds=result.build_seconds + build_seconds,
    )


def _standard_form(model: "pyo.ConcreteModel") -> Any:
    """Return Pyomo's standard form; UsageError for components that it does not know."""
    from pyomo.common.dependencies import scipy_available
    from pyomo.common.errors import PyomoException
    from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler

    # Pyomo would import all of scipy.stats with scipy.sparse: 0.4 s in each new process.
    if not isinstance(scipy_available, bool):
        scipy_available._callback = None
    sparse.csc_array  # noqa: B018 - loaded here, with less of NumPy than by Pyomo
    try:
        return LinearStandardFormCompiler().write(model, mixed_form=True, set_sense=None)
    except PyomoException:
        raise
    except ValueError as error:
        if "does not know how to process" not in str(error):
            raise
        kinds = re.findall(r"<class '[\w.]*\.(\w+)'>", str(error))
        raise UsageError(
            f"the model has components that are no rows ({', '.join(kinds)}): reformulate them, "
            "for example by pyomo.environ.TransformationFactory"
        ) from None


def _check_numbers(*numbers: Any) -> None:
    """Raise UsageError if one is NaN."""
    if any(np.isnan(np.asarray(array, dtype=float)).any() for array in numbers):
        raise UsageError("the model has a coefficient or a constant that is not a number (NaN)")


def _compile_linear(model: "pyo.ConcreteModel") -> PyomoArrays:
    """Compile the linear rows; Pyomo gives a range row as two rows, which are joined."""
    import pyomo.core as pyo

    form = _standard_form(model)
    constraints: list[Any] = []
    form_rows: list[int] = []  # row of the standard form with the entries of constraint i
    low: list[float] = []
    high: list[float] = []
    for k, ((constraint, side), value) in enumerate(zip(form.rows, form.rhs, strict=True)):
        if not (constraints and constraints[-1] is constraint):
            constraints.append(constraint)
            form_rows.append(k)
            low.append(-math.inf)
            high.append(math.inf)
        if side <= 0:
            low[-1] = float(value)
        if side >= 0:
            high[-1] = float(value)
    columns = len(form.columns)
    objective = form.objectives[0] if form.objectives else None
    maximise = objective is not None and objective.sense == pyo.maximize
    sign = -1.0 if maximise else 1.0
    cost, offset = np.zeros(columns), 0.0
    if objective is not None:
        cost = sign * sparse.csr_array(form.c).toarray()[0]
        offset = sign * float(form.c_offset[0])
    bounds = [_bounds(variable) for variable in form.columns]
    _check_numbers(cost, offset, low, high, form.A.data)
    program = LinearProgram(
        cost=cost,
        lower=np.array([pair[0] for pair in bounds]),
        upper=np.array([pair[1] for pair in bounds]),
        matrix=sparse.csr_array(form.A)[form_rows] if form_rows else sparse.csr_array((0, columns)),
        row_lower=np.array(low),
        row_upper=np.array(high),
        integer=np.array([not variable.is_continuous() for variable in form.columns], dtype=bool),
        offset=offset,
    )
    sense: Literal["min", "max"] = "max" if maximise else "min"
    return PyomoArrays(model, program, tuple(form.columns), tuple(constraints), sense)


def _with_quadratics(
    arrays: PyomoArrays, curved: Iterable["pyo.Constraint | pyo.Objective"]
) -> PyomoArrays:
    """Add the quadratic rows, and the columns that occur only in them."""
    import pyomo.core as pyo
    from pyomo.repn import generate_standard_repn

    variables = list(arrays.variables)
    place = {id(variable): j for j, variable in enumerate(variables)}

    def at(variable: "pyo.Var") -> int:
        if id(variable) not in place:
            place[id(variable)] = len(variables)
            variables.append(variable)
        return place[id(variable)]

    rows: list[Quadratic] = []
    square: Quadratic | None = None
    sense, offset = arrays.sense, arrays.program.offset
    for row in curved:
        is_objective = row.ctype is pyo.Objective
        form = generate_standard_repn(row.expr if is_objective else row.body, quadratic=True)
        if form.nonlinear_expr is not None:
            raise UsageError(f"this engine accepts rows up to degree two: not {row.name}")
        constant = float(form.constant)
        sign = -1.0 if is_objective and row.sense == pyo.maximize else 1.0
        low = high = 0.0
        if not is_objective:
            low = -math.inf if row.lower is None else float(pyo.value(row.lower)) - constant
            high = math.inf if row.upper is None else float(pyo.value(row.upper)) - constant
        quadratic = Quadratic(
            row.name,
            tuple(at(first) for first, _ in form.quadratic_vars),
            tuple(at(second) for _, second in form.quadratic_vars),
            tuple(sign * float(value) for value in form.quadratic_coefs),
            tuple(at(variable) for variable in form.linear_vars),
            tuple(sign * float(value) for value in form.linear_coefs),
            low,
            high,
        )
        _check_numbers(constant, low, high, quadratic.coefficient, quadratic.linear)
        if is_objective:
            square, offset = quadratic, sign * constant
            sense = "max" if sign < 0 else "min"
        else:
            rows.append(quadratic)
    program = arrays.program
    added = variables[len(arrays.variables) :]
    extra = [_bounds(variable) for variable in added]
    matrix = program.matrix.copy()
    matrix.resize((matrix.shape[0], len(variables)))
    assert program.integer is not None
    program = replace(
        program,
        cost=np.append(program.cost, np.zeros(len(added))),
        lower=np.append(program.lower, [pair[0] for pair in extra]),
        upper=np.append(program.upper, [pair[1] for pair in extra]),
        matrix=matrix,
        integer=np.append(program.integer, [not v.is_continuous() for v in added]).astype(bool),
        offset=offset,
    )
    return replace(
        arrays,
        program=program,
        variables=tuple(variables),
        sense=sense,
        quadratics=tuple(rows),
        square=square,
    )


def _bounds(variable: "pyo.Var") -> tuple[float, float]:
    """Return the bounds of a Pyomo variable and its domain.

    UsageError for a domain that is neither an interval nor all integers in one.
    """
    if not (variable.is_continuous() or variable.is_integer()):
        raise UsageError(
            f"{variable.name}: its domain {variable.domain.name} is no range of numbers or integers"
        )
    low, high = variable.bounds
    return -math.inf if low is None else float(low), math.inf if high is None else float(high)
