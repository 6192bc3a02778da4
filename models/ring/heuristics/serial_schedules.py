"""Serial scheduling with rings kept apart: jobs one by one, each where it ends first (ours).

A job may start in any slot beside those already placed, earlier ones too. Two rings never share a
server at the same time, so every job runs as fast as its number of servers allows, and the
timetable is what happens. A search over orders follows.

To let two rings share a server, each planned at the rate of two, did not pay. After as many seconds
52, 40 and 44 slots became 53, 41 and 46 (30 jobs, mostly rings, on servers of 2-4 GPUs); of rings
that two on a server do not slow, 52, 44 and 44 became 51, 45 and 44; and where rings must meet or
wait (16 of 4-5 workers on five servers of 3) nothing changed.
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

_MORE_SERVERS = 2  # a ring uses at most so many servers more than it must
_HEAT = 0.3  # first temperature in mean GPU-slots of a job
_LAST_HEAT = 0.01  # temperature of the last order, in that of the first


@dataclass(frozen=True, slots=True)
class PlacedSchedule:
    """A schedule by its starts and placements [j], all jobs included."""

    starts: tuple[int, ...]
    ends: tuple[int, ...]
    placements: tuple[dict[int, int], ...]

    @property
    def makespan(self) -> int:
        """Last slot of the last job."""
        return max(self.ends)

    def beyond(self, target: int, size: Sequence[int]) -> int:
        """Return the GPU-slots of jobs that end after the target, from there to their ends."""
        return sum(
            gpus * (end - target) for gpus, end in zip(size, self.ends, strict=True) if end > target
        )


@dataclass(frozen=True, slots=True)
class ServerMode:
    """A job's number of servers, and the slots that it then takes without neighbors."""

    servers: int
    slots: int


@lru_cache(maxsize=16)
def modes(table: RateTable) -> tuple[tuple[ServerMode, ...], ...]:
    """Return the ways to run each job [j], on few servers first."""
    inside = inside_slots(table)
    found = []
    for j, fewest in enumerate(table.fewest_servers):
        own = [] if inside[j] == NEVER else [ServerMode(1, int(inside[j]))]
        first = max(2, fewest)
        for n in range(first, min(first + _MORE_SERVERS, table.most_servers[j]) + 1):
            slots = table.slots(j, n, 1)
            if slots != NEVER:
                own.append(ServerMode(n, int(slots)))
        found.append(tuple(own))
    return tuple(found)


class ServerProfiles:
    """What is free on each server in each slot."""

    def __init__(self, table: RateTable, slots: int) -> None:
        """Begin with all servers empty in slots 1..`slots`."""
        self.size = table.size
        self.modes = modes(table)
        room = np.array(table.server_gpus, dtype=np.int64)
        self.free: Ints = np.repeat(room[:, None], slots, axis=1)  # [s, t - 1]
        self.linked: Ints = self.free.copy()  # [s, t - 1] the same; 0 where a ring is

    def place(self, j: int) -> tuple[int, int, dict[int, int]] | None:
        """Run a job where it ends first; return its start, its end and its workers by server.

        Of equal ends the fewest servers win; inside, the server with the fewest GPUs left over,
        spread, servers with the most. None where it ends nowhere within the slots.
        """
        best: tuple[int, int, ServerMode] | None = None
        for mode in self.modes[j]:
            t = self._first(j, mode, None if best is None else best[0] - 1)
            if t is not None:
                best = t + mode.slots, t, mode
        if best is None:
            return None
        end, t, mode = best
        least = (self.free if mode.servers == 1 else self.linked)[:, t:end].min(axis=1)
        placed = {}
        if mode.servers == 1:
            able = np.flatnonzero(least >= self.size[j])
            placed[int(able[least[able].argmin()])] = self.size[j]
        else:
            lacking = self.size[j]
            for s in np.argsort(-least, kind="stable").tolist():
                if not lacking:
                    break
                placed[s] = min(lacking, int(least[s]))
                lacking -= placed[s]
        for s, workers in placed.items():
            self.free[s, t:end] -= workers
            self.linked[s, t:end] = (
                0 if mode.servers > 1 else np.maximum(self.linked[s, t:end] - workers, 0)
            )
        return t + 1, end, placed

    def _first(self, j: int, mode: ServerMode, end: int | None) -> int | None:
        """Return after how many slots the job can start in this mode, to be complete by `end`."""
        least = (self.free if mode.servers == 1 else self.linked)[:, :end]
        if mode.slots > least.shape[1]:
            return None
        seen = 1  # slots from each on that the least is of
        while seen < mode.slots:
            more = min(seen, mode.slots - seen)
            least = np.minimum(least[:, :-more], least[:, more:])
            seen += more
        if mode.servers == 1:
            able = least.max(axis=0) >= self.size[j]
        else:
            widest = np.partition(least, len(least) - mode.servers, axis=0)[-mode.servers :]
            able = widest.sum(axis=0) >= self.size[j]
        t = int(able.argmax())
        return t if able[t] else None


def serial_schedule(table: RateTable, order: Sequence[int], slots: int) -> PlacedSchedule | None:
    """Place the jobs in this order; None where one ends nowhere in slots 1..`slots`."""
    plan = ServerProfiles(table, slots)
    starts, ends = [0] * len(table.size), [0] * len(table.size)
    placements: list[dict[int, int]] = [{} for _ in table.size]
    for j in order:
        placed = plan.place(j)
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
    on_better: Callable[[PlacedSchedule], None] = lambda found: None,
) -> int:
    """Search orders by annealing; return the best makespan, `upper` where none is better.

    Parameters
    ----------
    lower : int
        A bound on the makespan, in slots: the search ends when it is met.
    upper : int
        Makespan of a known schedule, or one slot more than the horizon.
    tries : int
        Orders, at most; the first are by d_j, G_j d_j, (G_j, d_j), each descending.
    clock : Clock
        The temperature falls with the orders or with the clock, whichever is further.

    Notes
    -----
    What is weighed is the work beyond the best makespan so far, in GPU-slots.
    """
    ways = modes(table)
    if not all(ways):
        return upper
    work = [size * int(d) for size, d in zip(table.size, table.best_slots, strict=True)]
    reach = upper + max(own[0].slots for own in ways)
    orders = longest_first(table)
    order, found = min(
        ((each, serial_schedule(table, each, reach)) for each in orders),
        key=lambda pair: math.inf if pair[1] is None else pair[1].makespan,
    )
    heat = _HEAT * sum(work) / len(work)
    for tried in range(len(orders), tries + 1):
        if found is not None and found.makespan < upper:
            upper = found.makespan
            on_better(found)
        if tried == tries or upper <= lower or len(order) < 2 or clock.expired():
            break
        other = _changed(order, rng)
        new = serial_schedule(table, other, reach)
        if new is None:
            continue
        if found is not None:
            more = new.beyond(upper - 1, table.size) - found.beyond(upper - 1, table.size)
            now = heat * _LAST_HEAT ** max(tried / tries, clock.spent())
            if more > 0 and rng.random() >= math.exp(-more / now):
                continue
        order, found = other, new
    return upper


def _changed(order: Sequence[int], rng: Random) -> list[int]:
    """Return the order with one job elsewhere, or with two jobs exchanged."""
    i, k = rng.sample(range(len(order)), 2)
    other = list(order)
    if rng.random() < 0.5:
        other.insert(k, other.pop(i))
    else:
        other[i], other[k] = other[k], other[i]
    return other
