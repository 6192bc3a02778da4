"""Certificates of bounds, evaluated again: no engine, only the instance and the prices.

References
----------
A. M. Geoffrion, "Lagrangean relaxation for integer programming", Mathematical Programming Study 2
(1974): any prices prove a bound.
"""

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from schedgap.instances.edge import EdgeInstance
from schedgap.instances.records import HIDDEN, Count, Id, Many, Record
from schedgap.lazy import Module
from schedgap.models.certificates import Certificate, proved, read
from schedgap.models.edge.bounds.type_tree import MAX_NODES
from schedgap.models.edge.decisions import compiled, infeasibility_reason
from schedgap.models.edge.programs.dual import LARGEST

BOUNDS = "schedgap.models.edge.bounds"  # each module is imported for the certificates of its kind
column_generation = Module(f"{BOUNDS}.column_generation")
job_alone = Module(f"{BOUNDS}.job_alone")
worker_types = Module(f"{BOUNDS}.worker_types")

Index = Annotated[int, Field(ge=0, le=10**9)]
Price = Annotated[float, Field(ge=0, le=LARGEST)]
Cell = Annotated[tuple[Index, Index, Count, Price], Field(strict=False)]
"""Server, type, slot from 1, price."""


class CellPrices(Record):
    """Prices by server, type and slot; cells that are left out have price 0."""

    slots: Count
    worker_prices: Many[Cell]
    ps_prices: Many[Cell]


BlockPrice = Annotated[tuple[Count, Price], Field(strict=False)]
"""Block from 1, price."""


class MergedPrices(Record):
    """Prices of edge servers and of clouds."""

    edge: Many[BlockPrice]
    cloud: Many[BlockPrice]


class CutPrices(Record):
    """Prices of a cut on edge servers, on clouds, or on both, in which jobs count by `unit`."""

    workers: Literal["edge", "cloud", "all"]
    unit: Count
    prices: Many[BlockPrice]


def _has(given: object, key: str) -> bool:
    """Return whether data, or the record made of them, has a key."""
    return key in given if isinstance(given, Mapping) else hasattr(given, key)


class LeafPrices(Record):
    """Prices of the capacities and of cuts."""

    prices: MergedPrices
    cuts: Annotated[Many[CutPrices], Field(max_length=12)] = ()


class TypePrices(LeafPrices):
    """Prices of one worker type."""

    worker_type: Id
    slots: Count
    block: Count


class TypeBranch(Record):
    """A job has at most this value in the first child, and more in the second.

    `start` and `end` are slots, `workers` is n, `colocated` is xi.
    """

    job: Id
    attribute: Literal["start", "end", "workers", "colocated"]
    most: Index


TreeNode = Annotated[
    Annotated[TypeBranch, Tag(f"{HIDDEN}branch")] | Annotated[LeafPrices, Tag(f"{HIDDEN}leaf")],
    Discriminator(lambda given: HIDDEN + ("branch" if _has(given, "job") else "leaf")),
]


class TypeTree(Record):
    """A tree of branches for one worker type, with prices in its leaves, in preorder.

    `ends`: last slots of the blocks that share a price; without them, `block` is their length.
    """

    worker_type: Id
    slots: Count
    block: Count
    ends: Many[Count] = ()
    tree: Annotated[Many[TreeNode], Field(min_length=1, max_length=MAX_NODES)]


TypeEntry = Annotated[
    Annotated[TypePrices, Tag(f"{HIDDEN}prices")] | Annotated[TypeTree, Tag(f"{HIDDEN}tree")],
    Discriminator(lambda given: HIDDEN + ("tree" if _has(given, "tree") else "prices")),
]


class JobBoundCertificate(Certificate):
    """The bound of each job alone; it needs no data."""

    kind: Literal["job-bound"]


class ColumnGenerationCertificate(CellPrices, Certificate):
    """Dual prices of the capacities in (2), by server, type and slot; they certify `cg-bound`."""

    kind: Literal["cg-bound"]


class BatchDualCertificate(CellPrices, Certificate):
    """Dual prices of the capacities in (3), by server, type and slot."""

    kind: Literal["batch-dual"]


class TypeBoundCertificate(Certificate):
    """Prices of classes of servers; types that are left out have price 0."""

    kind: Literal["type-bound"]
    types: Many[TypeEntry]


KINDS: Mapping[str, type[Certificate]] = {
    "cg-bound": ColumnGenerationCertificate,
    "batch-dual": BatchDualCertificate,
    "type-bound": TypeBoundCertificate,
    "job-bound": JobBoundCertificate,
}


def check_certificate(instance: EdgeInstance, certificate: Mapping[str, object]) -> float:
    """Return the bound on the optimum of an instance that a certificate proves.

    `certificate`: `kind`, and prices for the kinds that have some. Its `value` is ignored. Prices
    need not be optimal: any prices prove some bound. Objectives are integers, so the bound is
    rounded up to an integer, or down for a batch.

    Raises
    ------
    InputError
        If the certificate is not one of this family or does not fit the instance.
    """
    record = read(certificate, KINDS)
    return proved(lambda: _value(instance, record.model_dump()))


def _value(instance: EdgeInstance, data: Mapping[str, Any]) -> float:
    kind = data["kind"]
    if kind not in (("batch-dual", "job-bound") if instance.is_batch else _KINDS_FOR_JOBS):
        raise ValueError("the certificate is for the other problem")
    if infeasibility_reason(instance) is not None:
        raise ValueError("the instance has no schedule at all")
    if kind == "job-bound":
        return float(abs(job_alone.job_bound(compiled(instance))))
    if kind == "type-bound":
        return float(worker_types.certified_bound(instance, data))
    bound = column_generation.certified_bound(instance, data)
    return float(math.floor(bound) if instance.is_batch else math.ceil(bound))


_KINDS_FOR_JOBS = tuple(kind for kind in KINDS if kind != "batch-dual")
