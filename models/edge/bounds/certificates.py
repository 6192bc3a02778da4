"""Bounds evaluated again from their certificates: no engine, only the instance and its prices."""

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from schedgap.instances.edge import EdgeInstance
from schedgap.instances.records import Count, Id, Many, NonEmpty, Record
from schedgap.models.certificates import Certificate, proved, read
from schedgap.models.edge.bounds import (
    column_generation,
    decomposition,
    job_alone,
    linear_relaxation,
    preemptive_machine,
    reduced_cost_fixing,
    worker_types,
)
from schedgap.models.edge.decisions import no_schedule
from schedgap.models.edge.programs.dual import LARGEST
from schedgap.models.edge.programs.superadditive_cuts import LARGEST as LARGEST_SHAPE
from schedgap.models.edge.programs.superadditive_cuts import MOST_WORKERS

Index = Annotated[int, Field(ge=0, le=10**9)]
Price = Annotated[float, Field(ge=0, le=LARGEST)]
Cell = Annotated[tuple[Index, Index, Count, Price], Field(strict=False)]
"""Server, type, slot from 1, price."""


class ShapePrices(Record):
    """Prices of one shape."""

    shape: Annotated[
        tuple[Annotated[int, Field(ge=0, le=LARGEST_SHAPE)], ...],
        Field(strict=False, min_length=1, max_length=MOST_WORKERS),
    ]
    prices: Many[Cell]


class CellPrices(Record):
    """Prices by server, type and slot; what is not there costs nothing."""

    slots: Count
    worker_prices: Many[Cell]
    ps_prices: Many[Cell]
    shapes: Many[ShapePrices] = ()


class ClassPrices(Record):
    """Prices of edge servers and of clouds: block from 1, price."""

    edge: Many[Annotated[tuple[Count, Price], Field(strict=False)]]
    cloud: Many[Annotated[tuple[Count, Price], Field(strict=False)]]


class TypePrices(Record):
    """Prices of one worker type."""

    worker_type: Id
    slots: Count
    block: Count
    prices: ClassPrices


class JobBound(Certificate):
    """Every job alone."""

    kind: Literal["job-bound"]


class SrptBound(Certificate):
    """One preemptive machine by worker type."""

    kind: Literal["srpt-bound"]


class ColumnBound(CellPrices, Certificate):
    """Prices, for (2)."""

    kind: Literal["cg-bound"]


class BatchDual(CellPrices, Certificate):
    """Prices, for (3)."""

    kind: Literal["batch-dual"]


class TypeBound(Certificate):
    """Prices of classes of servers; a type that is left out has none."""

    kind: Literal["type-bound"]
    types: Many[TypePrices]


class LpMode(Certificate):
    """Prices of the rows of the program over starts and modes."""

    kind: Literal["lp-mode"]
    rows: Index
    duals: Many[
        Annotated[
            tuple[Index, Annotated[float, Field(ge=-1e12, le=1e12)]],
            Field(strict=False),
        ]
    ]


class Fixing(Certificate):
    """Prices that rule out groups, one set after the other, of schedules below a value."""

    kind: Literal["fixing"]
    upper: Annotated[int, Field(ge=0, le=10**15)]
    prices: NonEmpty[CellPrices]


class Parts(Certificate):
    """By worker type, what proves a bound on its jobs as an instance of their own."""

    kind: Literal["parts"]
    parts: dict[
        Id,
        Annotated[
            JobBound | SrptBound | ColumnBound | TypeBound | Fixing, Field(discriminator="kind")
        ],
    ]


KINDS: Mapping[str, type[Certificate]] = {
    "cg-bound": ColumnBound,
    "batch-dual": BatchDual,
    "type-bound": TypeBound,
    "lp-mode": LpMode,
    "job-bound": JobBound,
    "srpt-bound": SrptBound,
    "fixing": Fixing,
    "parts": Parts,
}


def check_certificate(instance: EdgeInstance, certificate: Mapping[str, Any]) -> float:
    """Return the bound on the instance's optimum that a certificate proves.

    Parameters
    ----------
    certificate : Mapping
        `kind`, and prices for the kinds that have some. Its `value` is not read. Prices need not be
        those of an optimum: any prove some bound. Objectives are whole, so it is rounded up to the
        next whole number, or down for a batch.

    Raises
    ------
    InputError
        When the certificate is not one of this family, or does not fit the instance.
    """
    record = read(certificate, KINDS)
    return proved(lambda: _value(instance, record.model_dump()))


def _value(instance: EdgeInstance, data: Mapping[str, Any]) -> float:
    kind = data["kind"]
    if kind not in (("batch-dual", "job-bound") if instance.is_batch else _OF_JOBS):
        raise ValueError("the certificate is for the other problem")
    if no_schedule(instance) is not None:
        raise ValueError("the instance has no schedule at all")
    if kind == "job-bound":
        return abs(job_alone.alone(instance))
    if kind == "srpt-bound":
        return preemptive_machine.srpt(instance)
    if kind == "parts":
        return decomposition.certified(instance, data, _value)
    if kind == "fixing":
        return reduced_cost_fixing.certified(instance, data)
    if kind == "type-bound":
        return worker_types.certified(instance, data)
    if kind == "lp-mode":
        return linear_relaxation.certified(instance, data)
    bound = column_generation.certified(instance, data)
    return float(math.floor(bound) if instance.is_batch else math.ceil(bound))


_OF_JOBS = tuple(kind for kind in KINDS if kind != "batch-dual")
