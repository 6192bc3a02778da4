"""`exact` (ours): a good incumbent, CP-SAT, then refutation of better values.

Lists by the prices of a relaxation come first: they need no child process, so a busy processor
delays them least. Small instances are then closed at once: all values below the
incumbent's are refuted, which leaves a proof. Otherwise a local search follows, where it is
compiled, and CP-SAT on intervals. Then the prover refutes values from the bound of column
generation up to the incumbent's, and finds better schedules on its way. Where that leaves a gap, a
local search, the relaxation over all runs and CP-SAT have the rest of the time.
"""

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.bounds import schedule_lp
from schedgap.models.elastic.exact.stages import (
    interval_size,
    refute_values,
    relaxation_stage,
    search_intervals,
    variables,
)
from schedgap.models.elastic.heuristics.initial import initial_state
from schedgap.models.elastic.heuristics.kernel import KERNEL
from schedgap.models.elastic.heuristics.lp_guided import (
    LP_SHARE,
    lists_by_prices,
    lp_guided,
    search,
)
from schedgap.models.elastic.proof import MAX_SERVERS
from schedgap.models.method import MethodResult, RunContext
from schedgap.models.search_state import SearchState

# Shares of the remaining time, and upper limits in seconds.
FIRST_SHARE, FIRST_SECONDS = 0.2, 3.0  # each of the two searches at the beginning
SEARCH_SHARE, MOVES = 0.1, 1000  # the first local search, and its moves per job
REFUTE_SHARE = 0.8  # refuting better values
LATE_SHARE = 0.5  # after the prover: the search, then the relaxation over all runs
# Sizes.
REFUTED_SIZE = 500  # up to this size of the interval model, better values are refuted at once
FIRST_SIZE, MAX_SIZE = 3_000, 100_000  # interval models for CP-SAT first, and for CP-SAT at all


def exact(instance: ElasticInstance, call: RunContext) -> MethodResult:
    """Run `exact`."""
    if _is_large(instance):
        return lp_guided(instance, call)  # has the first lists, too
    state = initial_state(instance, call)
    state.checkable_only = True
    note = "" if state.closed else _search(instance, state)
    if not state.closed and call.clock.expired():
        note = note or "out of time"
    return state.outcome("" if state.closed else note)


def _search(instance: ElasticInstance, state: SearchState) -> str:
    """Run the stages until the gap is closed; return why it is not."""
    budget, size = state.call.budget, interval_size(instance, state)
    found = lists_by_prices(instance, state, budget.share(LP_SHARE))
    if size <= REFUTED_SIZE and not _over(state):
        refute_values(instance, state, budget.share(FIRST_SHARE, most=FIRST_SECONDS))
    if found is not None and KERNEL.compiled(instance) is not None and not _over(state):
        search(instance, state, found, budget.share(SEARCH_SHARE).clock, MOVES)
    if size <= FIRST_SIZE and not _over(state):
        search_intervals(instance, state, budget.share(FIRST_SHARE, most=FIRST_SECONDS))
    if len(instance.servers) <= MAX_SERVERS and not _over(state):
        refute_values(instance, state, budget.share(REFUTE_SHARE))
    if _over(state):
        return ""
    if found is not None and not _over(state):
        state.trace["search"] = search(instance, state, found, budget.share(LATE_SHARE).clock)
    note = schedule_lp.too_large(instance, schedule_lp.priced_slots(instance, state.schedule)) or ""
    if not note and not _over(state):
        state.call.progress.phase("generating columns")
        share = budget if size > MAX_SIZE else budget.share(LATE_SHARE)
        state.child("schedule-lp", relaxation_stage, instance, budget=share, engine="highs")
    if not _over(state) and size <= MAX_SIZE:
        search_intervals(instance, state, budget)
    return note


def _is_large(instance: ElasticInstance) -> bool:
    """Return whether neither the prover nor CP-SAT is asked."""
    return len(instance.servers) > MAX_SERVERS and variables(instance) > MAX_SIZE


def _over(state: SearchState) -> bool:
    return state.closed or "refute" in state.proofs or state.call.clock.expired()
