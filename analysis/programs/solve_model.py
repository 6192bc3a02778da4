"""Solve a program that its user may have changed, and verify the schedule that it gives."""

import io
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
from pydantic import PrivateAttr

from schedgap.analysis.plots.marks import broken_chart, broken_title
from schedgap.analysis.programs.models import ORIGIN, Origin, as_pyomo, build_program, model
from schedgap.analysis.results.bounds import Scale, derive_status
from schedgap.analysis.results.solution import Solution, solution_data
from schedgap.analysis.runners.request import Request
from schedgap.analysis.runners.run import Message, MethodRun
from schedgap.analysis.runners.runner import Receiver, Runnable, Runner, Verifier
from schedgap.errors import InputError, UsageError
from schedgap.instances.instance import Instance
from schedgap.instances.solution import Kind
from schedgap.instances.verdict import Violation
from schedgap.models.family import Chart, family
from schedgap.models.method import Method
from schedgap.solvers.children.processes import ChildResult, run_child

if TYPE_CHECKING:
    import pyomo.core as pyo

    from schedgap.solvers.engines.results import EngineResult, EngineStatus
    from schedgap.solvers.programs.arrays import LinearProgram
    from schedgap.solvers.programs.pyomo import PyomoArrays

_OTHERS = ("subproblem", "dual")  # kinds of programs that give no schedule and no bound
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
    schedule counts if it obeys all rules of the instance; `objective` is then its value for the
    instance. Otherwise `broken` names the rules that it breaks, and `gantt` marks where.
    """

    _violations: tuple[Violation, ...] = PrivateAttr(default=())  # the partial schedule's

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


@dataclass(frozen=True, slots=True)
class ChangedModel(Runnable):
    """A model from `model` as a method of its instance; its user may have changed it."""

    program: "pyo.ConcreteModel"

    def prepare(self, instance: Instance, request: Request) -> "ModelRunner":
        """Return its runner; by default with HiGHS, and with Gurobi if rows are quadratic.

        Raises
        ------
        UsageError
            If the model is not one of this instance, or no engine can solve it.
        EngineUnavailableError
            If the engine is not installed.
        """
        for option in request.settings:
            raise UsageError(f"a model has no option '{option}': change the model")
        origin = _origin(instance, self.program)
        begun = time.monotonic()
        arrays = _compiled(self.program)
        changed = _is_changed(self.program, arrays, _rebuilt(instance, origin))
        engine = _engine(arrays, request.engine)
        kind: Kind = "bound" if origin.is_relaxed else "exact"
        if changed or family(instance.family).programs[origin.program].kind in _OTHERS:
            kind = "algorithm"
        method = Method("model", kind, self, "", "", engines=(engine,), options=(), seeded=True)
        return ModelRunner.prepare(
            instance, method, request,
            model=self.program, origin=origin, arrays=arrays, changed=changed, begun=begun,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class ModelRunner(Runner):
    """Solves a model and reads the schedule that its values give.

    The values of the best solution are stored in the model and, for a linear program, the dual
    values in its suffix `dual`.

    `origin`: state of the model when `model` returned it. `arrays`: active part of the model; None
    if a row without variables is violated. `changed`: whether the model differs from the one that
    was built. `begun`: monotonic time at which it was compiled.
    """

    model: "pyo.ConcreteModel"
    origin: Origin
    arrays: "PyomoArrays | None"
    changed: bool
    begun: float

    seeks_proofs: ClassVar[bool] = False

    def call(self, run: MethodRun, **terms: Any) -> ChildResult:
        """Solve the compiled model in a child process."""
        from schedgap.solvers.engines.registry import find_engine
        from schedgap.solvers.engines.results import EngineResult

        arrays, engine = self.arrays, str(self.engine)
        if arrays is None:
            return ChildResult("done", ((EngineResult("infeasible", None, None), True), 0.0))
        is_exact = not self.changed and not self.origin.is_relaxed
        return run_child(
            "schedgap.analysis.programs.solve_model:solve_arrays",
            arrays.program if "linear" in find_engine(engine).takes else arrays.named(),
            arrays.quadratics,
            arrays.square,
            engine,
            self.limits.time,
            self.seed,
            self.family.grid(self.instance) if is_exact else None,
            engine=engine,
            **terms,
        )

    def receiver(self, run: MethodRun) -> Receiver:
        """Return what gives values in the model's sense, and keeps the last incumbent's values."""

        def read(message: Message) -> Message:
            assert self.arrays is not None
            kind, seconds, value, *values = message
            value = self.arrays.in_model_sense(value)
            if kind == "bound":
                return kind, seconds, value, None, True
            run.facts |= {"objective": value, "values": values[0]}
            return kind, seconds, value, None

        return read

    def read(self, run: MethodRun) -> None:
        """Keep the answer of the engine among the facts."""
        run.facts["answer"], run.result = run.result, None

    def solution(self, run: MethodRun, verified: Verifier | None = None) -> ProgramSolution:
        """Read and verify the schedule; only a program that was not changed says more."""
        result, confirmed = self._answer(run)
        arrays, scale, kind = self.arrays, Scale.of(self.instance), self.method.kind
        rows = columns = 0
        if arrays is not None:
            rows, columns = arrays.program.matrix.shape
            rows += len(arrays.quadratics)
            if result.values is not None:
                arrays.load(result.values)
            _load_duals(self.model, arrays, result.duals)
        schedule, objective, violations, broken = self._schedule(result.objective)
        bound = self._bound(result, confirmed, objective, scale)
        infeasible = kind == "exact" and result.status == "infeasible" and confirmed
        program = {
            "name": self.origin.program,
            "relaxed": self.origin.relax,
            "changed": self.changed,
            "status": result.status,
            "objective": result.objective,
            "bound": result.bound,
            "rows": rows,
            "columns": columns,
        }
        note = self._note(result, broken)
        trace = {"program": program, "broken": list(broken), "note": note}
        run.seconds = time.monotonic() - self.begun
        points = run.points(objective, bound)
        solution = solution_data(
            self.instance,
            method=f"model:{self.origin.program}",
            engine=self.engine,
            kind=kind,
            options=self.recorded_options(),
            seed=self.seed,
            status=derive_status(kind, objective, bound, scale, infeasible=infeasible),
            objective=objective,
            bound=bound,
            seconds=round(run.seconds, 6),
            schedule=None if objective is None else schedule,
            trace={key: value for key, value in trace.items() if value},
            versions={},
        )
        progress = points if kind == "exact" else points[-1:]
        partial = schedule if violations else None
        found = ProgramSolution.bind(self.instance, solution, progress=progress, partial=partial)
        found._violations = violations
        return found.as_verified()

    def _answer(self, run: MethodRun) -> "tuple[EngineResult, bool]":
        """Return the engine's result in the sense of the model, and whether it is confirmed.

        If the engine was killed, it is the best that it has reported.
        """
        from schedgap.solvers.engines.results import EngineResult

        if run.end in ("error", "crash"):
            raise run.error or RuntimeError(
                f"the child process ended with {run.end}: {run.details}"
            )
        if run.end != "done":
            status: EngineStatus = "unknown" if run.objective is None else "feasible"
            found = run.facts.get("objective"), None, run.facts.get("values")
            return EngineResult(status, *found), False
        result, confirmed = cast("tuple[EngineResult, bool]", run.facts["answer"])
        if self.arrays is None:
            return result, confirmed
        signed = self.arrays.in_model_sense
        objective = None if result.objective is None else signed(result.objective)
        bound = None if result.bound is None else signed(result.bound)
        return replace(result, objective=objective, bound=bound), confirmed

    def _schedule(
        self, stated: float | None
    ) -> tuple[Any, float | None, tuple[Violation, ...], tuple[str, ...]]:
        """Return the schedule of the values, its objective, and what is wrong if that is None.

        The values are first taken as they are, because the schedule then obeys constraints of the
        user. If they break a rule, a schedule with the same decisions may count. It counts if it is
        no worse than the objective of the program: then only the engine's tolerance broke the rule.

        `stated`: objective of the program; None without values.
        """
        invalid: tuple[Any, tuple[Violation, ...]] = None, ()
        broken: tuple[str, ...] = ()
        if stated is None or self.origin.is_relaxed:
            return None, None, (), broken
        sign = 1.0 if self.family.sense(self.instance) == "min" else -1.0
        literal, read = _readers(self.instance, self.origin, self.model)
        for reader in (literal, read):
            if reader is None:
                continue
            data, violations, wrong = self._checked(reader)
            if not wrong:
                value = float(self.family.objective(self.instance, data))
                is_worse = sign * (value - stated) > 1e-6 * max(1.0, abs(stated))
                if not (reader is read and is_worse and broken):
                    return data, value, (), ()
            broken = broken or wrong
            if violations and not invalid[1]:
                invalid = data, violations
        return invalid[0], None, invalid[1], broken

    def _checked(
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
            violations = tuple(self.family.check(self.instance, data, {}))
        except InputError as error:
            return None, (), (str(error),)
        return (
            data,
            violations,
            tuple(f"{violation.rule}: {violation.message}" for violation in violations),
        )

    def _bound(
        self, result: "EngineResult", confirmed: bool, objective: float | None, scale: Scale
    ) -> float | None:
        """Return the bound on the instance's optimum: of the program itself, and confirmed."""
        kind = self.method.kind
        if kind == "bound":
            safe = None if self.arrays is None else _safe(self.arrays, result)
            return result.bound if safe is None and confirmed else safe
        if kind == "algorithm" or not confirmed or result.bound is None:
            return None
        bound = scale.on_grid(float(result.bound))
        if objective is None:
            return bound
        if scale.meets(objective, bound):
            return objective
        return None if scale.refutes(objective, bound) else bound

    def _note(self, result: "EngineResult", broken: tuple[str, ...]) -> str:
        """Return what a reader must know, in one line."""
        which = "changed program" if self.changed else "program"
        if result.status == "infeasible" and self.method.kind != "exact":
            return f"the {which} is infeasible; this says nothing about the instance"
        if broken:
            return f"its solution is no schedule of the instance: {broken[0]}"
        return (
            f"{which}: its optimum and bound are not those of the instance" if self.changed else ""
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
        for name, engine in ENGINES.items()
        if engine.solve and (not is_quadratic or "quadratic" in engine.takes)
    ]
    if chosen not in able:
        rows = "a model with quadratic rows" if is_quadratic else "a Pyomo model"
        raise UsageError(f"{rows} can use {', '.join(able)}, not '{chosen}'")
    require(chosen)
    return chosen


def solve_arrays(
    send: Callable[[object], None],
    program: Any,
    quadratics: Any,
    square: Any,
    engine: str,
    limit: float | None,
    seed: int,
    grid: float | None,
) -> "tuple[tuple[EngineResult, bool], float]":
    """Solve a compiled model in this (child) process; return whether it is confirmed, and seconds.

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
        return (result, False), time.monotonic() - begun
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
    confirmed = False
    if program.is_mixed and result.status in ("optimal", "infeasible"):
        result, _ = confirm(
            program, engine, result, clock=clock, seed=seed, grid=grid, options=options
        )
        confirmed = result.status in ("optimal", "infeasible")
    return (result, confirmed), time.monotonic() - begun


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
    values = None if plain is built.model else [column.value or 0.0 for column in plain.columns]
    literal = None if program.literal is None else partial(program.literal, plain, instance)
    return literal, partial(built.read, values)
