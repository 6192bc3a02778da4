"""What is written down of a bound, so that it can be evaluated again from prices alone."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from schedgap.instances.dmlrs import DmlrsInstance, arrays
from schedgap.instances.dmlrs.compiled import Floats
from schedgap.models.dmlrs.bounds.utility_sums import attained

MAX_GRID = 100_000  # parts of the work that a checker puts up with
MAX_CELLS = 40_000_000  # slots times parts of the work
MAX_STEPS = 5 * 10**10  # slots times bundles times parts of the work, of all jobs


def price_certificate(prices: Floats, grid: int | None = None) -> dict[str, Any]:
    """Return prices [t, r] as plain JSON data: rows of slot (from 1), resource and price > 0.

    `grid`: the parts of the work by which jobs are priced; None prices them by any part.
    """
    if grid is None:
        return {"kind": "prices", "prices": _nonzero_rows(prices)}
    return {"kind": "grid-prices", "grid": grid, "prices": _nonzero_rows(prices)}


def item_price_certificate(prices: Floats) -> dict[str, Any]:
    """Return rents [t, k] by slot and part as plain JSON data."""
    return {"kind": "rents", "prices": _nonzero_rows(prices)}


def _nonzero_rows(prices: Floats) -> list[list[Any]]:
    return [[int(t) + 1, int(r), float(prices[t, r])] for t, r in np.argwhere(prices > 0)]


def rounded_to_sum(
    instance: DmlrsInstance, bound: float, certificate: Mapping[str, Any] | None
) -> tuple[float, Mapping[str, Any] | None]:
    """Return a bound brought down to a sum that schedules can have, and its certificate."""
    least = attained(instance, bound)
    if least < bound and certificate is not None:
        certificate = {"kind": "attained", "of": dict(certificate)}
    return least, certificate


def is_too_fine(instance: DmlrsInstance, grid: int) -> bool:
    """Whether prices on a grid would take a checker too long, or too much room."""
    view, T = arrays(instance), instance.horizon
    steps = float(((T - view.arrival + 1) * 2.0 * view.batch).sum()) * (grid + 1000)
    return T * grid > MAX_CELLS or steps > MAX_STEPS
