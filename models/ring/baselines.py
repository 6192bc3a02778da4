"""The policies that the paper compares SJF-BCO with, completed where it leaves them open (E28).

All use the dispatcher. The paper gives no order of the jobs: list order, or smallest first.
"""

from collections.abc import Callable
from typing import Literal

import numpy as np

from schedgap.models.ring.dispatch import Choose, Cluster, Ints, Trial, dispatch
from schedgap.models.ring.rates import RateTable
from schedgap.models.ring.sjf_bco import OnBetter, Search, Trials, search_limit, smallest_first

Order = Literal["list", "sjf"]


def first_idle(job: int, cluster: Cluster) -> Ints | None:
    """Choose the first idle GPUs within the limit, server by server."""
    size = cluster.table.size[job]
    gpus = _allowed(job, cluster)
    return None if gpus is None else gpus[:size]


def least_loaded(job: int, cluster: Cluster) -> Ints | None:
    """Choose the least loaded idle GPUs within the limit; ties: global index."""
    size = cluster.table.size[job]
    gpus = _allowed(job, cluster)
    return None if gpus is None else gpus[np.argsort(cluster.load[gpus], kind="stable")[:size]]


def at_random(rng: np.random.Generator) -> Choose:
    """Return a choice that draws, for each worker, a server and then an idle GPU of it."""

    def choose(job: int, cluster: Cluster) -> Ints | None:
        gpus = _allowed(job, cluster)
        if gpus is None:
            return None
        left: dict[int, list[int]] = {}
        for gpu, server in zip(gpus.tolist(), cluster.server[gpus].tolist(), strict=True):
            left.setdefault(server, []).append(gpu)
        chosen = []
        for _ in range(cluster.table.size[job]):
            servers = list(left)
            server = servers[rng.integers(len(servers))]
            chosen.append(left[server].pop(rng.integers(len(left[server]))))
            if not left[server]:
                del left[server]
        return np.array(chosen)

    return choose


def _allowed(job: int, cluster: Cluster) -> Ints | None:
    """Return the idle GPUs within the limit, ascending, or None where they are too few."""
    size = cluster.table.size[job]
    idle = np.flatnonzero(cluster.idle)
    if len(idle) < size:
        return None
    gpus = cluster.within(job, idle)
    return gpus if len(gpus) >= size else None


def first_fit(
    table: RateTable,
    order: Order = "list",
    *,
    stop: Callable[[], bool] = lambda: False,
    on_better: OnBetter = lambda attempt: None,
) -> Search:
    """Run First-Fit with the least limit that a search as in Algorithm 1 finds.

    Notes
    -----
    Source: Section 7, 2), FF.
    """
    return _searched(table, order, first_idle, stop, on_better)


def list_scheduling(
    table: RateTable,
    order: Order = "list",
    *,
    stop: Callable[[], bool] = lambda: False,
    on_better: OnBetter = lambda attempt: None,
) -> Search:
    """Run List-Scheduling with the least limit that a search as in Algorithm 1 finds.

    Notes
    -----
    Source: Section 7, 2), LS.
    """
    return _searched(table, order, least_loaded, stop, on_better)


def random_placement(table: RateTable, seed: int, order: Order = "list") -> Trial:
    """Place each job on GPUs drawn at random, with T as the limit.

    Notes
    -----
    Source: Section 7, 2), RAND.
    """
    choose = at_random(np.random.default_rng(seed))
    return dispatch(table, jobs_in(table, order), choose, limit=table.horizon)


def jobs_in(table: RateTable, order: Order) -> list[int]:
    """Return the jobs in list order, or by G_j ascending."""
    return smallest_first(table) if order == "sjf" else list(range(len(table.size)))


def _searched(
    table: RateTable,
    order: Order,
    choose: Choose,
    stop: Callable[[], bool],
    on_better: OnBetter,
) -> Search:
    trials = Trials(table, jobs_in(table, order), lambda kappa: choose)
    return search_limit(table.horizon, trials, [None], stop=stop, on_better=on_better)
