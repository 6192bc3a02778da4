"""Place rounds one after another at their best places in the time that is left (ours).

Time is kept for each class of equal GPUs as the number of busy ones, not GPU by GPU: intervals of
which at most `capacity` overlap at any moment always fit on `capacity` GPUs, so a task may use any
hole of its class, and GPUs are named at the end. Unlike Algorithm 1 as printed, a round may move
into holes before rounds that were placed earlier.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush, heapreplace
from itertools import pairwise
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedgap.errors import ScaleError
from schedgap.instances.hare import HareInstance, HareSchedule, arrays
from schedgap.models.hare.integer_time import steps

Time = float  # in steps: an int unless the instance has no scale
Slot = tuple[int, Time, int]  # class k of GPUs, start, number of tasks that start there


@dataclass(frozen=True, slots=True)
class TaskBatch:
    """Tasks of one round that are equal on every GPU and placed at once."""

    tasks: tuple[int, ...]  # i, in number order
    train: list[Time]  # [k] T^c
    duration: list[Time]  # [k] T^c + T^s


@dataclass(frozen=True, slots=True)
class Workload:
    """An instance in plain lists and whole steps; n, i and k as in `HareArrays`, b a batch.

    Batches stand round by round, in a round the longest first; those of one round may be placed in
    any order. Place p of the list is the turn of a batch: b = p unless a plan says otherwise.
    """

    unit: tuple[int, int]  # a step is unit[0] / unit[1] of the instance's time unit
    arrival: list[Time]  # [n]
    weight: list[float]  # [n]
    job_batches: list[int]  # [n + 1] batches of job n are job_batches[n] : job_batches[n + 1]
    batches: list[TaskBatch]  # [b]
    opens: list[bool]  # [p] is the first of its round; one entry more, true, at the end
    rest: list[Time]  # [p] least length of the job's rounds, the open one included, from turn p on
    capacity: list[int]  # [k] GPUs of the class
    speed: list[float]  # [k] least T^c over T^c, mean over the tasks; <= 1
    work: list[float]  # [n] T^c of all tasks, each on its fastest GPU

    @property
    def jobs(self) -> int:
        """Number of jobs."""
        return len(self.arrival)


def workload(instance: HareInstance, *, split: bool = False) -> Workload:
    """Return an instance in whole steps, where it has such a scale, and as it is otherwise.

    With integers a slot that fits exactly is found; rounding may lose it, which costs only value.
    `split`: every task is a batch of its own.
    """
    view = arrays(instance)
    train: NDArray[Any]  # whole numbers, or not
    duration: NDArray[Any]
    try:
        whole = steps(instance)
        unit = whole.step.as_integer_ratio()
        arrival, weight = whole.arrival.tolist(), whole.weight.tolist()
        train, duration = whole.train, whole.duration
    except ScaleError:
        unit = 1, 1
        arrival, weight = view.arrival.tolist(), view.weight.tolist()
        train, duration = view.train, view.duration
    rounds: list[list[tuple[int, ...]]] = [[] for _ in range(view.rounds)]
    for tasks in view.alike:
        rounds[view.task_round[tasks[0]]] += [(i,) for i in tasks] if split else [tasks]
    least, fastest = train.min(axis=1), duration.min(axis=1).tolist()
    batches: list[TaskBatch] = []
    opens: list[bool] = []
    rest: list[Time] = []
    job_batches = [0]
    for first, last in pairwise(view.job_rounds.tolist()):
        after: Time = sum(
            max(fastest[tasks[0]] for tasks in groups) for groups in rounds[first:last]
        )
        for groups in rounds[first:last]:
            groups.sort(key=lambda tasks: -fastest[tasks[0]])
            after -= fastest[groups[0][0]]
            for tasks in groups:
                i = tasks[0]
                batches.append(TaskBatch(tasks, train[i].tolist(), duration[i].tolist()))
                opens.append(tasks is groups[0])
                rest.append(after + (fastest[i] if opens[-1] else fastest[groups[-1][0]]))
        job_batches.append(len(batches))
    return Workload(
        unit=unit,
        arrival=arrival,
        weight=weight,
        job_batches=job_batches,
        batches=batches,
        opens=[*opens, True],
        rest=rest,
        capacity=view.class_size.tolist(),
        speed=(least[:, None] / train).mean(axis=0).tolist(),
        work=np.bincount(view.task_job, weights=least).tolist(),
    )


class CapacityProfile:
    """How many GPUs of one class are busy, as a step function of time."""

    __slots__ = ("busy", "capacity", "times")

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.times: list[Time] = [0]  # increasing
        self.busy: list[int] = [0]  # from times[x] to times[x + 1]; the last entry is 0

    def copy(self) -> "CapacityProfile":
        """Return a timeline that changes on its own."""
        twin = CapacityProfile(self.capacity)
        twin.times, twin.busy = self.times[:], self.busy[:]
        return twin

    def first_fit(self, ready: Time, length: Time) -> tuple[Time, int]:
        """Return the first start >= ready of a free interval, and how many GPUs are free for it."""
        times, busy, capacity = self.times, self.busy, self.capacity
        start, x = ready, bisect_right(times, ready) - 1
        while True:
            y = bisect_left(times, start + length, x + 1)
            most = max(busy[x:y])
            if most < capacity:
                return start, capacity - most
            x = y - 1
            while busy[x] < capacity:  # every start up to the last full moment is in vain
                x -= 1
            while busy[x] >= capacity:
                x += 1
            start = times[x]

    def reserve(self, start: Time, end: Time, gpus: int) -> None:
        """Occupy (or free, when negative) a number of GPUs from start to end."""
        if end <= start:  # doubles do not tell them apart
            return
        times, busy = self.times, self.busy
        x = bisect_left(times, start)
        if x == len(times) or times[x] != start:
            times.insert(x, start)
            busy.insert(x, busy[x - 1])
        y = bisect_left(times, end, x)
        if y == len(times) or times[y] != end:
            times.insert(y, end)
            busy.insert(y, busy[y - 1])
        busy[x:y] = [number + gpus for number in busy[x:y]]
        if busy[y] == busy[y - 1]:
            del times[y], busy[y]
        if x > 0 and busy[x] == busy[x - 1]:
            del times[x], busy[x]


class PartialSchedule:
    """A schedule of the first batches of every job, to which the next one of any can be added."""

    __slots__ = ("barrier", "following", "lines", "ready", "work")

    def __init__(self, work: Workload) -> None:
        self.work = work
        self.lines = [CapacityProfile(capacity) for capacity in work.capacity]
        self.ready = work.arrival[:]  # [n] start of the open round; at last C_n
        self.barrier = work.arrival[:]  # [n] end of the open round so far
        self.following = work.job_batches[:-1]  # [n] p, the next turn

    def copy(self) -> "PartialSchedule":
        """Return a partial schedule that changes on its own."""
        twin = PartialSchedule.__new__(PartialSchedule)
        twin.work, twin.lines = self.work, [line.copy() for line in self.lines]
        twin.ready, twin.barrier = self.ready[:], self.barrier[:]
        twin.following = self.following[:]
        return twin

    def least(self) -> float:
        """Return what no completion of this schedule goes below: sum w_n C_n in steps, so far."""
        work = self.work
        return sum(
            weight * (ready + (work.rest[p] if p < end else 0))
            for weight, ready, p, end in zip(
                work.weight, self.ready, self.following, work.job_batches[1:], strict=True
            )
        )

    def add(self, n: int, b: int, price: Sequence[float], *, by_end: bool = True) -> list[Slot]:
        """Reserve for a batch of the open round of job n the slots that cost least; return them.

        Parameters
        ----------
        b : int
            A batch that is not yet placed.
        price : [k]
            What a step on a GPU of the class costs, in weight, >= 0; infinite: not to be used. The
            batch waits for cheaper GPUs while the weight of its job times the delay of the barrier
            is less than what they save.
        by_end : bool
            Prefer slots by their ends, synchronization included; otherwise by their starts.
        """
        ready, lines = self.ready[n], self.lines
        batch, weight = self.work.batches[b], self.work.weight[n]
        barrier = self.barrier[n] if by_end else ready
        count, train = len(batch.tasks), batch.train
        lag = batch.duration if by_end else [0] * len(train)
        cost = [p * c for p, c in zip(price, train, strict=True)]
        least = count * min(cost)
        # (end, k, start, GPUs free); 0 free: its class has no slot before this start, look it up
        heap = [(ready + lag[k], k, ready, 0) for k, each in enumerate(cost) if each < inf]
        heapify(heap)
        found: list[tuple[float, Time, int, Time, int]] = []  # cost, end, k, start, tasks
        wanted = [count] * len(lines)
        total, best, last = 0, inf, ready
        while heap:
            end, k, start, free = heap[0]
            if total >= count and weight * max(end - barrier, 0) + least >= best:
                break  # a later end costs more than cheaper GPUs can save
            if not free:
                start, free = lines[k].first_fit(start, train[k])
                heapreplace(heap, (start + lag[k], k, start, free))
                continue
            heappop(heap)
            number = min(free, wanted[k])
            lines[k].reserve(start, start + train[k], number)
            found.append((cost[k], end, k, start, number))
            total += number
            wanted[k] -= number
            if wanted[k]:
                heappush(heap, (end, k, start, 0))
            if total >= count:
                value = weight * max(end - barrier, 0) + _cheapest(found, count)
                if value < best:
                    best, last = value, end
        slots = []
        for _, end, k, start, number in sorted(found):
            used = min(count, number) if end <= last else 0
            if used < number:
                lines[k].reserve(start, start + train[k], used - number)
            if used:
                slots.append((k, start, used))
                count -= used
                self.barrier[n] = max(self.barrier[n], start + batch.duration[k])
        self.following[n] += 1
        if self.work.opens[self.following[n]]:
            self.ready[n] = self.barrier[n]
        return slots


def _cheapest(found: Iterable[tuple[float, Time, int, Time, int]], count: int) -> float:
    """Return what `count` tasks cost on the cheapest of the slots found."""
    value = 0.0
    for each, _, _, _, number in sorted(found):
        value += each * min(count, number)
        count -= number
        if count <= 0:
            break
    return value


def to_schedule(
    instance: HareInstance, work: Workload, placed: Iterable[tuple[int, Sequence[Slot]]]
) -> HareSchedule:
    """Name the GPUs of the slots of each batch b.

    In the order of their starts, tasks take the GPU of their class that was freed first, the
    earliest of the list among equals. Of one batch the task of the least number starts first.
    """
    view = arrays(instance)
    gpu, start = np.zeros(view.tasks, dtype=np.int64), np.zeros(view.tasks)
    runs: list[list[tuple[Time, int, Time]]] = [[] for _ in work.capacity]
    for b, slots in placed:
        batch = work.batches[b]
        tasks = iter(batch.tasks)
        for begin, k, number in sorted((begin, k, number) for k, begin, number in slots):
            for _ in range(number):
                runs[k].append((begin, next(tasks), begin + batch.train[k]))
    step, units = work.unit
    for gpus, own in zip(view.class_gpus, runs, strict=True):
        free: list[tuple[Time, int]] = [(0, m) for m in gpus]
        for begin, i, end in sorted(own, key=lambda run: (run[0], run[2], run[1])):
            start[i], gpu[i] = begin * step / units, free[0][1]
            heapreplace(free, (end, int(gpu[i])))
    return HareSchedule(gpu, start)
