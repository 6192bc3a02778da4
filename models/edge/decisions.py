"""The instance compiled to its decisions: slots of the window, and each job's modes and starts.

Exact programs and bounds decide on a `ModeStart`: a job runs in one mode from one slot on. The
servers are still to be chosen (see `placements`). Jobs, servers and types are indices.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from schedgap.instances.edge import EdgeInstance, arrays
from schedgap.instances.edge.compiled import Ints
from schedgap.models.edge.modes import JobMode, all_modes, earliest_start


class ModeStart(NamedTuple):
    """A job in one mode from one slot on; the servers are left open."""

    job: int  # index in the instance
    mode: JobMode
    start: int  # h, slot from 1

    @property
    def end(self) -> int:
        """c_j, the last slot."""
        return self.start + self.mode.duration - 1


@dataclass(frozen=True, slots=True, eq=False)
class CompiledJob:
    """A job that may run, an entry of `CompiledInstance.tasks`.

    Its position in `tasks` is its task index; `job` is its index in the instance. The two differ in
    a batch, where only the jobs of the round are tasks.
    """

    job: int  # index in the instance
    arrival: int  # a_j
    worker_type: int  # u_j, index
    ps_type: int  # v_j, index
    ready: Ints  # [s] first slot in which server s can be used, within the window
    modes: tuple[JobMode, ...]
    earliest: tuple[int | None, ...]  # [mode] first start on the empty network; None: never
    alone: int | None  # least c_j - a_j on the empty network; None: it cannot end in the window

    def flow(self, mode_start: ModeStart) -> int:
        """Return c_j - a_j, in slots.

        `mode_start`: of this job.
        """
        return mode_start.end - self.arrival


@dataclass(frozen=True, slots=True, eq=False)
class CompiledInstance:
    """An instance by indices: s server, u worker type, v PS type."""

    instance: EdgeInstance
    is_batch: bool
    first: int  # first slot of the window
    last: int  # last slot of the window
    workers: Ints  # [s, u] W_su
    ps: Ints  # [s, v] P_sv
    tasks: tuple[CompiledJob, ...]  # all jobs; in a batch, J_i only
    task_of: Mapping[int, CompiledJob]  # [index of the job in the instance]
    of_type: Mapping[int, tuple[CompiledJob, ...]]  # [type with jobs], ascending

    @property
    def slots(self) -> int:
        """Length of the window."""
        return max(0, self.last - self.first + 1)

    def starts(self, task: CompiledJob, mode: int) -> range:
        """Return the starts of a mode on the empty network that end within the window.

        `task`: one of `tasks`. `mode`: index into `task.modes`.
        """
        earliest = task.earliest[mode]
        if earliest is None:
            return range(0)
        return range(earliest, self.last - task.modes[mode].duration + 2)

    def mode_starts(self) -> Iterator[ModeStart]:
        """Yield every mode and start, job by job, mode by mode."""
        for task in self.tasks:
            for k, mode in enumerate(task.modes):
                for start in self.starts(task, k):
                    yield ModeStart(task.job, mode, start)


@lru_cache(maxsize=64)
def compiled(instance: EdgeInstance) -> CompiledInstance:
    """Return the compiled form of an instance; cached."""
    given = arrays(instance)
    first, last = instance.window
    tasks = []
    for j, job in enumerate(instance.jobs):
        if not instance.may_run(job):
            continue
        modes = all_modes(instance, j)
        earliest = tuple(earliest_start(instance, j, mode) for mode in modes)
        first_starts = zip(earliest, modes, strict=True)
        ends = [slot + mode.duration - 1 for slot, mode in first_starts if slot is not None]
        tasks.append(
            CompiledJob(
                job=j,
                arrival=job.arrival,
                worker_type=int(given.worker_type[j]),
                ps_type=int(given.ps_type[j]),
                ready=np.maximum(first, given.ready[j]),
                modes=modes,
                earliest=earliest,
                alone=min((end - job.arrival for end in ends if end <= last), default=None),
            )
        )
    return CompiledInstance(
        instance=instance,
        is_batch=instance.is_batch,
        first=first,
        last=last,
        workers=given.workers,
        ps=given.ps,
        tasks=tuple(tasks),
        task_of={task.job: task for task in tasks},
        of_type={
            u: tuple(task for task in tasks if task.worker_type == u)
            for u in sorted({task.worker_type for task in tasks})
        },
    )


def infeasibility_reason(instance: EdgeInstance) -> str | None:
    """Return why the instance has no schedule, if a single job shows it, else None.

    The empty schedule is feasible for a batch, so the answer is None for every batch.
    """
    view = compiled(instance)
    if view.is_batch:
        return None
    for task in view.tasks:
        if task.alone is None:
            return f"job {instance.jobs[task.job].id} cannot end by slot {instance.horizon}"
    return None


def sense(instance: EdgeInstance) -> int:
    """Return -1 for a batch, whose objective is maximised, else 1."""
    return -1 if instance.is_batch else 1


def only_batches(instance: EdgeInstance) -> str | None:
    """Return why a method for the batch problem (3) does not apply, or None."""
    return None if instance.is_batch else "needs an instance with batch_round"


def no_batches(instance: EdgeInstance) -> str | None:
    """Return why a method for problem (2) does not apply, or None."""
    return "needs an instance without batch_round" if instance.is_batch else None
