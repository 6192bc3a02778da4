"""Tight packing of jobs onto idle GPUs, and two list algorithms that use it (ours)."""

import math
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge, Le

from schedgap.instances.ring import RingInstance
from schedgap.models.method import MethodResult, RunContext
from schedgap.models.ring.dispatch import (
    ClusterState,
    Ints,
    Trial,
    dispatch,
    trial_result,
    trial_schedule,
)
from schedgap.models.ring.rates import RateTable, rate_table


def pack(job: int, cluster: ClusterState, most_servers: float = math.inf) -> Ints | None:
    """Choose idle GPUs within the limit: few servers, and few GPUs left over (best fit).

    Of the servers that can host the whole job, the one chosen has preferably had jobs before, then
    the fewest idle GPUs. If there is none, servers are filled in order of decreasing idle GPUs.
    Ties go to list order; on a server, to the least loaded GPUs.

    `job`: index of the job in list order. `cluster`: state of the GPUs, and the limit on their
    loads. `most_servers`: largest number of servers; a job may always use as many as it needs on an
    empty cluster.

    The result has the global indices of G_j GPUs, or is None to wait for some job to exit.
    """
    table = cluster.table
    size, gpus = table.size[job], cluster.available(job)
    if gpus is None:
        return None
    counts = np.bincount(cluster.server[gpus], minlength=len(table.server_gpus))
    hosts = np.flatnonzero(counts >= size)
    if len(hosts):
        best = np.lexsort((counts[hosts], ~cluster.opened[hosts]))[0]
        servers = hosts[best : best + 1]
    else:
        ranked = np.argsort(-counts, kind="stable")
        number = int(np.searchsorted(np.cumsum(counts[ranked]), size)) + 1
        if number > max(table.fewest_servers[job], most_servers):
            return None
        servers = ranked[:number]
    rank = np.full(len(counts), len(counts))
    rank[servers] = np.arange(len(servers))
    server_rank = rank[cluster.server[gpus]]
    return gpus[np.lexsort((cluster.load[gpus], server_rank))[:size]]


def longest_first(table: RateTable) -> list[list[int]]:
    """Return three orders of the jobs: by d_j, by G_j d_j and by (G_j, d_j), each descending.

    `table`: rates of the instance; ties go to list order.
    """
    jobs = range(len(table.size))
    size, slots = table.size, table.best_slots
    keys: list[Callable[[int], tuple[float, ...]]] = [
        lambda j: (-slots[j],),
        lambda j: (-size[j] * slots[j],),
        lambda j: (-size[j], -slots[j]),
    ]
    return [sorted(jobs, key=key) for key in keys]


def lpt_pack(table: RateTable) -> Trial:
    """Return the best run of the three orders of `longest_first`, packed tightly.

    `table`: of an instance that `no_schedule` does not refute.
    """
    return min(
        (dispatch(table, order, pack) for order in longest_first(table)),
        key=lambda trial: trial.makespan,
    )


def random_orders(
    table: RateTable,
    seed: int,
    *,
    tries: Annotated[int, "number of orders", Ge(1), Le(10**6)] = 60,
    stop: Callable[[], bool] = lambda: False,
    on_better: Callable[[Trial], None] = lambda trial: None,
) -> Trial | None:
    """Dispatch the jobs in random orders, packed tightly; return the best run (ours).

    For each order the largest number of servers of a job is drawn from 1, 2 and infinity; jobs may
    always use as many as they need on an empty cluster.

    `table`: of an instance that `no_schedule` does not refute. `tries`: number of orders. `stop`:
    asked after each order whether time is up. `on_better`: called with every feasible run that is
    better than all before it.

    The best run is infeasible if all are. The result is None if `tries` is 0.
    """
    rng = np.random.default_rng(seed)
    best: Trial | None = None
    for _ in range(tries):
        if best is not None and stop():
            break
        order: list[int] = rng.permutation(len(table.size)).tolist()
        most_servers = (1, 2, math.inf)[rng.integers(3)]
        choose = partial(pack, most_servers=most_servers)
        trial = dispatch(table, order, choose)
        if best is None or trial.makespan < best.makespan:
            best = trial
            if trial.feasible:
                on_better(trial)
    return best


def run_lpt_pack(instance: RingInstance, call: RunContext) -> MethodResult:
    """Run method `lpt-pack`."""
    return trial_result(instance, lpt_pack(rate_table(instance)), {})


def run_random_orders(instance: RingInstance, call: RunContext, **options: Any) -> MethodResult:
    """Run method `random-orders`; `options`: as of `random_orders`."""

    def report(trial: Trial) -> None:
        call.progress.incumbent(trial_schedule(instance, trial), trial.makespan)

    trial = random_orders(
        rate_table(instance),
        call.seed,
        stop=call.clock.expired,
        on_better=report,
        **options,
    )
    return trial_result(instance, trial, {})
