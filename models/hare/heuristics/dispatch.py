"""Serial schedule generation: place rounds one after another in the remaining GPU time (ours).

Each class of equal GPUs has a capacity profile, the number of its busy GPUs over time. Intervals of
which at most `capacity` overlap at any time always fit on `capacity` GPUs, so a task may use any
gap of its class, and GPUs are assigned at the end. Unlike in Algorithm 1, a round may fill gaps
before rounds that were placed earlier.

References
----------
R. Kolisch, "Serial and parallel resource-constrained project scheduling methods revisited: theory
and computation", European Journal of Operational Research 90 (1996). New here: prices of GPU time,
with which a batch waits for cheaper GPUs.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush, heapreplace
from itertools import pairwise
from math import inf, nextafter

import numpy as np
from numpy.typing import NDArray

from schedgap.errors import ScaleError
from schedgap.instances.hare import HareInstance, HareSchedule, arrays
from schedgap.models.hare.integer_time import steps

Time = float  # in steps; an int if the times are multiples of a common step
Slot = tuple[int, Time, int]  # class k of GPUs, start, number of tasks


@dataclass(frozen=True, slots=True)
class TaskBatch:
    """Tasks of one round with equal times, placed together."""

    tasks: tuple[int, ...]  # i, in number order
    train: list[Time]  # [k] T^c
    duration: list[Time]  # [k] T^c + T^s


@dataclass(frozen=True, slots=True)
class Workload:
    """An instance in plain lists and whole steps; n, i and k as in `HareArrays`, b a batch.

    Batches are listed round by round, within a round the longest first. Batches of one round may be
    placed in any order: position p of the list holds batch b = p unless a plan permutes them.
    """

    unit: tuple[int, int]  # a step is unit[0] / unit[1] of the instance's time unit
    arrival: list[Time]  # [n]
    weight: list[float]  # [n]
    job_batches: list[int]  # [n + 1] batches of job n are job_batches[n] : job_batches[n + 1]
    batches: list[TaskBatch]  # [b]
    opens: list[bool]  # [p] first batch of its round; one more entry, true, at the end
    rest: list[Time]  # [p] minimum remaining length of the job, current round included
    capacity: list[int]  # [k] GPUs of the class
    speed: list[float]  # [k] mean over the tasks of min T^c / T^c; <= 1
    work: list[float]  # [n] T^c of all tasks, each on its fastest GPU

    @property
    def jobs(self) -> int:
        """Number of jobs."""
        return len(self.arrival)


def workload(instance: HareInstance, *, split: bool = False) -> Workload:
    """Return the instance as batches, in whole steps if its times have a common step.

    With integers, gaps of exactly the right length are found; rounding may miss them, which only
    costs quality.

    `split`: make every task a separate batch, instead of all identical tasks of a round together.
    """
    view = arrays(instance)
    train: NDArray[np.int64] | NDArray[np.float64]
    duration: NDArray[np.int64] | NDArray[np.float64]
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
        remaining: Time = sum(
            max(fastest[tasks[0]] for tasks in groups) for groups in rounds[first:last]
        )
        for groups in rounds[first:last]:
            groups.sort(key=lambda tasks: -fastest[tasks[0]])
            remaining -= fastest[groups[0][0]]
            for tasks in groups:
                i = tasks[0]
                batches.append(TaskBatch(tasks, train[i].tolist(), duration[i].tolist()))
                opens.append(tasks is groups[0])
                rest.append(remaining + (fastest[i] if opens[-1] else fastest[groups[-1][0]]))
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
    """Number of busy GPUs of one class, as a step function of time."""

    __slots__ = ("busy", "capacity", "times")

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.times: list[Time] = [0]  # increasing
        self.busy: list[int] = [0]  # from times[x] to times[x + 1]; the last entry is 0

    def copy(self) -> "CapacityProfile":
        """Return an independent copy."""
        twin = CapacityProfile(self.capacity)
        twin.times, twin.busy = self.times[:], self.busy[:]
        return twin

    def first_fit(self, ready: Time, length: Time) -> tuple[Time, int]:
        """Return the first interval in which a GPU is free.

        `ready`: earliest start. `length`: length of the interval, > 0.

        Returns
        -------
        start : int or float
            First start >= ready.
        free : int
            Number of GPUs that are free during the whole interval.
        """
        times, busy, capacity = self.times, self.busy, self.capacity
        start, x = ready, bisect_right(times, ready) - 1
        while True:
            y = bisect_left(times, start + length, x + 1)
            peak = max(busy[x:y])
            if peak < capacity:
                return start, capacity - peak
            x = y - 1
            while busy[x] < capacity:  # no start before the last full piece can succeed
                x -= 1
            while busy[x] >= capacity:
                x += 1
            start = times[x]

    def reserve(self, start: Time, end: Time, gpus: int) -> None:
        """Reserve GPUs for an interval.

        `gpus`: number of GPUs; a negative number releases them. An interval whose ends are equal as
        doubles lasts until the next double, so no other task is placed across it.
        """
        if end <= start:
            end = nextafter(start, inf)
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
    """Schedule of the first batches of every job, to which the next batch of a job can be added."""

    __slots__ = ("barrier", "next_batch", "profiles", "ready", "work")

    def __init__(self, work: Workload) -> None:
        self.work = work
        self.profiles = [CapacityProfile(capacity) for capacity in work.capacity]
        self.ready = work.arrival[:]  # [n] earliest start of the current round; finally C_n
        self.barrier = work.arrival[:]  # [n] end of the current round so far
        self.next_batch = work.job_batches[:-1]  # [n] position p of the next batch

    def copy(self) -> "PartialSchedule":
        """Return an independent copy."""
        twin = PartialSchedule.__new__(PartialSchedule)
        twin.work, twin.profiles = self.work, [profile.copy() for profile in self.profiles]
        twin.ready, twin.barrier = self.ready[:], self.barrier[:]
        twin.next_batch = self.next_batch[:]
        return twin

    def lower_bound(self) -> float:
        """Return a lower bound, in steps, on sum w_n C_n over all extensions of this schedule."""
        work = self.work
        return sum(
            weight * (ready + (work.rest[p] if p < end else 0))
            for weight, ready, p, end in zip(
                work.weight, self.ready, self.next_batch, work.job_batches[1:], strict=True
            )
        )

    def add(self, n: int, b: int, price: Sequence[float], *, by_end: bool = True) -> list[Slot]:
        """Reserve the slots of least cost for a batch of the current round of job n.

        `b`: a batch of its current round that is not placed yet. `price` [k]: cost of a step on a
        GPU of the class, in units of weight, >= 0; infinite if the class must not be used.
        `by_end`: consider slots in order of their ends, synchronization included, else of their
        starts.

        Returns
        -------
        list of Slot
            The reserved slots.

        Notes
        -----
        Slots are enumerated in order of their ends. Using the slots with an end up to e costs
        w max(e - barrier, 0) plus the prices of the cheapest `count` of them.
        The enumeration ends when the first term plus the smallest possible price exceeds the best
        cost so far; so the batch waits for cheaper GPUs as long as they save more than the delay
        costs.
        """
        ready, profiles = self.ready[n], self.profiles
        batch, weight = self.work.batches[b], self.work.weight[n]
        barrier = self.barrier[n] if by_end else ready
        count, train = len(batch.tasks), batch.train
        lag = batch.duration if by_end else [0] * len(train)
        cost = [p * c for p, c in zip(price, train, strict=True)]
        min_price = count * min(cost)
        # (end, k, start, free GPUs); with 0 free GPUs, the start is a lower bound and the slot is
        # still to be computed
        heap = [(ready + lag[k], k, ready, 0) for k, each in enumerate(cost) if each < inf]
        heapify(heap)
        slots_by_end: list[tuple[float, Time, int, Time, int]] = []  # cost, end, k, start, tasks
        wanted = [count] * len(profiles)
        total, best, last = 0, inf, ready
        while heap:
            end, k, start, free = heap[0]
            if total >= count and weight * max(end - barrier, 0) + min_price >= best:
                break  # a later end costs more than cheaper GPUs can save
            if not free:
                start, free = profiles[k].first_fit(start, train[k])
                heapreplace(heap, (start + lag[k], k, start, free))
                continue
            heappop(heap)
            number = min(free, wanted[k])
            profiles[k].reserve(start, start + train[k], number)
            slots_by_end.append((cost[k], end, k, start, number))
            total += number
            wanted[k] -= number
            if wanted[k]:
                heappush(heap, (end, k, start, 0))
            if total >= count:
                value = weight * max(end - barrier, 0) + _price_of_cheapest(slots_by_end, count)
                if value < best:
                    best, last = value, end
        slots = []
        for _, end, k, start, number in sorted(slots_by_end):  # keep the cheapest, release others
            used = min(count, number) if end <= last else 0
            if used < number:
                profiles[k].reserve(start, start + train[k], used - number)
            if used:
                slots.append((k, start, used))
                count -= used
                self.barrier[n] = max(self.barrier[n], start + batch.duration[k])
        self.next_batch[n] += 1
        if self.work.opens[self.next_batch[n]]:
            self.ready[n] = self.barrier[n]
        return slots


def _price_of_cheapest(slots: Iterable[tuple[float, Time, int, Time, int]], count: int) -> float:
    """Return the price of `count` tasks on the cheapest of the slots."""
    value = 0.0
    for price, _, _, _, number in sorted(slots):
        value += price * min(count, number)
        count -= number
        if count <= 0:
            break
    return value


def to_schedule(
    instance: HareInstance, work: Workload, placed: Iterable[tuple[int, Sequence[Slot]]]
) -> HareSchedule:
    """Assign GPUs to the slots of all batches.

    In order of their starts, tasks take the GPU of their class that became free first, ties in list
    order. Tasks of a batch start in order of their numbers.

    `placed`: every batch b with its slots.
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
    for gpus, of_class in zip(view.class_gpus, runs, strict=True):
        free: list[tuple[Time, int]] = [(0, m) for m in gpus]
        for begin, i, end in sorted(of_class, key=lambda run: (run[0], run[2], run[1])):
            start[i], gpu[i] = begin * step / units, free[0][1]
            heapreplace(free, (end, int(gpu[i])))
    return HareSchedule(gpu, start)
