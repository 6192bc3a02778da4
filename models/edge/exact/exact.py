"""The method `exact`: good schedules, refutation of better values, then CP-SAT.

Lists and large neighbourhoods give schedules. Refutation raises the bound to the value of the
incumbent, and leaves a proof (`models.refute`). The jobs of each worker type come first, on their
own (`components`). Their bounds may not add up to the optimum, because the types share PSs; then
values of all jobs are refuted. Small networks and few jobs are solved at once, by refutation and by
CP-SAT.

References
----------
R. Klein, A. Scholl, "Computing lower bounds by destructive improvement: an application to
resource-constrained project scheduling", European Journal of Operational Research 112 (1999):
bounds from values that are refuted.
"""

import math

from schedgap.instances.edge import EdgeInstance
from schedgap.models.edge.decisions import compiled, sense
from schedgap.models.edge.exact.components import tree_stage, type_stage
from schedgap.models.edge.exact.prove import prove_goal
from schedgap.models.edge.exact.stages import (
    refute_components,
    search_intervals,
    search_lists,
    search_neighborhoods,
)
from schedgap.models.edge.heuristics.initial import initial_state
from schedgap.models.method import MethodResult, RunContext
from schedgap.models.refute import refute
from schedgap.models.search_state import SearchState

# Fractions of the time for lists and for neighbourhoods before the worker types; for each after.
LIST_SHARE, NEIGHBORHOOD_SHARE, LAST_SHARE = 0.1, 0.05, 0.3
BATCH_SHARE = 0.5  # fraction of the time for CP-SAT, which is good at batches
SCALE_SHARE = 0.4  # fraction of the time for the bounds of the worker types at full scale
ROOT_SHARE, ROOT_SECONDS = 0.3, 5.0  # the larger one of both before their trees
COMPONENT_SHARE = 0.8  # fraction of the time for the worker types one by one
REFUTE_SHARE, REFUTE_STEP = 0.5, 0.2  # fraction of the time; step to the next value, of the gap
FEW_PLACES = 40  # jobs x servers with their workers, up to which all jobs are refuted first
FEW_JOBS = 13  # up to which CP-SAT is asked early on problem (2)
FIRST_SHARE, FIRST_SECONDS = 0.2, 3.0  # limits of each of the two
MAX_PLACES = 1_000  # jobs x servers with their workers, for refutation and CP-SAT
MAX_BATCH_PLACES = 3_000  # the same, for CP-SAT on a batch


def exact(instance: EdgeInstance, call: RunContext) -> MethodResult:
    """Run `exact`."""
    state = initial_state(instance, call)
    state.checkable_only = True
    return state.outcome("" if state.closed else _search(instance, state))


def _search(instance: EdgeInstance, state: SearchState) -> str:
    """Search until the gap is closed or time is up; return a note for the user."""
    budget, places = state.call.budget, _places(instance)
    if places > MAX_PLACES and not instance.is_batch:
        # In this process, which loads no second engine: a child would take seconds to start.
        limited = budget.share(SCALE_SHARE)
        most = max(ROOT_SECONDS, ROOT_SHARE * limited.clock.remaining())
        first = limited.share(1.0, most=most)
        found = state.take("type-bound", type_stage(state, instance, budget=first))
        means = {job: start for bound in found.value for job, start in bound.starts.items()}
        uppers = {bound.worker_type: math.inf for bound in found.value}
        trees = tree_stage(state, instance, found.value, uppers, budget=limited)
        state.take("type-trees", trees)
        search_lists(instance, state, budget, 100, math.inf, means)
        return "too large for an exact search: lists to the end of the time"
    if places <= FEW_PLACES:
        first = budget.share(FIRST_SHARE, most=FIRST_SECONDS)
        refute(state, instance, prove_goal, first, sense=sense(instance))
    if not state.closed and not instance.is_batch:
        search_lists(instance, state, budget.share(LIST_SHARE), moves=100, patience=3)
    if not state.closed and instance.is_batch and places <= MAX_BATCH_PLACES:
        search_intervals(instance, state, budget.share(BATCH_SHARE))
    elif not state.closed and len(instance.jobs) <= FEW_JOBS:
        search_intervals(instance, state, budget.share(FIRST_SHARE, most=FIRST_SECONDS))
    elif not state.closed and not instance.is_batch:
        search_neighborhoods(instance, state, budget.share(NEIGHBORHOOD_SHARE))
    starts = None
    if not state.closed:
        starts = refute_components(instance, state, budget.share(COMPONENT_SHARE))
    if not state.closed and not instance.is_batch:
        search_lists(instance, state, budget.share(LAST_SHARE), 40, 3, starts)
        search_neighborhoods(instance, state, budget.share(LAST_SHARE))
    if not state.closed and len({job.worker_type for job in instance.jobs}) > 1:
        share = budget.share(REFUTE_SHARE)
        refute(state, instance, prove_goal, share, sense=sense(instance), step=REFUTE_STEP)
    if places > MAX_BATCH_PLACES:
        return "too large for an exact search"
    if not state.closed and not budget.clock.expired():
        search_intervals(instance, state, budget)
    return ""


def _places(instance: EdgeInstance) -> int:
    """Return the number of pairs of a job and a server with workers for it."""
    view = compiled(instance)
    servers = (view.workers > 0).sum(axis=0)
    return sum(int(servers[task.worker_type]) for task in view.tasks)
