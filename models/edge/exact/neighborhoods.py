"""Large neighbourhood search: some jobs are free at a time, the others stay; CP-SAT solves each.

References
----------
P. Shaw, "Using constraint programming and local search methods to solve vehicle routing problems",
Principles and Practice of Constraint Programming, Lecture Notes in Computer Science 1520 (1998).
"""

import numpy as np

from schedgap.instances.edge import EdgeInstance, EdgeSchedule
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
from schedgap.solvers.engines.results import SEEDS

FIRST_SIZE = 6  # free jobs
MAX_SECONDS = 2.0  # time limit of one neighbourhood
PATIENCE = 2  # neighbourhoods without improvement, for each job, before the search ends
SPREAD = 3.0  # mean of the random slots that are added to the distance of a job


def improve(
    found: StageProgress[EdgeSchedule],
    instance: EdgeInstance,
    schedule: EdgeSchedule,
    *,
    budget: Budget,
) -> StageResult:
    """Improve a schedule of (2) until time is up or many neighbourhoods bring no improvement.

    `found`: receives schedules.
    """
    random = np.random.default_rng(budget.seed)
    runs = {run.job: run for run in runs_from_schedule(instance, schedule)}
    size, failed, tried = FIRST_SIZE, 0, 0
    while not budget.clock.expired() and failed < PATIENCE * len(runs):
        size = max(2, min(size, len(runs)))
        free = _choose(list(runs.values()), size, random)
        upper = schedule.value(instance) - 1
        fixed = [run for job, run in runs.items() if job not in free]
        model = intervals.build(instance, fixed=fixed, upper=upper)
        result = solve(
            model,
            "cp-sat",
            clock=budget.clock.share(1.0, most=MAX_SECONDS),
            seed=(budget.seed + tried) % SEEDS,
            threads=budget.threads,
            grid=1,
            start=intervals.start(model, instance, schedule),
        )
        tried, failed = tried + 1, failed + 1
        if result.values is not None:
            moved = runs_from_schedule(instance, intervals.read(model, instance, result.values))
            changed = runs | {run.job: run for run in moved}
            better = valid_schedule(instance, schedule_from_runs(instance, changed.values()))
            if better is not None:
                runs, schedule, failed = changed, better, 0
                found.incumbent(schedule)
        elif result.status != "infeasible":
            size -= 1
        elif result.seconds < MAX_SECONDS / 4:
            size += 1
    return StageResult(trace={"neighborhoods": tried, "jobs": size})


def _choose(runs: list[PlacedRun], size: int, random: np.random.Generator) -> set[int]:
    """Return jobs that run close to each other in time."""
    center = runs[int(random.integers(len(runs)))]
    distances = {
        run.job: max(0, run.start - center.end, center.start - run.end) + random.exponential(SPREAD)
        for run in runs
    }
    return set(sorted(distances, key=distances.__getitem__)[:size])
