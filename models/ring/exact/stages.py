"""The stages of `exact`: those with an engine each in a child process, which loads it."""

from schedgap.instances.ring import RingInstance
from schedgap.models.method import Budget, RunContext
from schedgap.models.ring.bounds.solve_bounds import run_pattern_lp
from schedgap.models.ring.exact.interval_stages import destructive_bound_stage
from schedgap.models.ring.heuristics.local_search import search_stage
from schedgap.models.ring.programs.concurrent_sets import concurrent_sets
from schedgap.models.ring.programs.intervals import MOST_SETS, Detail
from schedgap.models.ring.rates import rate_table
from schedgap.models.search_state import SearchState, StageProgress, StageResult

LARGE_JOBS_WORK = 0.8  # share of the work from which jobs that no server can host prevail


def search_locally(instance: RingInstance, state: SearchState, budget: Budget) -> None:
    """Run the local search from the incumbent, in this process, where compiled code is loaded."""
    state.phase("local search")
    known = state.schedule, int(state.lower)
    report = search_stage(state, instance, *known, rounds=20, budget=budget)
    state.take("local-search", report)


def bound_by_patterns(instance: RingInstance, state: SearchState, budget: Budget) -> None:
    """Raise the bound by the prices of patterns."""
    state.child("pattern-lp", pattern_bound_stage, instance, budget=budget, engine="highs")


def refute_makespans(instance: RingInstance, state: SearchState, budget: Budget) -> None:
    """Refute makespans by CP-SAT, from the bound on."""
    state.phase("refuting makespans")
    detail: Detail = "sets" if _large_jobs_prevail(instance) else "pairs"
    known = state.schedule, int(state.lower), detail
    state.child(
        "makespans", destructive_bound_stage, instance, *known, budget=budget, engine="cp-sat"
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
