"""Bounds evaluated again from their certificates: no engine, only the instance and its prices."""

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import Field

from schedgap.instances.records import Id, NonNegative
from schedgap.instances.ring import RingInstance
from schedgap.models.certificates import Certificate, proved, read
from schedgap.models.ring.bounds.class_lp import ClassDuals, class_program, dual_bound
from schedgap.models.ring.bounds.elementary import area_bound, dff_sizes
from schedgap.models.ring.bounds.pattern_lp import Refutation, refutes
from schedgap.models.ring.rates import RateTable, no_schedule, rate_table


class Longest(Certificate):
    """One job at its best."""

    job: Id


class Area(Certificate):
    """All GPUs busy with all jobs at their best."""


class WidthDff(Certificate):
    """The same with sizes rounded."""

    k: Annotated[int, Field(ge=0)]


class ClassLp(Certificate):
    """Prices of the rows of `class_lp` by name, and of jobs by id; 0 where left out."""

    classes: dict[str, NonNegative]
    jobs: dict[str, NonNegative]


class PatternLp(Certificate):
    """Whole prices of a GPU for each job, by id, that refute a makespan of so many slots."""

    slots: Annotated[int, Field(ge=1, le=10**9)]
    jobs: dict[str, Annotated[int, Field(ge=0, le=2**62)]]


Price = TypeVar("Price", int, float)

KINDS: Mapping[str, type[Certificate]] = {
    "longest": Longest,
    "area": Area,
    "width-dff": WidthDff,
    "class-lp": ClassLp,
    "pattern-lp": PatternLp,
}


def check_certificate(instance: RingInstance, certificate: Mapping[str, Any]) -> float:
    """Return the bound on the makespan that a certificate proves, in slots.

    Parameters
    ----------
    instance : RingInstance
    certificate : Mapping
        `kind`, and what its record above adds. Any prices >= 0 prove some bound.

    Raises
    ------
    InputError
        When the certificate is not one of this family, or does not fit the instance.
    """
    record = read(certificate, KINDS)
    return proved(lambda: _bound(instance, record))


def _bound(instance: RingInstance, record: Certificate) -> float:
    table = rate_table(instance)
    if reason := no_schedule(instance):
        raise ValueError(reason)
    match record:
        case Longest(job=job):
            return table.best_slots[_jobs(instance)[job]]
        case WidthDff(k=k):
            if 2 * k > table.gpus + 1:
                raise ValueError("k is at most half of the GPUs, rounded up")
            return area_bound(table, dff_sizes(table.size, table.gpus, k))
        case ClassLp():
            return _by_classes(instance, table, record)
        case PatternLp(slots=slots):
            refutation = Refutation(slots, _by_job(instance, record.jobs, 0))
            if not refutes(table, refutation):
                raise ValueError("the prices refute nothing")
            return slots + 1
    return area_bound(table, table.size)


def _by_classes(instance: RingInstance, table: RateTable, record: ClassLp) -> float:
    program = class_program(table)
    unknown = record.classes.keys() - {row.name for row in program.rows}
    if unknown:
        raise ValueError(f"no class {min(unknown)}")
    given = ClassDuals(record.classes, _by_job(instance, record.jobs, 0.0))
    return dual_bound(program, given)


def _by_job(
    instance: RingInstance, prices: Mapping[str, Price], nothing: Price
) -> tuple[Price, ...]:
    """Return prices [j]; ValueError for one of no job."""
    unknown = prices.keys() - _jobs(instance).keys()
    if unknown:
        raise ValueError(f"no job {min(unknown)}")
    return tuple(prices.get(job.id, nothing) for job in instance.jobs)


def _jobs(instance: RingInstance) -> dict[str, int]:
    return {job.id: j for j, job in enumerate(instance.jobs)}
