"""A method that runs on weights of a common size, and answers in the instance's own."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.bounds.certificates import certificate_sized
from schedgap.models.elastic.programs.weights import down, sized
from schedgap.models.method import MethodResult, Progress, RunContext


@dataclass(frozen=True, slots=True)
class _Down:
    """Progress of a method on an instance with larger weights."""

    progress: Progress
    power: int

    def incumbent(self, schedule: Any, objective: float) -> None:
        self.progress.incumbent(schedule, down(objective, self.power))

    def bound(
        self,
        value: float,
        certificate: Mapping[str, Any] | None = None,
        *,
        confirmed: bool = True,
    ) -> None:
        proof = None if certificate is None else certificate_sized(certificate, -self.power)
        self.progress.bound(down(value, self.power), proof, confirmed=confirmed)

    def phase(self, text: str) -> None:
        self.progress.phase(text)


Run = Callable[[ElasticInstance, RunContext], MethodResult]


def in_common_size(run: Run) -> Run:
    """Return the method that runs on weights of a common size, and answers in the instance's own.

    Numbers of its trace stay as they are; the trace says so.
    """

    @wraps(run)
    def scaled(instance: ElasticInstance, call: RunContext) -> MethodResult:
        larger, power = sized(instance)
        if not power:
            return run(instance, call)
        outcome = run(larger, replace(call, progress=_Down(call.progress, power)))
        proof = outcome.certificate
        return replace(
            outcome,
            bound=None if outcome.bound is None else down(outcome.bound, power),
            certificate=None if proof is None else certificate_sized(proof, -power),
            trace=dict(outcome.trace) | {"weights": f"times 1e{power}"},
        )

    return scaled
