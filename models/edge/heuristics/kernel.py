"""Kernel of the local search: inserts a job where it ends earliest, in the free capacity over time.

Start, mode and servers are chosen together: the placement step of a multi-mode serial schedule
generation scheme. Worker types do not compete for workers, so each has a separate problem. It has a
profile of the workers that are free on the servers with such workers. The profile changes only
where runs start and end, so its size does not depend on the horizon. All worker types share the
parameter servers (PSs).

References
----------
R. Kolisch, "Serial and parallel resource-constrained project scheduling methods revisited: theory
and computation", European Journal of Operational Research 90 (1996).
"""

from typing import Any, NamedTuple

import numpy as np

from schedgap.instances.edge import EdgeInstance
from schedgap.instances.edge.compiled import Floats, Ints
from schedgap.models.edge.bounds.kernel import large
from schedgap.solvers.search.annealing import listed, without_moves
from schedgap.solvers.search.compiled import Kernel
from schedgap.solvers.search.moves import GENERIC

FAR = 2**61  # later than every slot


class Problem(NamedTuple):
    """The jobs of one worker type as arrays."""

    alone: Floats  # [j] least c_j - a_j
    keys: Floats  # [k, j] priorities
    job: Ints  # [j] index in the instance, i
    arrival: Ints  # [j] a_j
    chunks: Ints  # [j] D_j
    needed: Ints  # [j, xi] worker-slots, split and colocated
    ready: Ints  # [j, s] first slot in which the job may use a server, within the window
    hosted: Ints  # [j] first slot in which some server with PSs is ready
    off: Ints  # [j + 1] where the slots of a job begin in `since`
    since: Ints  # sorted slots in which servers that the job may use become ready
    server: Ints  # [c] the servers with workers of the type
    ps_type: Ints  # [i] v_i of all jobs of the instance
    ps: Ints  # [s, v] P_sv
    last: int  # slot of the window
    late: float  # what a job without a run costs, more than any run


class Plan(NamedTuple):
    """How each job runs."""

    start: Floats  # [j] first slot
    end: Floats  # [j] last slot
    cost: Floats  # [j] c_j - a_j
    workers: Ints  # [j] n
    split: Ints  # [j] 1 - xi
    host: Ints  # [j] server of the PS; -1 without a run
    used: Ints  # [j] number of servers with workers of the job
    column: Ints  # [j, x] column c of such a server
    beside: Ints  # [j, x] workers on it


class State(NamedTuple):
    """The plan, what is free next to it, and room to work in; all worker types share `ps_...`."""

    plan: Plan
    pieces: Ints  # [1] number of intervals of the profile
    times: Ints  # [k] first slot of each interval, ascending; the last one is unbounded
    row: Ints  # [k] of `free`; those behind the last interval are not in use
    free: Ints  # [row, c] workers that are free
    total: Ints  # [k] on all servers
    ps_first: Ints  # [i] slots of the runs of all jobs
    ps_last: Ints  # [i]
    ps_host: Ints  # [i] -1 without a run
    ps_held: Ints  # [s, v] runs whose PS is on the server, at any time
    ps_scarce: Ints  # [v] number of servers with as many runs as PSs
    low: Ints  # [c] workers free throughout some slots
    until: Ints  # [c] first slot without a free PS


def copy(source: Any, target: Any, j: int) -> None:
    """Copy the row of job j from one plan to another."""
    target.start[j], target.end[j], target.cost[j] = source.start[j], source.end[j], source.cost[j]
    target.workers[j], target.split[j] = source.workers[j], source.split[j]
    target.host[j], target.used[j] = source.host[j], source.used[j]
    for x in range(source.used[j]):
        target.column[j, x], target.beside[j, x] = source.column[j, x], source.beside[j, x]


def cut(state: Any, slot: int) -> int:
    """Return the interval of the profile that begins in a slot, after making it."""
    times, row, total, pieces = state.times, state.row, state.total, int(state.pieces[0])
    k = pieces
    while times[k - 1] > slot:
        k -= 1
    if times[k - 1] == slot:
        return k - 1
    assert pieces < len(times)
    unused = row[pieces]
    for e in range(pieces, k, -1):
        times[e], row[e], total[e] = times[e - 1], row[e - 1], total[e - 1]
    times[k], row[k], total[k] = slot, unused, total[k - 1]
    for c in range(state.free.shape[1]):
        state.free[unused, c] = state.free[row[k - 1], c]
    state.pieces[0] += 1
    return k


def join(state: Any, k: int) -> None:
    """Join an interval of the profile with the one before if the same workers are free."""
    times, row, total = state.times, state.row, state.total
    if total[k] != total[k - 1]:
        return
    for c in range(state.free.shape[1]):
        if state.free[row[k], c] != state.free[row[k - 1], c]:
            return
    state.pieces[0] -= 1
    unused, last = row[k], state.pieces[0]
    for e in range(k, last):
        times[e], row[e], total[e] = times[e + 1], row[e + 1], total[e + 1]
    row[last] = unused


def apply(problem: Any, state: Any, j: int, sign: int) -> None:
    """Take (1) or give back (-1) the workers and the PS of job j, if it has a run."""
    plan, i = state.plan, problem.job[j]
    s, v = plan.host[j], problem.ps_type[i]
    if s < 0:
        return
    first = cut(state, int(plan.start[j]))
    after = cut(state, int(plan.end[j]) + 1)
    for k in range(first, after):
        state.total[k] -= sign * plan.workers[j]
        for x in range(plan.used[j]):
            state.free[state.row[k], plan.column[j, x]] -= sign * plan.beside[j, x]
    join(state, after)
    if first > 0:
        join(state, first)
    state.ps_first[i], state.ps_last[i] = int(plan.start[j]), int(plan.end[j])
    state.ps_host[i] = s if sign > 0 else -1
    state.ps_held[s, v] += sign
    if state.ps_held[s, v] == problem.ps[s, v] - (sign < 0):
        state.ps_scarce[v] += sign


def full_from(problem: Any, state: Any, s: int, v: int, slot: int) -> int:
    """Return the first slot, at or after one, in which no PS of a server is free."""
    if state.ps_held[s, v] < problem.ps[s, v]:
        return FAR
    host, kind, first = state.ps_host, problem.ps_type, FAR
    for i in range(len(host)):
        if host[i] == s and kind[i] == v and state.ps_last[i] >= slot:
            at, number = max(slot, state.ps_first[i]), 0
            for other in range(len(host)):
                if host[other] == s and kind[other] == v:
                    number += state.ps_first[other] <= at <= state.ps_last[other]
            if number >= problem.ps[s, v]:
                first = min(first, at)
    return first


def next_release(problem: Any, state: Any, v: int, slot: int) -> int:
    """Return the next slot in which a PS of a scarce server may become free."""
    first = FAR
    for i in range(len(state.ps_host)):
        s, last = state.ps_host[i], state.ps_last[i]
        runs = s >= 0 and problem.ps_type[i] == v and slot <= last
        if runs and state.ps_held[s, v] >= problem.ps[s, v]:
            first = min(first, last + 1)
    return first


def ps_server(problem: Any, state: Any, j: int, start: int, end: int) -> int:
    """Return the ready server with a free PS in some slots that has most to spare, or -1."""
    v, host, most = problem.ps_type[problem.job[j]], -1, -FAR
    for s in range(len(problem.ps)):
        left = problem.ps[s, v] - state.ps_held[s, v]
        able = problem.ps[s, v] > 0 and problem.ready[j, s] <= start
        if able and left > most and full_from(problem, state, s, v, start) > end:
            host, most = s, left
    return host


def shortest(
    problem: Any, state: Any, j: int, start: int, k: int, cap: int, joined: bool, limit: int
) -> tuple[int, int, int]:
    """Return end, workers and 1 - xi of the run from a slot on that ends earliest.

    The end is FAR if it exceeds the limit.

    The more intervals a run covers, the fewer workers are free throughout. It takes
    ceil(work / workers) slots for the first interval in which it then ends.

    `k`: interval of the slot. `cap`: most workers. `joined`: whether only colocated runs count.
    """
    v, low, until, pieces = problem.ps_type[problem.job[j]], state.low, state.until, state.pieces[0]
    split_work, work, scarce = problem.needed[j, 0], problem.needed[j, 1], state.ps_scarce[v] > 0
    for c in range(len(low)):
        s = problem.server[c]
        low[c] = state.free[state.row[k], c] if problem.ready[j, s] <= start else 0
        until[c] = FAR if problem.ps[s, v] > 0 else 0
        if scarce and low[c] > 0 and until[c] > 0:
            until[c] = full_from(problem, state, s, v, start)
    before = 0
    while True:
        after = state.times[k + 1] if k + 1 < pieces else FAR
        most_slots = min(after, limit + 1) - start
        number, most = 0, 0
        for c in range(len(low)):
            number += low[c]
            if low[c] > most and until[c] == FAR:
                most = low[c]
        if min(number, cap) * (limit + 1 - start) < work:
            return FAR, 0, 0
        if scarce:
            for c in range(len(low)):
                d = max(-(-work // max(1, min(low[c], cap))), before + 1)
                if low[c] > most and start + d <= until[c]:
                    most = low[c]
        end, n, split = FAR, 0, 0
        if min(most, cap) * most_slots >= work:
            d = max(-(-work // min(most, cap)), before + 1)
            end, n = start + d - 1, -(-work // d)
        if not joined and min(number, cap) * most_slots >= split_work:
            d = max(-(-split_work // min(number, cap)), before + 1)
            m = -(-split_work // d)
            hosted = start >= problem.hosted[j]
            if scarce:
                hosted = ps_server(problem, state, j, start, start + d - 1) >= 0
            if hosted and (start + d - 1, m) < (end, n):
                end, n, split = start + d - 1, m, 1
        if end < FAR:
            return end, n, split
        k += 1
        before = after - start
        if k == pieces or after > limit:
            return FAR, 0, 0
        for c in range(len(low)):
            low[c] = min(low[c], state.free[state.row[k], c])


def place(problem: Any, state: Any, j: int) -> None:
    """Choose the servers of a run whose slots, workers and kind are in the plan.

    A colocated run takes the server with the fewest free workers that suffice; a split run takes
    workers where most are free. Last ties in list order.
    """
    plan, v, low = state.plan, problem.ps_type[problem.job[j]], state.low
    start, end, n = int(plan.start[j]), int(plan.end[j]), plan.workers[j]
    k = 0
    while k + 1 < state.pieces[0] and state.times[k + 1] <= start:
        k += 1
    for c in range(len(low)):
        low[c] = FAR if problem.ready[j, problem.server[c]] <= start else 0
    while k < state.pieces[0] and state.times[k] <= end:
        for c in range(len(low)):
            low[c] = min(low[c], state.free[state.row[k], c])
        k += 1
    used, best = 0, -1
    if not plan.split[j]:
        for c in range(len(low)):
            s = problem.server[c]
            better = n <= low[c] and (best < 0 or low[c] < low[best]) and problem.ps[s, v] > 0
            if better and full_from(problem, state, s, v, start) > end:
                best = c
        plan.column[j, 0], plan.beside[j, 0], used = best, n, 1
        plan.host[j] = problem.server[best]
    else:
        plan.host[j] = ps_server(problem, state, j, start, end)
        while n > 0:
            best = 0
            for c in range(len(low)):
                if low[c] > low[best]:
                    best = c
            plan.column[j, used], plan.beside[j, used] = best, min(low[best], n)
            n -= plan.beside[j, used]
            low[best], used = 0, used + 1
    plan.used[j] = used


def insert(problem: Any, state: Any, j: int, gene: Any, spare: float, rng: Any) -> bool:
    """Insert a job where it ends earliest; see `solvers.search.moves`. Without a place: no run.

    `gene`: most workers, as a share of D_j; whether the run must be colocated; slots that it waits.
    Ties: least workers x slots, then fewest workers, then colocated.

    The run starts where servers become ready or capacity becomes free, unless it waits.
    """
    plan, v = state.plan, problem.ps_type[problem.job[j]]
    limit, cap = problem.last, max(1, int(gene[0] * problem.chunks[j]))
    if spare < np.inf:
        limit = min(limit, problem.arrival[j] + int(problem.alone[j] + spare + 1e-9))
    pieces, times, total, work = state.pieces[0], state.times, state.total, problem.needed
    e, k, end, volume, n, split = problem.off[j], 0, FAR, 0, 0, 0
    start = problem.since[e] + int(gene[2]) if e < problem.off[j + 1] else FAR
    shortest_slots = -(-work[j, 1] // cap)
    while start + shortest_slots - 1 <= limit:
        while k + 1 < pieces and times[k + 1] <= start:
            k += 1
        if min(cap, total[k]) * (limit + 1 - start) >= work[j, 1]:
            found, m, kind = shortest(problem, state, j, start, k, cap, gene[1] > 0.0, limit)
            if found < FAR:
                d = found - start + 1
                if found < end or (m * d, m, kind) < (volume, n, split):
                    limit = end = found
                    volume, n, split = m * d, m, kind
                    plan.start[j] = start
        upcoming = times[k + 1] if k + 1 < pieces else FAR
        while e < problem.off[j + 1] and problem.since[e] <= start:
            e += 1
        if e < problem.off[j + 1]:
            upcoming = min(upcoming, problem.since[e])
        if state.ps_scarce[v] > 0:
            upcoming = min(upcoming, next_release(problem, state, v, start))
        start = upcoming
    if end == FAR:
        plan.start[j] = plan.end[j] = problem.last
        plan.host[j], plan.used[j], plan.cost[j] = -1, 0, problem.late
        return bool(problem.late - problem.alone[j] <= spare)
    plan.end[j], plan.cost[j] = end, end - problem.arrival[j]
    plan.workers[j], plan.split[j] = n, split
    place(problem, state, j)
    apply(problem, state, j, 1)
    return True


def _sample() -> tuple[Any, ...]:
    """Return arguments of the entry, for the compiler."""
    from schedgap.instances.generate import generate
    from schedgap.models.edge.heuristics.partial_schedule import PartialSchedule

    toy = generate("edge", preset="toy")
    assert isinstance(toy, EdgeInstance)
    made = PartialSchedule(toy)
    problem = made.problems[0]
    terms = listed(len(problem.alone), [], (1.0, 0.0, 0.0))
    return without_moves(problem, made.states[0], terms)


KERNEL = Kernel(
    "edge",
    (copy, cut, join, apply, full_from, next_release, ps_server, shortest, place, insert, *GENERIC),
    _sample,
    large,
)
