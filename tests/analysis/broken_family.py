"""A toy family that breaks the contract: the name of the instance says where and how.

Child processes can import it, because they have this process's `sys.path`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import toy_family
from pydantic import model_validator
from toy_family import Pick, ToyInstance

from schedgap.instances.generate import Generator, Preset
from schedgap.models.family import Bar, Chart
from schedgap.models.figure import Claim, Experiment
from schedgap.models.method import Method, MethodResult, RunContext
from schedgap.models.program import Program

RUBBISH = {"none": None, "text": "x", "number": 3, "nan": float("nan"), "list": [1, None]}


def breaks(part: str, function: Callable[..., Any]) -> Any:
    """Return the function, which fails or returns rubbish where the instance's name says so."""

    def broken(instance: ToyInstance, *arguments: Any, **keywords: Any) -> Any:
        named, _, how = instance.name.partition(" ")
        if named != part or how == "odd":
            return function(instance, *arguments, **keywords)
        if how == "raises":
            raise ZeroDivisionError("division\nby zero")
        return RUBBISH[how]

    return broken


class Talking(ToyInstance):
    """An instance that fails to say what it is."""

    @model_validator(mode="after")
    def _odd(self) -> Self:
        assert 1 / (self.name != "validator")
        return self

    def summary(self) -> dict[str, str]:
        """Return the number of values."""
        return breaks("summary", lambda _: {"of values": str(len(self.values))})(self)

    def demands(self) -> tuple[str, list[float]]:
        """Return nothing."""
        return breaks("demands", lambda _: ("", []))(self)

    def warnings(self) -> tuple[str, ...]:
        """Return nothing."""
        return breaks("warnings", lambda _: ())(self)


class Local:
    """A schedule that cannot be sent to another process."""

    def __reduce__(self) -> Any:
        raise TypeError("cannot be pickled")

    def to_data(self, instance: ToyInstance) -> dict[str, Any]:
        return {"place": 0}


@dataclass(frozen=True)
class Odd:
    """A schedule that is written as the name of the instance says."""

    how: str

    def to_data(self, instance: ToyInstance) -> Any:
        if self.how == "raises":
            raise KeyError("place")
        return {"place": {1, 2}} if self.how == "set" else RUBBISH[self.how]


def run(instance: ToyInstance, call: RunContext) -> Any:
    """Return what the name of the instance says, or the first number."""
    part, _, how = instance.name.partition(" ")
    if part == "to_data":
        return MethodResult(Odd(how))
    if part == "pickle":
        return MethodResult(Local())  # type: ignore[type-var]
    if part == "bound":
        return MethodResult(Pick(0), bound=RUBBISH[how])
    if part == "certificate":
        return MethodResult(Pick(0), bound=0.0, certificate={"kind": {1, 2}})
    if part == "schedule":
        return MethodResult(RUBBISH[how])
    if part == "incumbent":
        call.progress.incumbent(RUBBISH[how], 1.0)  # type: ignore[arg-type]
        return MethodResult(Pick(0))
    return MethodResult(Pick(0), bound=instance.values[0])


def chart(instance: ToyInstance, schedule: Any) -> Chart:
    """Return a chart without bars, or with a bar that has no end."""
    bars = (Bar("lane", 0.0, float("nan"), "a", "a"),) if instance.name == "chart odd" else ()
    return Chart(("lane",), bars, "s")


def method(name: str, function: Any) -> Method:
    return Method(name, "exact", function, "", "test")


PROMISE = replace(
    toy_family.PAPER.guarantees["G1"],
    methods=("exact",),
    evaluate=breaks("guarantee", lambda instance: {}),
)


def experiments(*, quick: bool = False) -> list[Experiment]:
    """Return a figure whose points are a number, and a claim on the length of a draw."""
    claims = (Claim("odd", "", lambda draw: len(draw) > 0),)
    points: Any = lambda: 3  # noqa: E731
    return [Experiment("toy", "1", "", "x", "value", claims, ("a",), points)]


FAMILY = replace(
    toy_family.FAMILY,
    generator=Generator((Preset("zero", "", lambda request: 1 // request.seed),), "zero"),
    experiments=experiments,
    paper=replace(toy_family.PAPER, guarantees={"G1": PROMISE}),
    methods=(
        replace(
            method("exact", breaks("method", run)),
            unsupported_reason=breaks("unsupported", lambda instance: None),
        ),
        method("lowest", lambda instance, call: MethodResult(Pick(1), bound=instance.values[1])),
    ),
    programs={"paper": Program("x", "exact", breaks("program", lambda instance: 3))},
    aliases={},
    instances=ToyInstance,
    sense=breaks("sense", lambda instance: instance.sense),
    check=breaks("check", toy_family.check),
    objective=breaks("objective", toy_family.objective),
    chart=breaks("chart", chart),
    grid=breaks("grid", lambda instance: 1.0),
    refute=breaks("refute", lambda instance, options: None),
    metrics=breaks("metrics", lambda instance, schedule: {}),
    omitted_rules=lambda schedule: (),
    check_certificate=breaks("check_certificate", toy_family.check_certificate),
)
