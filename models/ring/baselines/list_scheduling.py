"""List-Scheduling (LS): the least loaded idle GPUs of the cluster."""

from collections.abc import Callable

import numpy as np

from schedgap.instances.ring import RingInstance
from schedgap.models.method import MethodResult, RunContext
from schedgap.models.ring.algorithms.limit_search import (
    OnBetter,
    Search,
    best_run,
    reporter,
    result_of,
)
from schedgap.models.ring.baselines.within_limit import Order, allowed, searched
from schedgap.models.ring.dispatch import Cluster, Ints
from schedgap.models.ring.rates import RateTable, rate_table, refuted


def least_loaded(job: int, cluster: Cluster) -> Ints | None:
    """Choose the least loaded idle GPUs within the limit; ties: global index."""
    size = cluster.table.size[job]
    gpus = allowed(job, cluster)
    return None if gpus is None else gpus[np.argsort(cluster.load[gpus], kind="stable")[:size]]


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
    return searched(table, order, least_loaded, stop, on_better)


def run_list_scheduling(instance: RingInstance, call: RunContext) -> MethodResult:
    """Run `list-scheduling`."""
    if proof := refuted(instance):
        return proof
    found = list_scheduling(
        rate_table(instance),
        call.options["order"],
        stop=call.clock.expired,
        on_better=reporter(instance, call),
    )
    return result_of(best_run(instance, found, {}))
