"""The timetable of a network: what the runs that are placed leave free, and when.

Worker types do not compete for workers, so each has a table of its own, on the servers that have
such workers; all of them share the parameter servers (PSs). Tables change only where runs start and
end, so their size does not depend on the horizon.
"""

from typing import NamedTuple

import numpy as np

from schedgap.instances.edge import EdgeInstance, EdgeSchedule, arrays
from schedgap.instances.edge.compiled import Ints
from schedgap.models.edge.placements import Run, schedule_of

Interval = tuple[int, int]  # first slot, first slot after


class Table(NamedTuple):
    """Free workers of one type; never changed in place, so that an old one can be kept."""

    times: Ints  # [k] first slot of each stretch, ascending; the last stretch is endless
    free: Ints  # [k, c] on the server of each column


class Hosts:
    """The PSs of one type that are held."""

    def __init__(self, capacity: Ints) -> None:
        """Start with nothing held; `capacity` [s] is P_s of the type."""
        self.capacity: list[int] = capacity.tolist()
        self.scarce: set[int] = set()  # servers with at least as many runs as PSs
        self._held: dict[int, list[Interval]] = {}

    def hold(self, server: int, start: int, end: int) -> None:
        """Take a PS from the first to the last slot."""
        runs = self._held.setdefault(server, [])
        runs.append((start, end + 1))
        if len(runs) >= self.capacity[server]:
            self.scarce.add(server)

    def release(self, server: int, start: int, end: int) -> None:
        """Give a PS back."""
        runs = self._held[server]
        runs.remove((start, end + 1))
        if len(runs) < self.capacity[server]:
            self.scarce.discard(server)

    def full(self, server: int) -> list[Interval]:
        """Return the intervals in which no PS of a server is free, in order."""
        runs, most = self._held.get(server, []), self.capacity[server]
        events = sorted([(start, 1) for start, _ in runs] + [(after, -1) for _, after in runs])
        found: list[Interval] = []
        busy, since = 0, 0
        for slot, change in events:  # in one slot what ends comes before what starts
            busy += change
            if change == 1 and busy == most:
                since = slot
            elif change == -1 and busy == most - 1 and slot > since:
                found.append((since, slot))
        return found

    def most_free(self, server: int, start: int, end: int) -> int:
        """Return how many PSs of a server are free in all slots of an interval."""
        held = self._held.get(server)
        if not held:
            return self.capacity[server]
        runs = [run for run in held if run[0] <= end and start < run[1]]
        starts = {max(start, first) for first, _ in runs}
        peak = max((sum(a <= slot < b for a, b in runs) for slot in starts), default=0)
        return self.capacity[server] - peak


class Timetable:
    """Runs of jobs, and what they leave free.

    Attributes
    ----------
    runs : dict
        By index of the job.
    tables : list
        By worker type.
    hosts : list
        By PS type.
    servers : list
        By worker type, the servers that have some: the columns of its table.
    """

    def __init__(self, instance: EdgeInstance) -> None:
        """Start with an empty network."""
        view = arrays(instance)
        self.instance = instance
        self.runs: dict[int, Run] = {}
        self.hosts = [Hosts(view.ps[:, v]) for v in range(view.ps.shape[1])]
        self.servers = [np.flatnonzero(workers > 0) for workers in view.workers.T]
        self.tables = [
            Table(np.array([1]), view.workers[servers, u][None, :])
            for u, servers in enumerate(self.servers)
        ]

    def take(self, run: Run) -> None:
        """Place a job as given."""
        group = run.group
        u = int(arrays(self.instance).worker_type[group.job])
        columns = self.servers[u].searchsorted([s for s, _ in run.workers])
        self.tables[u] = _taken(self.tables[u], columns, run)
        self.restore(run)

    def forget(self, job: int) -> Run:
        """Take a job out, but for its workers: the caller puts an older table back."""
        run = self.runs.pop(job)
        v = int(arrays(self.instance).ps_type[job])
        self.hosts[v].release(run.host, run.group.start, run.group.end)
        return run

    def free_workers(self, worker_type: int, start: int, end: int) -> Ints:
        """Return how many workers of a type are free on each server [s] in all slots given."""
        view, (times, free) = arrays(self.instance), self.tables[worker_type]
        stretches = slice(times.searchsorted(start, "right") - 1, times.searchsorted(end, "right"))
        least = np.zeros(len(view.workers), dtype=np.int64)
        least[self.servers[worker_type]] = free[stretches].min(axis=0)
        return least

    def restore(self, run: Run) -> None:
        """Undo `forget`, with its workers in the table already."""
        group = run.group
        v = int(arrays(self.instance).ps_type[group.job])
        self.hosts[v].hold(run.host, group.start, group.end)
        self.runs[group.job] = run

    def schedule(self) -> EdgeSchedule:
        """Return the schedule of all placed jobs."""
        return schedule_of(self.instance, self.runs.values())


def _taken(table: Table, columns: Ints, run: Run) -> Table:
    """Return a table with a run in it; its first slot and the one after it begin a stretch."""
    times, free = table
    start, after = run.group.start, run.group.end + 1
    i, k = times.searchsorted([start, after]).tolist()
    whole = i < len(times) and times[i] == start  # a stretch begins there already
    clean = k < len(times) and times[k] == after
    used = free[i - 1 + whole : k]
    slots = np.concatenate((times[:i], [start], times[i + whole : k], [after], times[k + clean :]))
    left = np.concatenate((free[:i], used, free[k - 1 + clean :]))
    left[i : i + len(used), columns] -= np.array([count for _, count in run.workers])
    return Table(slots, left)
