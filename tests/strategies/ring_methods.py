"""Methods of family `ring`, run in this process and judged by the rules."""

from typing import Any

from schedgap.instances.ring import RingInstance
from schedgap.models.method import Budget, Method, MethodResult, RunContext
from schedgap.models.ring import FAMILY, rules
from schedgap.models.ring.methods import METHODS
from schedgap.solvers.children.clock import Clock
from schedgap.solvers.children.processes import run_child


class Heard:
    """Progress that records makespans and bounds."""

    def __init__(self) -> None:
        self.makespans: list[float] = []
        self.bounds: list[float] = []

    def incumbent(self, schedule: Any, objective: float) -> None:
        """Record a makespan."""
        self.makespans.append(objective)

    def bound(self, value: float, certificate: object = None, **more: object) -> None:
        """Record a bound."""
        self.bounds.append(value)

    def phase(self, text: str) -> None:
        """Ignore the phase."""


def run(
    method: Method,
    instance: RingInstance,
    *,
    engine: str | None = None,
    seconds: float | None = 60,
    seed: int = 0,
    heard: Heard | None = None,
    clock: Clock | None = None,
    **options: Any,
) -> MethodResult:
    """Return a method's result after checking schedule and bound."""
    clock = Clock(seconds) if clock is None else clock
    call = RunContext(
        method.parse(options), method.choose_engine(engine), Budget(clock, seed), heard or Heard()
    )
    outcome = FAMILY.run(method, instance, call)
    if outcome.schedule is not None:
        data = outcome.schedule.to_data(instance)
        assert list(rules.check(instance, data, {})) == []
        value = rules.objective(instance, data)
        assert value == outcome.schedule.makespan
        assert outcome.bound is None or outcome.bound <= value
    return outcome


def apart(name: str, instance: RingInstance, engine: str, **options: Any) -> MethodResult:
    """Run a method in a process with its engine alone."""
    function = "strategies.ring_methods:outcome"
    reply = run_child(function, name, instance, engine, engine=engine, **options)
    found: MethodResult = reply.result()
    return found


def outcome(
    send: Any, name: str, instance: RingInstance, chosen: str, **options: Any
) -> MethodResult:
    """Run one in this process."""
    (method,) = [method for method in METHODS if method.name == name]
    return run(method, instance, engine=chosen, **options)
