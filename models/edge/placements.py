"""Runs: a mode and a start with their servers; conversion of schedules to runs and back."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from schedgap.instances.edge import EdgeInstance, EdgeSchedule, Placement
from schedgap.models.edge import rules
from schedgap.models.edge.decisions import CompiledInstance, CompiledJob, ModeStart, compiled
from schedgap.models.edge.modes import JobMode


class PlacedRun(NamedTuple):
    """A mode and a start with their servers, all by index."""

    mode_start: ModeStart
    workers: tuple[tuple[int, int], ...]  # (server, workers >= 1), servers ascending
    host: int  # server of the PS

    @property
    def job(self) -> int:
        """Index of the job in the instance."""
        return self.mode_start.job

    @property
    def mode(self) -> JobMode:
        """Number of workers, duration and xi."""
        return self.mode_start.mode

    @property
    def start(self) -> int:
        """h_j, the first slot."""
        return self.mode_start.start

    @property
    def end(self) -> int:
        """c_j, the last slot."""
        return self.mode_start.end

    @property
    def on_one_server(self) -> bool:
        """Whether all workers are on the PS's server, which a split mode allows as well."""
        return [s for s, _ in self.workers] == [self.host]


def enumerate_runs(
    view: CompiledInstance, task: CompiledJob, mode_start: ModeStart
) -> Iterator[PlacedRun]:
    """Yield every choice of servers for a mode and a start on the empty network.

    A split mode with all workers on the PS's server is left out. A colocated mode with no more
    workers and no more slots is there.

    `mode_start`: of this job.
    """
    n = mode_start.mode.workers
    ready = np.flatnonzero(task.ready <= mode_start.start).tolist()
    hosts = [s for s in ready if view.ps[s, task.ps_type] >= 1]
    capacity = {s: int(view.workers[s, task.worker_type]) for s in ready}
    if mode_start.mode.colocated:
        for s in hosts:
            if capacity[s] >= n:
                yield PlacedRun(mode_start, ((s, n),), s)
        return
    for split in _splits(n, [(s, w) for s, w in capacity.items() if w]):
        for host in hosts:
            if [s for s, _ in split] != [host]:
                yield PlacedRun(mode_start, split, host)


def _splits(n: int, capacity: list[tuple[int, int]]) -> Iterator[tuple[tuple[int, int], ...]]:
    """Yield every distribution of n workers over servers, given as (server, capacity)."""
    if n == 0:
        yield ()
        return
    if not capacity:
        return
    (s, limit), rest = capacity[0], capacity[1:]
    for count in range(max(0, n - sum(w for _, w in rest)), min(n, limit) + 1):
        head = ((s, count),) if count else ()
        for tail in _splits(n - count, rest):
            yield head + tail


def schedule_from_runs(instance: EdgeInstance, runs: Iterable[PlacedRun]) -> EdgeSchedule:
    """Return the schedule that consists of some runs.

    `runs`: at most one for each job.
    """
    names = [server.id for server in instance.servers]
    return EdgeSchedule(
        {
            instance.jobs[run.job].id: Placement(
                run.start,
                run.end,
                {names[s]: count for s, count in run.workers},
                names[run.host],
            )
            for run in sorted(runs, key=lambda run: run.job)
        }
    )


def valid_schedule(instance: EdgeInstance, schedule: EdgeSchedule) -> EdgeSchedule | None:
    """Return a schedule read from an engine's values if it satisfies the rules, else None.

    Engines round within tolerances: 1e-7 next to a coefficient of 10^8 may stand for ten workers.

    `schedule`: to be checked.
    """
    violation = next(rules.check(instance, schedule.to_data(instance), {}), None)
    return schedule if violation is None else None


def runs_from_schedule(instance: EdgeInstance, schedule: EdgeSchedule) -> list[PlacedRun]:
    """Return the runs of a feasible schedule, each reduced to a mode: no later, no more workers.

    A mode has the fewest workers for its duration. Surplus workers are dropped first from servers
    other than the PS's, in descending order, and surplus slots from the end.

    `schedule`: feasible; jobs in segments are left out.
    """
    view = compiled(instance)
    index = {server.id: s for s, server in enumerate(instance.servers)}
    runs = []
    for task in view.tasks:
        placed = schedule.placements.get(instance.jobs[task.job].id)
        if not isinstance(placed, Placement):
            continue
        counts = {index[name]: count for name, count in placed.workers.items()}
        host = index[placed.ps_server]
        colocated = set(counts) == {host}
        total = sum(counts.values())
        mode = min(
            (m for m in task.modes if m.colocated == colocated and m.workers <= total),
            key=lambda m: m.duration,
        )
        assert mode.duration <= placed.slots
        surplus = total - mode.workers
        for s in sorted(counts, key=lambda s: (s == host, -s)):
            cut = min(surplus, counts[s])
            counts[s], surplus = counts[s] - cut, surplus - cut
        workers = tuple(sorted((s, count) for s, count in counts.items() if count))
        runs.append(PlacedRun(ModeStart(task.job, mode, placed.start), workers, host))
    return runs


def reported_sums(instance: EdgeInstance, schedule: EdgeSchedule) -> dict[str, int]:
    """Return sums that are reported next to the objective of (2); empty for a batch.

    `schedule`: of all jobs.

    `flow_time` is the sum of c_j + 1 - a_j, which counts the last slot that the objective omits.
    `completions` is the sum of c_j, the only one of these that a constant factor can bound.
    """
    if instance.is_batch:
        return {}
    return {
        "flow_time": schedule.flow_time(instance),
        "completions": sum(schedule.completion(job.id) for job in instance.jobs),
    }
