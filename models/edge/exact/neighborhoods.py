"""Better schedules by large neighborhoods (ours): some jobs at a time are free, the rest stay.

Free jobs may take the groups that the prices leave for something better. The others keep all they
have, or start and mode alone. CP-SAT settles each neighborhood.
"""

from typing import Any

import numpy as np

from schedgap.instances.edge import EdgeInstance, EdgeSchedule
from schedgap.models.edge.bounds.reduced_cost_fixing import Fixing
from schedgap.models.edge.decisions import Group, problem
from schedgap.models.edge.placements import Run, runs_from, schedule_of, sound
from schedgap.models.edge.programs import intervals
from schedgap.models.search_state import Finder, StageResult
from schedgap.solvers import Clock, solve
from schedgap.solvers.engines.confirm import confirm

FIRST_SIZE = 5  # free jobs
LONGEST = 2.0  # seconds for one neighborhood
LOOSE = 4  # one neighborhood in so many lets the other jobs change servers
PATIENCE = 2  # neighborhoods in vain, for each job, before the search ends
ONE_TYPE = 0.7  # part of the neighborhoods with jobs of one worker type only


def improve(
    found: Finder,
    instance: EdgeInstance,
    schedule: EdgeSchedule,
    fixing: Fixing,
    turn: int = 0,
    *,
    clock: Clock,
    seed: int,
    threads: int,
) -> StageResult:
    """Improve a schedule until the clock, or many neighborhoods in vain, end it.

    Another `turn` chooses other neighborhoods. One of all jobs that holds nothing better proves
    that nothing better exists.
    """
    view, random = problem(instance), np.random.default_rng([seed, turn])
    runs = {run.group.job: run for run in runs_from(instance, schedule)}
    size, vain, tried = FIRST_SIZE, 0, 0
    upper = schedule.value(instance)
    kept = fixing.keep(view, upper)
    while not clock.expired() and vain < PATIENCE * len(runs) and not kept.hopeless:
        size = max(2, min(size, len(runs)))
        free = _choose(instance, list(runs.values()), size, random)
        groups = [group for group in kept.groups if group.job in free]
        rest = [run for job, run in runs.items() if job not in free]
        fixed = rest if tried % LOOSE else []
        model = intervals.build(
            instance,
            groups=groups if fixed else groups + [run.group for run in rest],
            fixed=fixed,
            orders=not rest,
            most=upper - 1,
        )
        settings: dict[str, Any] = {
            "seed": seed + tried,
            "threads": threads,
            "grid": 1,
            "start": intervals.start(model, instance, schedule),
        }
        result = solve(model, "cp-sat", clock=clock.share(1.0, most=LONGEST), **settings)
        if result.status == "infeasible" and not rest:
            result, _ = confirm(model, "cp-sat", result, clock=clock, **settings)
        tried, vain = tried + 1, vain + 1
        better = None
        if result.values is not None:
            moved = intervals.read(model, instance, result.values)
            changed = runs | {run.group.job: run for run in runs_from(instance, moved)}
            better = sound(instance, schedule_of(instance, changed.values()))
        if better is not None:
            runs, schedule = changed, better
            upper, vain = schedule.value(instance), 0
            found.offer(schedule)
            kept = fixing.keep(view, upper)
        elif result.status == "infeasible":
            if not rest:
                found.bound(upper)
                break
            size += 1 if result.seconds < LONGEST / 4 else 0
        else:
            size -= 1
    if kept.hopeless:
        found.bound(upper)
    return StageResult(trace={"neighborhoods": tried, "jobs": size, "objective": upper})


def _choose(
    instance: EdgeInstance, runs: list[Run], size: int, random: np.random.Generator
) -> set[int]:
    """Return jobs that run near each other in time, mostly of one worker type."""
    center = runs[int(random.integers(len(runs)))].group
    kind = instance.jobs[center.job].worker_type
    one_type = random.random() < ONE_TYPE

    def distance(group: Group) -> float:
        apart = max(0, group.start - center.end, center.start - group.end)
        other = one_type and instance.jobs[group.job].worker_type != kind
        return apart + random.exponential(3.0) + (1000.0 if other else 0.0)

    near = {run.group.job: distance(run.group) for run in runs}
    return set(sorted(near, key=near.__getitem__)[:size])
