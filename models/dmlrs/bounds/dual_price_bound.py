"""The bound that the final prices of an online run prove, by machine: (10), (11) at full capacity.

References
----------
N. Buchbinder, J. Naor, "The design of competitive online algorithms via a primal-dual approach",
Foundations and Trends in Theoretical Computer Science 3 (2009): dual solutions from online prices.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from schedgap.instances.dmlrs import DmlrsInstance, arrays
from schedgap.instances.dmlrs.compiled import Floats
from schedgap.models.dmlrs.algorithms import dynamic_program, slot_placements
from schedgap.models.dmlrs.algorithms.best_schedule import PricedCluster
from schedgap.models.dmlrs.slot_options import SlotOption, SlotState, job_at_arrival
from schedgap.solvers.children.clock import Clock

GRID = 2000  # steps of the work; progress is rounded up
_EXACT_CELLS = 20_000  # F^2 times machines, up to which slots are priced exactly
_ALLOWANCE = 1e-12  # relative; sums of some thousand terms >= 0 round by less


def dual_bound(
    instance: DmlrsInstance, price: Floats, *, grid: int = GRID, clock: Clock | None = None
) -> float | None:
    """Return an upper bound on the optimum that prices prove, or None if time is up.

    `price` [t - 1, h, r]: any prices >= 0, such as those at the end of a run. `grid`: steps of the
    work, to which progress is rounded up.

    Notes
    -----
    Source: (10), (11), with the cheapest schedules on all machines at full capacity (E9). The
    schedules of the run itself see the remaining capacity only, so their payoffs prove
    nothing. Slots are priced exactly, or from below where an exact price would take long.
    """
    if not instance.jobs:
        return 0.0
    capacity = arrays(instance).capacity_milli
    cluster = PricedCluster(capacity, np.zeros(price.shape, dtype=np.int64), price)
    terms = (price * arrays(instance).capacity).ravel().tolist()
    for j in range(len(instance.jobs)):
        if clock is not None and clock.expired():
            return None
        job = job_at_arrival(instance, j)
        if job.first > instance.horizon:
            continue
        rows = cluster.options(job, _lower_bound_options)
        cost = dynamic_program.on_grid_up(job, rows, grid).cost
        terms.append(max(0.0, float((job.utility - cost).max())))
    return math.fsum(terms) * (1 + _ALLOWANCE)


def _lower_bound_options(slot: SlotState) -> list[SlotOption]:
    """Return the options of a slot, none costing more than it has to."""
    exact = slot.job.batch**2 * len(slot.free) <= _EXACT_CELLS
    across = slot_placements.external_exact if exact else slot_placements.external_floor
    return [*slot_placements.internal(slot), *across(slot)]


def machine_prices(instance: DmlrsInstance, price: Floats, base: float) -> dict[str, Any]:
    """Return prices as the data of a certificate: those that differ from `base`.

    Most machines are empty in most slots, where all prices are the least price L. The price of a
    resource that a machine does not have is arbitrary.

    `price` [t - 1, h, r]: prices >= 0.
    """
    differs = (price != base) & (arrays(instance).capacity_milli > 0)
    rows = [[int(t) + 1, int(h), int(r), float(price[t, h, r])] for t, h, r in np.argwhere(differs)]
    return {"kind": "machine-prices", "grid": GRID, "base": base, "prices": rows}


def dense_prices(
    instance: DmlrsInstance, base: float, rows: Sequence[tuple[int, int, int, float]]
) -> Floats:
    """Return prices [t - 1, h, r] from the data of a certificate.

    `base`: the price where no other is given. `rows`: slot from 1, machine and resource from 0,
    price.

    Raises
    ------
    ValueError, IndexError
        When they do not fit the instance.
    """
    shape = instance.horizon, len(instance.machines), len(instance.resources)
    prices = np.full(shape, _valid_price(base))
    for t, h, r, price in rows:
        if not (1 <= t <= shape[0] and 0 <= h < shape[1] and 0 <= r < shape[2]):
            raise IndexError(f"no slot {t}, no machine {h} or no resource {r}")
        prices[t - 1, h, r] = _valid_price(price)
    return prices


def _valid_price(value: float) -> float:
    """Return a price; ValueError if it is negative or not finite."""
    if not 0 <= value < math.inf:
        raise ValueError(f"price {value}")
    return float(value)
