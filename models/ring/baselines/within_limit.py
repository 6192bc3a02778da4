"""Common parts of the baselines: the order of the jobs, and the search for the limit (E28).

All baselines use the dispatcher. The paper gives no order of the jobs for them; here it is list
order, or smallest first.
"""

from collections.abc import Callable
from typing import Annotated, Literal

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
from schedgap.models.ring.dispatch import Choose
from schedgap.models.ring.rates import RateTable, rate_table

Order = Annotated[
    Literal["list", "sjf"], "jobs in list order, or smallest first as in Algorithm 1 (E28)"
]


def job_order(table: RateTable, order: Order) -> list[int]:
    """Return the jobs in the order of dispatch.

    `order`: list order, or ascending G_j.
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

    `table`: of an instance that `no_schedule` does not refute. `choose`: choice of GPUs, as for
    `dispatch`. `order`: order of the jobs. `stop`, `on_better`: see `search_limit`.
    """
    trials = TrialCache(table, job_order(table, order), lambda kappa: choose)
    return search_limit(trials, [None], stop=stop, on_better=on_better)


def run_within_limit(
    instance: RingInstance, call: RunContext, choose: Choose, order: Order
) -> MethodResult:
    """Search the limit for a choice of GPUs, as a method.

    `choose`: choice of GPUs, as for `dispatch`. `order`: order of the jobs.
    """
    result = search_with(
        rate_table(instance),
        choose,
        order,
        stop=call.clock.expired,
        on_better=incumbent_reporter(instance, call),
    )
    return method_result(algorithm_run(instance, result, {}))
