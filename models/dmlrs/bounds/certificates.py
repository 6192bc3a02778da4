"""Evaluate bounds again from their certificates: no engine, only the instance and prices.

References
----------
R. M. McConnell, K. Mehlhorn, S. Näher, P. Schweitzer, "Certifying algorithms", Computer Science
Review 5 (2011): an answer with evidence that a simple program can check.
"""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from schedgap.errors import InputError
from schedgap.instances.dmlrs import DmlrsInstance, arrays
from schedgap.instances.dmlrs.compiled import Floats
from schedgap.instances.records import Many
from schedgap.models.certificates import Certificate, proved, read
from schedgap.models.dmlrs.bounds.certificate_data import MAX_GRID, is_too_fine
from schedgap.models.dmlrs.bounds.column_generation import price_all
from schedgap.models.dmlrs.bounds.completion_trees import MAX_LEAVES, tree_bound
from schedgap.models.dmlrs.bounds.machine_patterns import (
    MAX_ROWS,
    MAX_WORKERS,
    PatternMaster,
    evaluate_prices,
)
from schedgap.models.dmlrs.bounds.pricing import priced_bound
from schedgap.models.dmlrs.bounds.utility_sums import attained
from schedgap.solvers import Clock

SlotNumber = Annotated[int, Field(ge=1)]
Index = Annotated[int, Field(ge=0)]
Price = Annotated[float, Field(ge=0)]
Grid = Annotated[int, Field(ge=1, le=MAX_GRID)]
ByResource = Annotated[tuple[SlotNumber, Index, Price], Field(strict=False)]

ByCompletion = Annotated[tuple[Index, SlotNumber, int, int], Field(strict=False)]
ByLeaf = Annotated[tuple[Index, SlotNumber, Index, Price], Field(strict=False)]


class ResourcePriceCertificate(Certificate):
    """Prices of the resources, all machines merged; jobs may take fractions of bundles."""

    prices: Many[ByResource]
    """Slot from 1, resource from 0, price; others are 0."""


class GridPriceCertificate(ResourcePriceCertificate):
    """The same for whole bundles, with progress rounded up to steps of the work."""

    grid: Grid


class ItemPriceCertificate(Certificate):
    """Prices of the items that one machine can hold: workers, PSs, bundles."""

    prices: Many[ByResource]
    """Slot from 1, item from 0 in the order of `PatternMaster`, price; others are 0."""


class CompletionCertificate(Certificate):
    """A tree of branches on the completions of jobs, with prices of the resources at its leaves."""

    branches: Many[ByCompletion]
    """Job from 0, slot c from 1, and what follows if it completes by c, and otherwise: the number
    of a branch, or -1 - k for leaf k. Branch 0 is the root."""

    prices: Many[ByLeaf]
    """Leaf from 0, slot from 1, resource from 0, price; others are 0."""


class AttainedCertificate(Certificate):
    """The largest attainable sum of utilities that is no more than another bound."""

    of: dict[str, Any]


KINDS: Mapping[str, type[Certificate]] = {
    "prices": ResourcePriceCertificate,
    "grid-prices": GridPriceCertificate,
    "item-prices": ItemPriceCertificate,
    "completions": CompletionCertificate,
}

_ALL: Mapping[str, type[Certificate]] = {**KINDS, "attained": AttainedCertificate}


def check_certificate(instance: DmlrsInstance, certificate: Mapping[str, Any]) -> float:
    """Return the bound on the instance's optimum that a certificate proves.

    `certificate`: as `certificate_data` writes it. Its `value` is not read. The prices need not be
    optimal: any prices prove a bound, and no prices prove the sum of utilities of the jobs each
    alone.

    Raises
    ------
    InputError
        When the certificate is not one of this family, or does not fit the instance.
    """
    record = read(certificate, _ALL)
    if not isinstance(record, AttainedCertificate):
        return proved(lambda: _bound(instance, record))
    try:
        bounded = read(record.of, KINDS)
    except InputError as error:
        place = (error.path or "").removeprefix("certificate")
        raise InputError(error.message, path=f"certificate.of{place}") from None
    return proved(lambda: attained(instance, _bound(instance, bounded)))


def _bound(instance: DmlrsInstance, record: Certificate) -> float:
    """Return the bound that a record other than `attained` proves."""
    T, R = instance.horizon, len(instance.resources)
    if isinstance(record, ItemPriceCertificate):
        if int(arrays(instance).batch.max(initial=0)) > MAX_WORKERS:
            raise ValueError(f"item prices of jobs with more than {MAX_WORKERS} workers")
        layout = PatternMaster(instance)
        if layout.master.height > MAX_ROWS:
            raise ValueError(f"item prices of more than {MAX_ROWS} rows")
        evaluation = evaluate_prices(layout, _dense(record.prices, T, len(layout.items)), Clock())
        assert evaluation is not None
        return evaluation.bound
    if isinstance(record, CompletionCertificate):
        by_leaf: dict[int, list[tuple[int, int, float]]] = {}
        for leaf, t, r, price in record.prices:
            by_leaf.setdefault(leaf, []).append((t, r, price))
        if len(by_leaf) > 2 * MAX_LEAVES:  # before their arrays fill the memory
            raise ValueError(f"prices of {len(by_leaf)} leaves")
        leaves = {leaf: _dense(rows, T, R) for leaf, rows in by_leaf.items()}
        return tree_bound(instance, record.branches, leaves)
    assert isinstance(record, ResourcePriceCertificate)
    prices = _dense(record.prices, T, R)
    if isinstance(record, GridPriceCertificate):
        if is_too_fine(instance, record.grid):
            raise ValueError(f"a grid of {record.grid} parts is too fine")
        priced = price_all(instance, prices, record.grid, Clock())
        assert priced is not None
        return priced[0]
    return priced_bound(instance, prices)


def _dense(rows: Iterable[tuple[int, int, float]], slots: int, width: int) -> Floats:
    """Return prices [t, k]; IndexError for a slot or a place that does not exist."""
    dense = np.zeros((slots, width))
    for t, k, price in rows:
        if t > slots or k >= width:
            raise IndexError(f"no slot {t} or no place {k}")
        dense[t - 1, k] = price
    return dense
