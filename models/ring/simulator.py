"""Discrete-event simulation: the exact ends of jobs with given starts and placements.

Between two events, each a start or an end, every rate is constant. So the cost of a simulation
depends on the number of events and of the rings they affect. It does not depend on the horizon. The
end of the module has the metrics that are reported with the makespan of a schedule.
"""

from collections.abc import Mapping, Sequence
from heapq import heappop, heappush
from statistics import fmean, pstdev
from typing import Any

from schedgap.instances.ring import RingInstance, RingSchedule, Run
from schedgap.models.ring.rates import RateTable, load_increments, rate_table

Placement = Mapping[int, int]  # y_js >= 1 by index of the server


class Simulator:
    """Simulation that a caller advances: it starts jobs and lets time pass.

    Everything before the current `slot` is final; no later start can change it. Jobs and servers
    are indices in list order.
    """

    def __init__(self, table: RateTable) -> None:
        number = len(table.size)
        self.table = table
        self.slot = 1  # the current time is the beginning of this slot
        self.ends: list[int | None] = [None] * number  # [j] last slot of complete jobs
        self.active: set[int] = set()
        self._servers: list[tuple[int, ...]] = [()] * number  # [j] servers with workers of the job
        self._rings: list[set[int]] = [set() for _ in table.server_gpus]  # [s] active rings over s
        self._contention = [0] * number  # [j] p_j of (6)
        self._rates: list[tuple[int, ...]] = [()] * number  # [j] rates by p
        self._remaining = list(table.required_progress)  # [j] at the beginning of slot `_since`
        self._since = [1] * number
        self._rate = [0] * number
        self._due: list[int | None] = [None] * number  # [j] last slot at this rate; None: rate 0
        self._queue: list[tuple[int, int]] = []  # heap of (due, job); may hold outdated entries

    def start(self, job: int, servers: Sequence[int]) -> None:
        """Start a job in the current slot.

        `job`: index of a job that has not been started. `servers`: indices of the servers with its
        workers, at least one, each once.
        """
        self.active.add(job)
        self._servers[job] = tuple(servers)
        self._rates[job] = self.table.rates(job, len(servers))
        self._since[job] = self.slot
        if len(servers) == 1:
            self._run_at(job, self._rates[job][0])
            return
        self._contention[job] = 0
        slowed: set[int] = set()
        for s in servers:
            rings = self._rings[s]
            rings.add(job)
            for other in rings:
                if self._contention[other] < len(rings):
                    self._contention[other] = len(rings)
                    slowed.add(other)
        for other in slowed:
            self._refresh(other)

    def next_end(self) -> int | None:
        """Return the first slot in which an active job completes if no other job starts.

        None if no job is active, or no active job makes progress.
        """
        queue = self._queue
        while queue:
            due, job = queue[0]
            if self._due[job] == due and job in self.active:
                return due
            heappop(queue)
        return None

    def advance(self, slot: int) -> list[int]:
        """Let time pass to the beginning of a slot; return the jobs that complete on the way.

        `slot`: the new current slot, not before the present one.

        The jobs are in order of their ends; jobs that end in the same slot are in list order.
        """
        complete: list[int] = []
        while (end := self.next_end()) is not None and end < slot:
            self.slot = end + 1
            eased: set[int] = set()
            while self.next_end() == end:
                job = heappop(self._queue)[1]
                self.active.remove(job)
                self.ends[job] = end
                complete.append(job)
                if len(self._servers[job]) > 1:
                    for s in self._servers[job]:
                        rings = self._rings[s]
                        rings.remove(job)
                        worst = len(rings) + 1
                        eased.update([other for other in rings if self._contention[other] == worst])
            for job in eased - set(complete):
                self._contention[job] = max([len(self._rings[s]) for s in self._servers[job]])
                self._refresh(job)
        self.slot = slot
        return complete

    def _refresh(self, job: int) -> None:
        """Set the rate of a ring after its contention level changed."""
        rates, contention = self._rates[job], self._contention[job]
        # more rings than the server has GPUs: infeasible in any case, the rate counts as 0
        rate = rates[contention] if contention < len(rates) else 0
        if rate != self._rate[job]:
            self._run_at(job, rate)

    def _run_at(self, job: int, rate: int) -> None:
        """Record a job's progress so far and continue at another rate, (9)."""
        self._remaining[job] -= self._rate[job] * (self.slot - self._since[job])
        self._since[job] = self.slot
        self._rate[job] = rate
        self._due[job] = None
        if rate:
            self._due[job] = due = self.slot - 1 - (-self._remaining[job] // rate)
            heappush(self._queue, (due, job))


def simulate(
    table: RateTable, starts: Sequence[int], servers: Sequence[Sequence[int]]
) -> list[int | None]:
    """Return the last slot of each job, without regard to the horizon.

    Parameters
    ----------
    table : RateTable
        Rates of the instance.
    starts : sequence of int
        [j] first slot of each job, >= 1.
    servers : sequence
        [j] indices of the servers on which the job has workers, each once.

    Returns
    -------
    list
        [j] T_j, the last active slot; None for a job that never completes. The ends are meaningful
        only if no server ever has more workers than GPUs, which `schedule_of` checks.

    Notes
    -----
    Source: (3), (6)-(9). Time: O(log n) per start or end, plus the number of rings on its servers.
    """
    run = Simulator(table)
    for job in sorted(range(len(starts)), key=starts.__getitem__):
        if starts[job] > run.slot:
            run.advance(starts[job])
        run.start(job, servers[job])
    while (end := run.next_end()) is not None:
        run.advance(end + 1)
    return run.ends


def schedule_of(
    instance: RingInstance, starts: Sequence[int], placements: Sequence[Placement], **facts: object
) -> RingSchedule | None:
    """Return the simulated schedule of given starts and placements, with GPU numbers.

    `starts`: [j] first slot of each job, >= 1. `placements`: [j] workers of each job by index of
    the server. `**facts`: informative keys of the schedule.

    The result is None if a server has more workers than GPUs in some slot, or a job ends after the
    horizon.
    """
    ends = feasible_ends(rate_table(instance), starts, placements, instance.horizon)
    if ends is None:
        return None
    names = [server.id for server in instance.servers]
    runs = {
        job.id: Run(starts[j], ends[j], {names[s]: count for s, count in placements[j].items()})
        for j, job in enumerate(instance.jobs)
    }
    return RingSchedule(runs, facts).numbered(instance)


def feasible_ends(
    table: RateTable, starts: Sequence[int], placements: Sequence[Placement], latest: int
) -> list[int] | None:
    """Return the simulated ends of given starts and placements, if they are feasible.

    `starts`: [j] first slot of each job, >= 1. `placements`: [j] workers of each job by index of
    the server. `latest`: last slot in which a job may end.

    An end [j] is the job's last slot. The result is None if a job ends after `latest`, or a server
    has too few GPUs.
    """
    ends = simulate(table, starts, [tuple(placed) for placed in placements])
    in_time = [end for end in ends if end is not None and end <= latest]
    feasible = len(in_time) == len(ends) and _fits(table, starts, in_time, placements)
    return in_time if feasible else None


def _fits(
    table: RateTable, starts: Sequence[int], ends: Sequence[int], placements: Sequence[Placement]
) -> bool:
    """Return whether no server has more workers than GPUs in any slot, (2)."""
    changes: list[list[tuple[int, int]]] = [[] for _ in table.server_gpus]  # [s] (slot, change)
    for start, end, placed in zip(starts, ends, placements, strict=True):
        for s, count in placed.items():
            changes[s] += [(start, count), (end + 1, -count)]
    for gpus, here in zip(table.server_gpus, changes, strict=True):
        held = 0
        for _, change in sorted(here):  # within a slot, workers leave before others arrive
            held += change
            if held > gpus:
                return False
    return True


def extra_share(instance: RingInstance, schedule: RingSchedule, job: int) -> float:
    """Return the share of a job's execution time due to contention and overhead, in 0..1.

    It is the quantity behind the paper's "within 15%" (Section 7), 1 - d / rho. Here rho is the
    execution time, and d the one inside a single, sufficiently large server.

    `schedule`: feasible schedule.
    """
    record = instance.jobs[job]
    return 1 - rate_table(instance).slots(job, 1, 0) / schedule.runs[record.id].slots


def schedule_metrics(instance: RingInstance, schedule: RingSchedule) -> dict[str, Any]:
    """Return metrics of a schedule as plain JSON data, for the trace of a solution.

    `schedule`: feasible schedule.

    `makespan_eq9`: the makespan as (9) counts it, one slot more, see E6. `mean_end`: average
    completion time, slots, as in Figure 4. `extra_share`: largest and mean `extra_share`.
    """
    ends = [run.end for run in schedule.runs.values()]
    extra = [extra_share(instance, schedule, j) for j in range(len(instance.jobs))]
    return {
        "makespan_eq9": max(ends) + 1,
        "mean_end": round(sum(ends) / len(ends), 6),
        "extra_share": {
            "max": round(max(extra), 6),
            "mean": round(sum(extra) / len(extra), 6),
        },
    }


def time_shares(instance: RingInstance, schedule: RingSchedule) -> dict[str, float]:
    """Return where the time of a schedule goes.

    The execution time of a job has three parts. The first is its time inside one server. The second
    is what its further servers cost while it shares none of them (`spreading`). The third is what
    other rings on its servers cost (`contention`).

    `schedule`: feasible schedule.

    `contention`, `spreading`: share of the total execution time of all jobs. `small`: the share of
    contention in the execution time of the jobs with at most kappa GPUs; only with kappa.
    `servers`: average number of servers of the jobs with two GPUs or more, 0 if there are none.
    """
    table = rate_table(instance)
    total = contention = spreading = small = lost = 0.0
    kappa = schedule.facts.get("kappa", 0)
    servers = []
    for j, job in enumerate(instance.jobs):
        run = schedule.runs[job.id]
        number = len(run.placement)
        alone = table.slots(j, 1, 0)
        uncontended = table.slots(j, number, 1) if number > 1 else alone
        total += run.slots
        contention += run.slots - uncontended
        spreading += uncontended - alone
        if job.gpus <= kappa:
            small += run.slots
            lost += run.slots - uncontended
        if job.gpus > 1:
            servers.append(number)
    return {
        "contention": round(contention / total, 6),
        "spreading": round(spreading / total, 6),
        "servers": round(sum(servers) / len(servers), 6) if servers else 0.0,
    } | ({"small": round(lost / small, 6)} if small else {})


def gpu_times(instance: RingInstance, schedule: RingSchedule) -> dict[str, float]:
    """Return how the time of the GPUs is used.

    `schedule`: feasible schedule; the numbers of the GPUs are added if it has none.

    `limit`: W-hat_max, the largest estimated execution time of a GPU, slots; by Lemma 2 it is the
    limit theta_u that a policy returns. `idle`: average time in which a GPU has no job before its
    last one ends, slots, as in the proof of Lemma 3. `unevenness`: standard deviation of the GPUs'
    estimated execution times over their average.
    """
    estimates = load_increments(rate_table(instance))
    if any(run.gpus is None for run in schedule.runs.values()):
        schedule = schedule.numbered(instance)
    estimated: dict[tuple[str, int], float] = {}
    busy = 0
    last: dict[tuple[str, int], int] = {}
    for j, job in enumerate(instance.jobs):
        run = schedule.runs[job.id]
        for server, numbers in (run.gpus or {}).items():
            for gpu in numbers:
                key = server, gpu
                estimated[key] = estimated.get(key, 0.0) + estimates[j]
                busy += run.slots
                last[key] = max(last.get(key, 0), run.end)
    loads = [*estimated.values(), *[0.0] * (instance.gpus - len(estimated))]
    return {
        "limit": round(max(loads), 6),
        "idle": round((sum(last.values()) - busy) / instance.gpus, 6),
        "unevenness": round(pstdev(loads) / fmean(loads), 6),
    }


def metrics(instance: RingInstance, schedule: Mapping[str, object]) -> dict[str, float]:
    """Return the metrics shown with the makespan of a verified schedule, by title.

    `schedule`: plain JSON data of the schedule.
    """
    read = RingSchedule.from_data(instance, schedule)
    values, shares = schedule_metrics(instance, read), time_shares(instance, read)
    times = gpu_times(instance, read)
    return {
        "makespan by (9)": values["makespan_eq9"],
        "mean completion": values["mean_end"],
        "largest extra share": values["extra_share"]["max"],
        "share of contention": shares["contention"],
        "share of spreading": shares["spreading"],
        "servers per ring": shares["servers"],
        "idle slots before a GPU's last job": times["idle"],
        "largest estimated load": times["limit"],
        "unevenness of the GPUs' loads": times["unevenness"],
    } | ({"contention of jobs up to kappa": shares["small"]} if "small" in shares else {})
