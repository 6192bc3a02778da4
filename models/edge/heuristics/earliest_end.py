"""Where a job ends soonest in what a timetable leaves free: starts, modes and servers at once."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedgap.instances.edge import EdgeInstance, arrays
from schedgap.instances.edge.compiled import Ints
from schedgap.models.edge.baselines.timetable import Interval, Timetable
from schedgap.models.edge.decisions import Group
from schedgap.models.edge.modes import Mode
from schedgap.models.edge.placements import Run

Bools = NDArray[np.bool_]
FAR = 2**61  # later than every slot


@dataclass(frozen=True, slots=True, eq=False)
class _Needs:
    """What a job needs, and where it can have it; columns c: the servers with its workers."""

    worker_type: int
    ps_type: int
    split_work: int  # worker-slots
    near_work: int  # together with the PS
    chunks: int
    servers: Ints  # [c] server
    ready: Ints  # [c] first slot in which the job may use the server, within the window
    near_from: Ints  # [c] the same where the server has PSs, else FAR
    all_ready: int  # slot from which on every column is
    column: Mapping[int, int]  # of a server
    host_ready: Mapping[int, int]  # the same slot by server with PSs, in list order
    soonest_hosts: tuple[tuple[int, int], ...]  # the slots and servers, those ready first first
    roomy: tuple[int, ...]  # servers with PSs, those with most first, then in list order
    slots: Ints  # sorted slots in which some server becomes ready


class _Choice(NamedTuple):
    """A start and a mode; the smallest wins."""

    end: int
    slots: int  # workers x slots
    workers: int
    split: bool
    start: int


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
    needs = _needs(timetable.instance, job)
    if not needs.roomy or not len(needs.servers):
        return None
    busy = _busy(timetable, needs)
    grid, free = _stretches(timetable, needs, busy)
    ps_free = {s: _outside(grid, intervals) for s, intervals in busy.items()}
    ps_from = next((slot for slot, s in needs.soonest_hosts if s not in busy), FAR)
    near_now = (free * (grid[:, None] >= needs.near_from)).max(axis=1)
    reach = _reach(grid, needs.near_work, np.minimum(near_now, needs.chunks))
    if not together:
        now = (free * (grid[:, None] >= needs.ready)).sum(axis=1)
        split = _reach(grid, needs.split_work, np.minimum(now, needs.chunks))
        reach = np.minimum(reach, split)
    after = np.append(grid[1:], FAR)
    last = timetable.instance.window[1]
    best: tuple[_Choice, Ints] | None = None
    for k in reach.argsort(kind="stable").tolist():
        if reach[k] > (last if best is None else best[0].end):
            break
        h = int(grid[k])
        low = np.minimum.accumulate(free[k:], axis=0)  # [e, c] free from stretch k to stretch e
        if h < needs.all_ready:
            low *= needs.ready <= h
        longest = (after[k:] - h).tolist()  # [e] run that ends in stretch e
        near = low * (needs.near_from <= h)
        for s, is_free in ps_free.items():
            if s in needs.column:
                near[:, needs.column[s]] *= np.logical_and.accumulate(is_free[k:])
        options = [(needs.near_work, near.max(axis=1), False)]
        if not together:
            number = low.sum(axis=1)
            if ps_from > h:
                number *= _some_ps(needs, ps_free, k, h, len(number))
            options.append((needs.split_work, number, True))
        for work, number, is_split in options:
            capped = np.minimum(number, needs.chunks).tolist()
            found = _shortest(h, work, capped, longest, is_split)
            if found is not None and found[0].end <= last and (best is None or found[0] < best[0]):
                best = found[0], low[found[1]]
    return None if best is None else _placed(timetable, job, *best)


@lru_cache(maxsize=1 << 14)
def _needs(instance: EdgeInstance, job: int) -> _Needs:
    view = arrays(instance)
    u, v = int(view.worker_type[job]), int(view.ps_type[job])
    split_work, near_work = view.needed[job].tolist()
    from_slot = np.maximum(view.ready[job], instance.window[0])
    servers, ps = np.flatnonzero(view.workers[:, u] > 0), view.ps[:, v]
    hosts = np.flatnonzero(ps > 0).tolist()
    ready = from_slot[servers]
    slots = np.unique(np.concatenate([ready, from_slot[hosts]]))
    return _Needs(
        u,
        v,
        split_work,
        near_work,
        int(view.chunks[job]),
        servers,
        ready,
        np.where(ps[servers] > 0, ready, FAR),
        int(ready.max(initial=0)),
        {s: c for c, s in enumerate(servers.tolist())},
        {s: int(from_slot[s]) for s in hosts},
        tuple(sorted((int(from_slot[s]), s) for s in hosts)),
        tuple(sorted(hosts, key=lambda s: (-ps[s], s))),
        slots[slots >= ready.min(initial=FAR)],
    )


def _busy(timetable: Timetable, needs: _Needs) -> dict[int, list[Interval]]:
    """Servers of which all PSs are held at times, and when."""
    hosts = timetable.hosts[needs.ps_type]
    return {s: full for s in sorted(hosts.scarce) if (full := hosts.full(s))}


def _stretches(
    timetable: Timetable, needs: _Needs, busy: Mapping[int, list[Interval]]
) -> tuple[Ints, Ints]:
    """First slots [k] of the stretches in which nothing changes, and free workers [k, c]."""
    times, free = timetable.tables[needs.worker_type]
    changes = [times[times > needs.slots[0]], needs.slots]
    changes += [np.array(full).ravel() for full in busy.values()]
    grid = np.unique(np.concatenate(changes))
    if busy:
        grid = grid[grid >= needs.slots[0]]
    return grid, free[times.searchsorted(grid, side="right") - 1]


def _reach(grid: Ints, work: int, most: Ints) -> Ints:
    """[k] last slot of a run from grid[k] on with so many workers; FAR with none."""
    ends: Ints = np.where(most > 0, grid - 1 - (-work // np.maximum(most, 1)), FAR)
    return ends


def _outside(grid: Ints, intervals: list[Interval]) -> Bools:
    free = np.ones(len(grid), dtype=bool)
    for start, after in intervals:
        free[(grid >= start) & (grid < after)] = False
    return free


def _some_ps(
    needs: _Needs, ps_free: Mapping[int, Bools], k: int, slot: int, stretches: int
) -> Bools:
    """[e] whether a PS is free on some ready server from stretch k to stretch e."""
    some = np.zeros(stretches, dtype=bool)
    for s, is_free in ps_free.items():
        if needs.host_ready[s] <= slot:
            some |= np.logical_and.accumulate(is_free[k:])
    return some


def _shortest(
    start: int, work: int, number: list[int], longest: list[int], split: bool
) -> tuple[_Choice, int] | None:
    """Return the shortest run from a slot on, and the stretch e that it ends in.

    At most number[e] workers, which only falls, are free up to stretch e; a run that ends in it
    takes longest[e] slots or fewer.
    """
    before = 0
    for e, (most, reach) in enumerate(zip(number, longest, strict=True)):
        if not most:
            return None
        d = max(-(-work // most), before + 1)
        if d <= reach:
            n = -(-work // d)
            return _Choice(start + d - 1, n * d, n, split, start), e
        before = reach
    return None


def _placed(timetable: Timetable, job: int, choice: _Choice, free: Ints) -> Run:
    """Return the run of a choice with its servers; `free` [c]: workers in all of its slots."""
    needs = _needs(timetable.instance, job)
    hosts = timetable.hosts[needs.ps_type]
    start, end, n = choice.start, choice.end, choice.workers
    group = Group(job, Mode(n, end - start + 1, not choice.split), start)
    servers = needs.servers.tolist()
    if not choice.split:
        _, s = min(
            (count, s)
            for count, s in zip(free.tolist(), servers, strict=True)
            if count >= n and s in needs.host_ready and hosts.most_free(s, start, end)
        )
        return Run(group, ((s, n),), s)
    workers = []
    for c in (-free).argsort(kind="stable").tolist():
        if not n:
            break
        count = min(int(free[c]), n)
        workers.append((servers[c], count))
        n -= count
    host, most = -1, 0
    for s in needs.roomy:
        if hosts.capacity[s] < most or (hosts.capacity[s] == most and s > host):
            break  # no more can be free on this one, nor on those after it
        if needs.host_ready[s] <= start:
            count = hosts.most_free(s, start, end)
            if count > most or (count == most and s < host):
                host, most = s, count
    return Run(group, tuple(sorted(workers)), host)
