"""Jobs that no server can hold, run before all others: where a local search begins (ours)."""

import math
from dataclasses import dataclass
from random import Random

from schedgap.models.ring.algorithms.packing import longest_first, pack
from schedgap.models.ring.bounds.elementary import inside_slots
from schedgap.models.ring.dispatch import dispatch
from schedgap.models.ring.rates import NEVER, RateTable

Free = tuple[int, ...]  # slots after which each GPU of a server is free, the latest first

_TRIES = 30  # orders of the jobs


@dataclass(frozen=True, slots=True)
class LargeJobsSchedule:
    """Jobs that run before all others, and where the rest begins."""

    starts: dict[int, int]  # by job, slot
    ends: dict[int, int]
    placements: dict[int, dict[int, int]]  # by job, workers by server
    makespan: int
    free: tuple[Free, ...]  # [s]

    def blocked(self) -> tuple[int, int]:
        """Return the GPU-slots that are lost to the rest, and the makespan."""
        return sum(map(sum, self.free)), self.makespan


def large_jobs_schedules(
    table: RateTable, rng: Random, tries: int = _TRIES
) -> list[LargeJobsSchedule]:
    """Return ways to run the jobs that no server can hold, in several orders, packed.

    Those come first that block the fewest GPU-slots.
    """
    outside = {j for j, slots in enumerate(inside_slots(table)) if slots == NEVER}
    if not outside:
        return [LargeJobsSchedule({}, {}, {}, 0, tuple((0,) * room for room in table.server_gpus))]
    orders = [[j for j in order if j in outside] for order in longest_first(table)]
    while len(orders) < tries:
        orders.append(rng.sample(orders[0], len(orders[0])))
    found: dict[tuple[Free, ...], LargeJobsSchedule] = {}
    for order in orders:
        for most in (1, math.inf):
            large_jobs = _packed(table, order, most)
            if large_jobs is not None:
                found.setdefault(large_jobs.free, large_jobs)
    return sorted(found.values(), key=LargeJobsSchedule.blocked)


def _packed(table: RateTable, order: list[int], most: float) -> LargeJobsSchedule | None:
    trial = dispatch(table, order, lambda j, cluster: pack(j, cluster, most))
    if not trial.feasible:
        return None
    first = [0]
    for room in table.server_gpus:
        first.append(first[-1] + room)
    free = [0] * table.gpus
    placements: dict[int, dict[int, int]] = {}
    for j in order:
        placed: dict[int, int] = {}
        server = 0
        for gpu in trial.gpus[j].tolist():
            while gpu >= first[server + 1]:
                server += 1
            placed[server] = placed.get(server, 0) + 1
            free[gpu] = max(free[gpu], trial.ends[j])
        placements[j] = placed
    by_server = tuple(
        tuple(sorted(free[first[s] : first[s + 1]], reverse=True))
        for s in range(len(table.server_gpus))
    )
    starts = {j: trial.starts[j] for j in order}
    ends = {j: trial.ends[j] for j in order}
    return LargeJobsSchedule(starts, ends, placements, int(trial.makespan), by_server)
