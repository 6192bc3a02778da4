"""Packing idle GPUs tightly, and two list algorithms that do (ours)."""

import math
from collections.abc import Callable

import numpy as np

from schedgap.instances.ring import RingInstance
from schedgap.models.method import MethodResult, RunContext
from schedgap.models.ring.dispatch import (
    Choose,
    Cluster,
    Ints,
    Trial,
    deliver,
    dispatch,
    schedule,
)
from schedgap.models.ring.rates import RateTable, rate_table, refuted


def pack(job: int, cluster: Cluster, most_servers: float = math.inf) -> Ints | None:
    """Choose idle GPUs within the limit so that few servers are used, and few pieces left over.

    Among the servers that can hold the whole job: those that have had work first, then the one with
    the fewest idle GPUs. If there is none: servers with the most idle GPUs, one after the other.
    Ties: list order; on a server the least loaded GPUs.

    Parameters
    ----------
    most_servers : float
        Wait rather than use more servers than this, and than the job needs on an empty cluster.
    """
    table = cluster.table
    size = table.size[job]
    idle = np.flatnonzero(cluster.idle)
    if len(idle) < size:
        return None
    gpus = cluster.within(job, idle)
    if len(gpus) < size:
        return None
    counts = np.bincount(cluster.server[gpus], minlength=len(table.room))
    whole = np.flatnonzero(counts >= size)
    if len(whole):
        best = np.lexsort((counts[whole], ~cluster.opened[whole]))[0]
        servers = whole[best : best + 1]
    else:
        ranked = np.argsort(-counts, kind="stable")
        number = int(np.searchsorted(np.cumsum(counts[ranked]), size)) + 1
        if number > max(table.fewest_servers[job], most_servers):
            return None
        servers = ranked[:number]
    rank = np.full(len(counts), len(counts))
    rank[servers] = np.arange(len(servers))
    place = rank[cluster.server[gpus]]
    return gpus[np.lexsort((cluster.load[gpus], place))[:size]]


def longest_first(table: RateTable) -> list[list[int]]:
    """Return three orders: by d_j, by G_j d_j, by (G_j, d_j), each descending; ties: list order."""
    jobs = range(len(table.size))
    size, slots = table.size, table.best_slots
    keys: list[Callable[[int], tuple[float, ...]]] = [
        lambda j: (-slots[j],),
        lambda j: (-size[j] * slots[j],),
        lambda j: (-size[j], -slots[j]),
    ]
    return [sorted(jobs, key=key) for key in keys]


def lpt_pack(table: RateTable) -> Trial:
    """Dispatch the jobs longest first, packed tightly; the best of three orders (ours)."""
    return min(
        (dispatch(table, order, pack) for order in longest_first(table)),
        key=lambda trial: trial.makespan,
    )


def random_orders(
    table: RateTable,
    seed: int,
    *,
    tries: int = 60,
    stop: Callable[[], bool] = lambda: False,
    on_better: Callable[[Trial], None] = lambda trial: None,
) -> Trial | None:
    """Dispatch the jobs in random orders, packed tightly; the best of several tries (ours).

    In each try jobs wait rather than use more than one, two, or any number of servers, at random;
    but as many as they need on an empty cluster they may always use.
    """
    rng = np.random.default_rng(seed)
    best: Trial | None = None
    for _ in range(tries):
        if best is not None and stop():
            break
        order: list[int] = rng.permutation(len(table.size)).tolist()
        most = (1, 2, math.inf)[rng.integers(3)]
        trial = dispatch(table, order, _packing_on(most))
        if best is None or trial.makespan < best.makespan:
            best = trial
            if trial.feasible:
                on_better(trial)
    return best


def _packing_on(most: float) -> Choose:
    return lambda job, cluster: pack(job, cluster, most)


def run_lpt_pack(instance: RingInstance, call: RunContext) -> MethodResult:
    """Run `lpt-pack`."""
    return refuted(instance) or deliver(instance, lpt_pack(rate_table(instance)), {})


def run_random_orders(instance: RingInstance, call: RunContext) -> MethodResult:
    """Run `random-orders`."""
    if proof := refuted(instance):
        return proof

    def report(trial: Trial) -> None:
        call.progress.incumbent(schedule(instance, trial), trial.makespan)

    trial = random_orders(
        rate_table(instance),
        call.seed,
        tries=call.options["tries"],
        stop=call.clock.expired,
        on_better=report,
    )
    return deliver(instance, trial, {})
