"""`exact` (ours): list schedules, refutation of better ones, then local search and CP-SAT.

Few jobs are settled at once: the search of the proof refutes all makespans below the incumbent's,
or finds better schedules. Otherwise prices of patterns give a bound, and local search a schedule,
which has all of the time if there are many jobs. Up to `MANY_JOBS`, CP-SAT first minimises the
makespan with contention between pairs of rings only, and simulates its plans. At last it refutes
one makespan after another.

References
----------
R. Klein, A. Scholl, "Computing lower bounds by destructive improvement: an application to
resource-constrained project scheduling", European Journal of Operational Research 112 (1999).
"""

from collections.abc import Callable

from schedgap.instances.ring import RingInstance
from schedgap.models.method import Budget, MethodResult, RunContext
from schedgap.models.refute import refute_stage
from schedgap.models.ring.bounds.solve_bounds import run_pattern_lp
from schedgap.models.ring.exact.interval_stages import destructive_bound_stage, relaxation_stage
from schedgap.models.ring.exact.prove import prove_goal
from schedgap.models.ring.heuristics.initial import initial_state, settled_result
from schedgap.models.ring.heuristics.local_search import search_stage
from schedgap.models.ring.programs.concurrent_sets import concurrent_sets
from schedgap.models.ring.programs.intervals import MOST_SETS, Detail
from schedgap.models.ring.rates import rate_table
from schedgap.models.search_state import SearchState, StageProgress, StageResult

FEW_JOBS = 15  # up to which better makespans are refuted first
MANY_JOBS, MANY_PAIRS = 40, 300_000  # from so many jobs, or jobs x servers on, CP-SAT is left out
# shares of the remaining time, and upper limits in seconds
EARLY_SHARE, EARLY_SECONDS = 0.15, 10.0  # local search before the bound, with many jobs
BOUND_SHARE, BOUND_SECONDS = 0.18, 15.0
SEARCH_SHARE, SEARCH_SECONDS = 0.4, 60.0
RELAX_SHARE, RELAX_SECONDS = 0.2, 6.0  # the relaxation by pairs of rings
REFUTE_SHARE, REFUTE_SECONDS = 0.2, 5.0  # the search of `proof.py`, at the beginning
LARGE_JOBS_WORK = 0.8  # share of the work from which jobs that no server can host prevail


def exact(instance: RingInstance, call: RunContext) -> MethodResult:
    """Run method `exact`."""
    call.progress.phase("bounds and list schedules")
    state = initial_state(instance, call)
    state.checkable_only = True
    if end := settled_result(instance, state):
        return end
    jobs, budget = len(instance.jobs), call.budget
    many = jobs >= MANY_JOBS or jobs * len(instance.servers) > MANY_PAIRS
    if jobs <= FEW_JOBS and not many:
        _refute(instance, state, budget.share(REFUTE_SHARE, most=REFUTE_SECONDS))
    if many:  # the bound may be reached already
        _search(instance, state, budget.share(EARLY_SHARE, most=EARLY_SECONDS))
    if state.closed:
        return state.outcome()
    bounding = budget.share(BOUND_SHARE, most=BOUND_SECONDS)
    state.child("pattern-lp", pattern_bound_stage, instance, budget=bounding, engine="highs")
    if end := settled_result(instance, state):
        return end
    searching = budget if many else budget.share(SEARCH_SHARE, most=SEARCH_SECONDS)
    _search(instance, state, searching)
    if many or state.closed:
        return state.outcome()
    call.progress.phase("contention between pairs of rings")
    relaxing = budget.share(RELAX_SHARE, most=RELAX_SECONDS)
    _run_cp_sat(instance, state, "pair-contention", relaxation_stage, relaxing)
    if state.closed:
        return state.outcome()
    call.progress.phase("refuting makespans")
    detail: Detail = "sets" if _large_jobs_prevail(instance) else "pairs"
    _run_cp_sat(instance, state, "makespans", destructive_bound_stage, budget, detail)
    return state.outcome()


def _refute(instance: RingInstance, state: SearchState, budget: Budget) -> None:
    """Refute all makespans below the incumbent's, or find better schedules."""
    state.call.progress.phase("refuting better makespans")
    interval = state.lower, state.upper
    state.child(
        "refute", refute_stage, instance, prove_goal, *interval, budget=budget, engine="highs"
    )


def _search(instance: RingInstance, state: SearchState, budget: Budget) -> None:
    """Run the local search from the incumbent."""
    state.call.progress.phase("local search")
    state.child(
        "local-search",
        search_stage,
        instance,
        state.schedule,
        int(state.lower),
        rounds=20,
        budget=budget,
    )


def _large_jobs_prevail(instance: RingInstance) -> bool:
    """Return whether jobs that no server can host have most of the work, and few run at once.

    Relaxations without contention may then be weak, while the program by concurrent sets is small
    and often solved at once.
    """
    table = rate_table(instance)
    work = [size * d for size, d in zip(table.size, table.best_slots, strict=True)]
    large = [j for j, n in enumerate(table.fewest_servers) if n > 1]
    few_sets = concurrent_sets(table, large, MOST_SETS) is not None
    return few_sets and sum(work[j] for j in large) >= LARGE_JOBS_WORK * sum(work)


def _run_cp_sat(
    instance: RingInstance,
    state: SearchState,
    name: str,
    stage: Callable[..., StageResult],
    budget: Budget,
    *more: Detail,
) -> None:
    """Run a stage with CP-SAT in a child process, from the present incumbent and bound."""
    lower = int(state.lower)
    state.child(name, stage, instance, state.schedule, lower, *more, budget=budget, engine="cp-sat")


def pattern_bound_stage(
    state: StageProgress, instance: RingInstance, *, budget: Budget
) -> StageResult:
    """Run `pattern-lp`, the linear relaxations, as a stage.

    `state`: receiver of the bounds.
    """
    call = RunContext({}, "highs", budget, state)
    result = run_pattern_lp(instance, call)
    if result.certificate is not None:
        state.bound(result.certificate["value"], result.certificate)
    return StageResult(trace={"bound": result.bound, "seconds": round(budget.clock.elapsed(), 3)})
