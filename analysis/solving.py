"""Solve one instance with one method, and let the family's rules judge the answer."""

import importlib
import math
import threading
from collections.abc import Callable, Mapping
from typing import Any

from schedgap.analysis.attempts import Attempt, Plan, attempt, plan
from schedgap.analysis.bounds import contradict, derive_status, meet, on_grid, tighter
from schedgap.analysis.solution import Solution
from schedgap.errors import ContradictionError
from schedgap.instances.instance import Instance
from schedgap.instances.solution import Sense
from schedgap.models.family import Family
from schedgap.models.method import check_instance


def solve(
    instance: Instance,
    method: str = "exact",
    *,
    engine: str | None = None,
    time_limit: float | None = None,
    memory_limit: float | None = None,
    seed: int | None = None,
    on_message: Callable[[tuple[Any, ...]], None] | None = None,
    **options: object,
) -> Solution:
    """Return the verified answer of a method, run in a child process.

    Parameters
    ----------
    method : str
        Name or alias, as `schedgap.methods(family)` lists them.
    time_limit, memory_limit : float, optional
        Wall-clock seconds of the whole method, model building included, and MB. A method that is
        stopped by force leaves the best schedule and bound that it had reported.
    on_message : callable, optional
        Called with ("incumbent", seconds, objective, schedule), ("bound", seconds, value) or
        ("phase", seconds, text) as they come.
    **options
        The method's own options, such as `gpu_rule="finish"`.

    Raises
    ------
    UsageError, EngineUnavailableError
        When the method cannot be run so.
    ContradictionError
        When the method's schedule breaks a rule, or its bound lies past its schedule: a bug.
    """
    made = plan(
        instance,
        method,
        engine=engine,
        time_limit=time_limit,
        memory_limit=memory_limit,
        seed=seed,
        settings=options,
    )
    check_instance(instance, made.method)
    return conclude(instance, made, attempt(instance, made, on_message))


def conclude(
    instance: Instance, plan: Plan, ended: Attempt, verified: "Verified | None" = None
) -> Solution:
    """Return the solution that an attempt earned: schedule verified, objective recomputed.

    Parameters
    ----------
    verified : callable, optional
        Where to verify: `verified_in_child`, or here.

    Raises
    ------
    SchedgapError
        As the method raised it.
    RuntimeError
        When the method failed in another way (a bug).
    ContradictionError
        When the schedule breaks a rule, or a bound lies past it.
    """
    name, sense = plan.method.name, plan.family.sense(instance)
    if ended.end == "error":
        if ended.error is not None:
            raise ended.error
        failure = RuntimeError(f"method {name} failed: {ended.message}")
        failure.add_note(ended.details)
        raise failure
    outcome = ended.outcome
    schedule = ended.schedule
    if outcome is not None and outcome.schedule is not None:
        schedule = outcome.schedule
    data = None if schedule is None else schedule.to_data(instance)
    infeasible = outcome is not None and outcome.infeasible
    if infeasible and data is not None:
        raise ContradictionError(f"method {name}: 'infeasible' in spite of a schedule")
    if data is None and not infeasible and plan.method.kind != "bound":
        data = plan.family.null_schedule(instance)
    options = plan.recorded_options()
    objective = None if data is None else (verified or verified_here)(instance, plan, data)
    relaxed = () if data is None else plan.family.omitted_rules(data)
    bound, certificate = None, None
    if plan.method.kind in ("exact", "bound") and not relaxed:
        bound, certificate = _best_bound(ended, objective, sense)
        bound = _fit(instance, plan, objective, bound, sense)
    progress = _progress(ended, objective, bound, sense)
    solution = {
        "family": instance.family,
        "version": 1,
        "instance": instance.name,
        "instance_sha256": instance.sha256,
        "method": name,
        "engine": plan.engine,
        "kind": plan.method.kind,
        "options": options,
        "seed": plan.seed,
        "status": derive_status(
            plan.method.kind,
            objective,
            bound,
            infeasible=infeasible,
            grid=plan.family.grid(instance),
        ),
        "sense": sense,
        "objective": objective,
        "bound": bound,
        "seconds": round(ended.seconds, 6),
        "schedule": data,
        "trace": _trace(ended, certificate),
        "versions": plan.versions(),
    }
    partial = None if outcome is None else outcome.partial
    return Solution.bind(
        instance, solution, progress=progress, certificate=certificate, partial=partial
    )


Verified = Callable[[Instance, Plan, Any], float]  # (instance, plan, schedule) -> objective


def verified_here(instance: Instance, plan: Plan, schedule: Any) -> float:
    """Return a schedule's objective by the family's rules; ContradictionError if one is broken."""
    options = plan.recorded_options()
    return _objective(plan.family, plan.method.name, instance, schedule, options)


def verified_in_child(
    instance: Instance, plan: Plan, schedule: Any, *, interrupt: threading.Event | None = None
) -> float:
    """Do the same in a child process, so that threads may verify large schedules side by side."""
    from schedgap.solvers.children.processes import run_child

    reply = run_child(
        "schedgap.analysis.solving:verify_schedule",
        plan.module,
        plan.method.name,
        instance,
        schedule,
        plan.recorded_options(),
        engine=plan.process,
        interrupt=interrupt,
    )
    return float(reply.result())


def verify_schedule(
    send: Callable[[object], None],
    module: str,
    method: str,
    instance: Instance,
    schedule: Any,
    options: Mapping[str, Any],
) -> float:
    """Verify a schedule in this process (a child); return its objective."""
    return _objective(importlib.import_module(module).FAMILY, method, instance, schedule, options)


def _objective(
    owner: Family, method: str, instance: Instance, schedule: Any, options: Mapping[str, Any]
) -> float:
    violations = list(owner.check(instance, schedule, options))
    if violations:
        first, more = violations[0], len(violations) - 1
        raise ContradictionError(
            f"method {method} returned a schedule that breaks {first.rule}: "
            f"{first.message}{f' (and {more} more)' if more else ''}"
        )
    return float(owner.objective(instance, schedule))


def _best_bound(ended: Attempt, objective: float | None, sense: Sense) -> tuple[float | None, Any]:
    """Return the best bound of the method, and its certificate where it has one.

    A method may have streamed a bound that is better than the one that it ends with. One that was
    stopped by force leaves an engine's bound that nothing has confirmed, too: it counts where it
    makes no schedule optimal.
    """
    outcome = ended.outcome
    final = None if outcome is None else outcome.bound
    if final is not None and not math.isfinite(final):
        final = None
    if outcome is not None:
        if tighter(final, ended.bound, sense) == final:
            return final, outcome.certificate
        return ended.bound, ended.certificate
    if ended.word is not None and tighter(ended.bound, ended.word, sense) != ended.bound:
        proved = objective is not None and (
            meet(objective, ended.word) or contradict(objective, ended.word, sense)
        )
        if not proved:
            return ended.word, None
    return ended.bound, ended.certificate


def _fit(
    instance: Instance, plan: Plan, objective: float | None, bound: float | None, sense: Sense
) -> float | None:
    """Return the bound on the objective's grid, and not past the objective by round-off."""
    if bound is None:
        return None
    grid = plan.family.grid(instance)
    bound = on_grid(bound, grid, sense)
    if objective is None:
        return bound
    if contradict(objective, bound, sense, grid):
        raise ContradictionError(
            f"method {plan.method.name}: its bound {bound:.10g} lies past its own verified "
            f"schedule of {objective:.10g}"
        )
    if not (bound > objective if sense == "min" else bound < objective):
        return bound
    return objective if meet(objective, bound, grid) else None


def _progress(
    ended: Attempt, objective: float | None, bound: float | None, sense: Sense
) -> tuple[tuple[float, float | None, float | None], ...]:
    """Return the streamed points and, last, what the method ended with."""
    last = (round(ended.seconds, 6), objective, bound)
    return (*((round(seconds, 6), value, limit) for seconds, value, limit in ended.progress), last)


def _trace(ended: Attempt, certificate: Any) -> dict[str, Any]:
    trace: dict[str, Any] = {} if ended.outcome is None else dict(ended.outcome.trace)
    if ended.outcome is not None and ended.outcome.note:
        trace["note"] = ended.outcome.note
    if ended.end != "done":
        trace["stopped"] = ended.message or ended.end
    if certificate is not None:
        trace["certificate"] = {
            key: value if isinstance(value, str | int | float) else f"{len(value)} entries"
            for key, value in certificate.items()
            if isinstance(value, str | int | float | list | dict)
        }
    trace["start_seconds"] = round(ended.start_seconds, 6)
    return {key: _plain(value) for key, value in trace.items()}


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: lists, Python numbers, null for what is not finite."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):  # numpy
        return _plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value
