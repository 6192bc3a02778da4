"""Partial schedules of the jobs that no server can host, run before all other jobs (ours).

References
----------
New here, as the starting point of a local search. Running these jobs first is a restriction, so the
schedules are feasible, but nothing is proved by them.
"""

import math
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from random import Random

import numpy as np

from schedgap.models.ring.algorithms.packing import longest_first, pack
from schedgap.models.ring.bounds.elementary import inside_slots
from schedgap.models.ring.dispatch import dispatch
from schedgap.models.ring.rates import NEVER, RateTable

FreeFrom = tuple[int, ...]  # slots until each GPU of a server is free, in descending order

_TRIES = 30  # orders of the jobs


@dataclass(frozen=True, slots=True)
class LargeJobsSchedule:
    """Partial schedule of the large jobs, and the times from which GPUs are free for the others."""

    starts: dict[int, int]  # job -> first slot
    ends: dict[int, int]  # job -> last slot
    placements: dict[int, dict[int, int]]  # job -> workers by server
    makespan: int  # 0 without large jobs
    free: tuple[FreeFrom, ...]  # [s]

    def blocked(self) -> tuple[int, int]:
        """Return the GPU-slots that are not available to the other jobs, and the makespan."""
        return sum(map(sum, self.free)), self.makespan


def large_jobs_schedules(
    table: RateTable, rng: Random, tries: int = _TRIES
) -> list[LargeJobsSchedule]:
    """Return partial schedules of the large jobs, those that block the fewest GPU-slots first.

    `table`: of an instance that `no_schedule` does not refute. `rng`: source of the random orders.
    `tries`: number of orders, beginning with `longest_first`.
    """
    large = {j for j, slots in enumerate(inside_slots(table)) if slots == NEVER}
    if not large:
        return [LargeJobsSchedule({}, {}, {}, 0, tuple((0,) * gpus for gpus in table.server_gpus))]
    orders = [[j for j in order if j in large] for order in longest_first(table)]
    while len(orders) < tries:
        orders.append(rng.sample(orders[0], len(orders[0])))
    distinct: dict[tuple[FreeFrom, ...], LargeJobsSchedule] = {}
    for order in orders:
        for most_servers in (1, math.inf):
            schedule = _packed(table, order, most_servers)
            if schedule is not None:
                distinct.setdefault(schedule.free, schedule)
    return sorted(distinct.values(), key=LargeJobsSchedule.blocked)


def _packed(table: RateTable, order: list[int], most_servers: float) -> LargeJobsSchedule | None:
    """Dispatch the jobs in the given order, packed tightly; None if one ends too late."""
    trial = dispatch(table, order, lambda j, cluster: pack(j, cluster, most_servers))
    if not trial.feasible:
        return None
    first = np.cumsum([0, *table.server_gpus])  # [s] global index of GPU 0
    free = np.zeros(table.gpus, dtype=np.int64)
    placements: dict[int, dict[int, int]] = {}
    for j in order:
        servers = np.searchsorted(first, trial.gpus[j], side="right") - 1
        placements[j] = dict(Counter(servers.tolist()))
        free[trial.gpus[j]] = np.maximum(free[trial.gpus[j]], trial.ends[j])
    return LargeJobsSchedule(
        {j: trial.starts[j] for j in order},
        {j: trial.ends[j] for j in order},
        placements,
        int(trial.makespan),
        tuple(tuple(sorted(free[a:b].tolist(), reverse=True)) for a, b in pairwise(first.tolist())),
    )
