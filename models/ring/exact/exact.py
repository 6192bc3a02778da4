"""`exact` (ours): list schedules, refutation of better ones, then local search and CP-SAT.

Few jobs are settled at once: the search of the proof refutes all makespans below the incumbent's,
or finds better schedules. Otherwise prices of patterns give a bound, and local search a schedule,
which has all of the time if there are many jobs. Up to `MANY_JOBS`, CP-SAT then refutes one
makespan after another.

References
----------
R. Klein, A. Scholl, "Computing lower bounds by destructive improvement: an application to
resource-constrained project scheduling", European Journal of Operational Research 112 (1999).
"""

from schedgap.instances.ring import RingInstance
from schedgap.models.method import MethodResult, RunContext
from schedgap.models.refute import refute
from schedgap.models.ring.exact.prove import prove_goal
from schedgap.models.ring.exact.stages import (
    bound_by_patterns,
    refute_makespans,
    search_locally,
)
from schedgap.models.ring.heuristics.initial import initial_state, settled_result
from schedgap.models.search_state import SearchState

FEW_JOBS = 15  # up to which better makespans are refuted first
MANY_JOBS, MANY_PAIRS = 40, 300_000  # least jobs, or jobs x servers, without CP-SAT
# shares of the remaining time, and upper limits in seconds
EARLY_SHARE, EARLY_SECONDS = 0.15, 10.0  # local search before the bound, with many jobs
BOUND_SHARE, BOUND_SECONDS = 0.18, 15.0
SEARCH_SHARE, FEW_SECONDS, SEARCH_SECONDS = 0.4, 6.0, 60.0  # few jobs, others
REFUTE_SHARE, REFUTE_SECONDS = 0.2, 5.0  # the search of `proof.py`, at the beginning


def exact(instance: RingInstance, call: RunContext) -> MethodResult:
    """Run method `exact`."""
    call.progress.phase("bounds and list schedules")
    state = initial_state(instance, call)
    state.checkable_only = True
    if settled_result(instance, state) is None:
        _search(instance, state)
    return settled_result(instance, state) or state.outcome()


def _search(instance: RingInstance, state: SearchState) -> None:
    """Search until the gap is closed or time is up."""
    jobs, budget = len(instance.jobs), state.call.budget
    many = jobs >= MANY_JOBS or jobs * len(instance.servers) > MANY_PAIRS
    if many:  # the bound may be reached already
        search_locally(instance, state, budget.share(EARLY_SHARE, most=EARLY_SECONDS))
    elif jobs <= FEW_JOBS:
        refute(state, instance, prove_goal, budget.share(REFUTE_SHARE, most=REFUTE_SECONDS))
    if not state.closed:
        bound_by_patterns(instance, state, budget.share(BOUND_SHARE, most=BOUND_SECONDS))
    if settled_result(instance, state) is not None:
        return
    most = FEW_SECONDS if jobs <= FEW_JOBS else SEARCH_SECONDS
    share = budget if many else budget.share(SEARCH_SHARE, most=most)
    search_locally(instance, state, share)
    if not many and not state.closed:
        refute_makespans(instance, state, budget)
