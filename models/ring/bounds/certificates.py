"""Evaluation of bounds from their certificates: exact arithmetic, and no engine.

References
----------
A. Neumaier, O. Shcherbina, "Safe bounds in linear and mixed-integer linear programming",
Mathematical Programming 99 (2004): dual values of any quality prove a bound. The inequalities of
each kind are in the modules `elementary`, `configuration_lp` and `pattern_lp`.
"""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from schedgap.instances.records import Id
from schedgap.instances.ring import RingInstance
from schedgap.models.certificates import Certificate, proved, read
from schedgap.models.mechanisms.dual_feasible_functions import threshold
from schedgap.models.ring.bounds import configuration_lp
from schedgap.models.ring.bounds.elementary import area_bound
from schedgap.models.ring.bounds.pattern_lp import Refutation, refutes
from schedgap.models.ring.rates import RateTable, no_schedule, rate_table

SlotPrice = Annotated[int, Field(ge=0, le=10**9)]


class LongestCertificate(Certificate):
    """A job; the bound is its best execution time."""

    job: Id


class AreaCertificate(Certificate):
    """No data; the bound is the GPU time of all jobs over the number of GPUs."""


class WidthDffCertificate(Certificate):
    """Threshold of the dual-feasible function f_k that is applied to the sizes."""

    k: Annotated[int, Field(ge=0)]


class PatternLpCertificate(Certificate):
    """Integer prices of jobs by id, 0 for those left out, that refute a makespan of `slots`."""

    slots: Annotated[int, Field(ge=1, le=10**9)]
    jobs: dict[str, Annotated[int, Field(ge=0, le=2**62)]]


class ConfigurationLpCertificate(Certificate):
    """Prices of a slot of jobs by id: inside a server, alone, in company; 0 for those left out."""

    jobs: dict[str, Annotated[tuple[SlotPrice, SlotPrice, SlotPrice], Field(strict=False)]]


KINDS: Mapping[str, type[Certificate]] = {
    "longest": LongestCertificate,
    "area": AreaCertificate,
    "width-dff": WidthDffCertificate,
    "pattern-lp": PatternLpCertificate,
    "configuration-lp": ConfigurationLpCertificate,
}


def check_certificate(instance: RingInstance, certificate: Mapping[str, object]) -> float:
    """Return the bound on the makespan that a certificate proves, in slots.

    `certificate`: `kind`, and the data of the record above for that kind. Any prices >= 0 prove
    some bound.

    Raises
    ------
    InputError
        If the certificate is malformed, or does not fit the instance.
    """
    record = read(certificate, KINDS)
    return proved(lambda: _bound(instance, record))


def _bound(instance: RingInstance, record: Certificate) -> float:
    table = rate_table(instance)
    if reason := no_schedule(instance):
        raise ValueError(reason)
    match record:
        case LongestCertificate(job=job):
            return table.best_slots[_positions(instance)[job]]
        case WidthDffCertificate(k=k):
            if 2 * k > table.gpus + 1:
                raise ValueError("k is at most half of the GPUs, rounded up")
            return area_bound(table, threshold(table.size, table.gpus, k))
        case PatternLpCertificate(slots=slots):
            refutation = Refutation(slots, _by_position(instance, record.jobs))
            if not refutes(table, refutation):
                raise ValueError("the prices refute nothing")
            return slots + 1
        case ConfigurationLpCertificate():
            return _configuration_bound(instance, table, record)
    return area_bound(table, table.size)


def _configuration_bound(
    instance: RingInstance, table: RateTable, record: ConfigurationLpCertificate
) -> int:
    if reason := configuration_lp.too_large(table):
        raise ValueError(f"the pricing problem is too large: {reason}")
    by_level = [
        _by_position(instance, {job: price[level] for job, price in record.jobs.items()})
        for level in range(3)
    ]
    return configuration_lp.bound(table, list(zip(*by_level, strict=True)))


def _by_position(instance: RingInstance, prices: Mapping[str, int]) -> tuple[int, ...]:
    """Return the prices [j] of jobs given by id, 0 by default; ValueError for an unknown id."""
    unknown = prices.keys() - _positions(instance).keys()
    if unknown:
        raise ValueError(f"no job {min(unknown)}")
    return tuple(prices.get(job.id, 0) for job in instance.jobs)


def _positions(instance: RingInstance) -> dict[str, int]:
    return {job.id: j for j, job in enumerate(instance.jobs)}
