"""The dispatcher behind all algorithms: jobs in a fixed order, each started as soon as it may.

A job is not looked at before all earlier ones have started; so everything before the present slot
is final when it is placed, and decisions see what has happened, never what will.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from schedgap.instances.ring import RingInstance, RingSchedule, Run
from schedgap.models.method import MethodResult
from schedgap.models.ring.rates import RateTable, increments
from schedgap.models.ring.simulator import Simulator, measures

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Clock = Literal["actual", "estimated"]

NO_PLACE = "no run found a schedule within the horizon"
ROOM = 1e-9  # a load within the limit but for round-off is within it


class Cluster:
    """The GPUs during one run: which are idle, and how much work each has been given.

    GPUs go by a global index: servers in list order, then number. Loads are estimates, in slots,
    and never fall.
    """

    def __init__(self, table: RateTable, limit: float) -> None:
        rooms = np.array(table.room, dtype=np.int64)
        self.table = table
        self.limit = limit  # theta_u, slots
        self.first: Ints = np.concatenate([[0], np.cumsum(rooms)])  # [s] global index of GPU 0
        self.server: Ints = np.repeat(np.arange(len(rooms)), rooms)  # [g]
        self.load: Floats = np.zeros(table.gpus)  # [g] U
        self.idle = np.ones(table.gpus, dtype=bool)  # [g]
        self.idle_on: Ints = rooms.copy()  # [s] idle GPUs
        self.opened = np.zeros(len(rooms), dtype=bool)  # [s] some GPU has been given work
        self.server_load = [0.0] * len(rooms)  # [s] sum of U, accumulated in order of starts
        self.increment = increments(table)  # [j]
        self.passed = -math.inf  # the largest load that the limit allowed
        self.failed = math.inf  # the smallest load that it did not

    def within(self, job: int, gpus: Ints) -> Ints:
        """Return those of the GPUs that the job would not load beyond the limit."""
        loads = self.load[gpus] + self.increment[job]
        allowed = loads <= self.limit + ROOM
        if allowed.all():
            self.passed = max(self.passed, float(loads.max()))
            return gpus
        self.failed = min(self.failed, float(loads[~allowed].min()))
        if allowed.any():
            self.passed = max(self.passed, float(loads[allowed].max()))
        return gpus[allowed]

    def take(self, job: int, gpus: Ints) -> list[int]:
        """Give a job its GPUs; return their servers, in list order."""
        self.idle[gpus] = False
        self.load[gpus] += self.increment[job]
        counts = np.bincount(self.server[gpus], minlength=len(self.idle_on))
        servers: list[int] = np.flatnonzero(counts).tolist()
        self.idle_on[servers] -= counts[servers]
        self.opened[servers] = True
        for s in servers:
            self.server_load[s] += int(counts[s]) * self.increment[job]
        return servers

    def release(self, gpus: Ints) -> None:
        """Make GPUs idle again."""
        self.idle[gpus] = True
        np.add.at(self.idle_on, self.server[gpus], 1)


# Which idle GPUs a job takes in the present slot, or None to wait.
Choose = Callable[[int, Cluster], Ints | None]


class Watch(Protocol):
    """Who is told of every step of a run."""

    def placed(self, job: int, slot: int, gpus: Ints, cluster: Cluster) -> None:
        """A job starts in a slot on these GPUs; their loads hold it already."""

    def waited(self, job: int, slot: int, until: int, exited: list[int]) -> None:
        """A job found no place in a slot; these left by another. None left: the run ends here."""


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """One run of the dispatcher; infeasible when a job found no place, or ends after the horizon.

    Every limit theta with `passed` <= theta + 1e-9 < `failed` leads to this very run.
    """

    order: tuple[int, ...]  # jobs as they were dispatched
    starts: tuple[int, ...] = ()  # [j] slots
    ends: tuple[int, ...] = ()  # [j]
    gpus: tuple[Ints, ...] = ()  # [j] global indices, ascending
    load: float = 0.0  # W-hat, the largest U at the end
    passed: float = -math.inf
    failed: float = math.inf

    @property
    def feasible(self) -> bool:
        """Whether this is a schedule."""
        return bool(self.ends)

    @property
    def makespan(self) -> float:
        """Last slot of the last job, or infinity."""
        return max(self.ends, default=math.inf)

    @property
    def filtered(self) -> bool:
        """Whether the limit ever kept a job from an idle GPU."""
        return self.failed < math.inf

    def holds_for(self, limit: float) -> bool:
        """Return whether a run with this limit is the same."""
        return self.passed <= limit + ROOM < self.failed


def dispatch(
    table: RateTable,
    order: Sequence[int],
    choose: Choose,
    *,
    limit: float = math.inf,
    clock: Clock = "actual",
    watch: Watch | None = None,
) -> Trial:
    """Start the jobs one after the other, each in the first slot in which `choose` places it.

    Parameters
    ----------
    table : RateTable
        Of an instance in which every job can make progress.
    order : sequence of int
        Jobs; of one that is left out start and end are 0.
    choose : callable
        (job, cluster) -> global indices of as many idle GPUs as the job asks for, or None.
    limit : float
        theta_u, in slots: no GPU is given more work, by estimate.
    clock : "actual" or "estimated"
        When a job's GPUs are idle again: at its simulated end, or (ours) after rho-hat_j slots; the
        plan is then executed with every GPU serving its jobs in the planned order.
    watch : Watch, optional
        Told of every step.

    Returns
    -------
    Trial
        Makespans are simulated with either clock.

    Notes
    -----
    Source: Algorithms 2 and 3, "waiting for some job to exit and then goes to Line 2". T_j of their
    lines 5 and 8 is read off the simulation: jobs that start later may still delay it (E16).
    """
    cluster = Cluster(table, limit)
    time = _Actual(table) if clock == "actual" else _Estimated(table)
    held: dict[int, Ints] = {}
    starts = [0] * len(table.size)
    planned = True
    for job in order:
        while (gpus := choose(job, cluster)) is None:
            slot, released = time.slot, time.wait()
            if watch is not None:
                watch.waited(job, slot, time.slot, released)
            if not released:
                planned = False
                break
            for other in released:
                cluster.release(held[other])
        if gpus is None:
            break
        held[job] = np.sort(gpus)
        starts[job] = time.slot  # A2 L5-L7: T_j is known at the end, E16
        time.start(job, cluster.take(job, gpus))  # A3 L8-L10
        if watch is not None:
            watch.placed(job, time.slot, held[job], cluster)
    outcome = time.finish(order, starts, held) if planned else None
    nobody = np.empty(0, dtype=np.int64)
    if outcome is None:
        return Trial(tuple(order), passed=cluster.passed, failed=cluster.failed)
    return Trial(
        tuple(order),
        *outcome,
        gpus=tuple(held.get(job, nobody) for job in range(len(starts))),
        load=float(cluster.load.max()),
        passed=cluster.passed,
        failed=cluster.failed,
    )


_Times = tuple[tuple[int, ...], tuple[int, ...]]  # starts, ends


class _Actual:
    """Time as it passes: the simulator."""

    def __init__(self, table: RateTable) -> None:
        self._table, self._run = table, Simulator(table)

    @property
    def slot(self) -> int:
        return self._run.slot

    def start(self, job: int, servers: Sequence[int]) -> None:
        self._run.start(job, servers)

    def wait(self) -> list[int]:
        """Let the next jobs end, in one slot; none where none ever does, or all is too late."""
        end = self._run.next_end()
        if end is None or end >= self._table.horizon:
            return []
        return self._run.advance(end + 1)

    def finish(
        self, order: Sequence[int], starts: Sequence[int], held: dict[int, Ints]
    ) -> _Times | None:
        run = self._run
        while (end := run.next_end()) is not None:
            run.advance(end + 1)
        return _in_time(self._table, order, starts, run.ends)


class _Estimated:
    """Time as it is reckoned: every job takes its estimate, rounded up."""

    def __init__(self, table: RateTable) -> None:
        self.slot = 1
        self._table = table
        self._ends: list[tuple[int, int]] = []  # heap of (first slot after it, job)
        self._servers: dict[int, Sequence[int]] = {}

    def start(self, job: int, servers: Sequence[int]) -> None:
        self._servers[job] = servers
        heappush(self._ends, (self.slot + math.ceil(self._table.estimate[job] - ROOM), job))

    def wait(self) -> list[int]:
        released: list[int] = []
        if self._ends:
            self.slot = self._ends[0][0]
        while self._ends and self._ends[0][0] == self.slot:
            released.append(heappop(self._ends)[1])
        return released

    def finish(
        self, order: Sequence[int], starts: Sequence[int], held: dict[int, Ints]
    ) -> _Times | None:
        """Execute the plan: a job starts once it is next on all of its GPUs.

        All GPUs follow one order, so the earliest job that has not started never waits for another
        that has not.
        """
        run, actual = Simulator(self._table), list(starts)
        waiting = list(order)
        while waiting:
            busy = np.zeros(self._table.gpus, dtype=bool)
            for job in run.active:
                busy[held[job]] = True
            later = []
            for job in waiting:
                if busy[held[job]].any():
                    later.append(job)
                else:
                    actual[job] = run.slot
                    run.start(job, self._servers[job])
                busy[held[job]] = True  # those behind it in a queue wait
            waiting = later
            end = run.next_end()
            if end is None:
                break
            run.advance(end + 1)
        while (end := run.next_end()) is not None:
            run.advance(end + 1)
        return _in_time(self._table, order, actual, run.ends)


def _in_time(
    table: RateTable, order: Sequence[int], starts: Sequence[int], ends: Sequence[int | None]
) -> _Times | None:
    known = [0] * len(ends)
    for job in order:
        end = ends[job]
        if end is None or end > table.horizon:
            return None
        known[job] = end
    return tuple(starts), tuple(known)


def gpus_by_server(instance: RingInstance, gpus: Ints) -> dict[str, tuple[int, ...]]:
    """Return the numbers of GPUs by server id, from their global indices, ascending."""
    rooms = [server.gpus for server in instance.servers]
    first = np.concatenate([[0], np.cumsum(rooms)])
    on = np.searchsorted(first, gpus, side="right") - 1
    return {
        instance.servers[s].id: tuple((gpus[on == s] - first[s]).tolist())
        for s in dict.fromkeys(on.tolist())
    }


def schedule(instance: RingInstance, trial: Trial, **facts: Any) -> RingSchedule:
    """Return the schedule of a feasible trial, with the GPUs that it chose.

    `facts` are informative keys of the schedule; `order` is added.
    """
    runs = {}
    for j, job in enumerate(instance.jobs):
        numbers = gpus_by_server(instance, trial.gpus[j])
        placement = {server: len(held) for server, held in numbers.items()}
        runs[job.id] = Run(trial.starts[j], trial.ends[j], placement, numbers)
    names = [instance.jobs[j].id for j in trial.order]
    return RingSchedule(runs, {"order": names, **facts})


def deliver(instance: RingInstance, trial: Trial | None, trace: dict[str, Any]) -> MethodResult:
    """Return one run as what a method found."""
    if trial is None or not trial.feasible:
        return MethodResult(note=NO_PLACE, trace=trace)
    made = schedule(instance, trial)
    return MethodResult(made, trace=measures(instance, made) | trace)
