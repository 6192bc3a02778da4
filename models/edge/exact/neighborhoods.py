"""Large neighbourhood search: some jobs are free at a time, the others stay; CP-SAT solves each.

Free jobs may use the modes and starts that remain after reduced-cost fixing. The other jobs keep
everything, or only their mode and start.

References
----------
P. Shaw, "Using constraint programming and local search methods to solve vehicle routing problems",
Principles and Practice of Constraint Programming, Lecture Notes in Computer Science 1520 (1998).
"""

from typing import Any

import numpy as np

from schedgap.instances.edge import EdgeInstance, EdgeSchedule
from schedgap.models.edge.bounds.reduced_cost_fixing import ReducedCostFixing
from schedgap.models.edge.decisions import ModeStart, compiled
from schedgap.models.edge.placements import (
    PlacedRun,
    runs_from_schedule,
    schedule_from_runs,
    valid_schedule,
)
from schedgap.models.edge.programs import intervals
from schedgap.models.method import Budget
from schedgap.models.search_state import StageProgress, StageResult
from schedgap.solvers import solve
from schedgap.solvers.engines.confirm import confirm

FIRST_SIZE = 5  # free jobs
MAX_SECONDS = 2.0  # for one neighbourhood
SERVERS_FREE = 4  # every fourth neighbourhood lets the other jobs change servers
PATIENCE = 2  # neighbourhoods without improvement, for each job, before the search ends
ONE_TYPE = 0.7  # share of neighbourhoods with jobs of one worker type, if possible


def improve(
    found: StageProgress,
    instance: EdgeInstance,
    schedule: EdgeSchedule,
    fixing: ReducedCostFixing,
    stream: int = 0,
    *,
    budget: Budget,
) -> StageResult:
    """Improve a schedule until time is up or many neighbourhoods bring no improvement.

    A neighbourhood of all jobs without an improvement proves that the schedule is optimal.

    `found`: receives schedules and bounds. `fixing`: determines the modes and starts of better
    schedules. `stream`: different values choose different neighbourhoods.
    """
    view, random = compiled(instance), np.random.default_rng([budget.seed, stream])
    runs = {run.job: run for run in runs_from_schedule(instance, schedule)}
    size, failed, tried = FIRST_SIZE, 0, 0
    upper = schedule.value(instance)
    remaining = fixing.remaining_starts(view, upper)
    while not budget.clock.expired() and failed < PATIENCE * len(runs) and not remaining.is_empty:
        size = max(2, min(size, len(runs)))
        free = _choose(instance, list(runs.values()), size, random)
        starts = [start for start in remaining.mode_starts if start.job in free]
        rest = [run for job, run in runs.items() if job not in free]
        fixed = rest if tried % SERVERS_FREE else []
        model = intervals.build(
            instance,
            mode_starts=starts if fixed else starts + [run.mode_start for run in rest],
            fixed=fixed,
            symmetry=not rest,
            upper=upper - 1,
        )
        settings: dict[str, Any] = {
            "seed": budget.seed + tried,
            "threads": budget.threads,
            "grid": 1,
            "start": intervals.start(model, instance, schedule),
        }
        result = solve(model, "cp-sat", clock=budget.clock.share(1.0, most=MAX_SECONDS), **settings)
        if result.status == "infeasible" and not rest:
            result, _ = confirm(model, "cp-sat", result, clock=budget.clock, **settings)
        tried, failed = tried + 1, failed + 1
        better = None
        if result.values is not None:
            moved = intervals.read(model, instance, result.values)
            changed = runs | {run.job: run for run in runs_from_schedule(instance, moved)}
            better = valid_schedule(instance, schedule_from_runs(instance, changed.values()))
        if better is not None:
            runs, schedule = changed, better
            upper, failed = schedule.value(instance), 0
            found.incumbent(schedule)
            remaining = fixing.remaining_starts(view, upper)
        elif result.status == "infeasible":
            if not rest:
                found.bound(upper)
                break
            size += 1 if result.seconds < MAX_SECONDS / 4 else 0
        else:
            size -= 1
    if remaining.is_empty:
        found.bound(upper)
    return StageResult(trace={"neighborhoods": tried, "jobs": size, "objective": upper})


def _choose(
    instance: EdgeInstance, runs: list[PlacedRun], size: int, random: np.random.Generator
) -> set[int]:
    """Return jobs that run close to each other in time, mostly of one worker type."""
    center = runs[int(random.integers(len(runs)))].mode_start
    kind = instance.jobs[center.job].worker_type
    one_type = random.random() < ONE_TYPE

    def distance(other: ModeStart) -> float:
        apart = max(0, other.start - center.end, center.start - other.end)
        differs = one_type and instance.jobs[other.job].worker_type != kind
        return apart + random.exponential(3.0) + (1000.0 if differs else 0.0)

    distances = {run.job: distance(run.mode_start) for run in runs}
    return set(sorted(distances, key=distances.__getitem__)[:size])
