"""The bound that the last prices of a run prove, by machine: (10), (11) at full capacity."""

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

GRID = 2000  # parts of the work, progress rounded up
_EXACT_CELLS = 20_000  # F^2 times machines, up to which slots are priced exactly
_ALLOWANCE = 1e-12  # relative; sums of some thousand terms >= 0 round by less


def dual_bound(
    instance: DmlrsInstance, price: Floats, *, grid: int = GRID, clock: Clock | None = None
) -> float | None:
    """Return an upper bound on the optimum that prices prove, or None when time is up.

    Parameters
    ----------
    price : array [t - 1, h, r]
        Any prices >= 0, such as those at the end of a run.
    grid : int
        Progress is rounded up to parts of the work.

    Notes
    -----
    Source: (10), (11), with the cheapest schedules on all machines at full capacity (E9): those of
    a run itself see only what was left, and their payoffs prove nothing. Slots cost what they must,
    or less where an exact price would take long.
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
    exact = slot.job.batch**2 * len(slot.free) <= _EXACT_CELLS
    across = slot_placements.external_exact if exact else slot_placements.external_floor
    return [*slot_placements.internal(slot), *across(slot)]


def machine_prices(instance: DmlrsInstance, price: Floats, base: float) -> dict[str, Any]:
    """Return prices [t, h, r] as plain JSON data: those that are not `base`.

    Most machines are empty in most slots, and all ask for the least price L there. What a machine
    does not have may cost anything.
    """
    differs = (price != base) & (arrays(instance).capacity_milli > 0)
    rows = [[int(t) + 1, int(h), int(r), float(price[t, h, r])] for t, h, r in np.argwhere(differs)]
    return {"kind": "machine-prices", "grid": GRID, "base": base, "prices": rows}


def dense_prices(
    instance: DmlrsInstance, base: float, rows: Sequence[tuple[int, int, int, float]]
) -> Floats:
    """Return prices [t, h, r] from the data of a file.

    ValueError or IndexError where they do not fit the instance.
    """
    shape = instance.horizon, len(instance.machines), len(instance.resources)
    prices = np.full(shape, _valid_price(base))
    for t, h, r, price in rows:
        if not (1 <= t <= shape[0] and 0 <= h < shape[1] and 0 <= r < shape[2]):
            raise IndexError(f"no slot {t}, no machine {h} or no resource {r}")
        prices[t - 1, h, r] = _valid_price(price)
    return prices


def _valid_price(value: float) -> float:
    if not 0 <= value < math.inf:
        raise ValueError(f"price {value}")
    return float(value)
