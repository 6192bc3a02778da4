"""Common parts of the baselines: GPUs within the limit, orders of the jobs, the search (E28).

All baselines use the dispatcher. The paper gives no order of the jobs for them; here it is list
order, or smallest first.
"""

from collections.abc import Callable
from typing import Literal

import numpy as np

from schedgap.instances.ring import RingInstance
from schedgap.models.method import MethodResult, RunContext
from schedgap.models.ring.algorithms.limit_search import (
    LimitSearchResult,
    OnBetter,
    TrialCache,
    algorithm_run,
    incumbent_reporter,
    method_result,
    search_limit,
)
from schedgap.models.ring.algorithms.sjf_bco import smallest_first
from schedgap.models.ring.dispatch import Choose, Cluster, Ints
from schedgap.models.ring.rates import RateTable, rate_table, refuted

Order = Literal["list", "sjf"]


def allowed_gpus(job: int, cluster: Cluster) -> Ints | None:
    """Return the idle GPUs within the limit, ascending, or None if the job asks for more.

    Parameters
    ----------
    job : int
        Index of the job in list order.
    cluster : Cluster
        State of the GPUs, and the limit on their loads.
    """
    size = cluster.table.size[job]
    idle = np.flatnonzero(cluster.idle)
    if len(idle) < size:
        return None
    gpus = cluster.within(job, idle)
    return gpus if len(gpus) >= size else None


def job_order(table: RateTable, order: Order) -> list[int]:
    """Return the jobs in the order of dispatch.

    Parameters
    ----------
    table : RateTable
        Rates of the instance.
    order : "list" or "sjf"
        List order, or ascending G_j.
    """
    return smallest_first(table) if order == "sjf" else list(range(len(table.size)))


def search_with(
    table: RateTable,
    choose: Choose,
    order: Order = "list",
    *,
    stop: Callable[[], bool] = lambda: False,
    on_better: OnBetter = lambda attempt: None,
) -> LimitSearchResult:
    """Search the limit on loads for a given choice of GPUs, as Algorithm 1 does.

    Parameters
    ----------
    table : RateTable
        Of an instance that `no_schedule` does not refute.
    choose : callable
        Choice of GPUs, as for `dispatch`.
    order : "list" or "sjf"
        Order of the jobs.
    stop, on_better
        See `search_limit`.
    """
    trials = TrialCache(table, job_order(table, order), lambda kappa: choose)
    return search_limit(table.horizon, trials, [None], stop=stop, on_better=on_better)


def run_search(instance: RingInstance, call: RunContext, choose: Choose) -> MethodResult:
    """Run a baseline that searches its limit, as a method with option `order`.

    Parameters
    ----------
    choose : callable
        Choice of GPUs, as for `dispatch`.
    """
    if proof := refuted(instance):
        return proof
    result = search_with(
        rate_table(instance),
        choose,
        call.options["order"],
        stop=call.clock.expired,
        on_better=incumbent_reporter(instance, call),
    )
    return method_result(algorithm_run(instance, result, {}))
