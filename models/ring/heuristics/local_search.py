"""Local search over which server serves which jobs (ours).

Few jobs: orders of a timetable. Then: jobs inside one server meet nobody, so they are moved
between lanes, see `server_lanes`. Jobs that no server can hold run before all others, see
`large_jobs_first`; what they leave free is where the rest begins. The search is simulated annealing
on the work that lies beyond a target makespan, and targets are tried between a bound and the best
makespan so far.
"""

import math
from collections.abc import Callable
from random import Random
from typing import Any

from schedgap.instances.ring import RingInstance, RingSchedule
from schedgap.models.method import MethodResult, RunContext
from schedgap.models.ring.algorithms.packing import lpt_pack
from schedgap.models.ring.bounds.elementary import width_dff
from schedgap.models.ring.dispatch import NO_PLACE, trial_schedule
from schedgap.models.ring.heuristics.large_jobs_first import large_jobs_schedules
from schedgap.models.ring.heuristics.serial_schedules import PlacedSchedule, order_search
from schedgap.models.ring.heuristics.server_lanes import LaneAssignment
from schedgap.models.ring.rates import RateTable, past_horizon, rate_table, refuted
from schedgap.models.ring.simulator import schedule_metrics, schedule_of
from schedgap.models.search_state import Finder, SearchState, StageResult
from schedgap.solvers.children.clock import Clock

_LAST_HEAT = 0.002  # temperature of the last move, in that of the first
_TIMETABLE = 100_000  # jobs x servers x slots at most
_LANES = 20_000_000  # jobs x GPUs at most
_KEPT = 3  # prefixes that are gone on with
_PART, _PART_SECONDS = 0.25, 2.0  # of the time that is left, for each target
_PAUSE = 256  # moves between two looks at the clock


def anneal(
    plan: LaneAssignment,
    target: int,
    moves: int,
    heat: float,
    rng: Random,
    *,
    clock: Clock,
    on_better: Callable[[LaneAssignment], None] = lambda plan: None,
) -> bool:
    """Move jobs until nothing lies beyond the target; return whether that was reached.

    Parameters
    ----------
    target : int
        Makespan, in slots; at least that of the jobs that come first.
    moves : int
        At most.
    heat : float
        Temperature of the first move, in GPU-slots beyond the target; it falls geometrically, with
        the moves or with the clock, whichever is further.
    on_better : callable
        Called at first, and when less lies beyond the target than ever before.
    """
    total = least = plan.aim(target)
    on_better(plan)
    now = heat
    for tried in range(moves):
        if not total:
            break
        if tried % _PAUSE == 0:
            if clock.expired():
                break
            plan.look()
            now = heat * _LAST_HEAT ** max(tried / moves, clock.spent())
        change = plan.try_move(rng)
        if change is None:
            continue
        if change > 0 and rng.random() >= math.exp(-change / now):
            plan.drop()
            continue
        plan.keep()
        total += change
        if total < least:
            least = total
            on_better(plan)
    return not total


def local_search(
    table: RateTable,
    lower: int,
    upper: int,
    seed: int,
    *,
    orders: int = 30,
    moves: int = 2000,
    rounds: int = 2,
    clock: Clock,
    on_better: Callable[[PlacedSchedule], None] = lambda found: None,
) -> PlacedSchedule | None:
    """Look for a makespan below `upper`; None where there was none, else the best.

    Parameters
    ----------
    table : RateTable
        Of an instance that `no_schedule` does not refute.
    lower : int
        A bound on the makespan, in slots: no target lies below it.
    upper : int
        Makespan of a known schedule, or one slot more than the horizon.
    orders : int
        Orders of a timetable for each job, where it is not too large.
    moves : int
        Of each job, for each target, at first; where the lanes are not too many.
    rounds : int
        How often the search begins, each time with more moves: once, twice, ... as many.
    clock : Clock
        Each part of the search has a share of what is left; without a limit a seed repeats it.

    Notes
    -----
    Targets halve the distance between the lowest that may be possible and the best makespan. A
    target that was not reached proves nothing; while it was missed, the makespan may still fall.
    """
    best: PlacedSchedule | None = None

    def take(found: PlacedSchedule) -> None:
        nonlocal best, upper
        if found.makespan < upper:
            upper, best = found.makespan, found
            on_better(found)

    def note(plan: LaneAssignment) -> None:
        take(plan.found())

    rng = Random(seed)
    if len(table.size) * len(table.server_gpus) * upper <= _TIMETABLE:
        tries = orders * len(table.size)
        order_search(table, lower, upper, rng, tries=tries, clock=clock.share(0.5), on_better=take)
    if too_large(table):
        return best
    heat = max(1.0, sum(map(float, table.best_slots)) / len(table.size) / 2)
    begins = large_jobs_schedules(table, rng)[:_KEPT]
    for again in range(1, rounds + 1):
        for large_jobs in begins:
            low = max(lower, large_jobs.makespan)
            if low >= upper or clock.expired():
                continue
            plan = LaneAssignment(table, large_jobs, low)
            note(plan)
            while plan.jobs and low < upper and not clock.expired():
                target = (low + upper - 1) // 2
                most = moves * len(plan.jobs) * again
                if not anneal(plan, target, most, heat, rng, clock=_part(clock), on_better=note):
                    low = target + 1
    return best


def too_large(table: RateTable) -> bool:
    """Return whether there are too many lanes to move the jobs between."""
    return len(table.size) * table.gpus > _LANES


def _part(clock: Clock) -> Clock:
    """Return a quarter of what is left, and some seconds of it at least."""
    return clock.share(min(1.0, max(_PART, _PART_SECONDS / max(clock.remaining(), 1e-9))))


def run_local_search(instance: RingInstance, call: RunContext) -> MethodResult:
    """Run `local-search`: from `lpt-pack` on, down to the bounds that cost nothing."""
    if proof := refuted(instance):
        return proof
    table = rate_table(instance)
    lower = max(int(table.longest), width_dff(table)[0])
    if lower > instance.horizon:
        return MethodResult(infeasible=True, note=past_horizon(instance, lower))
    found = SearchState(call, lambda made: float(made.makespan), tolerance=0.0)
    call.progress.phase("packing the longest jobs first")
    first = lpt_pack(table)
    if first.feasible:
        found.offer(trial_schedule(instance, first))
    call.progress.phase("moving jobs")
    report = search_stage(
        found,
        instance,
        found.schedule,
        lower,
        clock=call.clock,
        seed=call.seed,
        threads=call.threads,
        **call.options,
    )
    if found.schedule is None:
        return MethodResult(note=NO_PLACE)
    trace = {"lpt_pack": first.makespan if first.feasible else None, "lower": lower}
    trace["end"] = report.trace["end"]
    return MethodResult(found.schedule, trace=schedule_metrics(instance, found.schedule) | trace)


def search_stage(
    found: Finder,
    instance: RingInstance,
    known: RingSchedule | None,
    lower: int,
    *,
    clock: Clock,
    seed: int,
    threads: int,
    **options: Any,
) -> StageResult:
    """Look for schedules that are better than the known one; `options` are `local_search`'s."""

    def offer(better: PlacedSchedule) -> None:
        made = schedule_of(instance, better.starts, better.placements)
        if made is not None:
            found.offer(made)

    table = rate_table(instance)
    best = local_search(
        table,
        lower,
        instance.horizon + 1 if known is None else known.makespan,
        seed,
        clock=clock,
        on_better=offer,
        **options,
    )
    reached = [each.makespan for each in (best, known) if each is not None]
    if reached and min(reached) <= lower:
        end = "the bound is met"
    elif clock.expired():
        end = "time is up"
    elif too_large(table):
        end = "too many jobs and GPUs to move jobs between lanes"
    else:
        end = "all rounds are done"
    return StageResult(trace={"seconds": round(clock.elapsed(), 3), "end": end})
