"""What is known of an instance before any search: the bound of each job alone, and a bracket."""

import math

from schedgap.instances.edge import EdgeInstance, EdgeSchedule
from schedgap.models.edge.baselines.timetable import Timetable
from schedgap.models.edge.bounds.job_alone import job_bound
from schedgap.models.edge.decisions import problem, sense
from schedgap.models.edge.heuristics.lists import best_list, place_all
from schedgap.models.edge.placements import runs_from, schedule_of, sums
from schedgap.models.method import RunContext
from schedgap.models.search_state import SearchState


def first_bracket(instance: EdgeInstance, call: RunContext) -> SearchState:
    """Return the bracket of what is known at once: every job alone, and lists.

    Values are those of a minimisation: sum c_j - a_j, or minus the number of jobs that run.
    Schedules are cut to modes, which never makes one worse.
    """
    sign = sense(instance)

    def keep(schedule: EdgeSchedule) -> EdgeSchedule:
        return schedule_of(instance, runs_from(instance, schedule))

    found = SearchState(
        call,
        lambda schedule: sign * schedule.value(instance),
        to_objective=lambda value: float(sign * value) + 0.0,  # no -0.0
        round_bound=lambda bound: math.ceil(bound - 1e-6),
        normalise=keep,
        tolerance=0.0,
        trace_of=lambda schedule: sums(instance, schedule),
    )
    found.bound(job_bound(problem(instance)), {"kind": "job-bound"})
    if instance.is_batch:
        found.offer(EdgeSchedule({}))
    if not found.closed:
        starting_schedules(found, instance)
    return found


def starting_schedules(found: SearchState, instance: EdgeInstance) -> None:
    """Offer the list schedules, one by one, until one meets the bound or time is up."""

    def hear(timetable: Timetable) -> None:
        if len(timetable.runs) == len(instance.jobs) or instance.is_batch:
            found.offer(timetable.schedule())

    best_list(instance, stop=lambda: found.closed or found.call.clock.expired(), hear=hear)


def starting_schedule(instance: EdgeInstance) -> EdgeSchedule | None:
    """Return the best list schedule, or None when no list places all jobs of (2) in time."""
    timetable = place_all(instance, best_list(instance)[1])
    whole = len(timetable.runs) == len(instance.jobs)
    return timetable.schedule() if whole or instance.is_batch else None
