"""SJF-BCO (Algorithm 1): smallest jobs first, each by FA-FFP or, above a size kappa, by LBSGF.

What its events are is said in `events`.
"""

from collections.abc import Callable
from typing import Literal

from schedgap.instances.ring import RingInstance, RingSchedule
from schedgap.models.method import AlgorithmRun, MethodResult, RunContext
from schedgap.models.ring.algorithms.events import Journal
from schedgap.models.ring.algorithms.fa_ffp import fa_ffp, fa_ffp_pack
from schedgap.models.ring.algorithms.lbsgf import lbsgf
from schedgap.models.ring.algorithms.limit_search import (
    Attempt,
    Bisection,
    OnBetter,
    Search,
    Trials,
    best_run,
    result_of,
    search_limit,
)
from schedgap.models.ring.algorithms.list_bounds import facts
from schedgap.models.ring.dispatch import NO_PLACE, Choose, Clock, Cluster, Ints, schedule
from schedgap.models.ring.rates import RateTable, no_schedule, rate_table, refuted

Kappa = int | Literal["all"]


def sjf_bco(
    instance: RingInstance,
    *,
    events: bool = False,
    bisection: Bisection = "improvement",
    kappa: Kappa = "all",
    ffp_rule: Literal["literal", "pack"] = "literal",
    lbsgf_rule: Literal["literal", "list"] = "literal",
    clock: Clock = "actual",
    stop: Callable[[], bool] = lambda: False,
    hear: Callable[[RingSchedule], None] | None = None,
) -> AlgorithmRun:
    """Run SJF-BCO (Algorithm 1).

    Parameters
    ----------
    instance : RingInstance
    events : bool
        Whether to keep what it does, step by step; `events` lists the steps and their keys.
    bisection : "improvement", "feasibility" or "scan"
        When the limit falls: the best makespan has improved (as printed, E17), or some run is
        feasible; or every limit is tried.
    kappa : int or "all"
        This threshold alone, or all of 1..max G_j that make a difference: jobs up to it go by
        FA-FFP, others by LBSGF (E23).
    ffp_rule : "literal" or "pack"
        FA-FFP takes the least loaded GPUs, or packs (E19).
    lbsgf_rule : "literal" or "list"
        LBSGF takes the least loaded GPUs of its servers, or server by server (E22).
    clock : "actual" or "estimated"
        When jobs leave: at their simulated ends, or (ours) after their estimates.
    stop : callable
        Asked between two runs whether time is up.
    hear : callable, optional
        Called with every schedule that is better than all before it.

    Returns
    -------
    AlgorithmRun
        `schedule`: of the best run, or None where no run is feasible. `trace`: its measures, with
        the clock "actual" what is proved of it (`list_bounds.facts`), and `runs`, each run once;
        empty where nothing was tried, because no schedule can exist.

    Notes
    -----
    Source: Algorithm 1. Guarantee: see `guarantees`.
    Time: runs x jobs x O(N log N), and the simulation (Theorem 6 leaves that out).
    """
    table = rate_table(instance)
    journal = Journal(table) if events else None
    if reason := no_schedule(instance):
        if journal is not None:
            journal.nothing(reason)
        return AlgorithmRun(None, tuple(journal.events) if journal is not None else ())

    def report(attempt: Attempt) -> None:
        if hear is not None:
            hear(schedule(instance, attempt.trial))

    found = search_runs(
        table,
        bisection=bisection,
        kappa=kappa,
        ffp_rule=ffp_rule,
        lbsgf_rule=lbsgf_rule,
        clock=clock,
        stop=stop,
        on_better=report,
        journal=journal,
    )
    proved = facts(table, found.attempts) if clock == "actual" else {}
    return best_run(  # A1 L24
        instance, found, proved, journal.events if journal is not None else ()
    )


def search_runs(
    table: RateTable,
    *,
    bisection: Bisection = "improvement",
    kappa: Kappa = "all",
    ffp_rule: Literal["literal", "pack"] = "literal",
    lbsgf_rule: Literal["literal", "list"] = "literal",
    clock: Clock = "actual",
    stop: Callable[[], bool] = lambda: False,
    on_better: OnBetter = lambda attempt: None,
    journal: Journal | None = None,
) -> Search:
    """Return all runs of SJF-BCO, for who looks at more than the best.

    Parameters
    ----------
    table : RateTable
        Of an instance that `no_schedule` does not refute.
    bisection, kappa, ffp_rule, lbsgf_rule, clock
        See `sjf_bco`.
    stop, on_better, journal
        See `search_limit`.

    Returns
    -------
    Search
        The best run, and all of them in order.

    Notes
    -----
    Source: Algorithm 1.
    """
    small = fa_ffp_pack if ffp_rule == "pack" else fa_ffp  # A1 L1
    by_server = lbsgf_rule == "list"

    def large(job: int, cluster: Cluster) -> Ints | None:
        return lbsgf(job, cluster, by_server=by_server)

    def policy(threshold: int | None) -> Choose:
        assert threshold is not None

        def choose(job: int, cluster: Cluster) -> Ints | None:
            if table.size[job] <= threshold:  # A1 L10
                return small(job, cluster)  # A1 L11
            return large(job, cluster)  # A1 L12-L13

        return choose

    order = smallest_first(table)  # A1 L3
    if journal is not None:
        journal.order(order)
    trials = Trials(table, order, policy, clock, journal)  # A1 L2: U = 0 in each
    # A1 L7: a run depends on kappa only through which jobs are at most as large
    kappas = sorted({1, *table.size}) if kappa == "all" else [kappa]
    found = search_limit(  # A1 L5-L23
        table.horizon, trials, kappas, bisection, stop=stop, on_better=on_better, journal=journal
    )
    if journal is not None:
        if found.best is None:
            journal.nothing(NO_PLACE)
        else:
            journal.answer(found.best.limit, found.best.kappa, found.best.trial)
    return found


def smallest_first(table: RateTable) -> list[int]:
    """Return the jobs by G_j ascending, ties in list order (Algorithm 1, line 3)."""
    return sorted(range(len(table.size)), key=table.size.__getitem__)


def run_sjf_bco(instance: RingInstance, call: RunContext) -> MethodResult:
    """Run `sjf-bco`."""
    if proof := refuted(instance):
        return proof

    def hear(made: RingSchedule) -> None:
        call.progress.incumbent(made, made.makespan)

    return result_of(sjf_bco(instance, **call.options, stop=call.clock.expired, hear=hear))
