"""A toy family for tests: pick one of several numbers; its methods fail in all possible ways.

Child processes can import it, because they have this process's `sys.path`.
"""

import math
import os
import signal
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from schedgap.errors import InputError, ScaleError
from schedgap.instances.families import FAMILIES, Source
from schedgap.instances.instance import Instance
from schedgap.instances.records import NonEmpty
from schedgap.instances.settings import Option
from schedgap.instances.verdict import Violation
from schedgap.models.family import Bar, Chart, Family
from schedgap.models.method import Method, MethodResult, RunContext
from schedgap.models.paper import Guarantee, Paper
from schedgap.solvers.engines.engine import Engine
from schedgap.solvers.engines.registry import ENGINES


class ToyInstance(Instance):
    """Pick the smallest or the largest number; all values are multiples of `step`."""

    title = "pick a number"

    family: Literal["toy"]
    sense: Literal["min", "max"]
    values: NonEmpty[float]
    step: float | None = None


@dataclass(frozen=True)
class Pick:
    """A schedule: the index of the picked number."""

    place: Any
    relaxed: tuple[str, ...] = ()

    def to_data(self, instance: ToyInstance) -> dict[str, Any]:
        data = {"place": self.place}
        return data | ({"relaxed": list(self.relaxed)} if self.relaxed else {})


def check(instance: ToyInstance, schedule: Any, options: Mapping[str, Any]) -> Iterator[Violation]:
    if not isinstance(schedule, Mapping) or "place" not in schedule:
        raise InputError("missing key", path="schedule.place")
    place = schedule["place"]
    if not isinstance(place, int) or not 0 <= place < len(instance.values):
        yield Violation("V1", (str(place),), 1.0, f"no place {place}")


def objective(instance: ToyInstance, schedule: Any) -> float:
    return instance.values[schedule["place"]]


def order(instance: ToyInstance) -> list[int]:
    places = range(len(instance.values))
    return sorted(places, key=lambda i: instance.values[i], reverse=instance.sense == "max")


def exact(instance: ToyInstance, call: RunContext) -> MethodResult:
    best = order(instance)[0]
    trace = {"proof": "all were looked at", "alpha": math.inf, "loads": np.array([1, 2])}
    return MethodResult(Pick(best), bound=instance.values[best], trace=trace)


def first(instance: ToyInstance, call: RunContext) -> MethodResult:
    if call.options["log"]:
        with open(call.options["log"], "a") as stream:
            stream.write(f"{instance.name}\n")
    time.sleep(call.options["pause"])
    return MethodResult(Pick(0))


def streams_then(end: Any) -> Any:
    def run(instance: ToyInstance, call: RunContext) -> MethodResult:
        places = order(instance)
        for place in (places[-1], places[0]):
            call.progress.incumbent(Pick(place), instance.values[place])
        bound = instance.values[places[0]] + (-1 if instance.sense == "min" else 1)
        call.progress.bound(bound, {"kind": "toy", "value": bound})
        call.progress.phase("waiting")
        end()
        return MethodResult()

    return run


def words(instance: ToyInstance, call: RunContext) -> MethodResult:
    best = instance.values[order(instance)[0]]
    call.progress.incumbent(Pick(order(instance)[0]), best)
    call.progress.bound(best - 1, {"kind": "toy", "value": best - 1})
    call.progress.bound(best - 0.5 if instance.name == "shy" else best, confirmed=False)
    time.sleep(600)
    return MethodResult()


def hog() -> None:
    held = []
    while True:
        held.append(bytearray(20_000_000))
        time.sleep(0.02)


def heavy(instance: ToyInstance, call: RunContext) -> MethodResult:
    held = [bytearray(1_000_000) for _ in range(int(call.options["megabytes"]))]
    time.sleep(0.3)
    return MethodResult(Pick(len(held) * 0))


def spin(instance: ToyInstance, call: RunContext) -> MethodResult:
    end = time.process_time() + call.options["seconds"]
    while time.process_time() < end:
        pass
    return MethodResult(Pick(0))


def anneal(instance: ToyInstance, call: RunContext) -> MethodResult:
    return MethodResult(Pick(0 if call.budget.clock.spent() < 0.9 else 1))


def too_fine(instance: ToyInstance, call: RunContext) -> MethodResult:
    raise ScaleError("values: too fine for the integer scale")


def fails(instance: ToyInstance, call: RunContext) -> MethodResult:
    raise ValueError("a bug of ours")


def method(name: str, kind: Any, run: Any, **more: Any) -> Method:
    return Method(name=name, kind=kind, run=run, summary=f"{name}.", source="test", **more)


def bounds(offset: float) -> Any:
    def run(instance: ToyInstance, call: RunContext) -> MethodResult:
        value = instance.values[order(instance)[0]] + offset * (
            1 if instance.sense == "min" else -1
        )
        return MethodResult(
            bound=value, certificate={"kind": "toy", "value": value, "rows": [1, 2]}
        )

    return run


class Words(Option):
    """An option that accepts any text."""

    __slots__ = ()

    def parse(self, value: object) -> Any:
        return str(value)


METHODS = (
    method("scan", "exact", exact),
    method(
        "first",
        "algorithm",
        first,
        options=(
            Words("log", "choice", "", "Where to note each run."),
            Option("pause", "float", 0.0, "Seconds to wait.", least=0),
        ),
    ),
    method(
        "luck", "algorithm", lambda i, c: MethodResult(Pick(c.seed % len(i.values))), seeded=True
    ),
    method("weak", "bound", bounds(-0.25)),
    method("past", "bound", bounds(+0.25)),
    method("silent", "bound", lambda i, c: MethodResult(note="too large: 17 columns")),
    method("mute", "bound", lambda i, c: MethodResult()),
    method("broken", "algorithm", lambda i, c: MethodResult(Pick(99))),
    method(
        "liar", "exact", lambda i, c: MethodResult(Pick(0), bound=1e9 if i.sense == "min" else -1e9)
    ),
    method("none", "exact", lambda i, c: MethodResult(infeasible=True, note="job 'j1' cannot end")),
    method(
        "partial",
        "algorithm",
        lambda i, c: MethodResult(note="1 of 2 jobs left", partial={"place": 0}),
    ),
    method("outside", "baseline", lambda i, c: MethodResult(Pick(order(i)[0], ("2c",)), bound=7.0)),
    method("other", "exact", exact, options=(Option("fixed", "bool", True, "Another problem."),)),
    method("hang", "exact", streams_then(lambda: time.sleep(600))),
    method("words", "exact", words),
    method("crash", "exact", streams_then(lambda: os.kill(os.getpid(), signal.SIGSEGV))),
    method(
        "heavy",
        "algorithm",
        heavy,
        options=(Option("megabytes", "int", 100, "Memory that it needs.", least=0),),
    ),
    method("spin", "algorithm", spin, options=(Option("seconds", "float", 0.2, "CPU.", least=0),)),
    method("anneal", "algorithm", anneal),
    method("hog", "exact", streams_then(hog)),
    method("fails", "exact", fails),
    method("too-fine", "exact", too_fine),
    method("picky", "exact", exact, unsupported_reason=lambda i: "needs three values"),
    method("absent", "exact", exact, engines=("absent",)),
)


def check_certificate(instance: ToyInstance, certificate: Mapping[str, Any]) -> float:
    """Return a valid bound, whatever the certificate says.

    With the kind `wrong`, it acts as a checker with a bug.
    """
    if certificate["kind"] == "wrong":
        return float(certificate["value"])
    return min(float(certificate["value"]), instance.values[order(instance)[0]])


def twice(instance: ToyInstance, **changed: Any) -> dict[str, Any]:
    """Return a guarantee of twice the optimum for fewer than four values."""
    failed = () if len(instance.values) < 4 else ("few values",)
    return {"claim": "twice", "factor": 2.0, "holds": not failed, "failed": failed}


PAPER = Paper(
    citation="none",
    doi="",
    problem="Pick a number.",
    schedule="its place",
    symbols=(),
    rules={"V1": "The place is one of the values'."},
    equations={},
    algorithms={},
    guarantees={
        "G1": Guarantee(
            "twice", "none", ("first",), ("fewer than four values",), twice, "it stands", (),
            ("log", "pause"),
        )
    },
    errata={},
)  # fmt: skip


FAMILY = Family(
    name="toy",
    title="pick a number",
    paper=PAPER,
    methods=METHODS,
    aliases={"exact": "scan"},
    sense=lambda instance: instance.sense,
    check=check,
    objective=objective,
    chart=lambda i, s: Chart(("lane",), (Bar("lane", 0, 1, "job", "text"),), "s"),
    grid=lambda instance: instance.step,
    problem=lambda options: "fixed" if options.get("fixed") else "",
    omitted_rules=lambda schedule: tuple(schedule.get("relaxed", ())),
    check_certificate=check_certificate,
)


def register() -> None:
    """Register the family in this process, and an engine that is not installed."""
    ENGINES.add(Engine("absent", "Absent", "absent", "no_such_module", ("linear",), extra="absent"))
    FAMILIES.add("toy", Source("toy_family", "toy_family:ToyInstance"))


def unregister() -> None:
    """Remove the family and the engine again."""
    FAMILIES.remove("toy")
    ENGINES.remove("absent")


def toy(*values: float, sense: str = "min", name: str = "t", step: float | None = None) -> Any:
    data = {"family": "toy", "version": 1, "name": name, "sense": sense, "values": list(values)}
    return ToyInstance.from_data(data | ({} if step is None else {"step": step}))
