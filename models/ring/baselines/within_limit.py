"""What the baselines have in common: GPUs within the limit, orders of the jobs, the search (E28).

All use the dispatcher. The paper gives no order of the jobs: list order, or smallest first.
"""

from collections.abc import Callable
from typing import Literal

import numpy as np

from schedgap.models.ring.algorithms.limit_search import OnBetter, Search, Trials, search_limit
from schedgap.models.ring.algorithms.sjf_bco import smallest_first
from schedgap.models.ring.dispatch import Choose, Cluster, Ints
from schedgap.models.ring.rates import RateTable

Order = Literal["list", "sjf"]


def allowed(job: int, cluster: Cluster) -> Ints | None:
    """Return the idle GPUs within the limit, ascending, or None where they are too few."""
    size = cluster.table.size[job]
    idle = np.flatnonzero(cluster.idle)
    if len(idle) < size:
        return None
    gpus = cluster.within(job, idle)
    return gpus if len(gpus) >= size else None


def jobs_in(table: RateTable, order: Order) -> list[int]:
    """Return the jobs in list order, or by G_j ascending."""
    return smallest_first(table) if order == "sjf" else list(range(len(table.size)))


def searched(
    table: RateTable,
    order: Order,
    choose: Choose,
    stop: Callable[[], bool],
    on_better: OnBetter,
) -> Search:
    """Search the least limit with which a choice of GPUs does best, as Algorithm 1 does."""
    trials = Trials(table, jobs_in(table, order), lambda kappa: choose)
    return search_limit(table.horizon, trials, [None], stop=stop, on_better=on_better)
