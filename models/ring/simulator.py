"""What starts and placements lead to: the exact course of `ring` jobs, from event to event.

Between two events, a start or an end, every rate is constant. So a simulation costs as much as the
rings that meet where something happens, however long the horizon. At the end: what is reported of a
schedule beside its makespan.
"""

from collections.abc import Mapping, Sequence
from heapq import heappop, heappush
from typing import Any

from schedgap.instances.ring import RingInstance, RingSchedule, Run
from schedgap.models.ring.rates import RateTable, rate_table

Placement = Mapping[int, int]  # y_js by index of the server, where >= 1


class Simulator:
    """Jobs that run from slot to slot; the caller says which start, and lets time pass.

    What has happened before `slot` is final: no start in it or later can change it. Jobs and
    servers go by their indices in list order.
    """

    def __init__(self, table: RateTable) -> None:
        number = len(table.size)
        self.table = table
        self.slot = 1  # now: the beginning of this slot
        self.ends: list[int | None] = [None] * number  # [j] last slot of the jobs that are complete
        self.active: set[int] = set()
        self._servers: list[tuple[int, ...]] = [()] * number  # [j] those with a worker
        self._rings: list[set[int]] = [set() for _ in table.room]  # [s] active spread jobs
        self._crowd = [0] * number  # [j] p_j of (6): rings on the worst of its servers
        self._row: list[tuple[int, ...]] = [()] * number  # [j] rates by p
        self._left = list(table.need)  # [j] progress to make from the slot `_since` on
        self._since = [1] * number
        self._rate = [0] * number
        self._due: list[int | None] = [None] * number  # [j] last slot at this rate, None: never
        self._queue: list[tuple[int, int]] = []  # (due, job); entries that do not hold any more too

    def start(self, job: int, servers: Sequence[int]) -> None:
        """Start a job now, with workers on these servers (distinct, at least one)."""
        self.active.add(job)
        self._servers[job] = tuple(servers)
        self._row[job] = self.table.row(job, len(servers))
        self._since[job] = self.slot
        if len(servers) == 1:
            self._run_at(job, self._row[job][0])
            return
        self._crowd[job] = 0
        slowed: set[int] = set()
        for s in servers:
            rings = self._rings[s]
            rings.add(job)
            for other in rings:
                if self._crowd[other] < len(rings):
                    self._crowd[other] = len(rings)
                    slowed.add(other)
        for other in slowed:
            self._refresh(other)

    def next_end(self) -> int | None:
        """Return the first slot in which some active job completes if none starts any more.

        None: no job is active, or none makes any progress.
        """
        queue = self._queue
        while queue:
            due, job = queue[0]
            if self._due[job] == due and job in self.active:
                return due
            heappop(queue)
        return None

    def advance(self, slot: int) -> list[int]:
        """Let time pass to the beginning of a slot; return the jobs complete before it, in order.

        Jobs that complete in the same slot come in list order.
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
                        eased.update([other for other in rings if self._crowd[other] == worst])
            for job in eased - set(complete):
                self._crowd[job] = max([len(self._rings[s]) for s in self._servers[job]])
                self._refresh(job)
        self.slot = slot
        return complete

    def _refresh(self, job: int) -> None:
        """Give a ring the rate of its crowd."""
        row, crowd = self._row[job], self._crowd[job]
        # more rings than GPUs can hold: no schedule, and no progress to speak of
        rate = row[crowd] if crowd < len(row) else 0
        if rate != self._rate[job]:
            self._run_at(job, rate)

    def _run_at(self, job: int, rate: int) -> None:
        """Book the progress made so far, and go on at another rate, (9)."""
        self._left[job] -= self._rate[job] * (self.slot - self._since[job])
        self._since[job] = self.slot
        self._rate[job] = rate
        self._due[job] = None
        if rate:
            self._due[job] = due = self.slot - 1 - (-self._left[job] // rate)
            heappush(self._queue, (due, job))


def simulate(
    table: RateTable, starts: Sequence[int], servers: Sequence[Sequence[int]]
) -> list[int | None]:
    """Return the last slot of each job, whatever the horizon; None where it never completes.

    Parameters
    ----------
    table : RateTable
    starts : sequence of int
        [j] first slot of each job, >= 1.
    servers : sequence
        [j] indices of the servers on which the job has workers, each once.

    Returns
    -------
    list
        [j] T_j, the last active slot. Ends are right only where no server ever holds more workers
        than GPUs: see `schedule_of`.

    Notes
    -----
    Source: (3), (6)-(9). Time: O(log n) for each start or end, plus the rings on its servers.
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
    instance: RingInstance, starts: Sequence[int], placements: Sequence[Placement], **facts: Any
) -> RingSchedule | None:
    """Return the schedule that starts and placements [j] lead to, with GPU numbers.

    None where a server would hold more workers than GPUs, or a job would end after the horizon.
    `facts` are informative keys of the schedule.
    """
    table = rate_table(instance)
    ends = simulate(table, starts, [tuple(placed) for placed in placements])
    known = [end for end in ends if end is not None and end <= table.horizon]
    if len(known) < len(ends) or not fits(table, starts, known, placements):
        return None
    names = [server.id for server in instance.servers]
    runs = {
        job.id: Run(starts[j], known[j], {names[s]: count for s, count in placements[j].items()})
        for j, job in enumerate(instance.jobs)
    }
    return RingSchedule(runs, facts).numbered(instance)


def fits(
    table: RateTable, starts: Sequence[int], ends: Sequence[int], placements: Sequence[Placement]
) -> bool:
    """Return whether no server ever holds more workers than GPUs, (2), ends included."""
    changes: list[list[tuple[int, int]]] = [[] for _ in table.room]  # [s] (slot, workers more)
    for start, end, placed in zip(starts, ends, placements, strict=True):
        for s, count in placed.items():
            changes[s] += [(start, count), (end + 1, -count)]
    for room, here in zip(table.room, changes, strict=True):
        held = 0
        for _, more in sorted(here):  # in one slot those who leave come first
            held += more
            if held > room:
                return False
    return True


def extra_share(instance: RingInstance, schedule: RingSchedule, job: int) -> float:
    """Return the share of a job's time that contention and overhead cost it, in 0..1.

    The paper's "within 15%" (Section 7): one minus its slots inside one server, were there one that
    large, over the slots that it takes.
    """
    record = instance.jobs[job]
    return 1 - rate_table(instance).slots(job, 1, 0) / schedule.runs[record.id].slots


def measures(instance: RingInstance, schedule: RingSchedule) -> dict[str, Any]:
    """Return plain JSON data for the trace of a solution.

    `makespan_eq9` is the makespan as (9) counts it, one slot more; `mean_end` the average
    completion time of Fig. 4; `extra_share` the largest and the mean over the jobs.
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


def metrics(instance: RingInstance, schedule: Mapping[str, Any]) -> dict[str, float]:
    """Return what is shown of a verified schedule beside its makespan, by what it is."""
    found = measures(instance, RingSchedule.from_data(instance, schedule))
    return {
        "makespan by (9)": found["makespan_eq9"],
        "mean completion": found["mean_end"],
        "largest extra share": found["extra_share"]["max"],
    }
