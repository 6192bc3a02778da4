"""Bounds evaluated again from their certificates: no engine, only the instance and its prices."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.instances.dmlrs.arrays import Floats
from schedgap.models.certificates import evaluate
from schedgap.models.dmlrs.bounds.colgen import grid_bound
from schedgap.models.dmlrs.bounds.dual_bound import dual_bound, prices_of
from schedgap.models.dmlrs.bounds.pricing import priced_bound

KINDS = ("prices", "grid-prices", "machine-prices")
FINEST = 100_000  # parts of the work that a checker puts up with


def price_certificate(prices: Floats, grid: int | None = None) -> dict[str, Any]:
    """Return prices [t, r] as plain JSON data: rows of slot (from 1), resource and price > 0.

    `grid`: the parts of the work by which jobs are priced; None prices them by any part.
    """
    rows = [[int(t) + 1, int(r), float(f"{prices[t, r]:.12g}")] for t, r in np.argwhere(prices > 0)]
    if grid is None:
        return {"kind": "prices", "prices": rows}
    return {"kind": "grid-prices", "grid": grid, "prices": rows}


def check_certificate(instance: DmlrsInstance, certificate: Mapping[str, Any]) -> float:
    """Return the bound on the instance's optimum that a certificate proves.

    Parameters
    ----------
    certificate : Mapping
        `kind` and `prices`, as `price_certificate` and `machine_prices` write them. Its `value` is
        not read. Prices need not be those of an optimum: any prove some bound, none at all the sum
        of utilities of the jobs each alone.

    Raises
    ------
    InputError
        When the certificate is not one of this family, or does not fit the instance.
    """
    return evaluate(certificate, KINDS, lambda kind: _bound(instance, kind, certificate))


def _bound(instance: DmlrsInstance, kind: str, certificate: Mapping[str, Any]) -> float:
    if kind == "machine-prices":
        by_machine = prices_of(instance, certificate["base"], certificate["prices"])
        found = dual_bound(instance, by_machine, grid=_grid(certificate))
        assert found is not None
        return found
    prices = np.zeros((instance.horizon, len(instance.resources)))
    for t, r, price in certificate["prices"]:
        if not (1 <= t <= instance.horizon and 0 <= r < len(instance.resources)):
            raise IndexError(f"no slot {t} or no resource {r}")
        if not 0 <= price < np.inf:
            raise ValueError(f"price {price}")
        prices[t - 1, r] = price
    if kind == "prices":
        return priced_bound(instance, prices)
    return grid_bound(instance, prices, _grid(certificate))


def _grid(certificate: Mapping[str, Any]) -> int:
    grid = certificate["grid"]
    if type(grid) is not int or not 1 <= grid <= FINEST:
        raise ValueError(f"grid {grid}")
    return grid
