"""Kernel of the pricing of `type-bound`: the cheapest start of each mode, by loops; it is compiled.

`type_pricing.TypeRelaxation` does the same by arrays, for small instances and for certificates.
"""

from typing import Any, NamedTuple

import numpy as np

from schedgap.instances.edge import EdgeInstance
from schedgap.instances.edge.compiled import Ints
from schedgap.solvers.search.compiled import Kernel

LARGE = 40  # jobs x servers from which on searches and pricing are compiled


class JobModes(NamedTuple):
    """Modes k of the jobs of a worker type, and what the classes offer each job over time.

    The set of ready servers changes in few slots, `since` [e]. From then on `capacity` workers are
    ready in each class, and `one_server` is the largest number on one ready server with a PS.
    """

    first: Ints  # [j + 1] where the modes of a job begin
    workers: Ints  # [k] n
    duration: Ints  # [k] d
    colocated: Ints  # [k] xi
    earliest: Ints  # [k] first start, from 0, the window's first slot
    change: Ints  # [j + 1] where the changes of a job begin
    since: Ints  # [e] ascending, from 0
    capacity: Ints  # [e, class]
    one_server: Ints  # [e, class]
    arrival: Ints  # [j] a_j, from 0


def paid(where: Any, unit: Any, window: Any, n: int, cloud: int) -> float:
    """Return the prices of n workers, so many of them in the cloud, over some slots.

    `where`, `unit` [row]: of a `ClassRow`. `window` [row]: sum of the prices over the slots.
    """
    total = 0.0
    for row in range(len(where)):
        workers = n if where[row] == 2 else (cloud if where[row] == 1 else n - cloud)
        total += workers // unit[row] * window[row]
    return total


def price(jobs: Any, prices: Any, limit: Any, box: Any, found: Any) -> None:
    """Find the cheapest start of each mode, and how many of its workers are then in the cloud.

    `prices`: `where`, `unit` [row] of a `ClassRow`, and `sums` [row, slot] over all slots before.
    `limit` [j]: most c_j - a_j. `box` [j, attribute, side]: least and greatest start, end, workers
    and xi. `found`: `value`, `start`, `cloud` [k], overwritten; the value is inf without a start.
    Prices are >= 0, so no start is better whose c_j - a_j alone is not.
    """
    (where, unit, sums), (value, start, cloud) = prices, found
    slots, window = sums.shape[1] - 1, np.empty(len(where))
    for j in range(len(jobs.arrival)):
        for k in range(jobs.first[j], jobs.first[j + 1]):
            n, d, e, best = jobs.workers[k], jobs.duration[k], jobs.change[j], np.inf
            first = max(jobs.earliest[k], box[j, 0, 0], box[j, 1, 0] - d + 1)
            last = min(slots - d, box[j, 0, 1], box[j, 1, 1] - d + 1)
            if not (
                box[j, 2, 0] <= n <= box[j, 2, 1]
                and box[j, 3, 0] <= jobs.colocated[k] <= box[j, 3, 1]
            ):
                last = first - 1
            for h in range(first, last + 1):
                flow = h + d - 1 - jobs.arrival[j]
                if flow > limit[j] or flow >= best:
                    break
                while e + 1 < jobs.change[j + 1] and jobs.since[e + 1] <= h:
                    e += 1
                least, most = max(0, n - jobs.capacity[e, 0]), min(n, jobs.capacity[e, 1])
                if jobs.colocated[k] > 0:
                    least = 0 if jobs.one_server[e, 0] >= n else n
                    most = n if jobs.one_server[e, 1] >= n else 0
                    if least > most:
                        continue
                # Of the prices, those without jumps in the number of workers in the cloud.
                low, edge, clouds = float(flow), 0.0, 0.0
                for row in range(len(where)):
                    window[row] = sums[row, h + d] - sums[row, h]
                    if where[row] == 2:
                        low += n // unit[row] * window[row]
                    elif unit[row] == 1 and where[row] == 0:
                        edge += window[row]
                    elif unit[row] == 1:
                        clouds += window[row]
                ends = edge * (n - least) + clouds * least, edge * (n - most) + clouds * most
                if low + min(ends) >= best:
                    continue
                cost, at = paid(where, unit, window, n, least), least
                other = paid(where, unit, window, n, most)
                if other < cost:
                    cost, at = other, most
                # Between two numbers of workers in the cloud: prices are linear but for jumps.
                for row in range(len(where)):
                    if unit[row] == 1 or where[row] == 2 or jobs.colocated[k] > 0:
                        continue
                    for below in range(unit[row] - 1, n, unit[row]):
                        number = min(most, max(least, below if where[row] == 1 else n - below))
                        other = paid(where, unit, window, n, number)
                        if other < cost:
                            cost, at = other, number
                if cost + flow < best:
                    best, start[k], cloud[k] = cost + flow, h, at
            value[k] = best


def large(instance: EdgeInstance) -> bool:
    """Return whether an instance is worth the loading of compiled code."""
    return len(instance.jobs) * len(instance.servers) >= LARGE


def _sample() -> tuple[Any, ...]:
    """Return arguments of `price`, for the compiler: one job with one mode of one slot."""
    one, off, none = np.ones(1, np.int64), np.arange(2), np.zeros(1, np.int64)
    both = np.ones((1, 2), np.int64)
    jobs = JobModes(off, one, one, one, none, off, none, both, both, none)
    box = np.zeros((1, 4, 2), np.int64)
    return jobs, (none, one, np.zeros((1, 2))), np.zeros(1), box, (np.zeros(1), none, none.copy())


PRICING = Kernel("edge-pricing", (paid, price), _sample, large)
