"""What is free when: the timetable of an `edge` network, and where a job ends soonest in it.

Worker types do not compete for workers, so each has a table of its own, on the servers that have
such workers; all of them share the parameter servers (PSs). Tables change only where runs start and
end, so their size does not depend on the horizon.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedgap.instances.edge import EdgeInstance, EdgeSchedule, arrays
from schedgap.instances.edge.arrays import Ints
from schedgap.models.edge.modes import Mode
from schedgap.models.edge.placements import Run, schedule_of
from schedgap.models.edge.problem import Group

Bools = NDArray[np.bool_]
FAR = 2**61  # later than every slot
Interval = tuple[int, int]  # first slot, first slot after


class Table(NamedTuple):
    """Free workers of one type; never changed in place, so that an old one can be kept."""

    times: Ints  # [k] first slot of each stretch, ascending; the last stretch is endless
    free: Ints  # [k, c] on the server of each column


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """The servers for a pair of types; columns c are those with workers, hosts those with PSs."""

    servers: Ints  # [c] server
    hosts: tuple[int, ...]  # servers with PSs of the type, in list order
    place: Mapping[int, int]  # of a host among the hosts
    host_of: Ints  # [c] place of the column's server among the hosts, -1 where it has no PS
    roomy: tuple[int, ...]  # hosts, those with most PSs first, then in list order


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
        runs = [run for run in self._held.get(server, ()) if run[0] <= end and start < run[1]]
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
    """

    def __init__(self, instance: EdgeInstance) -> None:
        """Start with an empty network."""
        view = arrays(instance)
        self.instance = instance
        self.runs: dict[int, Run] = {}
        self.hosts = [Hosts(view.ps[:, v]) for v in range(view.ps.shape[1])]
        self.tables = [
            Table(np.array([1]), view.workers[view.workers[:, u] > 0, u][None, :])
            for u in range(view.workers.shape[1])
        ]

    def take(self, run: Run) -> None:
        """Place a job as given."""
        view, group = arrays(self.instance), run.group
        u, v = int(view.worker_type[group.job]), int(view.ps_type[group.job])
        columns = np.searchsorted(_kind(self.instance, u, v).servers, [s for s, _ in run.workers])
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
        least[view.workers[:, worker_type] > 0] = free[stretches].min(axis=0)
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


@lru_cache(maxsize=1 << 12)
def _kind(instance: EdgeInstance, u: int, v: int) -> Kind:
    view = arrays(instance)
    servers = np.flatnonzero(view.workers[:, u] > 0)
    hosts = tuple(np.flatnonzero(view.ps[:, v] > 0).tolist())
    place = {s: h for h, s in enumerate(hosts)}
    host_of = np.array([place.get(s, -1) for s in servers.tolist()], dtype=np.int64)
    return Kind(
        servers, hosts, place, host_of, tuple(sorted(hosts, key=lambda s: (-view.ps[s, v], s)))
    )


def _taken(table: Table, columns: Ints, run: Run) -> Table:
    """Return a table with a run in it: its first slot and the one after its last begin a stretch."""
    times, free = table
    for slot in (run.group.start, run.group.end + 1):
        k = int(times.searchsorted(slot))
        if k == len(times) or times[k] != slot:
            times = np.concatenate([times[:k], [slot], times[k:]])
            free = np.concatenate([free[:k], free[k - 1 : k], free[k:]])
    if free is table.free:
        free = free.copy()
    first, after = times.searchsorted([run.group.start, run.group.end + 1])
    free[first:after, columns] -= np.array([count for _, count in run.workers])
    return Table(times, free)


# --- where a job ends soonest --------------------------------------------------------------------


class _Choice(NamedTuple):
    """A start and a mode; the smallest wins."""

    end: int
    slots: int  # workers x slots
    workers: int
    split: bool
    start: int


@dataclass(frozen=True, slots=True, eq=False)
class _Room:
    """What is free for a job; stretches k begin where anything that concerns it changes."""

    grid: Ints  # [k] first slots
    free: Ints  # [k, c] workers
    ready: Ints  # [c] first slot in which the job may use the server
    host_ready: Ints  # [h] the same
    host_of: Ints  # [c] place of the column's server among the hosts, -1 where it has no PS
    ps_free: Mapping[int, Bools]  # [k] by host, for those that are full now and then
    ps_from: int  # from this slot on some host is ready that is never full


def soonest(timetable: Timetable, job: int, *, together: bool = False) -> Run | None:
    """Return the run of a job that ends soonest in what is free; None: it ends nowhere in time.

    Parameters
    ----------
    timetable : Timetable
    job : int
        Index of a job that is not placed.
    together : bool
        Only with all workers on the server of the PS.

    Returns
    -------
    Run | None
        Ties: least workers x slots, then fewest workers, then together with the PS. Together: on
        the server with the fewest free workers that suffice. Split: workers where most are free,
        the PS on the server with most free PSs. Last ties in list order.

    Notes
    -----
    A run that ends soonest starts when data become ready, or when something becomes free. The
    longer it is, the less is free in all of its slots; on each stretch of the table the shortest
    run is ceil(work / free), if it reaches into that stretch. Starts are tried in the order of what
    they could reach if nothing became busy later.
    """
    view = arrays(timetable.instance)
    room = _room(timetable, job)
    if room is None:
        return None
    split_work, near_work = view.needed[job].tolist()
    chunks, last = int(view.chunks[job]), timetable.instance.window[1]
    now = np.minimum((room.free * (room.grid[:, None] >= room.ready)).sum(axis=1), chunks)
    least = min(split_work, near_work)
    reach = np.where(now > 0, room.grid - 1 - (-least // np.maximum(now, 1)), FAR)
    best: _Choice | None = None
    for k in reach.argsort(kind="stable").tolist():
        if reach[k] > (last if best is None else best.end):
            break
        columns = room.ready <= room.grid[k]
        low = np.minimum.accumulate(room.free[k:, columns], axis=0)  # [e, c] from k to stretch e
        options = [(near_work, _most_near(room, k, columns, low), False)]
        if not together:
            options.append((split_work, _most_split(room, k, low), True))
        for work, number, split in options:
            choice = _shortest(room.grid[k:], work, np.minimum(number, chunks), split)
            if choice is not None and choice.end <= last and (best is None or choice < best):
                best = choice
    return None if best is None else _placed(timetable, job, best)


def _room(timetable: Timetable, job: int) -> _Room | None:
    """Return what is free for a job; None where no server has its types."""
    view = arrays(timetable.instance)
    u, v = int(view.worker_type[job]), int(view.ps_type[job])
    kind, hosts, table = _kind(timetable.instance, u, v), timetable.hosts[v], timetable.tables[u]
    if not kind.hosts or not len(kind.servers):
        return None
    from_slot = np.maximum(view.ready[job], timetable.instance.window[0])
    ready, host_ready = from_slot[kind.servers], from_slot[list(kind.hosts)]
    busy = {kind.place[s]: full for s in sorted(hosts.scarce) if (full := hosts.full(s))}
    changes = [table.times, ready, host_ready]
    changes += [np.array(full).ravel() for full in busy.values()]
    grid = np.unique(np.concatenate(changes))
    grid = grid[grid >= ready.min()]
    never_full = np.delete(host_ready, list(busy))
    return _Room(
        grid,
        table.free[table.times.searchsorted(grid, side="right") - 1],
        ready,
        host_ready,
        kind.host_of,
        {h: _outside(grid, full) for h, full in busy.items()},
        int(never_full.min()) if len(never_full) else FAR,
    )


def _outside(grid: Ints, intervals: list[Interval]) -> Bools:
    free = np.ones(len(grid), dtype=bool)
    for start, after in intervals:
        free[(grid >= start) & (grid < after)] = False
    return free


def _most_near(room: _Room, k: int, columns: Bools, low: Ints) -> Ints:
    """[e] the most workers beside a PS on one server, from stretch k to stretch e."""
    places = room.host_of[columns]
    near = np.where((places >= 0) & (room.host_ready[places] <= room.grid[k]), low, 0)
    for place, is_free in room.ps_free.items():
        near[:, places == place] *= np.logical_and.accumulate(is_free[k:])[:, None]
    most: Ints = near.max(axis=1, initial=0)
    return most


def _most_split(room: _Room, k: int, low: Ints) -> Ints:
    """[e] the most workers on all servers, from stretch k to stretch e; 0 where no PS is free."""
    number: Ints = low.sum(axis=1)
    if room.ps_from > room.grid[k]:
        some = np.zeros(len(number), dtype=bool)
        for place, is_free in room.ps_free.items():
            if room.host_ready[place] <= room.grid[k]:
                some |= np.logical_and.accumulate(is_free[k:])
        number *= some
    return number


def _shortest(grid: Ints, work: int, number: Ints, split: bool) -> _Choice | None:
    """Return the shortest run from grid[0] on, with at most number[e] workers up to stretch e."""
    reach = np.append(grid[1:], FAR) - grid[0]  # [e] longest run that ends in stretch e
    slots = -(-work // np.maximum(number, 1))
    slots[1:] = np.maximum(slots[1:], reach[:-1] + 1)
    fits = ((number > 0) & (slots <= reach)).nonzero()[0]
    if not len(fits):
        return None
    d = int(slots[fits[0]])
    n, start = -(-work // d), int(grid[0])
    return _Choice(start + d - 1, n * d, n, split, start)


def _placed(timetable: Timetable, job: int, choice: _Choice) -> Run:
    """Return the run of a choice with its servers."""
    view = arrays(timetable.instance)
    u, v = int(view.worker_type[job]), int(view.ps_type[job])
    kind, hosts, ready = _kind(timetable.instance, u, v), timetable.hosts[v], view.ready[job]
    start, end, n = choice.start, choice.end, choice.workers
    group = Group(job, Mode(n, end - start + 1, not choice.split), start)
    low = timetable.free_workers(u, start, end)
    low = np.where(ready <= start, low, 0)[kind.servers]
    if not choice.split:
        _, s = min(
            (int(low[c]), s)
            for c, s in enumerate(kind.servers.tolist())
            if low[c] >= n and s in kind.place and hosts.most_free(s, start, end)
        )
        return Run(group, ((s, n),), s)
    workers = []
    for c in (-low).argsort(kind="stable").tolist():
        count = min(int(low[c]), n)
        if count:
            workers.append((int(kind.servers[c]), count))
            n -= count
    host, most = -1, 0
    for s in kind.roomy:  # by PSs: from the first with fewer in all than are free elsewhere, no more
        if hosts.capacity[s] < most:
            break
        if ready[s] <= start:
            count = hosts.most_free(s, start, end)
            if count > most or (count == most and s < host):
                host, most = s, count
    return Run(group, tuple(sorted(workers)), host)
