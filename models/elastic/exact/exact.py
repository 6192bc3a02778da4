"""`exact` (ours): a good incumbent, CP-SAT, then refutation of better values.

Small instances are closed at once: all values below the incumbent's are refuted, which leaves a
proof. Otherwise lists by the prices of a relaxation come first, then, where it is compiled, a local
search, and CP-SAT on intervals. Then the prover refutes values from the bound of column generation
up to the incumbent's, and finds better schedules on its way. Where that leaves a gap, a local
search and CP-SAT have the rest of the time.
"""

from collections.abc import Callable, Mapping
from functools import partial

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.bounds import schedule_lp
from schedgap.models.elastic.bounds.solve_relaxations import schedule_lp_bound
from schedgap.models.elastic.exact.stages import (
    interval_size,
    method_stage,
    refute_values,
    search_intervals,
    variables,
)
from schedgap.models.elastic.heuristics.initial import initial_state, starting_schedule
from schedgap.models.elastic.heuristics.kernel import KERNEL
from schedgap.models.elastic.heuristics.lp_guided import lists_by_prices, lp_guided, search
from schedgap.models.elastic.modes import modes
from schedgap.models.elastic.proof import MAX_SERVERS
from schedgap.models.method import MethodResult, RunContext
from schedgap.models.search_state import SearchState

# Shares of the remaining time, and upper limits in seconds.
FIRST_SHARE, FIRST_SECONDS = 0.2, 3.0  # each of the two searches at the beginning
PRICES_SHARE = 0.1  # bounds and lists by the prices of a relaxation
SEARCH_SHARE, MOVES = 0.1, 1000  # the first local search, and its moves per job
REFUTE_SHARE = 0.8  # refuting better values
RELAXED_SHARE = 0.5  # each of the two relaxations, one of which guides list schedules
# Sizes.
REFUTED_SIZE = 500  # up to this size of the interval model, better values are refuted at once
FIRST_SIZE, MAX_SIZE = 3_000, 100_000  # interval models for CP-SAT first, and for CP-SAT at all
FEW_MODE_STARTS = 150_000  # jobs x modes x slots

METHODS: Mapping[str, Callable[..., MethodResult]] = {
    "schedule-lp": partial(schedule_lp_bound, starting_schedule=starting_schedule),
    "lp-guided": lp_guided,
}


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
    if size <= REFUTED_SIZE:
        refute_values(instance, state, budget.share(FIRST_SHARE, most=FIRST_SECONDS))
    if not _over(state):
        found = lists_by_prices(instance, state, budget.share(PRICES_SHARE))
        if found is not None and KERNEL.compiled(instance) is not None and not _over(state):
            search(instance, state, found, budget.share(SEARCH_SHARE).clock, MOVES)
    if size <= FIRST_SIZE and not _over(state):
        search_intervals(instance, state, budget.share(FIRST_SHARE, most=FIRST_SECONDS))
    if len(instance.servers) <= MAX_SERVERS and not _over(state):
        refute_values(instance, state, budget.share(REFUTE_SHARE))
    if _over(state):
        return ""
    slots = schedule_lp.priced_slots(instance, state.schedule)
    starts = slots * sum(len(modes(instance, j)) for j in range(len(instance.jobs)))
    note = schedule_lp.too_large(instance, slots) or ""
    stages = [] if note else ["schedule-lp"]
    place = 1 if starts <= FEW_MODE_STARTS else 0  # otherwise the relaxation over runs takes long
    stages.insert(place, "lp-guided")
    for name in stages:
        if not _over(state):
            state.call.progress.phase("generating columns")
            share = budget if size > MAX_SIZE else budget.share(RELAXED_SHARE)
            state.child(name, method_stage, instance, METHODS[name], budget=share, engine="highs")
    if not _over(state) and size <= MAX_SIZE:
        search_intervals(instance, state, budget)
    return note


def _is_large(instance: ElasticInstance) -> bool:
    """Return whether neither the prover nor CP-SAT is asked."""
    return len(instance.servers) > MAX_SERVERS and variables(instance) > MAX_SIZE


def _over(state: SearchState) -> bool:
    return state.closed or "refute" in state.proofs or state.call.clock.expired()
