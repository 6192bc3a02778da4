"""Weights of a common size: tolerances, ours and those of engines, are for values above 1."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from schedgap.instances.elastic import ElasticInstance
from schedgap.instances.scaling import decimal
from schedgap.models.elastic.modes import modes
from schedgap.models.method import Call, Outcome, Progress

LEAST, WANTED = 1, 100  # of the largest weight


@lru_cache(maxsize=64)
def sized(instance: ElasticInstance) -> tuple[ElasticInstance, int]:
    """Return the instance with weights times 10^k, and k: 0 unless all weights are below 1.

    Weights of jobs that are never in a schedule of a batch do not count, nor matter: they become
    the largest of the others.
    """
    counts = [_can_run(instance, j) for j in range(len(instance.jobs))]
    weights = [job.weight for job, can in zip(instance.jobs, counts, strict=True) if can]
    largest, power = decimal(max(weights, default=LEAST)), 0
    if largest >= LEAST:
        return instance, 0
    while largest * 10**power < WANTED:
        power += 1
    data = instance.to_data()
    jobs = [
        job | {"weight": float((decimal(job["weight"]) if can else largest) * 10**power)}
        for job, can in zip(data["jobs"], counts, strict=True)
    ]
    return ElasticInstance.from_data(data | {"jobs": jobs}), power


def _can_run(instance: ElasticInstance, job: int) -> bool:
    last = instance.last_end
    if not instance.is_batch or last is None:
        return True
    first = instance.jobs[job].arrival
    return any(first + mode.duration <= last for mode in modes(instance, job))


def down(value: float, power: int) -> float:
    """Return a value over 10^k, as near as can be."""
    return float(Fraction(value) / 10**power) if power else value


def certificate_sized(certificate: Mapping[str, Any], power: int) -> dict[str, Any]:
    """Return a certificate with its prices times 10^k."""
    changed = dict(certificate)
    if power and "prices" in changed:
        factor = Fraction(10) ** power
        changed["prices"] = [
            [*place, float(f"{float(Fraction(price) * factor):.12g}")]
            for *place, price in changed["prices"]
        ]
    return changed


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


Run = Callable[[ElasticInstance, Call], Outcome]


def in_common_size(run: Run) -> Run:
    """Return the method that runs on weights of a common size, and answers in the instance's own.

    Numbers of its trace stay as they are; the trace says so.
    """

    def scaled(instance: ElasticInstance, call: Call) -> Outcome:
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
