"""Methods on weights of a larger magnitude, with results in the instance's own units.

It joins `programs.weights.scaled_weights` and the certificates to a method.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.bounds.certificates import scale_certificate
from schedgap.models.elastic.programs.weights import scale_back, scaled_weights
from schedgap.models.method import MethodResult, Progress, RunContext


@dataclass(frozen=True, slots=True)
class _RescaledProgress:
    """Progress that divides the objective values of a method on scaled weights."""

    progress: Progress
    power: int

    def incumbent(self, schedule: Any, objective: float) -> None:
        self.progress.incumbent(schedule, scale_back(objective, self.power))

    def bound(
        self, value: float, certificate: Mapping[str, Any] | None = None, *, confirmed: bool = True
    ) -> None:
        proof = None if certificate is None else scale_certificate(certificate, -self.power)
        self.progress.bound(scale_back(value, self.power), proof, confirmed=confirmed)

    def phase(self, text: str) -> None:
        self.progress.phase(text)


ExactMethod = Callable[..., MethodResult]  # of an instance, a context and options


def with_scaled_weights(run: ExactMethod) -> ExactMethod:
    """Return the method that runs on scaled weights, and answers in the instance's own units.

    Values in its trace are not converted, but for `reported_bound`; the trace says so.
    """

    @wraps(run)
    def scaled(instance: ElasticInstance, call: RunContext, **options: Any) -> MethodResult:
        larger, power = scaled_weights(instance)
        if not power:
            return run(instance, call, **options)
        within = replace(call, progress=_RescaledProgress(call.progress, power))
        result = run(larger, within, **options)
        proof = result.certificate
        trace = dict(result.trace) | {"weights": f"times 1e{power}"}
        if "reported_bound" in trace:
            trace["reported_bound"] = scale_back(trace["reported_bound"], power)
        return replace(
            result,
            bound=None if result.bound is None else scale_back(result.bound, power),
            certificate=None if proof is None else scale_certificate(proof, -power),
            trace=trace,
        )

    return scaled
