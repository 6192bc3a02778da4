"""What can be decided: the slots of the window, and each job's modes, servers and starts, by index.

The exact programs and the bounds speak of groups: a job in one mode from one start on, whatever
the servers (see `placements`). An optimal schedule needs no other modes, for fewer workers at an
equal duration dominate.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from schedgap.instances.edge import EdgeInstance, arrays
from schedgap.instances.edge.compiled import Ints
from schedgap.models.edge.modes import Mode, all_modes, earliest_start


class Group(NamedTuple):
    """A job in one mode from one slot on; the servers are left open."""

    job: int  # index in the instance
    mode: Mode
    start: int  # h, slot from 1

    @property
    def end(self) -> int:
        """c_j, the last slot."""
        return self.start + self.mode.duration - 1


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """One job that may run."""

    job: int  # index in the instance
    arrival: int  # a_j
    worker_type: int  # u_j, index
    ps_type: int  # v_j, index
    ready: Ints  # [s] first slot in which server s can be used, within the window
    modes: tuple[Mode, ...]
    earliest: tuple[int | None, ...]  # [mode] first slot with servers enough; None where never

    def flow(self, group: Group) -> int:
        """c_j - a_j of a group."""
        return group.end - self.arrival


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """The compiled view; index letters s server, u worker type, v PS type."""

    instance: EdgeInstance
    is_batch: bool
    first: int  # first slot of the window
    last: int  # last slot of the window
    workers: Ints  # [s, u] W_su
    ps: Ints  # [s, v] P_sv
    tasks: tuple[Task, ...]  # in a batch only J_i

    @property
    def slots(self) -> int:
        """Length of the window."""
        return max(0, self.last - self.first + 1)

    def starts(self, task: Task, mode: int) -> range:
        """Return the starts of a mode for which there are servers and slots enough."""
        earliest = task.earliest[mode]
        if earliest is None:
            return range(0)
        return range(earliest, self.last - task.modes[mode].duration + 2)

    def groups(self) -> Iterator[Group]:
        """Yield every group, job by job, mode by mode."""
        for task in self.tasks:
            for k, mode in enumerate(task.modes):
                for start in self.starts(task, k):
                    yield Group(task.job, mode, start)

    def hosts(self, task: Task, group: Group) -> list[int]:
        """Return the servers that can hold all of a job, workers and PS."""
        n, u, v = group.mode.workers, task.worker_type, task.ps_type
        fits = (self.workers[:, u] >= n) & (self.ps[:, v] >= 1) & (task.ready <= group.start)
        return np.flatnonzero(fits).tolist()

    def least_flow(self, task: Task) -> int | None:
        """Return the least c_j - a_j of a job that runs alone; None when it cannot end in time."""
        flows = [
            starts[0] + mode.duration - 1 - task.arrival
            for k, mode in enumerate(task.modes)
            if (starts := self.starts(task, k))
        ]
        return min(flows, default=None)


@lru_cache(maxsize=64)
def problem(instance: EdgeInstance) -> Problem:
    """Return the compiled view of an instance, built once for each."""
    given = arrays(instance)
    first, last = instance.window
    tasks = []
    for j, job in enumerate(instance.jobs):
        if not instance.may_run(job):
            continue
        modes = all_modes(instance, j)
        tasks.append(
            Task(
                job=j,
                arrival=job.arrival,
                worker_type=int(given.worker_type[j]),
                ps_type=int(given.ps_type[j]),
                ready=np.maximum(first, given.ready[j]),
                modes=modes,
                earliest=tuple(earliest_start(instance, j, mode) for mode in modes),
            )
        )
    return Problem(instance, instance.is_batch, first, last, given.workers, given.ps, tuple(tasks))


def no_schedule(instance: EdgeInstance) -> str | None:
    """Return why there is no schedule, where a single job shows it; a batch always has one."""
    view = problem(instance)
    if view.is_batch:
        return None
    for task in view.tasks:
        if view.least_flow(task) is None:
            return f"job {instance.jobs[task.job].id} cannot end by slot {instance.horizon}"
    return None


def sense(instance: EdgeInstance) -> int:
    """Return -1 for a batch, whose objective is a maximum, else 1."""
    return -1 if instance.is_batch else 1


def only_batches(instance: EdgeInstance) -> str | None:
    """Say why a method of (3) cannot serve an instance."""
    return None if instance.is_batch else "needs an instance with batch_round"


def no_batches(instance: EdgeInstance) -> str | None:
    """Say why a method of (2) cannot serve an instance."""
    return "needs an instance without batch_round" if instance.is_batch else None
