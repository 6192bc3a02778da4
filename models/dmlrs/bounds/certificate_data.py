"""The data of certificates, and the limits on what a checker evaluates.

Bounds, methods and searches write these data; `certificates` evaluates them again.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from schedgap.instances.dmlrs import DmlrsInstance, arrays
from schedgap.instances.dmlrs.compiled import Floats
from schedgap.models.dmlrs.bounds.utility_sums import attained

MAX_GRID = 100_000  # largest grid that a checker accepts
MAX_CELLS = 40_000_000  # slots times steps of the work
MAX_STEPS = 5 * 10**10  # slots times bundles times steps of the work, over all jobs


def price_certificate(prices: Floats, grid: int | None = None) -> dict[str, Any]:
    """Return prices as JSON data: rows of slot (from 1), resource and price > 0.

    `prices` [t, r]: prices of the resources, all machines merged. `grid`: steps of the work at
    which jobs are priced; None prices them with fractional bundles.
    """
    kind = {"kind": "prices"} if grid is None else {"kind": "grid-prices", "grid": grid}
    return {**kind, "prices": _nonzero_rows(prices)}


def item_price_certificate(prices: Floats) -> dict[str, Any]:
    """Return item prices as JSON data: rows of slot (from 1), item and price > 0.

    `prices` [t, k]: prices of the items of `PatternMaster`.
    """
    return {"kind": "item-prices", "prices": _nonzero_rows(prices)}


def completion_certificate(
    branches: Sequence[tuple[int, int, int, int]], prices: Sequence[Floats]
) -> dict[str, Any]:
    """Return a tree of branches on completions, with prices at its leaves, as JSON data.

    `branches`, `prices`: as of `completion_trees.tree_bound`.
    """
    rows = [[k, *row] for k, leaf in enumerate(prices) for row in _nonzero_rows(leaf)]
    return {"kind": "completions", "branches": list(map(list, branches)), "prices": rows}


def _nonzero_rows(prices: Floats) -> list[list[Any]]:
    return [[int(t) + 1, int(r), float(prices[t, r])] for t, r in np.argwhere(prices > 0)]


def rounded_to_sum(
    instance: DmlrsInstance, bound: float, certificate: Mapping[str, Any] | None
) -> tuple[float, Mapping[str, Any] | None]:
    """Return a bound rounded down to an attainable sum of utilities, and its certificate.

    `bound`: upper bound on the sum of utilities. `certificate`: certificate of the bound.
    """
    least = attained(instance, bound)
    if least < bound and certificate is not None:
        certificate = {"kind": "attained", "of": dict(certificate)}
    return least, certificate


def is_too_fine(instance: DmlrsInstance, grid: int) -> bool:
    """Return whether a checker would refuse prices on a grid, as too slow or too large.

    `grid`: steps of the work.
    """
    view, T = arrays(instance), instance.horizon
    steps = float(((T - view.arrival + 1) * 2.0 * view.batch).sum()) * (grid + 1000)
    return T * grid > MAX_CELLS or steps > MAX_STEPS
