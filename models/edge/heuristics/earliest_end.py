"""Earliest-ending run of one job in the free capacity of a partial schedule.

Start, mode and servers are chosen together: the placement step of a multi-mode serial schedule
generation scheme.

References
----------
R. Kolisch, "Serial and parallel resource-constrained project scheduling methods revisited: theory
and computation", European Journal of Operational Research 90 (1996).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedgap.instances.edge import EdgeInstance, arrays
from schedgap.instances.edge.compiled import Ints
from schedgap.models.edge.baselines.partial_schedule import EdgePartialSchedule, Interval
from schedgap.models.edge.decisions import ModeStart
from schedgap.models.edge.modes import JobMode
from schedgap.models.edge.placements import PlacedRun

Bools = NDArray[np.bool_]
FAR = 2**61  # later than every slot


@dataclass(frozen=True, slots=True, eq=False)
class _Needs:
    """Requirements of a job; columns c are the servers with workers of its type."""

    worker_type: int
    ps_type: int
    split_work: int  # worker-slots
    colocated_work: int
    chunks: int
    servers: Ints  # [c] server
    ready: Ints  # [c] first slot in which the job may use the server, within the window
    colocated_from: Ints  # [c] the same where the server has PSs, else FAR
    all_ready: int  # first slot in which all servers are ready
    column: Mapping[int, int]  # by server
    host_ready: Mapping[int, int]  # first slot by server with PSs, in list order
    hosts_by_ready: tuple[tuple[int, int], ...]  # (slot, server with PSs), ordered by ready slot
    hosts_by_capacity: tuple[int, ...]  # servers with PSs, most PSs first, then in list order
    slots: Ints  # sorted slots in which some server becomes ready


class _Candidate(NamedTuple):
    """A start and a mode; the smallest is best."""

    end: int
    slots: int  # workers x slots
    workers: int
    split: bool
    start: int


def earliest_run(
    partial: EdgePartialSchedule, job: int, *, colocated: bool = False
) -> PlacedRun | None:
    """Return the earliest-ending run of a job in free capacity, or None if it cannot end in time.

    `job`: index of a job that is not placed. `colocated`: only runs with all workers on the server
    of the PS.

    Returns
    -------
    PlacedRun or None
        Ties: least workers x slots, then fewest workers, then colocated. A colocated run takes the
        server with the fewest free workers that suffice; a split run takes workers where most are
        free, and the PS on the server with most free PSs. Last ties in list order.

    Notes
    -----
    An earliest-ending run starts in a slot in which data become ready or capacity becomes free:
    these slots, the grid, are the candidates h. For an end in the e-th interval of the grid, the
    free workers are n_e = sum over servers of the minimum over the intervals from h to e, which
    falls with e. The shortest run takes ceil(work / n_e) slots for the first e in which it ends.
    Candidates are tried in the order of the end that they would reach if capacity stayed as free as
    in h, a lower bound, until this bound exceeds the best end.
    """
    needs = _needs(partial.instance, job)
    if not needs.hosts_by_capacity or not len(needs.servers):
        return None
    busy = _full_hosts(partial, needs)
    grid, free = _free_on_grid(partial, needs, busy)
    ps_free = {s: _outside(grid, intervals) for s, intervals in busy.items()}
    ps_from = next((slot for slot, s in needs.hosts_by_ready if s not in busy), FAR)
    colocated_now = (free * (grid[:, None] >= needs.colocated_from)).max(axis=1)
    reach = _ends(grid, needs.colocated_work, np.minimum(colocated_now, needs.chunks))
    if not colocated:
        now = (free * (grid[:, None] >= needs.ready)).sum(axis=1)
        reach = np.minimum(reach, _ends(grid, needs.split_work, np.minimum(now, needs.chunks)))
    after = np.append(grid[1:], FAR)
    last = partial.instance.window[1]
    best: tuple[_Candidate, Ints] | None = None
    for k in reach.argsort(kind="stable").tolist():
        if reach[k] > (last if best is None else best[0].end):
            break
        h = int(grid[k])
        low = np.minimum.accumulate(free[k:], axis=0)  # [e, c] free from interval k to interval e
        if h < needs.all_ready:
            low *= needs.ready <= h
        longest = (after[k:] - h).tolist()  # [e] longest run that ends in interval e
        with_ps = low * (needs.colocated_from <= h)
        for s, is_free in ps_free.items():
            if s in needs.column:
                with_ps[:, needs.column[s]] *= np.logical_and.accumulate(is_free[k:])
        options = [(needs.colocated_work, with_ps.max(axis=1), False)]
        if not colocated:
            number = low.sum(axis=1)
            if ps_from > h:
                number *= _any_ps(needs, ps_free, k, h, len(number))
            options.append((needs.split_work, number, True))
        for work, number, is_split in options:
            capped = np.minimum(number, needs.chunks).tolist()
            shortest = _shortest(h, work, capped, longest, is_split)
            if (
                shortest is not None
                and shortest[0].end <= last
                and (best is None or shortest[0] < best[0])
            ):
                best = shortest[0], low[shortest[1]]
    return None if best is None else _on_servers(partial, job, *best)


@lru_cache(maxsize=1 << 14)
def _needs(instance: EdgeInstance, job: int) -> _Needs:
    view = arrays(instance)
    u, v = int(view.worker_type[job]), int(view.ps_type[job])
    split_work, colocated_work = view.needed[job].tolist()
    ready_from = np.maximum(view.ready[job], instance.window[0])
    servers, ps = np.flatnonzero(view.workers[:, u] > 0), view.ps[:, v]
    hosts = np.flatnonzero(ps > 0).tolist()
    ready = ready_from[servers]
    slots = np.unique(np.concatenate([ready, ready_from[hosts]]))
    return _Needs(
        u,
        v,
        split_work,
        colocated_work,
        int(view.chunks[job]),
        servers,
        ready,
        np.where(ps[servers] > 0, ready, FAR),
        int(ready.max(initial=0)),
        {s: c for c, s in enumerate(servers.tolist())},
        {s: int(ready_from[s]) for s in hosts},
        tuple(sorted((int(ready_from[s]), s) for s in hosts)),
        tuple(sorted(hosts, key=lambda s: (-ps[s], s))),
        slots[slots >= ready.min(initial=FAR)],
    )


def _full_hosts(partial: EdgePartialSchedule, needs: _Needs) -> dict[int, list[Interval]]:
    """Return the servers without a free PS in some intervals, with these intervals."""
    usage = partial.ps_usage[needs.ps_type]
    return {s: full for s in sorted(usage.scarce) if (full := usage.full(s))}


def _free_on_grid(
    partial: EdgePartialSchedule, needs: _Needs, busy: Mapping[int, list[Interval]]
) -> tuple[Ints, Ints]:
    """Return the slots [k] in which capacity may change, and free workers [k, c] from then on."""
    times, free = partial.profiles[needs.worker_type]
    changes = [times[times > needs.slots[0]], needs.slots]
    changes += [np.array(full).ravel() for full in busy.values()]
    grid = np.unique(np.concatenate(changes))
    if busy:
        grid = grid[grid >= needs.slots[0]]
    return grid, free[times.searchsorted(grid, side="right") - 1]


def _ends(grid: Ints, work: int, workers: Ints) -> Ints:
    """Return the last slot [k] of a run from grid[k] on with workers[k]; FAR with none."""
    ends: Ints = np.where(workers > 0, grid - 1 - (-work // np.maximum(workers, 1)), FAR)
    return ends


def _outside(grid: Ints, intervals: list[Interval]) -> Bools:
    """Return whether each slot of the grid is outside all intervals."""
    outside = np.ones(len(grid), dtype=bool)
    for start, after in intervals:
        outside[(grid >= start) & (grid < after)] = False
    return outside


def _any_ps(
    needs: _Needs, ps_free: Mapping[int, Bools], k: int, slot: int, intervals: int
) -> Bools:
    """Return for each e whether some ready server has a free PS from interval k to interval e."""
    available = np.zeros(intervals, dtype=bool)
    for s, is_free in ps_free.items():
        if needs.host_ready[s] <= slot:
            available |= np.logical_and.accumulate(is_free[k:])
    return available


def _shortest(
    start: int, work: int, number: list[int], longest: list[int], split: bool
) -> tuple[_Candidate, int] | None:
    """Return the shortest run from a slot on, and the interval e in which it ends.

    At most number[e] workers, non-increasing in e, are free up to interval e; a run that ends in it
    takes at most longest[e] slots.
    """
    before = 0
    for e, (limit, reach) in enumerate(zip(number, longest, strict=True)):
        if not limit:
            return None
        d = max(-(-work // limit), before + 1)
        if d <= reach:
            n = -(-work // d)
            return _Candidate(start + d - 1, n * d, n, split, start), e
        before = reach
    return None


def _on_servers(
    partial: EdgePartialSchedule, job: int, chosen: _Candidate, free: Ints
) -> PlacedRun:
    """Return the run of a candidate with its servers; `free` [c]: workers free in all its slots."""
    needs = _needs(partial.instance, job)
    usage = partial.ps_usage[needs.ps_type]
    start, end, n = chosen.start, chosen.end, chosen.workers
    mode_start = ModeStart(job, JobMode(n, end - start + 1, not chosen.split), start)
    servers = needs.servers.tolist()
    if not chosen.split:
        _, s = min(
            (count, s)
            for count, s in zip(free.tolist(), servers, strict=True)
            if count >= n and s in needs.host_ready and usage.free_throughout(s, start, end)
        )
        return PlacedRun(mode_start, ((s, n),), s)
    workers = []
    for c in (-free).argsort(kind="stable").tolist():
        if not n:
            break
        count = min(int(free[c]), n)
        workers.append((servers[c], count))
        n -= count
    host, most = -1, 0  # the server with most free PSs, then the first in list order
    for s in needs.hosts_by_capacity:
        if usage.capacity[s] < most or (usage.capacity[s] == most and s > host):
            break  # neither this server nor the following ones can be better
        if needs.host_ready[s] <= start:
            count = usage.free_throughout(s, start, end)
            if count > most or (count == most and s < host):
                host, most = s, count
    return PlacedRun(mode_start, tuple(sorted(workers)), host)
