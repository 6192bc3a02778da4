"""Methods of family `dmlrs` that know all jobs, each with its engine in a separate process."""

from typing import Any

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.models.dmlrs import METHODS as TABLE
from schedgap.models.method import Budget, MethodResult, NullProgress, RunContext
from schedgap.solvers import Clock
from schedgap.solvers.children.processes import run_child

METHODS = {method.name: method for method in TABLE}


def outcome(
    send: Any, name: str, instance: DmlrsInstance, chosen: str | None, limit: float, **options: Any
) -> MethodResult:
    """Run a method in this process."""
    method = METHODS[name]
    engine = method.choose_engine(chosen)
    call = RunContext(method.parse(options), engine, Budget(Clock(limit)), NullProgress())
    return method(instance, call)


def run(
    name: str, instance: DmlrsInstance, chosen: str | None = None, limit: float = 60, **options: Any
) -> MethodResult:
    """Run a method in a child process."""
    reply = run_child(
        f"{__name__}:outcome",
        name,
        instance,
        chosen,
        limit,
        engine=METHODS[name].choose_engine(chosen),
        **options,
    )
    found: MethodResult = reply.result()
    return found
