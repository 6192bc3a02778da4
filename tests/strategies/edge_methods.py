"""Methods of family `edge`, called as the command line calls them."""

from typing import Any

from schedgap.instances.edge import EdgeInstance
from schedgap.models.edge import FAMILY
from schedgap.models.edge.decisions import compiled
from schedgap.models.edge.methods import METHODS as ALL
from schedgap.models.method import Budget, MethodResult, RunContext, check_instance
from schedgap.solvers import Clock
from schedgap.solvers.children.processes import run_child

METHODS = {method.name: method for method in ALL if method.kind in ("exact", "bound")}
KNOWN = {method.name: method for method in ALL}


def can_complete(instance: EdgeInstance, job: int) -> bool:
    """Whether a job (by index) alone on the network ends within the horizon, or its window."""
    view = compiled(instance)
    flows = [task.alone for task in view.tasks if task.job == job]
    return any(flow is not None for flow in flows)


class Silence:
    """Progress that nobody watches."""

    def incumbent(self, schedule: Any, objective: float) -> None: ...

    def bound(self, value: float, certificate: object = None, **more: object) -> None: ...

    def phase(self, text: str) -> None: ...


def outcome(
    send: Any,
    name: str,
    instance: EdgeInstance,
    chosen: str | None = None,
    limit: float = 60,
    **options: Any,
) -> MethodResult:
    """Run a method in this process."""
    method = KNOWN[name]
    check_instance(instance, method)
    call = RunContext(
        method.parse(options), method.choose_engine(chosen), Budget(Clock(limit)), Silence()
    )
    return FAMILY.run(method, instance, call)


def run(
    name: str, instance: EdgeInstance, chosen: str | None = None, limit: float = 60, **options: Any
) -> MethodResult:
    """Run a method as it is meant to be: one with an engine in a separate process."""
    method = KNOWN[name]
    check_instance(instance, method)
    if method.runs_children or not method.engines:
        return outcome(None, name, instance, chosen, limit, **options)
    reply = run_child(
        "strategies.edge_methods:outcome",
        name,
        instance,
        chosen,
        limit,
        engine=method.choose_engine(chosen),
        **options,
    )
    found: MethodResult = reply.result()
    return found
