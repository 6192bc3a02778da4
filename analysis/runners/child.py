"""What a child process does for its parent: run a method, or verify a schedule."""

from collections.abc import Callable, Mapping
from typing import Any

from schedgap.errors import ContradictionError
from schedgap.instances.instance import Instance
from schedgap.models.family import Family, family_of
from schedgap.models.method import Budget, MethodResult, RunContext, SentProgress
from schedgap.solvers.children.clock import Clock, now

Send = Callable[[object], None]


def run_method(
    send: Send,
    module: str,
    instance: Instance,
    method: str,
    options: Mapping[str, Any],
    engine: str | None,
    limit: float | None,
    seed: int,
) -> tuple[MethodResult, float]:
    """Run a method in this (child) process; return its result and its seconds.

    `send`: sends a message to the parent process. `options`: a value for every option of the
    method. `engine`: engine of the method. `limit`: time limit in wall-clock seconds.
    """
    owner = family_of(module)
    chosen = owner.method(method)
    clock = Clock(limit)
    begun = now()
    call = RunContext(options, engine, Budget(clock, seed), SentProgress(send, clock))
    result = owner.run(chosen, instance, call)
    return result, now() - begun


def verify_schedule(
    send: Send,
    module: str,
    method: str,
    instance: Instance,
    schedule: object,
    options: Mapping[str, object],
) -> float:
    """Verify a schedule in this (child) process and return its objective.

    `send`: not used. `method`, `options`: as for `verified_objective`.
    """
    return verified_objective(family_of(module), method, instance, schedule, options)


def verified_objective(
    owner: Family, method: str, instance: Instance, schedule: object, options: Mapping[str, object]
) -> float:
    """Verify a schedule and return its objective.

    `method`: name of the method that returned the schedule, for the error message. `options`: of
    the method; some of them define a variant of the problem.

    Raises
    ------
    ContradictionError
        If the schedule breaks a rule.
    """
    violations = list(owner.check(instance, schedule, options))
    if violations:
        first, more = violations[0], len(violations) - 1
        raise ContradictionError(
            f"method {method} returned a schedule that breaks {first.rule}: "
            f"{first.message}{f' (and {more} more)' if more else ''}"
        )
    return float(owner.objective(instance, schedule))
