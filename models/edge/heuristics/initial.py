"""Initial search state: the bound of each job alone, and the list schedules."""

import math

from schedgap.instances.edge import EdgeInstance, EdgeSchedule
from schedgap.models.edge.bounds.job_alone import job_bound
from schedgap.models.edge.bounds.kernel import large
from schedgap.models.edge.decisions import compiled, sense
from schedgap.models.edge.heuristics.kernel import KERNEL
from schedgap.models.edge.heuristics.lists import best_list, orders
from schedgap.models.edge.heuristics.partial_schedule import PartialSchedule
from schedgap.models.edge.placements import (
    reported_sums,
    runs_from_schedule,
    schedule_from_runs,
)
from schedgap.models.method import RunContext
from schedgap.models.search_state import SearchState

# Jobs x servers up to which a list is made before the compiled code is loaded, in half a second.
MAX_PLAIN = 100_000


def initial_state(instance: EdgeInstance, call: RunContext) -> SearchState:
    """Return a search state with the bound of each job alone and the best list schedule.

    Values are minimised: sum c_j - a_j, or minus the number of jobs that run. Schedules are reduced
    to modes, which never makes one worse.
    """
    sign = sense(instance)

    def reduced(schedule: EdgeSchedule) -> EdgeSchedule:
        return schedule_from_runs(instance, runs_from_schedule(instance, schedule))

    state = SearchState(
        call,
        lambda schedule: sign * schedule.value(instance),
        to_objective=lambda value: float(sign * value) + 0.0,  # turns -0.0 into 0.0
        round_bound=lambda bound: math.ceil(bound - 1e-6),
        normalise=reduced,
        tolerance=0.0,
        trace_of=lambda schedule: reported_sums(instance, schedule),
    )
    state.bound(job_bound(compiled(instance)), {"kind": "job-bound"})
    if instance.is_batch:
        state.incumbent(EdgeSchedule({}))
    if not state.closed:
        _offer_lists(state, instance)
    return state


def _offer_lists(state: SearchState, instance: EdgeInstance) -> None:
    """Offer list schedules until one meets the bound or time is up."""

    def offer(partial: PartialSchedule) -> None:
        if partial.complete or instance.is_batch:
            state.incumbent(partial.schedule())

    if large(instance) and len(instance.jobs) * len(instance.servers) <= MAX_PLAIN:
        first = PartialSchedule(instance)
        first.insert(orders(instance)["arrival"], KERNEL.plain)
        offer(first)
        if state.closed:
            return
    best_list(instance, stop=lambda: state.closed or state.call.clock.expired(), on_list=offer)
