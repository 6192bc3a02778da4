"""Solve a program that its user may have changed, and verify the schedule that it gives."""

import io
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import PrivateAttr

from schedgap.analysis.plots.marks import broken_chart, broken_title
from schedgap.analysis.programs.models import ORIGIN, Origin, as_pyomo, build_program, model
from schedgap.analysis.results.bounds import Scale, derive_status
from schedgap.analysis.results.solution import Solution
from schedgap.errors import InputError, UsageError
from schedgap.instances.instance import Instance
from schedgap.instances.settings import whole_number
from schedgap.instances.solution import Kind
from schedgap.instances.verdict import Violation
from schedgap.models.family import Chart, Family, family
from schedgap.models.program import Program

if TYPE_CHECKING:
    import pyomo.core as pyo

    from schedgap.solvers.engines.results import EngineResult, EngineStatus
    from schedgap.solvers.programs.arrays import LinearProgram
    from schedgap.solvers.programs.pyomo import PyomoArrays

OnMessage = Callable[[tuple[Any, ...]], None]
_WORDS = {
    "optimal": "optimal",
    "feasible": "stopped with a solution",
    "infeasible": "infeasible",
    "unbounded": "unbounded",
    "unknown": "stopped without a solution",
}


class ProgramSolution(Solution):
    """Result of a program from `model`, changed or not.

    A changed program is another problem: its bound is in `program`, and `bound` stays None. The
    schedule counts if it obeys all rules of the instance, and `objective` is then its value for the
    instance; otherwise `broken` names the rules that it breaks, and `gantt` marks where.
    """

    _violations: tuple[Violation, ...] = PrivateAttr(default=())  # of the partial schedule

    @property
    def program(self) -> Mapping[str, Any]:
        """The program by itself: name, changed, status, objective, bound, rows, columns."""
        found: Mapping[str, Any] = self.trace["program"]
        return found

    @property
    def broken(self) -> tuple[str, ...]:
        """The rules of the instance that the program's solution breaks."""
        return tuple(self.trace.get("broken", ()))

    def _chart(self) -> Chart:
        if not self._violations:
            return super()._chart()
        return broken_chart(self.of_instance, self.partial, self._violations)

    def _title(self) -> str:
        if not self._violations:
            return super()._title()
        return broken_title(self.method, self._violations)

    def _facts(self) -> dict[str, str]:
        changed = "changed program" if self.program["changed"] else "program"
        value = self.program["objective"]
        said = _WORDS[self.program["status"]] + ("" if value is None else f", {value:.10g}")
        return {changed: said} | super()._facts()


def solve_model(
    instance: Instance,
    program: "pyo.ConcreteModel",
    *,
    engine: str | None = None,
    time_limit: float | None = None,
    memory_limit: float | None = None,
    seed: int | None = None,
    on_message: OnMessage | None = None,
) -> ProgramSolution:
    """Solve a model from `model` in a child process and verify the schedule that it gives.

    The values of the best solution are stored in the model and, for a linear program, the dual
    values in its suffix `dual`.

    `instance`: the instance that the model was built for. `program`: as returned by `model`;
    constraints, variables and the objective may have been changed. `engine`: an engine of linear
    programs; by default HiGHS, and Gurobi if rows are quadratic. `time_limit`, `memory_limit`:
    limits in wall-clock seconds and MB. `seed`: random seed, >= 0. `on_message`: as for `solve`; an
    incumbent comes without a schedule.

    Raises
    ------
    UsageError
        If the model is not one of this instance, or no engine can solve it.
    EngineUnavailableError
        If the engine is not installed.
    """
    for name, limit in (("time", time_limit), ("memory", memory_limit)):
        if limit is not None and not (isinstance(limit, int | float) and 0 < limit < math.inf):
            raise UsageError(f"{name} limit {limit}: need a number > 0")
    seed = 0 if seed is None else whole_number(seed, "seed", most=2**31 - 1)
    origin = _origin(instance, program)
    begun = time.monotonic()
    arrays = _compiled(program)
    changed = _is_changed(program, arrays, _rebuilt(instance, origin))
    chosen = _engine(arrays, engine)
    progress: list[tuple[float, float | None, float | None]] = []
    is_exact = not changed and not origin.is_relaxed
    grid = family(instance.family).grid(instance) if is_exact else None
    if arrays is None:
        from schedgap.solvers.engines.results import EngineResult

        result = EngineResult("infeasible", None, None)
        confirmed = True
    else:
        result, confirmed = _solved(
            arrays, chosen, time_limit, memory_limit, seed, grid, progress, on_message
        )
        if result.values is not None:
            arrays.load(result.values)
        _load_duals(program, arrays, result.duals)
    facts = _facts(program, arrays, result, origin, changed)
    outcome = _Outcome(instance, origin, changed, facts, confirmed)
    if result.objective is not None and not origin.is_relaxed:
        outcome.read(program)
    return outcome.solution(
        engine=chosen,
        seed=seed,
        time_limit=time_limit,
        seconds=time.monotonic() - begun,
        progress=progress,
        safe=None if arrays is None else _safe(arrays, result),
    )


def _origin(instance: Instance, program: "pyo.ConcreteModel") -> Origin:
    """Return what the model was; UsageError if it is not a program of the instance."""
    origin = getattr(program, ORIGIN, None)
    if not isinstance(origin, Origin):
        raise UsageError("the model is none of schedgap: change one that schedgap.model returns")
    if (origin.family, origin.sha256) != (instance.family, instance.sha256):
        raise UsageError(
            f"the model is {origin.program} of {origin.instance} ({origin.sha256[:8]}...), not of "
            f"{instance.name} ({instance.sha256[:8]}...): call schedgap.model for this instance"
        )
    return origin


def _rebuilt(instance: Instance, origin: Origin) -> "pyo.ConcreteModel":
    return model(
        instance,
        origin.program,
        relax=origin.relax,
        narrow=origin.narrow,
        symmetry=origin.symmetry,
    )


def _compiled(program: "pyo.ConcreteModel") -> "PyomoArrays | None":
    """Return the active part of a model, or None if a row without variables is violated."""
    from schedgap.solvers.programs.pyomo import InfeasibleModelError, compile_model

    try:
        return compile_model(program, quadratic=True)
    except InfeasibleModelError:
        return None


def _is_changed(
    program: "pyo.ConcreteModel", arrays: "PyomoArrays | None", rebuilt: "pyo.ConcreteModel"
) -> bool:
    """Return whether a model is not the one that was built; without arrays, whether it reads so."""
    if arrays is None:
        return _text(program) != _text(rebuilt)
    return not _same(arrays, _compiled(rebuilt))


def _text(program: "pyo.ConcreteModel") -> str:
    """Return all rows, columns and sets of a model as Pyomo prints them."""
    stream = io.StringIO()
    program.pprint(ostream=stream)
    return stream.getvalue()


def _same(one: "PyomoArrays", other: "PyomoArrays | None") -> bool:
    """Return whether two models are one program: same names, numbers and domains."""
    if other is None or one.sense != other.sense:
        return False
    mine, theirs = one.named(), other.named()
    same_numbers = mine.matrix.shape == theirs.matrix.shape and all(
        np.array_equal(getattr(mine, part), getattr(theirs, part))
        for part in ("cost", "lower", "upper", "row_lower", "row_upper")
    )
    return (
        same_numbers
        and (mine.matrix != theirs.matrix).nnz == 0
        and mine.offset == theirs.offset
        and np.array_equal(_whole(mine), _whole(theirs))
        and list(mine.column_names or ()) == list(theirs.column_names or ())
        and list(mine.row_names or ()) == list(theirs.row_names or ())
        and (one.quadratics, one.square) == (other.quadratics, other.square)
    )


def _whole(program: "LinearProgram") -> Any:
    """Return which columns are integer."""
    return np.zeros(len(program.cost), bool) if program.integer is None else program.integer


def _engine(arrays: "PyomoArrays | None", asked: str | None) -> str:
    """Return the engine; UsageError if it cannot solve the model."""
    from schedgap.solvers.engines.availability import require
    from schedgap.solvers.engines.registry import ENGINES

    is_quadratic = arrays is not None and bool(arrays.quadratics or arrays.square)
    chosen = asked or ("gurobi" if is_quadratic else "highs")
    able = [
        name
        for name, each in ENGINES.items()
        if each.solve and (not is_quadratic or "quadratic" in each.takes)
    ]
    if chosen not in able:
        rows = "a model with quadratic rows" if is_quadratic else "a Pyomo model"
        raise UsageError(f"{rows} can use {', '.join(able)}, not '{chosen}'")
    require(chosen)
    return chosen


def _solved(
    arrays: "PyomoArrays",
    engine: str,
    time_limit: float | None,
    memory_limit: float | None,
    seed: int,
    grid: float | None,
    progress: list[tuple[float, float | None, float | None]],
    on_message: OnMessage | None,
) -> "tuple[EngineResult, bool]":
    """Return the engine's result in a child process, and whether a second run confirmed it.

    The result is in the sense of the model. If the child is killed, it is the best that it sent.
    """
    from dataclasses import replace

    from schedgap.solvers.children.processes import run_child
    from schedgap.solvers.engines.registry import find_engine
    from schedgap.solvers.engines.results import EngineResult

    best: dict[str, Any] = {"objective": None, "bound": None, "values": None}

    def receive(message: tuple[Any, ...]) -> None:
        kind, seconds, value, *values = message
        value = arrays.in_model_sense(value)
        if kind == "incumbent":
            best["objective"], best["values"] = value, values[0]
        else:
            best["bound"] = value
        progress.append((round(seconds, 6), best["objective"], best["bound"]))
        if on_message is not None:
            on_message(
                (kind, seconds, value, None) if kind == "incumbent" else (*message[:2], value)
            )

    reply = run_child(
        "schedgap.analysis.programs.solve_model:solve_arrays",
        arrays.program if "linear" in find_engine(engine).takes else arrays.named(),
        arrays.quadratics,
        arrays.square,
        engine,
        time_limit,
        seed,
        grid,
        limit=time_limit,
        memory_mb=memory_limit,
        on_message=receive,
        engine=engine,
    )
    if reply.outcome in ("timeout", "memory"):
        status: EngineStatus = "unknown" if best["objective"] is None else "feasible"
        return EngineResult(status, best["objective"], None, best["values"]), False
    result, confirmed = reply.result()
    return (
        replace(
            result,
            objective=None if result.objective is None else arrays.in_model_sense(result.objective),
            bound=None if result.bound is None else arrays.in_model_sense(result.bound),
        ),
        confirmed,
    )


def solve_arrays(
    send: Callable[[object], None],
    program: Any,
    quadratics: Any,
    square: Any,
    engine: str,
    limit: float | None,
    seed: int,
    grid: float | None,
) -> "tuple[EngineResult, bool]":
    """Solve a compiled model in this (child) process; return whether the answer is confirmed.

    `send`: sends a message to the parent process. `quadratics`, `square`: its quadratic rows, and
    the quadratic part of its objective. `limit`: time limit in seconds. `seed`: random seed.
    `grid`: a number > 0 of which the optimum is a multiple.
    """
    from schedgap.solvers.children.clock import Clock
    from schedgap.solvers.engines.confirm import confirm
    from schedgap.solvers.engines.registry import find_engine
    from schedgap.solvers.engines.solve import solve
    from schedgap.solvers.engines.solve import solve_arrays as solve_quadratic

    clock, begun = Clock(limit), time.monotonic()
    options = find_engine(engine).usual if program.is_mixed else {}

    def found(objective: float, values: Any) -> None:
        send(("incumbent", time.monotonic() - begun, objective, values))

    def proved(bound: float) -> None:
        send(("bound", time.monotonic() - begun, bound))

    if quadratics or square is not None:
        result = solve_quadratic(
            program,
            find_engine(engine),
            clock=clock,
            seed=seed,
            on_incumbent=found,
            on_bound=proved,
            quadratics=quadratics,
            square=square,
        )
        return result, False
    result = solve(
        program,
        engine,
        clock=clock,
        seed=seed,
        grid=grid,
        on_incumbent=found,
        on_bound=proved,
        options=options,
    )
    if not program.is_mixed or result.status not in ("optimal", "infeasible"):
        return result, False
    result, _ = confirm(program, engine, result, clock=clock, seed=seed, grid=grid, options=options)
    return result, result.status in ("optimal", "infeasible")


def _load_duals(program: "pyo.ConcreteModel", arrays: "PyomoArrays", duals: Any) -> None:
    """Store dual values in the suffix `dual`, as Pyomo's solvers do."""
    import pyomo.core as pyo

    if duals is None or arrays.quadratics:
        return
    if not isinstance(program.component("dual"), pyo.Suffix):
        if program.component("dual") is not None:
            return
        program.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    for constraint, price in zip(arrays.constraints, np.asarray(duals).tolist(), strict=True):
        program.dual[constraint] = arrays.in_model_sense(price)


def _safe(arrays: "PyomoArrays", result: "EngineResult") -> float | None:
    """Return the bound of a linear program that its dual values prove, in the model's sense."""
    from schedgap.solvers.programs.arrays import safe_bound

    if result.duals is None or arrays.quadratics or arrays.square or result.status != "optimal":
        return None
    bound = safe_bound(arrays.program, result.duals)
    return arrays.in_model_sense(bound) if math.isfinite(bound) else None


def _facts(
    program: "pyo.ConcreteModel",
    arrays: "PyomoArrays | None",
    result: "EngineResult",
    origin: Origin,
    changed: bool,
) -> dict[str, Any]:
    rows, columns = (0, 0) if arrays is None else arrays.program.matrix.shape
    return {
        "name": origin.program,
        "relaxed": origin.relax,
        "changed": changed,
        "status": result.status,
        "objective": result.objective,
        "bound": result.bound,
        "rows": rows + (0 if arrays is None else len(arrays.quadratics)),
        "columns": columns,
    }


@dataclass(slots=True)
class _Outcome:
    """What a solved program means for its instance."""

    instance: Instance
    origin: Origin
    changed: bool
    facts: dict[str, Any]
    confirmed: bool
    schedule: Any = None
    objective: float | None = None
    broken: tuple[str, ...] = ()
    invalid: Any = None  # a schedule that breaks rules
    violations: tuple[Violation, ...] = ()

    @property
    def owner(self) -> Family:
        return family(self.instance.family)

    @property
    def program(self) -> Program:
        return self.owner.programs[self.origin.program]

    def read(self, solved: "pyo.ConcreteModel") -> None:
        """Read the schedule of the values and verify it.

        The values as they are come first: the schedule then obeys constraints of the user. If they
        break a rule, a schedule with the same decisions counts if it is no worse than the program
        says, because then only the engine's tolerance broke the rule.
        """
        literal, read = _readers(self.instance, self.origin, solved)
        said = float(self.facts["objective"])
        for reader in (literal, read):
            if reader is None:
                continue
            data, violations, wrong = self._schedule(reader)
            if not wrong:
                value = float(self.owner.objective(self.instance, data))
                if reader is read and self._is_worse(value, said) and self.broken:
                    continue
                self.schedule, self.objective = data, value
                self.broken, self.violations = (), ()
                return
            self.broken = self.broken or wrong
            if violations and not self.violations:
                self.invalid, self.violations = data, violations

    def _is_worse(self, value: float, said: float) -> bool:
        sign = 1.0 if self.owner.sense(self.instance) == "min" else -1.0
        return sign * (value - said) > 1e-6 * max(1.0, abs(said))

    def _schedule(
        self, reader: Callable[[], Any]
    ) -> tuple[Any, tuple[Violation, ...], tuple[str, ...]]:
        """Return the data of a schedule, the rules that it breaks, and what is wrong with it."""
        try:
            found = reader()
            data = None if found is None else found.to_data(self.instance)
        except Exception as error:  # noqa: BLE001 - values of a changed program may be anything
            return None, (), (f"its values give no schedule ({type(error).__name__}: {error})",)
        if data is None:
            return None, (), ("its values give no valid schedule",)
        try:
            violations = tuple(self.owner.check(self.instance, data, {}))
        except InputError as error:
            return None, (), (str(error),)
        return data, violations, tuple(f"{each.rule}: {each.message}" for each in violations)

    def solution(
        self,
        *,
        engine: str,
        seed: int,
        time_limit: float | None,
        seconds: float,
        progress: list[tuple[float, float | None, float | None]],
        safe: float | None,
    ) -> ProgramSolution:
        """Return the solution; only a program that was not changed says more of the instance."""
        bound, kind = self._bound(safe), self._kind()
        infeasible = kind == "exact" and self.facts["status"] == "infeasible" and self.confirmed
        status = derive_status(
            kind,
            self.objective,
            bound,
            Scale.of(self.instance),
            infeasible=infeasible,
        )
        trace = {"program": self.facts, "broken": list(self.broken), "note": self._note()}
        last = (round(seconds, 6), self.objective, bound)
        found = ProgramSolution.bind(
            self.instance,
            {
                "family": self.instance.family,
                "version": 1,
                "instance": self.instance.name,
                "instance_sha256": self.instance.sha256,
                "method": f"model:{self.origin.program}",
                "engine": engine,
                "kind": kind,
                "options": {} if time_limit is None else {"time_limit": time_limit},
                "seed": seed,
                "status": status,
                "sense": self.owner.sense(self.instance),
                "objective": self.objective,
                "bound": bound,
                "seconds": round(seconds, 6),
                "schedule": self.schedule,
                "trace": {key: value for key, value in trace.items() if value},
                "versions": {},
            },
            progress=(*progress, last) if kind == "exact" else (last,),
            partial=self.invalid if self.violations else None,
        ).as_verified()
        found._violations = self.violations
        return found.with_proof("engine") if status in ("optimal", "infeasible") else found

    def _kind(self) -> Kind:
        if self.changed or self.program.kind in ("subproblem", "dual"):
            return "algorithm"
        return "bound" if self.origin.is_relaxed else "exact"

    def _bound(self, safe: float | None) -> float | None:
        """Return the bound on the instance's optimum: of the program itself, and confirmed."""
        kind, scale = self._kind(), Scale.of(self.instance)
        if kind == "bound":
            return self.facts["bound"] if safe is None and self.confirmed else safe
        if kind == "algorithm" or not self.confirmed or self.facts["bound"] is None:
            return None
        bound = scale.on_grid(float(self.facts["bound"]))
        if self.objective is None:
            return bound
        if scale.meets(self.objective, bound):
            return self.objective
        return None if scale.refutes(self.objective, bound) else bound

    def _note(self) -> str:
        """Return what a reader must know, in one line."""
        if self.facts["status"] == "infeasible" and self._kind() != "exact":
            which = "changed program" if self.changed else "program"
            return f"the {which} is infeasible; this says nothing about the instance"
        if self.broken:
            return f"its solution is no schedule of the instance: {self.broken[0]}"
        if self.changed:
            return "changed program: its optimum and bound are not those of the instance"
        return ""


def _readers(
    instance: Instance, origin: Origin, solved: "pyo.ConcreteModel"
) -> "tuple[Callable[[], Any] | None, Callable[[], Any]]":
    """Return the readers of the values as they are, and of the decisions that they stand for.

    They read the program as its builder returns it, with the values of a solved model.
    """
    import pyomo.core as pyo

    owner = family(instance.family)
    program = owner.programs[origin.program]
    built = build_program(instance, origin.program, narrow=origin.narrow)
    plain = as_pyomo(instance, origin.program, built.model)
    indices = program.index_names(owner.index_names(instance))
    for variable in plain.component_objects(pyo.Var):
        named = solved.component(variable.local_name)
        if named is None:
            continue
        rename = indices.renamer(variable.local_name)
        for index, item in variable.items():
            key = rename(index)
            if key in named:
                item.set_value(named[key].value, skip_validation=True)
    values = None if plain is built.model else [each.value or 0.0 for each in plain.columns]
    literal = None if program.literal is None else partial(program.literal, plain, instance)
    return literal, partial(built.read, values)
