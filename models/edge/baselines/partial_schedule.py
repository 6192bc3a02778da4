"""Partial schedule of a network: placed runs, and the capacity that they leave free over time.

Worker types do not compete for workers, so each has a separate capacity profile on the servers that
have such workers; all of them share the parameter servers (PSs). Profiles change only where
runs start and end, so their size does not depend on the horizon.
"""

from typing import NamedTuple

import numpy as np

from schedgap.instances.edge import EdgeInstance, EdgeSchedule, arrays
from schedgap.instances.edge.compiled import Ints
from schedgap.models.edge.placements import PlacedRun, schedule_from_runs

Interval = tuple[int, int]  # first slot, first slot after


class FreeWorkerProfile(NamedTuple):
    """Free workers of one type over time; never changed in place, so old profiles can be kept."""

    times: Ints  # [k] first slot of each interval, ascending; the last interval is unbounded
    free: Ints  # [k, c] on the server of each column


class PsUsage:
    """The PSs of one type in use, by server and time.

    `capacity` [s]: p_sv of the type.

    Attributes
    ----------
    scarce : set of int
        Servers with at least as many runs as PSs: only these can be full at some time.
    """

    def __init__(self, capacity: Ints) -> None:
        self.capacity: list[int] = capacity.tolist()
        self.scarce: set[int] = set()
        self._used: dict[int, list[Interval]] = {}

    def hold(self, server: int, start: int, end: int) -> None:
        """Use a PS.

        `start`, `end`: first and last slot.
        """
        runs = self._used.setdefault(server, [])
        runs.append((start, end + 1))
        if len(runs) >= self.capacity[server]:
            self.scarce.add(server)

    def release(self, server: int, start: int, end: int) -> None:
        """Undo `hold`.

        `start`, `end`: first and last slot.
        """
        runs = self._used[server]
        runs.remove((start, end + 1))
        if len(runs) < self.capacity[server]:
            self.scarce.discard(server)

    def full(self, server: int) -> list[Interval]:
        """Return the intervals in which no PS of a server is free, in order."""
        runs, capacity = self._used.get(server, []), self.capacity[server]
        events = sorted([(start, 1) for start, _ in runs] + [(after, -1) for _, after in runs])
        intervals: list[Interval] = []
        used, since = 0, 0
        for slot, change in events:  # in the same slot, ends come before starts
            used += change
            if change == 1 and used == capacity:
                since = slot
            elif change == -1 and used == capacity - 1 and slot > since:
                intervals.append((since, slot))
        return intervals

    def free_throughout(self, server: int, start: int, end: int) -> int:
        """Return how many PSs of a server are free in all slots of an interval.

        `start`, `end`: first and last slot.
        """
        used = self._used.get(server)
        if not used:
            return self.capacity[server]
        runs = [run for run in used if run[0] <= end and start < run[1]]
        starts = {max(start, first) for first, _ in runs}
        peak = max((sum(a <= slot < b for a, b in runs) for slot in starts), default=0)
        return self.capacity[server] - peak


class EdgePartialSchedule:
    """Placed runs, and the capacity that they leave free.

    Attributes
    ----------
    runs : dict
        By index of the job.
    profiles : list of FreeWorkerProfile
        By worker type.
    ps_usage : list of PsUsage
        By PS type.
    servers : list of array
        By worker type, the servers that have such workers: the columns of its profile.
    """

    def __init__(self, instance: EdgeInstance) -> None:
        """Start with the empty network."""
        view = arrays(instance)
        self.instance = instance
        self.runs: dict[int, PlacedRun] = {}
        self.ps_usage = [PsUsage(view.ps[:, v]) for v in range(view.ps.shape[1])]
        self.servers = [np.flatnonzero(workers > 0) for workers in view.workers.T]
        self.profiles = [
            FreeWorkerProfile(np.array([1]), view.workers[servers, u][None, :])
            for u, servers in enumerate(self.servers)
        ]

    def place(self, run: PlacedRun) -> None:
        """Add a run.

        `run`: it fits.
        """
        u = int(arrays(self.instance).worker_type[run.job])
        columns = self.servers[u].searchsorted([s for s, _ in run.workers])
        self.profiles[u] = _with_run(self.profiles[u], columns, run)
        self.restore(run)

    def remove(self, job: int) -> PlacedRun:
        """Remove a run and its PS, and return it; the caller restores a profile without it."""
        run = self.runs.pop(job)
        v = int(arrays(self.instance).ps_type[job])
        self.ps_usage[v].release(run.host, run.start, run.end)
        return run

    def restore(self, run: PlacedRun) -> None:
        """Undo `remove`: add a run whose workers the profile contains already."""
        v = int(arrays(self.instance).ps_type[run.job])
        self.ps_usage[v].hold(run.host, run.start, run.end)
        self.runs[run.job] = run

    def free_workers(self, worker_type: int, start: int, end: int) -> Ints:
        """Return how many workers are free on each server [s] in all slots of an interval.

        `start`, `end`: first and last slot.
        """
        view, (times, free) = arrays(self.instance), self.profiles[worker_type]
        inside = slice(times.searchsorted(start, "right") - 1, times.searchsorted(end, "right"))
        least = np.zeros(len(view.workers), dtype=np.int64)
        least[self.servers[worker_type]] = free[inside].min(axis=0)
        return least

    def schedule(self) -> EdgeSchedule:
        """Return the schedule of all placed jobs."""
        return schedule_from_runs(self.instance, self.runs.values())


def _with_run(profile: FreeWorkerProfile, columns: Ints, run: PlacedRun) -> FreeWorkerProfile:
    """Return a profile less the workers of a run; breakpoints are added at its start and end."""
    times, free = profile
    start, after = run.start, run.end + 1
    i, k = times.searchsorted([start, after]).tolist()
    at_start = i < len(times) and times[i] == start  # there is a breakpoint already
    at_end = k < len(times) and times[k] == after
    used = free[i - 1 + at_start : k]
    slots = np.concatenate(
        (times[:i], [start], times[i + at_start : k], [after], times[k + at_end :])
    )
    left = np.concatenate((free[:i], used, free[k - 1 + at_end :]))
    left[i : i + len(used), columns] -= np.array([count for _, count in run.workers])
    return FreeWorkerProfile(slots, left)
