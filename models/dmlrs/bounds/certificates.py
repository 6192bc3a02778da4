"""Bounds evaluated again from their certificates: no engine, only the instance and its prices."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from schedgap.errors import InputError
from schedgap.instances.dmlrs import DmlrsInstance, arrays
from schedgap.instances.dmlrs.compiled import Floats
from schedgap.instances.records import Many
from schedgap.models.certificates import Certificate, proved, read
from schedgap.models.dmlrs.bounds.certificate_data import FINEST, too_fine
from schedgap.models.dmlrs.bounds.column_generation import grid_bound
from schedgap.models.dmlrs.bounds.machine_patterns import MOST_ROWS, MOST_WORKERS, Parts, judge
from schedgap.models.dmlrs.bounds.pricing import priced_bound
from schedgap.models.dmlrs.bounds.pricing_by_machine import dual_bound, prices_of
from schedgap.models.dmlrs.bounds.utility_sums import attained
from schedgap.solvers import Clock

Slot = Annotated[int, Field(ge=1)]
Index = Annotated[int, Field(ge=0)]
Price = Annotated[float, Field(ge=0)]
Grid = Annotated[int, Field(ge=1, le=FINEST)]
ByResource = Annotated[tuple[Slot, Index, Price], Field(strict=False)]
ByMachine = Annotated[tuple[Slot, Index, Index, Price], Field(strict=False)]


class Prices(Certificate):
    """Prices of all machines as one; jobs take any part of a bundle."""

    prices: Many[ByResource]
    """Slot from 1, resource from 0, price; others are 0."""


class GridPrices(Prices):
    """The same; jobs take whole bundles, and their progress is rounded up to parts of the work."""

    grid: Grid


class MachinePrices(Certificate):
    """Prices of each machine."""

    grid: Grid
    base: Price
    """The price where no other one is given."""
    prices: Many[ByMachine]
    """Slot from 1, machine and resource from 0, price."""


class Rents(Certificate):
    """Rents of what one machine can hold: workers, PSs, bundles."""

    prices: Many[ByResource]
    """Slot from 1, part from 0 in the order of `Parts`, rent; others are 0."""


class Attained(Certificate):
    """The largest sum of utilities that is no more than another bound."""

    of: dict[str, Any]


KINDS: Mapping[str, type[Certificate]] = {
    "prices": Prices,
    "grid-prices": GridPrices,
    "machine-prices": MachinePrices,
    "rents": Rents,
}

_ALL: Mapping[str, type[Certificate]] = {**KINDS, "attained": Attained}


def check_certificate(instance: DmlrsInstance, certificate: Mapping[str, Any]) -> float:
    """Return the bound on the instance's optimum that a certificate proves.

    Parameters
    ----------
    certificate : Mapping
        `kind` and `prices`, as `certificate_data` and `machine_prices` write them. Its `value` is
        not read. Prices need not be those of an optimum: any prove some bound, none at all the sum
        of utilities of the jobs each alone.

    Raises
    ------
    InputError
        When the certificate is not one of this family, or does not fit the instance.
    """
    record = read(certificate, _ALL)
    if not isinstance(record, Attained):
        return proved(lambda: _bound(instance, record))
    try:
        inner = read(record.of, KINDS)
    except InputError as error:
        place = (error.path or "").removeprefix("certificate")
        raise InputError(error.message, path=f"certificate.of{place}") from None
    return proved(lambda: attained(instance, _bound(instance, inner)))


def _bound(instance: DmlrsInstance, record: Certificate) -> float:
    T, R = instance.horizon, len(instance.resources)
    if isinstance(record, MachinePrices):
        _fits(instance, record.grid)
        by_machine = prices_of(instance, record.base, record.prices)
        found = dual_bound(instance, by_machine, grid=record.grid)
        assert found is not None
        return found
    if isinstance(record, Rents):
        if int(arrays(instance).batch.max(initial=0)) > MOST_WORKERS:
            raise ValueError(f"rents of jobs with more than {MOST_WORKERS} workers")
        made = Parts(instance)
        if made.rows > MOST_ROWS:
            raise ValueError(f"rents of more than {MOST_ROWS} rows")
        judged = judge(made, _dense(record.prices, T, len(made.parts)), Clock())
        assert judged is not None
        return judged.rents.bound
    assert isinstance(record, Prices)
    prices = _dense(record.prices, T, R)
    if isinstance(record, GridPrices):
        _fits(instance, record.grid)
        return grid_bound(instance, prices, record.grid)
    return priced_bound(instance, prices)


def _fits(instance: DmlrsInstance, grid: int) -> None:
    if too_fine(instance, grid):
        raise ValueError(f"a grid of {grid} parts is too fine")


def _dense(rows: Iterable[tuple[int, int, float]], slots: int, width: int) -> Floats:
    """Return prices [t, k]; IndexError for what is not there."""
    found = np.zeros((slots, width))
    for t, k, price in rows:
        if t > slots or k >= width:
            raise IndexError(f"no slot {t} or no place {k}")
        found[t - 1, k] = price
    return found
