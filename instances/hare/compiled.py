"""A `hare` instance as arrays."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedgap.instances.hare.instance import HareInstance, time_on

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class HareArrays:
    """Arrays of one instance; all are read-only.

    The indices are n job, q round of any job (job by job), and i task of any round (round by
    round). They are m GPU in list order, and k class of GPUs with equal times for every task. The
    tasks of a job are consecutive, and so are the tasks of a round.
    """

    arrival: Floats  # [n] a_n
    weight: Floats  # [n] w_n
    job_rounds: Ints  # [n + 1] job n has the rounds job_rounds[n] : job_rounds[n + 1]
    round_tasks: Ints  # [q + 1] round q has the tasks round_tasks[q] : round_tasks[q + 1]
    round_job: Ints  # [q]
    task_job: Ints  # [i]
    task_round: Ints  # [i] round q
    train: Floats  # [i, k] T^c, GPU occupation
    sync: Floats  # [i, k] T^s, delay after training
    gpu_class: Ints  # [m] class of each GPU
    class_gpus: tuple[tuple[int, ...], ...]  # [k] GPUs of each class, in list order
    head: Floats  # [i] earliest start: a_n plus the shortest length of the earlier rounds
    critical: Floats  # [n] L_n, shortest length of the job

    @property
    def jobs(self) -> int:
        """Number of jobs."""
        return len(self.arrival)

    @property
    def rounds(self) -> int:
        """Total number of rounds."""
        return len(self.round_job)

    @property
    def tasks(self) -> int:
        """Number of tasks, |D|."""
        return len(self.task_job)

    @property
    def gpus(self) -> int:
        """Number of GPUs."""
        return len(self.gpu_class)

    @property
    def class_size(self) -> Ints:
        """Number of GPUs of each class [k]."""
        return np.array([len(gpus) for gpus in self.class_gpus], dtype=np.int64)

    @property
    def duration(self) -> Floats:
        """Durations d = T^c + T^s [i, k]."""
        return self.train + self.sync

    @property
    def place(self) -> Ints:
        """Number of the round of each task in its job [i], from 1."""
        return self.task_round - self.job_rounds[self.task_job] + 1

    @property
    def number(self) -> Ints:
        """Number of each task in its round [i], from 1."""
        return np.arange(self.tasks) - self.round_tasks[self.task_round] + 1

    @property
    def fastest(self) -> Floats:
        """Shortest duration of each task [i]."""
        return np.asarray(self.duration.min(axis=1))

    @property
    def alike(self) -> list[tuple[int, ...]]:
        """Classes of tasks in the same round with equal times on every GPU."""
        rows = zip(self.task_round.tolist(), self.train, self.sync, strict=True)
        return grouped((q, train.tobytes(), sync.tobytes()) for q, train, sync in rows)


@lru_cache(maxsize=64)
def arrays(instance: HareInstance) -> HareArrays:
    """Return an instance as arrays; they are computed once per instance."""
    jobs = instance.jobs
    sizes = [len(job.tasks_of(r)) for job in jobs for r in range(job.number_of_rounds)]
    job_rounds = np.append(0, np.cumsum([job.number_of_rounds for job in jobs], dtype=np.int64))
    round_tasks = np.append(0, np.cumsum(sizes, dtype=np.int64))
    round_job = np.repeat(np.arange(len(jobs)), np.diff(job_rounds))
    task_round = np.repeat(np.arange(len(sizes)), sizes)
    distinct = [(task, number) for job in jobs for _, task, number in job.times()]
    rows = np.repeat(np.arange(len(distinct)), [number for _, number in distinct])
    train = _table(instance, [task.training_time for task, _ in distinct])
    sync = _table(instance, [task.synchronization_time or {} for task, _ in distinct])
    columns = zip(train.T, sync.T, strict=True)
    class_gpus = tuple(grouped((own.tobytes(), other.tobytes()) for own, other in columns))
    gpu_class = np.empty(len(instance.gpus), dtype=np.int64)
    for k, gpus in enumerate(class_gpus):
        gpu_class[list(gpus)] = k
    first = [gpus[0] for gpus in class_gpus]
    task_train, task_sync = train[rows][:, first], sync[rows][:, first]
    arrival = np.array([job.arrival for job in jobs], dtype=float)
    length = np.maximum.reduceat((task_train + task_sync).min(axis=1), round_tasks[:-1])
    before, _ = lengths_around(length, job_rounds)
    view = HareArrays(
        arrival=arrival,
        weight=np.array([job.weight for job in jobs], dtype=float),
        job_rounds=job_rounds,
        round_tasks=round_tasks,
        round_job=round_job,
        task_job=round_job[task_round],
        task_round=task_round,
        train=task_train,
        sync=task_sync,
        gpu_class=gpu_class,
        class_gpus=class_gpus,
        head=arrival[round_job[task_round]] + before[task_round],
        critical=np.add.reduceat(length, job_rounds[:-1]),
    )
    forbid_changes(getattr(view, name) for name in view.__slots__)
    return view


def forbid_changes(values: Iterable[object]) -> None:
    """Make all arrays among some values read-only."""
    for value in values:
        if isinstance(value, np.ndarray):
            value.setflags(write=False)


def grouped(keys: Iterable[Hashable]) -> list[tuple[int, ...]]:
    """Return the positions of equal keys, each group at the place of its first."""
    groups: dict[Hashable, list[int]] = {}
    for place, key in enumerate(keys):
        groups.setdefault(key, []).append(place)
    return [tuple(group) for group in groups.values()]


def lengths_around(
    length: NDArray[Any], job_rounds: Iterable[int]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the total length of the rounds before and after each round of its job.

    `length` [q]: of the rounds. `job_rounds` [n + 1]: as in `HareArrays`.
    """
    before, after = np.zeros_like(length), np.zeros_like(length)
    for first, stop in pairwise(job_rounds):
        ends = np.cumsum(length[first:stop])
        before[first + 1 : stop] = ends[:-1]
        after[first:stop] = ends[-1] - ends
    return before, after


def _table(instance: HareInstance, times: list[dict[str, float]]) -> Floats:
    """Return the array [row, m] of each time object on each GPU; an empty object is 0."""
    table = np.zeros((len(times), len(instance.gpus)))
    for row, values in enumerate(times):
        if values:
            table[row] = [time_on(values, gpu) for gpu in instance.gpus]
    return table
