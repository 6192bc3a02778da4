"""Solve one instance with one method and verify the result."""

import math
import os
import re
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schedgap.analysis.own.child import is_model
from schedgap.analysis.own.methods import Own
from schedgap.analysis.programs.solve_model import solve_model
from schedgap.analysis.results.bounds import Scale, derive_status, tighter
from schedgap.analysis.results.solution import Solution
from schedgap.analysis.solving import live
from schedgap.analysis.solving.choices import Choice
from schedgap.analysis.solving.proving import Effort, an_effort, with_evidence
from schedgap.analysis.solving.tasks import MethodRun, OnMessage, TaskSpec, run_task, task_spec
from schedgap.errors import (
    ContradictionError,
    FamilyError,
    InputError,
    Interrupted,
    InvalidScheduleError,
    OwnMethodError,
    UsageError,
)
from schedgap.instances.arguments import (
    A_LIMIT,
    MEMORY,
    a_function,
    a_text,
    an_instance_or_path,
    checked,
)
from schedgap.instances.contract import Guard, json_object
from schedgap.instances.families import OWN, load
from schedgap.instances.instance import Instance
from schedgap.instances.solution import Sense
from schedgap.models.family import Family, family_of
from schedgap.models.method import check_instance

if TYPE_CHECKING:
    import pyomo.core as pyo


@checked(
    instance=an_instance_or_path,
    engine=a_text,
    time_limit=A_LIMIT,
    memory_limit=MEMORY,
    proof=an_effort,
    on_message=a_function,
)
def solve(
    instance: Instance | str | os.PathLike[str],
    method: "str | Callable[..., Any] | Own | pyo.ConcreteModel" = "exact",
    *,
    engine: str | None = None,
    time_limit: float | None = None,
    memory_limit: float | None = None,
    seed: int | None = None,
    proof: Effort = "auto",
    on_message: OnMessage | None = None,
    **options: object,
) -> Solution:
    """Run a method on an instance, in a child process, and return its verified solution.

    In a notebook, a bar with phase, incumbent and bound is shown meanwhile.

    Parameters
    ----------
    instance : Instance or path
        The instance to solve, or its file.
    method : str, callable, Own or ConcreteModel
        Name or alias, as listed by `schedgap.methods(family)`, with options as in
        `hare:gpu_rule=finish`; or a method of your own: a function from an instance to a schedule
        or its data, `FILE.py:FUNCTION`, or `cmd:PROGRAM ARGUMENTS` (docs/own-algorithms.md); or a
        model from `schedgap.model`, changed or not (docs/programs.md). The bound of a changed
        model is none of the instance.
    engine : str, optional
        One of the method's engines; by default its first.
    time_limit, memory_limit : float, optional
        Limits in wall-clock seconds, model building included, and in MB. A method that is killed
        at a limit still gives the best schedule and bound that it has reported.
    seed : int, optional
        Random seed, >= 0.
    proof : "auto", "off" or float
        Time to look for a proof that an optimum is one, after the search: "auto", as long as the
        search took, or 10 s if it was shorter, within the time limit; or a number of seconds.
    on_message : callable, optional
        Called with ("incumbent", seconds, objective, schedule), ("bound", seconds, value) or
        ("phase", seconds, text) while the method runs; then no bar is shown.
    **options
        Options of the method, such as `gpu_rule="finish"`.

    Raises
    ------
    UsageError, EngineUnavailableError
        If the method cannot be run with these arguments.
    OwnMethodError, InvalidScheduleError
        If a method of your own fails, or returns a schedule that breaks a rule.
    ContradictionError
        If another method's schedule breaks a rule or refutes its bound, which is a bug.
    Interrupted
        If Ctrl-C ends a method that has reported a schedule or a bound: a KeyboardInterrupt with
        the `solution`.
    """
    if not isinstance(instance, Instance):
        instance = load(instance)
    if is_model(method):
        if options:
            raise UsageError(f"a model has no option '{next(iter(options))}': change the model")
        with live.solving(f"model on {instance.name}", on_message) as receive:
            return solve_model(
                instance,
                method,
                engine=engine,
                time_limit=time_limit,
                memory_limit=memory_limit,
                seed=seed,
                on_message=receive,
            )
    choice = Choice.of(method)
    if engine is not None and choice.engine not in (None, engine):
        named = f"{choice.method}@{choice.engine}"
        raise UsageError(f"engine '{engine}', but the method is {named}")
    spec = task_spec(
        instance,
        choice.given,
        engine=engine or choice.engine,
        time_limit=time_limit,
        memory_limit=memory_limit,
        seed=seed,
        settings={**dict(choice.settings), **options},
    )
    check_instance(instance, spec.method)
    with live.solving(f"{spec.method.name} on {instance.name}", on_message) as receive:
        run, begun = MethodRun(), time.monotonic()
        try:
            run_task(instance, spec, receive, run=run)
        except KeyboardInterrupt:
            run.end, run.message, run.seconds = "timeout", "interrupted", time.monotonic() - begun
            raise _interrupted(instance, verified_solution(instance, spec, run)) from None
        found = verified_solution(instance, spec, run)
        try:
            return with_evidence(
                instance,
                found,
                engines=spec.engines,
                written=run.proof,
                effort=proof,
                time_limit=time_limit,
            )
        except KeyboardInterrupt:
            raise _interrupted(instance, found, spec.engines) from None


def _interrupted(
    instance: Instance, found: Solution, engines: tuple[str, ...] = ()
) -> KeyboardInterrupt:
    """Return the interrupt to raise: with the solution, if it has a schedule or a bound."""
    if found.objective is None and found.bound is None:
        return KeyboardInterrupt()
    kept = with_evidence(instance, found, engines=engines, effort="off")
    return Interrupted(solution=kept)


def verified_solution(
    instance: Instance, spec: TaskSpec, run: MethodRun, verified: "Verified | None" = None
) -> Solution:
    """Verify what a method returned, recompute the objective, and derive the status.

    `run`: how it ended. `verified`: returns the verified objective of a schedule: `verified_here`
    (default) or `verified_in_child`.

    Raises
    ------
    SchedgapError
        As raised by the method.
    RuntimeError, FamilyError
        If the method failed in another way, which is a bug of ours or of the family's package.
    ContradictionError
        If the schedule breaks a rule or refutes the bound.
    """
    name, sense = spec.method.name, spec.family.sense(instance)
    if run.end == "error" and (spec.own is None or run.schedule is None):
        if run.error is not None:
            raise run.error
        if spec.own is not None:
            raise OwnMethodError(f"method {name}: {run.message}")
        failure: Exception = RuntimeError(f"method {name} failed: {run.message}")
        if spec.family.name not in OWN:
            where = f"family {spec.family.name}: method {name}"
            failure = FamilyError(f"{where}: {_last_error(run)}")
        failure.add_note(run.details)
        raise failure
    result = run.result
    schedule = run.schedule
    if result is not None and result.schedule is not None:
        schedule = result.schedule
    data = None if schedule is None else _data(instance, spec, schedule)
    infeasible = result is not None and result.infeasible
    if infeasible and data is not None:
        raise ContradictionError(f"method {name}: 'infeasible', but it has a schedule")
    is_ours = spec.own is None and spec.formulation is None
    if data is None and not infeasible and spec.method.kind != "bound" and is_ours:
        data = spec.family.null_schedule(instance)
    options = spec.recorded_options()
    objective = None if data is None else _verified(instance, spec, data, verified)
    if spec.formulation is not None:
        if result is not None and result.schedule is not None:
            spec.formulation.check(instance, objective, run.facts.get("stated"))
        else:
            spec.formulation.check(instance, objective, run.objective, run.unconfirmed)
    relaxed = () if data is None else spec.family.omitted_rules(data)
    own, bound, certificate = None, None, None
    scale = Scale(sense, spec.family.grid(instance))
    if spec.method.kind in ("exact", "bound") and not relaxed:
        own, certificate = _best_bound(run, objective, scale)
        bound = _fit(spec, objective, own, scale)
    is_rounded = spec.method.kind == "bound" and bound is not None and bound != own
    rounded = {"bound_before_rounding": own} if is_rounded else {}
    progress = _progress(run, objective, bound, sense)
    solution = {
        "family": instance.family,
        "version": 1,
        "instance": instance.name,
        "instance_sha256": instance.sha256,
        "method": name,
        "engine": spec.engine,
        "kind": spec.method.kind,
        "options": options,
        "seed": spec.seed,
        "status": derive_status(
            spec.method.kind,
            objective,
            bound,
            scale,
            infeasible=infeasible,
        ),
        "sense": sense,
        "objective": objective,
        "bound": bound,
        "seconds": round(run.seconds, 6),
        "schedule": data,
        "trace": _trace(run, certificate) | rounded,
        "versions": spec.versions(),
    }
    partial = None if result is None else result.partial
    return Solution.bind(
        instance, solution, progress=progress, certificate=certificate, partial=partial
    ).as_verified()


def _data(instance: Instance, spec: TaskSpec, schedule: Any) -> Any:
    """Return a schedule as JSON data."""
    if spec.own is not None or spec.formulation is not None or spec.family.name in OWN:
        return schedule.to_data(instance)
    part = f"method {spec.method.name}: to_data of its schedule"
    return Guard(spec.family.name, part, lambda: schedule.to_data(instance), json_object)()


def _last_error(run: MethodRun) -> str:
    """Return the error of a method of another package on one line, with its place."""
    lines = run.details.strip().splitlines()
    head = max((n for n, line in enumerate(lines) if line.startswith(" ")), default=-1)
    text = " ".join(lines[head + 1 :]) or run.message
    places = re.findall(r'File "([^"]*)", line (\d+)', run.details)
    return f"{text} ({Path(places[-1][0]).name}, line {places[-1][1]})" if places else text


def _verified(
    instance: Instance, spec: TaskSpec, data: object, verified: "Verified | None"
) -> float:
    """Return the verified objective; an invalid schedule of the user's own method is no bug."""
    try:
        return (verified or verified_here)(instance, spec, data)
    except (ContradictionError, InputError) as error:
        text = str(error)
        if isinstance(error, InputError):
            text = f"method {spec.method.name} returned no schedule of the family: {text}"
        if spec.own is None:
            if isinstance(error, InputError) and spec.family.name not in OWN:
                raise FamilyError(f"family {spec.family.name}: {text}") from None
            raise
        raise InvalidScheduleError(text) from None


Verified = Callable[[Instance, TaskSpec, object], float]  # (instance, spec, schedule) -> objective


def verified_here(instance: Instance, spec: TaskSpec, schedule: object) -> float:
    """Verify a schedule in this process and return its objective.

    `spec`: the task that returned the schedule.

    Raises
    ------
    ContradictionError
        If the schedule breaks a rule.
    """
    options = spec.recorded_options()
    return _objective(spec.family, spec.method.name, instance, schedule, options)


def verified_in_child(
    instance: Instance,
    spec: TaskSpec,
    schedule: object,
    *,
    interrupt: threading.Event | None = None,
) -> float:
    """Verify a schedule in a child process, so that threads can verify schedules in parallel.

    `spec`: the task that returned the schedule. `interrupt`: ends the child process when set.

    Raises
    ------
    ContradictionError
        If the schedule breaks a rule.
    """
    from schedgap.solvers.children.processes import run_child

    reply = run_child(
        "schedgap.analysis.solving.solve:verify_schedule",
        spec.module,
        spec.method.name,
        instance,
        schedule,
        spec.recorded_options(),
        engine=None if spec.own is not None else spec.process,
        interrupt=interrupt,
    )
    return float(reply.result())


def verify_schedule(
    send: Callable[[object], None],
    module: str,
    method: str,
    instance: Instance,
    schedule: object,
    options: Mapping[str, object],
) -> float:
    """Verify a schedule in this (child) process and return its objective.

    `send`: sends a message to the parent process; not used. `method`: name of the method that
    returned the schedule, for the error message. `options`: options of the method; some of them
    define a variant of the problem.
    """
    return _objective(family_of(module), method, instance, schedule, options)


def _objective(
    owner: Family, method: str, instance: Instance, schedule: object, options: Mapping[str, object]
) -> float:
    violations = list(owner.check(instance, schedule, options))
    if violations:
        first, more = violations[0], len(violations) - 1
        raise ContradictionError(
            f"method {method} returned a schedule that breaks {first.rule}: "
            f"{first.message}{f' (and {more} more)' if more else ''}"
        )
    return float(owner.objective(instance, schedule))


def _best_bound(
    run: MethodRun, objective: float | None, scale: Scale
) -> tuple[float | None, Mapping[str, object] | None]:
    """Return the best bound of the method and its certificate, if it has one.

    A bound reported during the run may be better than the final one. If the method was killed, a
    bound that an engine reported and no second run confirmed counts as well, unless it would prove
    the schedule optimal.
    """
    result, sense = run.result, scale.sense
    final = None if result is None else result.bound
    if final is not None and not math.isfinite(final):
        final = None
    if result is not None:
        if tighter(final, run.bound, sense) == final:
            return final, result.certificate
        return run.bound, run.certificate
    reported = run.unconfirmed
    if reported is None or tighter(run.bound, reported, sense) == run.bound:
        return run.bound, run.certificate
    if objective is not None and scale.compare(objective, reported) != "open":
        return run.bound, run.certificate
    return reported, None


def _fit(
    spec: TaskSpec, objective: float | None, bound: float | None, scale: Scale
) -> float | None:
    """Return the bound rounded to the objective's grid, without round-off past the objective."""
    if bound is None:
        return None
    bound = scale.on_grid(bound)
    if objective is None:
        return bound
    if scale.refutes(objective, bound):
        raise ContradictionError(
            f"method {spec.method.name}: its bound {bound:.10g} lies past its own verified "
            f"schedule of {objective:.10g}"
        )
    return min(bound, objective) if scale.sense == "min" else max(bound, objective)


def _progress(
    run: MethodRun, objective: float | None, bound: float | None, sense: Sense
) -> tuple[tuple[float, float | None, float | None], ...]:
    """Return the points reported during the run and, last, the final objective and bound."""
    last = (round(run.seconds, 6), objective, bound)
    return (*((round(seconds, 6), value, limit) for seconds, value, limit in run.progress), last)


def _trace(run: MethodRun, certificate: Mapping[str, object] | None) -> dict[str, object]:
    trace: dict[str, object] = {} if run.result is None else dict(run.result.trace)
    if run.result is not None and run.result.note:
        trace["note"] = run.result.note
    if run.end != "done":
        trace["stopped"] = run.message or run.end
    if certificate is not None:
        trace["certificate"] = {
            key: value if isinstance(value, str | int | float) else f"{len(value)} entries"
            for key, value in certificate.items()
            if isinstance(value, str | int | float | list | dict)
        }
    trace["load_seconds"] = round(run.load_seconds, 6)
    if run.limited is not None:
        trace["limited"] = run.limited
    return {key: _plain(value) for key, value in trace.items()}


def _plain(value: object) -> object:
    """Return a value as JSON data: lists, Python numbers, and null for non-finite numbers."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):  # numpy
        return _plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value
