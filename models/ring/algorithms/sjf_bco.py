"""SJF-BCO (Algorithm 1): smallest job first, by FA-FFP up to a size kappa and by LBSGF above it.

Module `events` describes the events of a run.
"""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from annotated_types import Ge, Le

from schedgap.instances.ring import RingInstance, RingSchedule
from schedgap.models.method import AlgorithmRun, MethodResult, RunContext
from schedgap.models.ring.algorithms.events import Journal
from schedgap.models.ring.algorithms.fa_ffp import fa_ffp
from schedgap.models.ring.algorithms.lbsgf import lbsgf
from schedgap.models.ring.algorithms.limit_search import (
    Bisection,
    LimitAttempt,
    LimitSearchResult,
    OnBetter,
    TrialCache,
    algorithm_run,
    method_result,
    search_limit,
)
from schedgap.models.ring.algorithms.list_bounds import guarantee_trace
from schedgap.models.ring.algorithms.packing import pack
from schedgap.models.ring.dispatch import (
    NO_PLACE,
    Choose,
    ClusterState,
    Ints,
    trial_schedule,
)
from schedgap.models.ring.rates import RateTable, no_schedule, rate_table

Kappa = int | Literal["all"]
SpreadFactor = float | Literal["job"]


def sjf_bco(
    instance: RingInstance,
    *,
    events: bool = False,
    bisection: Annotated[
        Bisection,
        "lower the limit when the makespan improves (as printed, E17), while some run is "
        "feasible, or scan all limits",
    ] = "improvement",
    kappa: Annotated[
        Kappa, "jobs up to this size are placed by FA-FFP, others by LBSGF (E23)", Ge(1)
    ] = "all",
    ffp_rule: Annotated[
        Literal["literal", "pack"],
        "FA-FFP takes the least loaded GPUs (Algorithm 2), or packs (E19)",
    ] = "literal",
    lbsgf_rule: Annotated[
        Literal["literal", "list"],
        "LBSGF takes the least loaded GPUs of its servers, or server by server (E22)",
    ] = "literal",
    spread_factor: Annotated[
        SpreadFactor, "lambda of Algorithm 3, one for all jobs, or each job's own", Ge(1), Le(1e6)
    ] = "job",
    stop: Callable[[], bool] = lambda: False,
    hear: Callable[[RingSchedule], None] | None = None,
) -> AlgorithmRun:
    """Run SJF-BCO (Algorithm 1).

    Parameters
    ----------
    instance : RingInstance
    events : bool
        Whether to record every step; module `events` lists the steps and their keys.
    bisection : "improvement", "feasibility" or "scan"
        Lower the limit when the best makespan has improved (as printed, E17), or when some run is
        feasible; "scan" tries every limit.
    kappa : int or "all"
        Threshold on G_j: FA-FFP places jobs up to it, LBSGF the others (E23). "all" tries every
        threshold in 1..max G_j that makes a difference.
    ffp_rule : "literal" or "pack"
        FA-FFP takes the least loaded GPUs, or packs (E19).
    lbsgf_rule : "literal" or "list"
        LBSGF takes the least loaded GPUs of its servers, or server by server (E22).
    spread_factor : float or "job"
        lambda_j of all jobs in LBSGF, >= 1, or each job's own.
    stop : callable
        Asked between two runs whether time is up.
    hear : callable, optional
        Called with every schedule that is better than all before it.

    Returns
    -------
    AlgorithmRun
        `schedule`: of the best run, or None if no run is feasible. `trace`: its metrics, the bounds
        of `list_bounds.guarantee_trace`, and `runs`, one row per distinct run. The trace is empty
        if no schedule can exist, because nothing is run then.

    Notes
    -----
    Source: Algorithm 1. Guarantee: see `guarantees`.
    Time: runs x jobs x O(N log N) plus the simulation, which Theorem 6 leaves out.
    """
    table = rate_table(instance)
    journal = Journal(table, recording=events)
    if reason := no_schedule(instance):
        journal.nothing(reason)
        return AlgorithmRun(None, tuple(journal.events))

    def report(attempt: LimitAttempt) -> None:
        if hear is not None:
            hear(trial_schedule(instance, attempt.trial))

    result = search_runs(
        table,
        bisection=bisection,
        kappa=kappa,
        ffp_rule=ffp_rule,
        lbsgf_rule=lbsgf_rule,
        spread_factor=spread_factor,
        stop=stop,
        on_better=report,
        journal=journal,
    )
    proved = guarantee_trace(table, result.attempts)
    return algorithm_run(instance, result, proved, journal.events)  # A1 L24


def search_runs(
    table: RateTable,
    *,
    bisection: Bisection = "improvement",
    kappa: Kappa = "all",
    ffp_rule: Literal["literal", "pack"] = "literal",
    lbsgf_rule: Literal["literal", "list"] = "literal",
    spread_factor: SpreadFactor = "job",
    stop: Callable[[], bool] = lambda: False,
    on_better: OnBetter = lambda attempt: None,
    journal: Journal | None = None,
) -> LimitSearchResult:
    """Run SJF-BCO and return all of its runs, not only the best.

    Parameters
    ----------
    table : RateTable
        Of an instance that `no_schedule` does not refute.
    bisection, kappa, ffp_rule, lbsgf_rule, spread_factor
        See `sjf_bco`.
    stop, on_better, journal
        See `search_limit`.

    Returns
    -------
    LimitSearchResult
        The best attempt, and all attempts in order.

    Notes
    -----
    Source: Algorithm 1.
    """
    small = pack if ffp_rule == "pack" else fa_ffp  # A1 L1
    by_server = lbsgf_rule == "list"
    factor = None if spread_factor == "job" else spread_factor

    def large(job: int, cluster: ClusterState) -> Ints | None:
        return lbsgf(job, cluster, by_server=by_server, spread_factor=factor)

    def policy(threshold: int | None) -> Choose:
        assert threshold is not None

        def choose(job: int, cluster: ClusterState) -> Ints | None:
            if table.size[job] <= threshold:  # A1 L10
                return small(job, cluster)  # A1 L11
            return large(job, cluster)  # A1 L12-L13

        return choose

    order = smallest_first(table)  # A1 L3
    trials = TrialCache(table, order, policy, journal)  # A1 L2: U = 0 in each run
    trials.journal.order(order)
    # A1 L7: a run depends on kappa only through the set of jobs with G_j <= kappa
    kappas = sorted({1, *table.size}) if kappa == "all" else [kappa]
    result = search_limit(trials, kappas, bisection, stop=stop, on_better=on_better)  # A1 L5-L23
    if result.best is None:
        trials.journal.nothing(NO_PLACE)
    else:
        trials.journal.answer(result.best.limit, result.best.kappa, result.best.trial)
    return result


def smallest_first(table: RateTable) -> list[int]:
    """Return the jobs by ascending G_j, ties in list order (Algorithm 1, line 3)."""
    return sorted(range(len(table.size)), key=table.size.__getitem__)


def run_sjf_bco(instance: RingInstance, call: RunContext, **options: Any) -> MethodResult:
    """Run method `sjf-bco`; `options`: as of `sjf_bco`."""

    def hear(schedule: RingSchedule) -> None:
        call.progress.incumbent(schedule, schedule.makespan)

    return method_result(sjf_bco(instance, **options, stop=call.clock.expired, hear=hear))
