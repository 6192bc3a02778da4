"""AlloX, and three policies that its authors argue against."""

from collections.abc import Callable, Iterable

import numpy as np
from scipy.optimize import linear_sum_assignment

from allox_family.instance import AlloxInstance, AlloxSchedule, Placement

Starts = Iterable[tuple[int, int]]  # job and machine
Policy = Callable[[list[int], list[int]], Starts]  # waiting jobs, slots until each machine is idle


def simulate(instance: AlloxInstance, policy: Policy) -> AlloxSchedule:
    """Ask a policy what to start whenever jobs arrive or complete; it sees arrived jobs only."""
    jobs, free, placed = instance.jobs, [0] * len(instance.machines), []
    left = sorted(range(len(jobs)), key=lambda j: jobs[j].arrival)
    events = {job.arrival for job in jobs}
    while left:
        now = min(events)
        events.remove(now)
        waiting = [j for j in left if jobs[j].arrival <= now]
        for j, m in policy(waiting, [max(0, until - now) for until in free]):
            placed.append(Placement(job=jobs[j].id, machine=instance.machines[m], start=now))
            free[m] = now + instance.lengths[j][m]
            events.add(free[m])
            left.remove(j)
    return AlloxSchedule(jobs=tuple(placed))


def allox(instance: AlloxInstance) -> AlloxSchedule:
    """Match the waiting jobs to (machine, position from the end), at every event anew.

    The job in position k from the end delays k jobs, itself included. The first job in line of
    each idle machine starts. That is optimal if all jobs are queued at the same time.
    """

    def policy(waiting: list[int], busy: list[int]) -> Starts:
        if not waiting or all(busy):
            return []
        length = np.array([instance.lengths[j] for j in waiting])[:, :, None]
        cost = np.array(busy)[:, None] + np.arange(1, len(waiting) + 1) * length
        _, columns = linear_sum_assignment(cost.reshape(len(waiting), -1))
        line: dict[int, list[tuple[int, int]]] = {}  # machine -> (position, job)
        for j, column in zip(waiting, columns.tolist(), strict=True):
            m, k = divmod(column, len(waiting))
            line.setdefault(m, []).append((k, j))
        return [(max(each)[1], m) for m, each in line.items() if not busy[m]]

    return simulate(instance, policy)


def best_fit(instance: AlloxInstance) -> AlloxSchedule:
    """Run each job on the kind of machine where it is fastest, in order of arrival."""

    def policy(waiting: list[int], busy: list[int]) -> Starts:
        idle = {m for m, slots in enumerate(busy) if not slots}
        for j in waiting:
            length = instance.lengths[j]
            if fits := [m for m in sorted(idle) if length[m] == min(length)]:
                idle.remove(fits[0])
                yield j, fits[0]

    return simulate(instance, policy)


def shortest_queue(instance: AlloxInstance) -> AlloxSchedule:
    """Let each job on its arrival join the queue in which it completes first."""
    free, placed = [0] * len(instance.machines), []
    pairs = zip(instance.jobs, instance.lengths, strict=True)
    for job, length in sorted(pairs, key=lambda pair: pair[0].arrival):
        starts = [max(until, job.arrival) for until in free]
        m = min(
            range(len(free)), key=[s + t for s, t in zip(starts, length, strict=True)].__getitem__
        )
        free[m] = starts[m] + length[m]
        placed.append(Placement(job=job.id, machine=instance.machines[m], start=starts[m]))
    return AlloxSchedule(jobs=tuple(placed))


def shortest_first(instance: AlloxInstance) -> AlloxSchedule:
    """Start the waiting job that takes the least time, whenever a machine is idle."""

    def policy(waiting: list[int], busy: list[int]) -> Starts:
        left, idle = set(waiting), {m for m, slots in enumerate(busy) if not slots}
        while left and idle:
            _, j, m = min((instance.lengths[j][m], j, m) for j in left for m in idle)
            yield j, m
            left.remove(j)
            idle.remove(m)

    return simulate(instance, policy)
