"""AlloX, and three policies that its authors argue against."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from allox_family.instance import AlloxInstance, AlloxSchedule, Placement

Starts = Iterable[tuple[str, str]]  # jobs, and the machines on which they start
Policy = Callable[[list[str], dict[str, int]], Starts]  # (waiting jobs, slots until idle)


def simulate(instance: AlloxInstance, policy: Policy) -> AlloxSchedule:
    """Ask a policy what to start whenever jobs arrive or complete; it sees arrived jobs only."""
    free, placed = dict.fromkeys(instance.machines, 0), []
    left = sorted(instance.arrival, key=instance.arrival.__getitem__)
    events = set(instance.arrival.values())
    while left:
        now = min(events)
        events.remove(now)
        waiting = [job for job in left if instance.arrival[job] <= now]
        for job, machine in policy(waiting, {m: max(0, free[m] - now) for m in free}):
            placed.append(Placement(job=job, machine=machine, start=now))
            free[machine] = now + instance.time[job, machine]
            events.add(free[machine])
            left.remove(job)
    return AlloxSchedule(jobs=tuple(placed))


def allox(instance: AlloxInstance) -> AlloxSchedule:
    """Match the waiting jobs to (machine, position from the end), at every event anew.

    The job in position k from the end delays k jobs, itself included. The first job in line of
    each idle machine starts. That is optimal if all jobs are queued at the same time.
    """

    def policy(waiting: list[str], busy: dict[str, int]) -> Starts:
        if not waiting or all(busy.values()):
            return []
        time = np.array([[instance.time[job, m] for m in busy] for job in waiting])
        position = np.arange(len(waiting), 0, -1)
        cost = np.array([*busy.values()])[:, None] + position * time[:, :, None]
        _, columns = linear_sum_assignment(cost.reshape(len(waiting), -1))
        line = {(column // len(waiting), column % len(waiting)): job
                for job, column in zip(waiting, columns.tolist(), strict=True)}  # fmt: skip
        first = {[*busy][m]: line[m, k] for m, k in sorted(line, reverse=True)}
        return [(job, m) for m, job in first.items() if not busy[m]]

    return simulate(instance, policy)


def best_fit(instance: AlloxInstance) -> AlloxSchedule:
    """Run each job on the kind of machine where it is fastest, in order of arrival."""

    def policy(waiting: list[str], busy: dict[str, int]) -> Starts:
        idle = [m for m in busy if not busy[m]]
        for job in waiting:
            least = min(instance.time[job, m] for m in busy)
            if fits := [m for m in idle if instance.time[job, m] == least]:
                idle.remove(fits[0])
                yield job, fits[0]

    return simulate(instance, policy)


def shortest_queue(instance: AlloxInstance) -> AlloxSchedule:
    """Let each job on its arrival join the queue in which it completes first."""
    free, placed = dict.fromkeys(instance.machines, 0), []
    for job, arrival in sorted(instance.arrival.items(), key=lambda item: item[1]):
        ends = {m: max(free[m], arrival) + instance.time[job, m] for m in free}
        m = min(ends, key=ends.__getitem__)
        placed.append(Placement(job=job, machine=m, start=max(free[m], arrival)))
        free[m] = ends[m]
    return AlloxSchedule(jobs=tuple(placed))


def shortest_first(instance: AlloxInstance) -> AlloxSchedule:
    """Start the waiting job that takes the least time, whenever a machine is idle."""

    def policy(waiting: list[str], busy: dict[str, int]) -> Starts:
        pairs = [(job, m) for job in waiting for m in busy if not busy[m]]
        while pairs:
            job, machine = min(pairs, key=instance.time.__getitem__)
            yield job, machine
            pairs = [(j, m) for j, m in pairs if j != job and m != machine]

    return simulate(instance, policy)


def queued(instance: AlloxInstance) -> dict[str, Any]:
    """Return the guarantee of AlloX on an instance: its schedule is optimal without arrivals."""
    failed = ["all jobs are queued at slot 0"] if any(instance.arrival.values()) else []
    return {"claim": "optimal", "factor": 1.0, "holds": not failed, "failed": failed}
