"""First-Fit (FF): the first idle GPUs, server by server."""

from collections.abc import Callable

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


def first_idle(job: int, cluster: Cluster) -> Ints | None:
    """Choose the first idle GPUs within the limit, server by server."""
    size = cluster.table.size[job]
    gpus = allowed(job, cluster)
    return None if gpus is None else gpus[:size]


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
    return searched(table, order, first_idle, stop, on_better)


def run_first_fit(instance: RingInstance, call: RunContext) -> MethodResult:
    """Run `first-fit`."""
    if proof := refuted(instance):
        return proof
    found = first_fit(
        rate_table(instance),
        call.options["order"],
        stop=call.clock.expired,
        on_better=reporter(instance, call),
    )
    return result_of(best_run(instance, found, {}))
