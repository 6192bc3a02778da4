"""Local search for schedules: orders of the jobs, then jobs assigned to lanes of GPUs (ours).

Small instances begin with a search over orders (`serial_schedules`). Then the jobs that fit into a
server are moved between lanes (`server_lanes`), after those that do not, which run first
(`large_jobs_first`). The search is simulated annealing on the excess, the work beyond a target
makespan. Targets bisect the range between a lower bound and the best makespan.

References
----------
S. Kirkpatrick, C. D. Gelatt, M. P. Vecchi, "Optimization by simulated annealing", Science 220
(1983).
"""

import math
from collections.abc import Callable
from random import Random
from typing import Annotated, Any

from annotated_types import Ge, Le

from schedgap.instances.ring import RingInstance, RingSchedule
from schedgap.models.method import Budget, MethodResult, RunContext
from schedgap.models.ring.algorithms.packing import lpt_pack
from schedgap.models.ring.bounds.elementary import width_dff
from schedgap.models.ring.dispatch import NO_PLACE, trial_schedule
from schedgap.models.ring.heuristics.large_jobs_first import large_jobs_schedules
from schedgap.models.ring.heuristics.serial_schedules import PlacedSchedule, order_search
from schedgap.models.ring.heuristics.server_lanes import LaneAssignment
from schedgap.models.ring.rates import RateTable, past_horizon, rate_table
from schedgap.models.ring.simulator import schedule_metrics, schedule_of
from schedgap.models.search_state import SearchState, StageProgress, StageResult
from schedgap.solvers.children.clock import Clock

_COOLING = 0.002  # final over initial temperature
_MOST_PROFILE_CELLS = 100_000  # jobs x servers x slots for a search over orders
_MOST_LANE_CELLS = 20_000_000  # jobs x GPUs for a search over lanes
_LARGE_JOBS_SCHEDULES = 3  # that the search begins with
_TARGET_SHARE, _TARGET_SECONDS = 0.25, 2.0  # share of the remaining time for each target
_PAUSE = 256  # moves between two looks at the clock


def anneal(
    lanes: LaneAssignment,
    target: int,
    moves: int,
    temperature: float,
    rng: Random,
    *,
    clock: Clock,
    on_better: Callable[[LaneAssignment], None] = lambda lanes: None,
) -> bool:
    """Move jobs until the excess over a target makespan is 0; return whether it is.

    `lanes`: assignment that is changed. `target`: makespan, slots; the large jobs must end by it.
    `moves`: largest number of moves. `temperature`: initial temperature in GPU-slots of excess; it
    falls geometrically, with the moves or with the clock, whichever is further. `rng`: source of
    the moves. `clock`: when to stop. `on_better`: called at the start, and whenever the excess is
    smaller than ever before.
    """
    excess = smallest = lanes.set_target(target)
    on_better(lanes)
    current = temperature
    for tried in range(moves):
        if not excess:
            break
        if tried % _PAUSE == 0:
            if clock.expired():
                break
            lanes.update_late_jobs()
            current = temperature * _COOLING ** max(tried / moves, clock.spent())
        change = lanes.try_move(rng)
        if change is None:
            continue
        if change > 0 and rng.random() >= math.exp(-change / current):
            lanes.reject()
            continue
        lanes.accept()
        excess += change
        if excess < smallest:
            smallest = excess
            on_better(lanes)
    return not excess


def local_search(
    table: RateTable,
    lower: int,
    upper: int,
    *,
    orders: Annotated[
        int,
        "number of orders for each job in the serial search of small instances",
        Ge(0),
        Le(10**6),
    ] = 30,
    moves: Annotated[
        int,
        "number of moves for each job and target makespan, in the first round",
        Ge(1),
        Le(10**6),
    ] = 2000,
    rounds: int = 2,
    budget: Budget,
    on_better: Callable[[PlacedSchedule], None] = lambda schedule: None,
) -> PlacedSchedule | None:
    """Return the best schedule with a makespan below `upper`, or None if none was found.

    `table`: of an instance that `no_schedule` does not refute. `lower`: lower bound on the
    makespan, slots; no target is below it. `upper`: makespan to improve on, slots: the best known
    one, or the horizon plus 1. `orders`: orders per job, for instances that are small enough
    to search over orders. `moves`: moves per job and target in the first round; r times as many in
    round r. `rounds`: number of rounds, in each of which the search begins anew. `budget`: each
    part of the search has a share of the remaining time; without a limit, the result depends on the
    seed alone. `on_better`: called with every schedule that is better than all before it.

    Notes
    -----
    A target that is not attained proves nothing; the makespan may still have improved.
    """
    best: PlacedSchedule | None = None

    def take(schedule: PlacedSchedule) -> None:
        nonlocal best, upper
        if schedule.makespan < upper:
            upper, best = schedule.makespan, schedule
            on_better(schedule)

    def take_lanes(lanes: LaneAssignment) -> None:
        take(lanes.schedule())

    rng, clock = Random(budget.seed), budget.clock
    if len(table.size) * len(table.server_gpus) * upper <= _MOST_PROFILE_CELLS:
        tries = orders * len(table.size)
        order_search(table, lower, upper, rng, tries=tries, clock=clock.share(0.5), on_better=take)
    if _has_too_many_lanes(table):
        return best
    temperature = max(1.0, sum(map(float, table.best_slots)) / len(table.size) / 2)
    starts = large_jobs_schedules(table, rng)[:_LARGE_JOBS_SCHEDULES]
    for number in range(1, rounds + 1):
        for large_jobs in starts:
            low = max(lower, large_jobs.makespan)  # no lower target is attainable from this start
            if low >= upper or clock.expired():
                continue
            lanes = LaneAssignment(table, large_jobs, low)
            take_lanes(lanes)
            while lanes.jobs and low < upper and not clock.expired():
                target = (low + upper - 1) // 2  # `upper` falls with every better schedule
                if not anneal(
                    lanes,
                    target,
                    moves * len(lanes.jobs) * number,
                    temperature,
                    rng,
                    clock=_target_clock(clock),
                    on_better=take_lanes,
                ):
                    low = target + 1
    return best


def _has_too_many_lanes(table: RateTable) -> bool:
    return len(table.size) * table.gpus > _MOST_LANE_CELLS


def _target_clock(clock: Clock) -> Clock:
    """Return a clock with a quarter of the remaining time, and some seconds of it at least."""
    least = _TARGET_SECONDS / max(clock.remaining(), 1e-9)
    return clock.share(min(1.0, max(_TARGET_SHARE, least)))


def run_local_search(instance: RingInstance, call: RunContext, **options: Any) -> MethodResult:
    """Run method `local-search` between the closed-form bounds and the schedule of `lpt-pack`.

    `options`: as of `local_search`.
    """
    table = rate_table(instance)
    lower = max(int(table.longest), width_dff(table)[0])
    if lower > instance.horizon:
        return MethodResult(infeasible=True, note=past_horizon(instance, lower))
    state = SearchState(call, lambda schedule: float(schedule.makespan), tolerance=0.0)
    call.progress.phase("packing the longest jobs first")
    first = lpt_pack(table)
    if first.feasible:
        state.incumbent(trial_schedule(instance, first))
    call.progress.phase("moving jobs")
    report = search_stage(
        state,
        instance,
        state.schedule,
        lower,
        budget=call.budget,
        **options,
    )
    if state.schedule is None:
        return MethodResult(note=NO_PLACE)
    trace = {"lpt_pack": first.makespan if first.feasible else None, "lower": lower}
    trace["end"] = report.trace["end"]
    return MethodResult(state.schedule, trace=schedule_metrics(instance, state.schedule) | trace)


def search_stage(
    state: StageProgress,
    instance: RingInstance,
    incumbent: RingSchedule | None,
    lower: int,
    *,
    budget: Budget,
    **options: int,
) -> StageResult:
    """Look for schedules that are better than the incumbent, by `local_search`.

    `state`: receiver of the schedules. `incumbent`: best known schedule. `lower`: lower bound on
    the makespan, slots. `**options`: `orders`, `moves` and `rounds` of `local_search`.

    Returns
    -------
    StageResult
        `trace["end"]` says why the search ended.
    """

    def offer(better: PlacedSchedule) -> None:
        schedule = schedule_of(instance, better.starts, better.placements)
        if schedule is not None:
            state.incumbent(schedule)

    table = rate_table(instance)
    best = local_search(
        table,
        lower,
        instance.horizon + 1 if incumbent is None else incumbent.makespan,
        budget=budget,
        on_better=offer,
        **options,
    )
    makespans = [schedule.makespan for schedule in (best, incumbent) if schedule is not None]
    if makespans and min(makespans) <= lower:
        end = "the bound is met"
    elif budget.clock.expired():
        end = "time is up"
    elif _has_too_many_lanes(table):
        end = "too many jobs and GPUs to move jobs between lanes"
    else:
        end = "all rounds are done"
    return StageResult(trace={"seconds": round(budget.clock.elapsed(), 3), "end": end})
