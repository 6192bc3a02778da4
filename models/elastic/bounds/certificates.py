"""Bounds evaluated again from their certificates: no engine, only the instance and its prices.

Whatever the prices are, the Lagrangian bound that they give is valid (weak duality), so a
certificate cannot prove too much.

References
----------
A. Neumaier, O. Shcherbina, "Safe bounds in linear and mixed-integer linear programming",
Mathematical Programming 99 (2004): bounds from approximate dual values.
"""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

from pydantic import Field

from schedgap.errors import ScaleError
from schedgap.instances.elastic import ElasticInstance
from schedgap.instances.records import Many
from schedgap.models.certificates import Certificate, proved, read
from schedgap.models.elastic.bounds import container_prices, schedule_lp
from schedgap.models.elastic.bounds.contention import MAX_SLOTS
from schedgap.models.elastic.bounds.job_alone import job_alone
from schedgap.models.elastic.programs.weights import (
    scale_back,
    scale_price,
    scaled_weights,
)
from schedgap.models.elastic.time_windows import no_schedule
from schedgap.models.method import MethodResult
from schedgap.models.scaled_values import converted

LARGEST = 1e30  # largest price

Index = Annotated[int, Field(ge=0, le=10**9)]
Slots = Annotated[int, Field(ge=1, le=10**9)]
Blocks = Annotated[int, Field(ge=1, le=MAX_SLOTS)]
Price = Annotated[float, Field(ge=0, le=LARGEST)]
Cell = Annotated[tuple[Index, Index, Slots, Price], Field(strict=False)]
ContainerCell = Annotated[tuple[Index, Index, Price], Field(strict=False)]


class JobAloneRecord(Certificate):
    """`no-contention`: every job by itself."""


class SlotPricesRecord(Certificate):
    """`pooled-lp` by pool of equal servers; `dual-lp`, `dual-prices`, `schedule-lp` by server."""

    slots: Slots
    prices: Many[Cell]
    """(server or pool, resource, slot from 1, price of a unit)."""


class ContainerPricesRecord(Certificate):
    """`configuration-lp`."""

    block: Blocks
    slots: Blocks
    prices: Many[ContainerCell]
    """(worker type, or after them PS type, block, price for a slot)."""


KINDS: dict[str, type[Certificate]] = {
    "schedule-lp": SlotPricesRecord,
    "pooled-lp": SlotPricesRecord,
    "configuration-lp": ContainerPricesRecord,
    "dual-lp": SlotPricesRecord,
    "dual-prices": SlotPricesRecord,
    "no-contention": JobAloneRecord,
}


def check_certificate(instance: ElasticInstance, certificate: Mapping[str, Any]) -> float:
    """Return the bound on the instance's optimum that a certificate proves.

    `instance`: its cheapest runs under the prices are computed again. `certificate`: `kind`, and
    the fields of the kind: `prices` by server or pool, resource and slot or block, or by container
    and block. Its `value` is not read. Prices need not be optimal: any prove some bound, below the
    optimum, or above it with `scheduled_weight`.

    Raises
    ------
    InputError
        When the certificate is not one of this family, or does not fit the instance.
    """
    record = read(certificate, KINDS)
    larger, power = scaled_weights(instance)

    def bound() -> float:
        data = converted(record.model_dump(), partial(scale_price, power=power), float)
        try:
            return scale_back(_bound(larger, record, data), power)
        except ScaleError as error:
            raise ValueError(str(error)) from None

    return proved(bound)


def certified_result(
    instance: ElasticInstance, certificate: Mapping[str, Any], **trace: object
) -> MethodResult:
    """Return the result for a certificate, whose bound is evaluated from its rounded prices.

    `trace`: of the result.
    """
    bound = check_certificate(instance, certificate)
    return MethodResult(bound=bound, trace=trace, certificate={**certificate, "value": bound})


def _bound(instance: ElasticInstance, record: Certificate, data: Mapping[str, Any]) -> float:
    if no_schedule(instance) is not None:
        raise ValueError("the instance has no schedule at all")
    if isinstance(record, JobAloneRecord):
        return job_alone(instance)
    if isinstance(record, ContainerPricesRecord):
        return container_prices.block_certificate_bound(instance, data)
    return schedule_lp.certificate_bound(instance, data)
