"""Placements: on which servers. A run is a group with its servers; schedules to runs and back."""

from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedgap.instances.edge import EdgeInstance, EdgeSchedule, Placement
from schedgap.models.edge import rules
from schedgap.models.edge.decisions import Group, Problem, Task, problem


class Run(NamedTuple):
    """A group with its servers, by index."""

    group: Group
    workers: tuple[tuple[int, int], ...]  # (server, workers >= 1), servers ascending
    host: int  # server of the PS

    @property
    def colocated(self) -> bool:
        """xi_j: all workers are beside the PS."""
        return [s for s, _ in self.workers] == [self.host]


def runs_of(view: Problem, task: Task, group: Group) -> Iterator[Run]:
    """Yield every run of a group on the empty network.

    A split mode that would land on one server is left out: the job is there in a mode that is
    together, with no more workers and slots.
    """
    n = group.mode.workers
    if group.mode.together:
        for s in view.hosts(task, group):
            yield Run(group, ((s, n),), s)
        return
    open_to = np.flatnonzero(task.ready <= group.start).tolist()
    hosts = [s for s in open_to if view.ps[s, task.ps_type] >= 1]
    room = [(s, int(view.workers[s, task.worker_type])) for s in open_to]
    for spread in _spreads(n, [(s, w) for s, w in room if w]):
        for host in hosts:
            if [s for s, _ in spread] != [host]:
                yield Run(group, spread, host)


def _spreads(n: int, room: list[tuple[int, int]]) -> Iterator[tuple[tuple[int, int], ...]]:
    """Yield every way to put n workers on servers with so much room."""
    if n == 0:
        yield ()
        return
    if sum(w for _, w in room) < n:
        return
    (s, most), rest = room[0], room[1:]
    for here in range(min(n, most) + 1):
        own = ((s, here),) if here else ()
        for others in _spreads(n - here, rest):
            yield own + others


def count_runs(view: Problem, most: int) -> int:
    """Return the number of runs of all groups without making them; beyond `most`, a part of it.

    Servers get ready at few slots: all starts between two of these have as many runs.
    """
    total = 0
    for task in view.tasks:
        since = np.unique(task.ready).tolist()
        known: dict[tuple[int, int], int] = {}  # of workers and stretch
        for k, mode in enumerate(task.modes):
            starts = view.starts(task, k)
            for e, slot in enumerate(since):
                until = since[e + 1] if e + 1 < len(since) else starts.stop
                count = min(starts.stop, until) - max(starts.start, slot)
                if count <= 0:
                    continue
                if total > most:
                    return total
                if mode.together:
                    total += count * len(view.hosts(task, Group(task.job, mode, slot)))
                    continue
                key = mode.workers, e
                if key not in known:
                    known[key] = _count_split(view, task, mode.workers, task.ready <= slot, most)
                total += count * known[key]
    return total


def _count_split(view: Problem, task: Task, n: int, open_to: NDArray[np.bool_], most: int) -> int:
    room: list[int] = view.workers[open_to, task.worker_type].tolist()
    ps: list[int] = view.ps[open_to, task.ps_type].tolist()
    spreads = _count_spreads(room, n, most)
    if spreads > most and any(ps):
        return spreads
    alone = sum(w >= n and p >= 1 for w, p in zip(room, ps, strict=True))
    return spreads * sum(p >= 1 for p in ps) - alone


def _count_spreads(room: list[int], n: int, most: int) -> int:
    """Return how many ways there are to put n workers into so much room; beyond `most`, a part."""
    if n > sum(room):
        return 0
    n = min(n, sum(room) - n)  # as many ways to choose the places that stay free
    *others, largest = sorted(room)
    low, high = max(0, n - largest), min(n, sum(others))  # of n, those not in the largest room
    if high - low >= most:
        return high - low + 1
    ways = [1] + [0] * high  # [k] ways for k workers in the rooms so far
    for w in others:
        sums = list(accumulate(ways, initial=0))
        ways = [sums[k + 1] - sums[max(0, k - w)] for k in range(high + 1)]
    return sum(ways[low:])


def schedule_of(instance: EdgeInstance, runs: Iterable[Run]) -> EdgeSchedule:
    """Return the schedule of some runs."""
    names = [server.id for server in instance.servers]
    return EdgeSchedule(
        {
            instance.jobs[run.group.job].id: Placement(
                run.group.start,
                run.group.end,
                {names[s]: count for s, count in run.workers},
                names[run.host],
            )
            for run in sorted(runs, key=lambda run: run.group.job)
        }
    )


def sound(instance: EdgeInstance, schedule: EdgeSchedule) -> EdgeSchedule | None:
    """Return the schedule that an engine's values stand for, or None where it breaks a rule.

    An engine takes 1e-7 for nothing: beside a coefficient of 10^8 that may be ten workers.
    """
    broken = next(rules.check(instance, schedule.to_data(instance), {}), None)
    return schedule if broken is None else None


def runs_from(instance: EdgeInstance, schedule: EdgeSchedule) -> list[Run]:
    """Return the runs of a schedule, each cut to a mode: no later, with no more workers.

    A mode is the least number of workers for its duration, so surplus workers are dropped from the
    servers that are not the PS's, last ones first, and slots that are not needed from the end.
    """
    view = problem(instance)
    index = {server.id: s for s, server in enumerate(instance.servers)}
    runs = []
    for task in view.tasks:
        placed = schedule.placements.get(instance.jobs[task.job].id)
        if not isinstance(placed, Placement):
            continue
        counts = {index[name]: count for name, count in placed.workers.items()}
        host = index[placed.ps_server]
        together = set(counts) == {host}
        total, slots = sum(counts.values()), placed.slots
        mode = min(
            (m for m in task.modes if m.together == together and m.workers <= total),
            key=lambda m: m.duration,
        )
        assert mode.duration <= slots
        surplus = total - mode.workers
        for s in sorted(counts, key=lambda s: (s == host, -s)):
            cut = min(surplus, counts[s])
            counts[s], surplus = counts[s] - cut, surplus - cut
        spread = tuple(sorted((s, count) for s, count in counts.items() if count))
        runs.append(Run(Group(task.job, mode, placed.start), spread, host))
    return runs


def sums(instance: EdgeInstance, schedule: EdgeSchedule) -> dict[str, Any]:
    """Return what the objective of (2) leaves out; nothing of a batch.

    `flow_time`: sum c_j + 1 - a_j, with the last slot that the paper's value omits; `completions`:
    sum c_j, of which alone a constant factor can hold.
    """
    if instance.is_batch:
        return {}
    return {
        "flow_time": schedule.flow_time(instance),
        "completions": sum(schedule.completion(job.id) for job in instance.jobs),
    }
