"""Parts of the pricing problems: candidate starts, prices of windows, least costs, safe bounds.

They are new, and valid for the reasons given below. A certificate lists its prices as cells,
`[index, ..., price]`; rounding them changes the bound but never its validity: any prices >= 0 prove
some bound.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.placement import Floats, Ints
from schedgap.solvers.children.clock import Clock

ROUNDING = 1e-9  # relative; ample, as prices of runs are sums of numbers >= 0

CostedRun = TypeVar("CostedRun", bound=tuple[Any, ...])  # its first entry is its cost


def block_edges(block: int, slots: int) -> Ints:
    """Return [b + 1] the number of slots before each block, and finally all slots.

    `block`: slots in a block; the last one may be shorter. `slots`: number of slots.
    """
    return np.append(np.arange(0, slots, block), slots)


def candidate_starts(first: int, last_end: int | None, edges: Ints, duration: Ints) -> Ints:
    """Return [k, i] starts, as slots before the start, one of which is cheapest for each mode k.

    Between two starts at which a run starts or ends with a block, its price is the least of linear
    functions of the start. So the price is least at one of the two. Some candidates may be outside
    the job's time window.

    `first`: slots before the earliest start. `last_end`: largest start + duration; None in an open
    horizon. `edges` [b + 1]: from `block_edges`. `duration` [k]: durations of the modes.
    """
    later = edges[edges > first]
    starts = np.append(first, later)
    ends = later if last_end is None else np.append(later, last_end - 1)
    shared = np.broadcast_to(starts, (len(duration), len(starts)))
    return np.concatenate([shared, ends - duration[:, None]], axis=1)


def window_prices(sums: Floats, kind: Ints, start: Ints, duration: Ints) -> Floats:
    """Return [k, i] the price of a container of each mode from each start on.

    `sums` [c, t]: price of a container in slots 1..t, from t = 0 on; no price after the last slot.
    `kind`, `duration` [k]: container and slots of each mode. `start` [k, i]: slots before the
    starts.
    """
    slots, row = sums.shape[1] - 1, kind[:, None]
    end = np.clip(start + duration[:, None], 0, slots)
    price: Floats = sums[row, end] - sums[row, np.clip(start, 0, slots)]
    return price


def price_each_job(
    instance: ElasticInstance,
    jobs: Sequence[int],
    cheapest: Callable[[int], list[CostedRun]],
    clock: Clock | None = None,
) -> tuple[Floats, list[list[CostedRun]]] | None:
    """Return [j] the least cost of each job, and its cheapest runs.

    A job of a batch that is better left out has a least cost of 0. A job that cannot run at all has
    an infinite one.

    `jobs`: jobs that have modes. `cheapest`: job -> its cheapest runs, in ascending order of cost.

    The result is None if the clock expired before the last job was priced.
    """
    least = np.full(len(instance.jobs), 0.0 if instance.is_batch else np.inf)
    runs: list[list[CostedRun]] = [[] for _ in instance.jobs]
    for j in jobs:
        if clock is not None and clock.expired():
            return None
        runs[j] = cheapest(j)
        if runs[j]:
            least[j] = min(least[j], runs[j][0][0])
    return least, runs


def safe_bound(
    instance: ElasticInstance, least: Floats, paid: float, *, rounding: float, terms: int
) -> float:
    """Return the Lagrangian bound sum_j least_j - paid, less all rounding errors.

    A lower bound on the weighted completion time, or on minus the scheduled weight.

    `least` [j]: least cost of each job. `paid`: price of all capacity. `rounding`: relative error
    of sums of prices. `terms`: number of sums of up to `paid` that enter the bound.
    """
    size = float(np.abs(least).sum()) + paid * terms + len(least)
    if instance.is_batch:
        size += sum(job.weight for job in instance.jobs)
    return float(least.sum()) - paid - rounding * size


def price_list(price: Floats) -> list[list[int | float]]:
    """Return the positive prices, rounded to 12 digits, with their indices from 0.

    `price`: prices >= 0, with any number of axes.
    """
    return [
        [*map(int, index), float(f"{price[tuple(index)]:.12g}")] for index in np.argwhere(price > 0)
    ]


def read_price_list(
    cells: Sequence[Sequence[float]],
    shape: tuple[int, ...],
    declared: tuple[int, ...] | None = None,
) -> Floats:
    """Return the array of prices that a list describes; other prices are 0.

    `cells`: indices from 0, and a price >= 0. `shape`: of the array; outside of it all prices must
    be 0. `declared`: the shape to which the indices must belong, if it is larger.

    Raises
    ------
    IndexError
        When an index is outside the declared shape.
    """
    price, declared = np.zeros(shape), declared or shape
    for *index, value in cells:
        if not all(0 <= i < size for i, size in zip(index, declared, strict=True)):
            raise IndexError(f"no price at {index}: the shape is {list(declared)}")
        if value:
            price[tuple(int(i) for i in index)] = value
    return price
