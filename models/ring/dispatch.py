"""The dispatcher behind all algorithms: start jobs in a fixed order, each as soon as it is placed.

A job is considered only after all earlier ones in the order have started. So everything before the
current slot is final when a job is placed, and decisions depend on the past alone.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from schedgap.instances.ring import RingInstance, RingSchedule, Run
from schedgap.models.method import MethodResult
from schedgap.models.ring.rates import RateTable, load_increments
from schedgap.models.ring.simulator import Simulator, schedule_metrics

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

NO_PLACE = "no run found a schedule within the horizon"
LOAD_TOLERANCE = 1e-9  # slots by which round-off may lift a load above its limit


class ClusterState:
    """State of the GPUs during one run of the dispatcher: which are idle, and their loads.

    GPUs have global indices: servers in list order, then numbers within a server. The load of a GPU
    is the estimated work given to it so far, in slots; it never decreases.
    """

    def __init__(self, table: RateTable, limit: float) -> None:
        gpus = np.array(table.server_gpus, dtype=np.int64)
        self.table = table
        self.limit = limit  # theta_u, slots
        self.first: Ints = np.concatenate([[0], np.cumsum(gpus)])  # [s] global index of GPU 0
        self.server: Ints = np.repeat(np.arange(len(gpus)), gpus)  # [g]
        self.load: Floats = np.zeros(table.gpus)  # [g] U
        self.idle = np.ones(table.gpus, dtype=bool)  # [g]
        self.idle_on: Ints = gpus.copy()  # [s] number of idle GPUs
        self.opened = np.zeros(len(gpus), dtype=bool)  # [s] whether it has had a job
        self.server_load = [0.0] * len(gpus)  # [s] sum of U, added up in order of starts
        self.increment = load_increments(table)  # [j]
        self.largest_accepted = -math.inf  # largest load that the limit allowed
        self.smallest_refused = math.inf  # smallest load that it did not allow

    def within(self, job: int, gpus: Ints) -> Ints:
        """Return those GPUs whose load stays within the limit if they are given the job.

        `gpus`: global indices, at least one.
        """
        loads = self.load[gpus] + self.increment[job]
        allowed = loads <= self.limit + LOAD_TOLERANCE
        if allowed.all():
            self.largest_accepted = max(self.largest_accepted, float(loads.max()))
            return gpus
        self.smallest_refused = min(self.smallest_refused, float(loads[~allowed].min()))
        if allowed.any():
            self.largest_accepted = max(self.largest_accepted, float(loads[allowed].max()))
        return gpus[allowed]

    def available(self, job: int) -> Ints | None:
        """Return the idle GPUs within the limit, ascending, or None if the job asks for more."""
        size, idle = self.table.size[job], np.flatnonzero(self.idle)
        if len(idle) < size:
            return None  # the limit would only exclude more
        gpus = self.within(job, idle)
        return gpus if len(gpus) >= size else None

    def take(self, job: int, gpus: Ints) -> list[int]:
        """Give a job its GPUs; return their servers, in list order.

        `gpus`: global indices of idle GPUs.
        """
        self.idle[gpus] = False
        self.load[gpus] += self.increment[job]  # A2 L6, A3 L9
        counts = np.bincount(self.server[gpus], minlength=len(self.idle_on))
        servers: list[int] = np.flatnonzero(counts).tolist()
        self.idle_on[servers] -= counts[servers]
        self.opened[servers] = True
        for s in servers:
            self.server_load[s] += int(counts[s]) * self.increment[job]
        return servers

    def release(self, gpus: Ints) -> None:
        """Mark the GPUs of a complete job as idle.

        `gpus`: global indices.
        """
        self.idle[gpus] = True
        np.add.at(self.idle_on, self.server[gpus], 1)


# (job, cluster) -> global indices of the idle GPUs that the job takes now, or None to wait.
Choose = Callable[[int, ClusterState], Ints | None]


class DispatchObserver(Protocol):
    """Receiver of every step of a run."""

    def placed(self, job: int, slot: int, gpus: Ints, cluster: ClusterState) -> None:
        """Note that a job starts.

        `gpus`: global indices of its GPUs, ascending. `cluster`: state after the start; the loads
        include the job.
        """

    def waited(self, job: int, slot: int, until: int, exited: list[int]) -> None:
        """Note that a job could not be placed.

        `slot`: slot in which it was considered. `until`: slot in which it is considered again.
        `exited`: jobs that leave in between; empty if none leaves in time, then the run ends here.
        """


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """One run of the dispatcher; infeasible if a job was not placed or ends after the horizon.

    Every limit theta with largest_accepted <= theta + LOAD_TOLERANCE < smallest_refused gives the
    same run.
    """

    order: tuple[int, ...]  # jobs in the order of dispatch
    starts: tuple[int, ...] = ()  # [j] slots
    ends: tuple[int, ...] = ()  # [j]
    gpus: tuple[Ints, ...] = ()  # [j] global indices, ascending
    load: float = 0.0  # W-hat, the largest load U at the end
    largest_accepted: float = -math.inf
    smallest_refused: float = math.inf

    @property
    def feasible(self) -> bool:
        """Whether the run gives a schedule."""
        return bool(self.ends)

    @property
    def makespan(self) -> float:
        """Last slot of the last job; infinite if the run is infeasible."""
        return max(self.ends, default=math.inf)

    @property
    def filtered(self) -> bool:
        """Whether the limit ever excluded an idle GPU."""
        return self.smallest_refused < math.inf

    def holds_for(self, limit: float) -> bool:
        """Return whether a run with this limit would be identical.

        `limit`: theta_u, slots.
        """
        return self.largest_accepted <= limit + LOAD_TOLERANCE < self.smallest_refused


def dispatch(
    table: RateTable,
    order: Sequence[int],
    choose: Choose,
    *,
    limit: float = math.inf,
    observer: DispatchObserver | None = None,
) -> Trial:
    """Start the jobs in the given order, each in the first slot in which `choose` places it.

    `table`: of an instance in which every job can make progress. `order`: indices of the jobs, each
    at most once; a job left out has start and end 0. `choose`: (job, cluster) -> global indices of
    as many idle GPUs as the job asks for, or None. `limit`: theta_u, the limit on the load of every
    GPU, slots. `observer`: receiver of every step.

    Notes
    -----
    Source: Algorithms 2 and 3, "waiting for some job to exit and then goes to Line 2". T_j in their
    lines 5 and 8 is taken from the simulation, because later starts may still delay it (E16).
    """
    cluster, run = ClusterState(table, limit), Simulator(table)
    held: dict[int, Ints] = {}
    starts = [0] * len(table.size)

    def trial(**schedule: Any) -> Trial:
        accepted, refused = cluster.largest_accepted, cluster.smallest_refused
        return Trial(tuple(order), **schedule, largest_accepted=accepted, smallest_refused=refused)

    for job in order:  # A1 L9
        while (gpus := choose(job, cluster)) is None:
            slot, released = run.slot, _advance(run, table.horizon)
            if observer is not None:
                observer.waited(job, slot, run.slot, released)
            if not released:  # A1 L14
                return trial()  # A1 L15
            for other in released:
                cluster.release(held[other])
        held[job] = np.sort(gpus)
        starts[job] = run.slot  # A2 L5-L7: T_j is known at the end, E16
        run.start(job, cluster.take(job, gpus))  # A3 L8-L10, A2 L6
        if observer is not None:
            observer.placed(job, run.slot, held[job], cluster)
    while _advance(run, math.inf):
        pass
    ends = [0] * len(starts)
    for job in order:  # A1 L16
        end = run.ends[job]
        if end is None or end > table.horizon:
            return trial()
        ends[job] = end
    no_gpus = np.empty(0, dtype=np.int64)
    return trial(
        starts=tuple(starts),
        ends=tuple(ends),
        gpus=tuple(held.get(job, no_gpus) for job in range(len(starts))),
        load=float(cluster.load.max()),
    )


def _advance(run: Simulator, horizon: float) -> list[int]:
    """Advance past the next end; return the jobs that end there, none if it is the horizon."""
    end = run.next_end()
    return [] if end is None or end >= horizon else run.advance(end + 1)


def gpus_by_server(instance: RingInstance, gpus: Ints) -> dict[str, tuple[int, ...]]:
    """Return the numbers of GPUs within their servers, by server id.

    `gpus`: global indices, ascending.
    """
    first = np.concatenate([[0], np.cumsum([server.gpus for server in instance.servers])])
    on = np.searchsorted(first, gpus, side="right") - 1
    return {
        instance.servers[s].id: tuple((gpus[on == s] - first[s]).tolist())
        for s in dict.fromkeys(on.tolist())
    }


def trial_schedule(instance: RingInstance, trial: Trial, **facts: object) -> RingSchedule:
    """Return the schedule of a run, with the GPUs that it chose.

    `trial`: a feasible run of all jobs. `**facts`: informative keys of the schedule; `order` is
    added.
    """
    runs = {}
    for j, job in enumerate(instance.jobs):
        numbers = gpus_by_server(instance, trial.gpus[j])
        placement = {server: len(held) for server, held in numbers.items()}
        runs[job.id] = Run(trial.starts[j], trial.ends[j], placement, numbers)
    names = [instance.jobs[j].id for j in trial.order]
    return RingSchedule(runs, {"order": names, **facts})


def trial_result(
    instance: RingInstance, trial: Trial | None, trace: Mapping[str, object]
) -> MethodResult:
    """Return a run as the result of a method.

    `trial`: run of all jobs; None or an infeasible one gives a result without a schedule. `trace`:
    plain JSON data, added to the metrics of the schedule.
    """
    if trial is None or not trial.feasible:
        return MethodResult(note=NO_PLACE, trace=trace)
    schedule = trial_schedule(instance, trial)
    return MethodResult(schedule, trace={**schedule_metrics(instance, schedule), **trace})
