"""A method that runs on weights of a common size, and answers in the instance's own."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.bounds.certificates import scale_certificate
from schedgap.models.elastic.programs.weights import scale_back, scaled_weights
from schedgap.models.method import MethodResult, Progress, RunContext


@dataclass(frozen=True, slots=True)
class _Down:
    """Progress of a method on an instance with larger weights."""

    progress: Progress
    power: int

    def incumbent(self, schedule: Any, objective: float) -> None:
        self.progress.incumbent(schedule, scale_back(objective, self.power))

    def bound(
        self,
        value: float,
        certificate: Mapping[str, Any] | None = None,
        *,
        confirmed: bool = True,
    ) -> None:
        proof = None if certificate is None else scale_certificate(certificate, -self.power)
        self.progress.bound(scale_back(value, self.power), proof, confirmed=confirmed)

    def phase(self, text: str) -> None:
        self.progress.phase(text)


ExactMethod = Callable[[ElasticInstance, RunContext], MethodResult]


def with_scaled_weights(run: ExactMethod) -> ExactMethod:
    """Return the method that runs on weights of a common size, and answers in the instance's own.

    Numbers of its trace stay as they are; the trace says so.
    """

    @wraps(run)
    def scaled(instance: ElasticInstance, call: RunContext) -> MethodResult:
        larger, power = scaled_weights(instance)
        if not power:
            return run(instance, call)
        outcome = run(larger, replace(call, progress=_Down(call.progress, power)))
        proof = outcome.certificate
        return replace(
            outcome,
            bound=None if outcome.bound is None else scale_back(outcome.bound, power),
            certificate=None if proof is None else scale_certificate(proof, -power),
            trace=dict(outcome.trace) | {"weights": f"times 1e{power}"},
        )

    return scaled
