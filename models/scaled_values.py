"""Methods on values of another size, for the absolute tolerances of engines, and ours.

A family makes an instance with the same schedules, whose values are all multiplied by one factor. A
method runs on it. What the method reports and returns is converted back to the given unit.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from schedgap.models.method import MethodResult, Progress, RunContext

Convert = Callable[[float], float]

_VALUES = ("value", "fluid", "master", "relaxation", "bound", "reported_bound")


def converted(data: Mapping[str, Any], price: Convert, value: Convert) -> dict[str, Any]:
    """Return a certificate or a trace in another unit of value.

    `price`, `value`: convert the last entry of each row of prices, and values.
    """
    found = dict(data)
    for key, entry in data.items():
        if key == "prices":
            found[key] = [[*place, price(last)] for *place, last in entry]
        elif isinstance(entry, Mapping):
            found[key] = converted(entry, price, value)
        elif key in _VALUES and isinstance(entry, float):
            found[key] = value(entry)
    return found


@dataclass(frozen=True, slots=True)
class Unscaled:
    """Progress of a method on an instance of scaled values, passed on in the given unit."""

    instance: Any  # the one with the given values
    progress: Progress  # the receiver of all reports
    price: Convert  # see `converted`
    value: Convert
    # Where it is finite, larger values are cut off. Then only bounds below it say something, and
    # their certificates are not the instance's.
    below: float = math.inf

    def incumbent(self, schedule: Any, objective: float) -> None:
        """Report a schedule with its own value."""
        self.progress.incumbent(schedule, schedule.value(self.instance))

    def bound(
        self, value: float, certificate: Mapping[str, Any] | None = None, *, confirmed: bool = True
    ) -> None:
        """Report a bound, without its certificate where values are cut off."""
        value = self.value(value)
        if self.below == math.inf:
            proof = certificate and converted(certificate, self.price, self.value)
            self.progress.bound(value, proof, confirmed=confirmed)
        elif value < self.below:
            self.progress.bound(value, confirmed=confirmed)

    def phase(self, text: str) -> None:
        """Report a phase."""
        self.progress.phase(text)

    def run(
        self, method: Callable[..., MethodResult], scaled: Any, call: RunContext, **options: Any
    ) -> MethodResult:
        """Run a method on the instance of scaled values; return its result in the given unit.

        `method`: from instance, run context and options to result.
        """
        found = method(scaled, replace(call, progress=self), **options)
        proof = found.certificate
        return replace(
            found,
            bound=None if found.bound is None else self.value(found.bound),
            certificate=proof and converted(proof, self.price, self.value),
            trace=converted(found.trace, self.price, self.value),
        )
