"""Serial schedule generation with separated rings, and a search over the order of the jobs (ours).

The jobs of an order are placed one by one, each where it ends first, possibly before jobs placed
earlier. Two rings never share a server at the same time, so every job runs at the rate without
contention, and the schedule is exact.

Allowing two rings on a server, each planned at the rate for two, did not pay. After as many seconds
makespans of 52, 40 and 44 slots became 53, 41 and 46 (30 jobs, mostly rings, on servers of 2-4
GPUs); for rings whose rate with two on a server is the same, 52, 44 and 44 became 51, 45 and 44;
and where rings must share or wait (16 of 4-5 workers on five servers of 3) nothing changed.

References
----------
R. Kolisch, S. Hartmann, "Heuristic algorithms for the resource-constrained project scheduling
problem: classification and computational analysis", Project Scheduling: Recent Models, Algorithms
and Applications, Kluwer (1999): the serial schedule generation scheme.
S. Kirkpatrick, C. D. Gelatt, M. P. Vecchi, "Optimization by simulated annealing", Science 220
(1983).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random

import numpy as np
from numpy.typing import NDArray

from schedgap.models.ring.algorithms.packing import longest_first
from schedgap.models.ring.bounds.elementary import inside_slots
from schedgap.models.ring.rates import NEVER, RateTable
from schedgap.solvers.children.clock import Clock

Ints = NDArray[np.int64]

_MORE_SERVERS = 2  # servers that a ring may use beyond the fewest possible
_TEMPERATURE = 0.3  # initial, in units of the mean GPU-slots of a job
_COOLING = 0.01  # final over initial temperature


@dataclass(frozen=True, slots=True)
class PlacedSchedule:
    """A schedule of all jobs by first slots, last slots and workers by server, each [j]."""

    starts: tuple[int, ...]
    ends: tuple[int, ...]
    placements: tuple[dict[int, int], ...]

    @property
    def makespan(self) -> int:
        """Last slot of the last job."""
        return max(self.ends)

    def excess(self, target: int, size: Sequence[int]) -> int:
        """Return the GPU-slots between a target makespan and the later ends of jobs.

        `target`: slots. `size`: [j] GPUs.
        """
        return sum(
            gpus * (end - target) for gpus, end in zip(size, self.ends, strict=True) if end > target
        )


@dataclass(frozen=True, slots=True)
class ServerMode:
    """A number of servers for a job, and its execution time on them without contention."""

    servers: int
    slots: int


@lru_cache(maxsize=16)
def server_modes(table: RateTable) -> tuple[tuple[ServerMode, ...], ...]:
    """Return the modes [j] that the search considers, by increasing number of servers."""
    inside = inside_slots(table)
    modes = []
    for j, fewest in enumerate(table.fewest_servers):
        of_job = [] if inside[j] == NEVER else [ServerMode(1, int(inside[j]))]
        first = max(2, fewest)
        for n in range(first, min(first + _MORE_SERVERS, table.most_servers[j]) + 1):
            slots = table.slots(j, n, 1)
            if slots != NEVER:
                of_job.append(ServerMode(n, int(slots)))
        modes.append(tuple(of_job))
    return tuple(modes)


class ServerProfiles:
    """Capacity profiles of a partial schedule: free GPUs on each server in each slot.

    `slots`: length of the profiles; all servers are empty at first.
    """

    def __init__(self, table: RateTable, slots: int) -> None:
        self.size = table.size
        self.modes = server_modes(table)
        capacity = np.array(table.server_gpus, dtype=np.int64)
        self.free: Ints = np.repeat(capacity[:, None], slots, axis=1)  # [s, t - 1] free GPUs
        self.free_for_rings: Ints = self.free.copy()  # [s, t - 1] the same, 0 where a ring runs

    def place(self, j: int) -> tuple[int, int, dict[int, int]] | None:
        """Place a job where it ends first.

        Among equal ends the mode with the fewest servers is taken. Inside one server, that is the
        one with the fewest GPUs left over; spread, the servers with the most free GPUs.

        Returns
        -------
        tuple or None
            First slot, last slot, workers by server. None if the job cannot end within the slots.
        """
        best: tuple[int, int, ServerMode] | None = None
        for mode in self.modes[j]:
            t = self._earliest_start(j, mode, None if best is None else best[0] - 1)
            if t is not None:
                best = t + mode.slots, t, mode
        if best is None:
            return None
        end, t, mode = best
        free = (self.free if mode.servers == 1 else self.free_for_rings)[:, t:end].min(axis=1)
        placement = {}
        if mode.servers == 1:
            hosts = np.flatnonzero(free >= self.size[j])
            placement[int(hosts[free[hosts].argmin()])] = self.size[j]
        else:
            missing = self.size[j]
            for s in np.argsort(-free, kind="stable").tolist():
                if not missing:
                    break
                placement[s] = min(missing, int(free[s]))
                missing -= placement[s]
        for s, workers in placement.items():
            self.free[s, t:end] -= workers
            self.free_for_rings[s, t:end] = (
                0 if mode.servers > 1 else np.maximum(self.free_for_rings[s, t:end] - workers, 0)
            )
        return t + 1, end, placement

    def _earliest_start(self, j: int, mode: ServerMode, end: int | None) -> int | None:
        """Return the number of slots before the earliest start in this mode, to end by `end`."""
        least = (self.free if mode.servers == 1 else self.free_for_rings)[:, :end]
        if mode.slots > least.shape[1]:
            return None
        # least[s, t] becomes the minimum over slots t..t + window - 1; each step at most doubles it
        window = 1
        while window < mode.slots:
            more = min(window, mode.slots - window)
            least = np.minimum(least[:, :-more], least[:, more:])
            window += more
        if mode.servers == 1:
            possible = least.max(axis=0) >= self.size[j]
        else:
            largest = np.partition(least, len(least) - mode.servers, axis=0)[-mode.servers :]
            possible = largest.sum(axis=0) >= self.size[j]
        t = int(possible.argmax())
        return t if possible[t] else None


def serial_schedule(table: RateTable, order: Sequence[int], slots: int) -> PlacedSchedule | None:
    """Place all jobs in the given order.

    `order`: all jobs. `slots`: last slot in which a job may end.

    Returns
    -------
    PlacedSchedule or None
        None if some job cannot end in time.
    """
    profiles = ServerProfiles(table, slots)
    starts, ends = [0] * len(table.size), [0] * len(table.size)
    placements: list[dict[int, int]] = [{} for _ in table.size]
    for j in order:
        placed = profiles.place(j)
        if placed is None:
            return None
        starts[j], ends[j], placements[j] = placed
    return PlacedSchedule(tuple(starts), tuple(ends), tuple(placements))


def order_search(
    table: RateTable,
    lower: int,
    upper: int,
    rng: Random,
    *,
    tries: int,
    clock: Clock,
    on_better: Callable[[PlacedSchedule], None] = lambda schedule: None,
) -> int:
    """Search the orders of the jobs by simulated annealing.

    `table`: of an instance that `no_schedule` does not refute. `lower`: lower bound on the
    makespan, slots; the search ends when it is attained. `upper`: makespan to improve on, slots:
    the best known one, or the horizon plus 1. `rng`: source of the moves. `tries`: largest
    number of orders, beginning with `longest_first`. `clock`: the temperature falls
    with the orders or with the clock, whichever is further. `on_better`: called with every schedule
    whose makespan is below all before it.

    Returns
    -------
    int
        The best makespan; `upper` if no better one was found.

    Notes
    -----
    The cost of an order is the excess of its schedule over the best makespan less 1.
    """
    modes = server_modes(table)
    if not all(modes):
        return upper
    work = [size * int(d) for size, d in zip(table.size, table.best_slots, strict=True)]
    slots = upper + max(of_job[0].slots for of_job in modes)  # the search may pass through worse
    orders = longest_first(table)
    order, current = min(
        ((order, serial_schedule(table, order, slots)) for order in orders),
        key=lambda pair: math.inf if pair[1] is None else pair[1].makespan,
    )
    initial = _TEMPERATURE * sum(work) / len(work)
    for tried in range(len(orders), tries + 1):
        if current is not None and current.makespan < upper:
            upper = current.makespan
            on_better(current)
        if tried == tries or upper <= lower or len(order) < 2 or clock.expired():
            break
        neighbour = _neighbour(order, rng)
        schedule = serial_schedule(table, neighbour, slots)
        if schedule is None:
            continue
        if current is not None:  # Metropolis rule on the excess over a better makespan
            target = upper - 1
            change = schedule.excess(target, table.size) - current.excess(target, table.size)
            temperature = initial * _COOLING ** max(tried / tries, clock.spent())
            if change > 0 and rng.random() >= math.exp(-change / temperature):
                continue
        order, current = neighbour, schedule
    return upper


def _neighbour(order: Sequence[int], rng: Random) -> list[int]:
    """Return the order with one job moved, or with two jobs exchanged."""
    i, k = rng.sample(range(len(order)), 2)
    neighbour = list(order)
    if rng.random() < 0.5:
        neighbour.insert(k, neighbour.pop(i))
    else:
        neighbour[i], neighbour[k] = neighbour[k], neighbour[i]
    return neighbour
