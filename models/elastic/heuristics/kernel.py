"""Kernel of the local search: inserts a job in the mode, at the start and on servers of least cost.

The cost is weight x (start + duration) + factor x price of the containers. Prices of containers are
the same on all servers, so a mode and a start determine what a job pays, and servers only decide
whether it fits. Fitting is first tested on the cluster as a whole, slot by slot, for all starts of
a mode at once; only the cheapest candidates are then tested on servers. Where the servers have no
room, a few of the slots show why. No run with as many workers contains these slots, so all such
candidates are dropped at once. Where only the PSs have no server, a move skips the next few starts:
they rarely have one either. A list skips none, so it finds every place before a closed horizon.

References
----------
R. Kolisch, "Serial and parallel resource-constrained project scheduling methods revisited: theory
and computation", European Journal of Operational Research 90 (1996): the serial scheme. The test in
two steps is new; the first is a relaxation of the second.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.bounds.kernel import large
from schedgap.models.elastic.placement import TIE, TOLERANCE, Floats, Ints
from schedgap.solvers.search.annealing import listed, without_moves
from schedgap.solvers.search.compiled import Kernel
from schedgap.solvers.search.moves import GENERIC

MANY = 32767  # upper limit on workers on a server
SKIPPED = 4  # after a start without a server for the PSs, duration // 4 more starts are skipped


class Problem(NamedTuple):
    """The instance as arrays. Rows k are modes that differ in more than the PS type.

    Those of job j are off[j] .. off[j + 1] - 1, in ascending order of volume.
    """

    alone: Floats  # [j] least cost
    left_out: Floats  # [j] cost of a job without a run, with one it is 0; infinite: all jobs run
    keys: Floats  # [3, j] priorities: weight, volume / weight, the order of a relaxation
    weight: Floats  # [j] cost of an end that is a slot later
    arrival: Ints  # [j]
    off: Ints  # [j + 1]
    by_duration: Ints  # [k] the modes of each job, the shortest first
    worker_type: Ints  # [k]
    workers: Ints  # [k]
    duration: Ints  # [k]
    central: Ints  # [k] 0 or 1
    ps: Ints  # [k] the fewest PSs of the first type; 0 in the ring
    ps_kind: Ints  # [k] container of the first PS type; the worker types come first
    kinds_from: Ints  # [k + 1] where the PS types of a mode begin in `kinds`
    kinds: Ints  # PS types, of a mode in ascending order of demand; -1 in the ring
    paid: Floats  # [i, t] price of a container in slots 1..t
    worker_units: Floats  # [m, r]
    ps_units: Floats  # [p, r]
    bandwidth: Floats  # [m]
    ps_bandwidth: Floats  # [p]
    worker_cost: Floats  # [m, h] what a worker on a server costs the other jobs
    ps_cost: Floats  # [p, h]


class Plan(NamedTuple):
    """How each job runs."""

    start: Floats  # [j] slots before the run
    end: Floats  # [j] slots before its end
    cost: Floats  # [j]
    mode: Ints  # [j] k, -1 if it is not placed
    kind: Ints  # [j] PS type or -1
    host: Ints  # [j] server of the PSs or -1
    ps: Ints  # [j] PSs
    servers: Ints  # [j] number of servers used, those without workers included
    server: Ints  # [j, i]
    beside: Ints  # [j, i] workers on it


class State(NamedTuple):
    """The plan, what is free next to it, and room to work in."""

    plan: Plan
    free: Floats  # [h, r, t] units
    fit: NDArray[np.int16]  # [m, h, t] workers that fit
    every: Ints  # [m, t] on all servers
    cost: Floats  # [k, t] of the candidates of one job
    least: Floats  # [k] lower bound on the costs of each mode
    lowest: Ints  # [2 m, t] workers that fit throughout some slots, on all servers, then on one
    length: Ints  # [2 m] number of these slots; 0 before it is computed


def copy(source: Any, target: Any, j: int) -> None:
    """Copy the row of job j from one plan to another."""
    target.start[j], target.end[j], target.cost[j] = source.start[j], source.end[j], source.cost[j]
    target.mode[j], target.kind[j], target.host[j] = source.mode[j], source.kind[j], source.host[j]
    target.ps[j], target.servers[j] = source.ps[j], source.servers[j]
    for i in range(source.servers[j]):
        target.server[j, i], target.beside[j, i] = source.server[j, i], source.beside[j, i]


def apply(problem: Any, state: Any, j: int, sign: int) -> None:
    """Take (1) or give back (-1) the resources of job j, and update the workers that fit."""
    plan, free, fit, units = state.plan, state.free, state.fit, problem.worker_units
    own, kind = problem.worker_type[plan.mode[j]], plan.kind[j]
    first, last = int(plan.start[j]), int(plan.end[j])
    number = np.empty(last - first)
    for i in range(plan.servers[j]):
        h = plan.server[j, i]
        for r in range(free.shape[1]):
            less = plan.beside[j, i] * units[own, r]
            if h == plan.host[j]:
                less += plan.ps[j] * problem.ps_units[kind, r]
            if less != 0.0:
                row = free[h, r, first:last]
                np.subtract(row, sign * less, row)
        for m in range(len(units)):
            number[:] = MANY
            for r in range(free.shape[1]):
                unit = units[m, r]
                if unit > 0.0:
                    row = free[h, r, first:last]
                    for t in range(len(row)):
                        number[t] = min(number[t], row[t] / unit)
            of_server, every = fit[m, h, first:last], state.every[m, first:last]
            for t in range(len(number)):
                now, before = int(max(number[t], 0.0)), int(of_server[t])
                of_server[t] = now
                every[t] += now - before


def smallest(row: Any) -> Any:
    """Return the least entry; compiled, the loop is faster than `min`."""
    least = row[0]
    for t in range(len(row)):
        least = min(least, row[t])
    return least


def has_room(free: Any, row: int, d: int, number: Any, ps: Any) -> bool:
    """Return whether some PSs fit in each slot of a run; the first slot without room decides."""
    for r in range(len(ps)):
        if ps[r] > 0.0:
            for t in range(row, row + d):
                if free[r, t] < number * ps[r]:
                    return False
    return True


def fill_cost(number: int, upto: Any, before: Any, paid: Any, omega: Any) -> float:
    """Return the cost of some workers on the cheapest servers."""
    x = 0
    while upto[x] < number:
        x += 1
    cost: float = paid[x] + (number - before[x]) * omega[x]
    return cost


def place_ps(
    problem: Any, state: Any, k: int, p: int, row: int, fill: Any, order: Any, upto: Any
) -> tuple[int, int, int]:
    """Return server and number of the PSs, and the workers next to them, in the cheapest split.

    `fill`: [4, h] servers in ascending order of price: price of a worker, workers that fit, workers
    on those before, and their price. As `placement.ps_split` with the rule `exact`.
    """
    free, worker = state.free, problem.worker_units[problem.worker_type[k]]
    ps, N, d = problem.ps_units[p], problem.workers[k], problem.duration[k]
    b, B = problem.bandwidth[problem.worker_type[k]], problem.ps_bandwidth[p]
    omega, own, before, paid = fill[0], fill[1], fill[2], fill[3]
    total, resources = upto[-1], len(ps)
    most_ps = max(1, int(np.ceil((N * b - TOLERANCE) / B)))
    base = fill_cost(N, upto, before, paid, omega)
    cheapest, server, number, beside = np.inf, -1, 0, 0
    low = np.empty(resources)
    for x in range(len(order)):
        n, ahead = order[x], int(before[x])
        zeta, fits = problem.ps_cost[p, n], int(own[x])
        fewest = max(1, int(np.ceil(((N - min(fits, N - 1)) * b - TOLERANCE) / B)))
        value = base + fewest * zeta
        if value >= cheapest - TIE * max(1.0, value):
            continue
        if not has_room(free[n], row, d, fewest, ps):
            continue
        for r in range(resources):
            low[r] = smallest(free[n, r, row : row + d])
        greedy = min(fits, max(0, N - ahead))  # workers here in the fill without PSs
        for s in range(fewest, most_ps + 1):
            room = float(fits)
            holds = True
            for r in range(resources):
                left = low[r] - s * ps[r]
                holds = holds and left >= 0.0
                if worker[r] > 0.0:
                    room = min(room, np.floor(left / worker[r]))
            if not holds:
                break
            served = int(np.floor((s * B + TOLERANCE) / b))
            least = max(0, max(N - served, N - (total - fits)))
            greatest = min(N - 1, int(room))
            if least <= greatest:
                g = min(max(greedy, least), greatest)
                away = N - g
                if away > ahead:
                    others = fill_cost(away + fits, upto, before, paid, omega) - fits * omega[x]
                else:
                    others = fill_cost(away, upto, before, paid, omega)
                value = g * omega[x] + s * zeta + others
                if value < cheapest - TIE * max(1.0, value):
                    cheapest, server, number, beside = value, n, s, g
            if (least <= greatest and least <= greedy) or greatest < N - (total - fits):
                break
    return server, number, beside


def place_central(problem: Any, state: Any, k: int, p: int, row: int, room: Any, omega: Any) -> int:
    """Return the cheapest server for all workers of a mode and a PS, or -1."""
    N, d = problem.workers[k], problem.duration[k]
    worker = problem.worker_units[problem.worker_type[k]]
    cheapest, server = np.inf, -1
    for h in range(len(room)):
        cost = N * omega[h]
        if p >= 0:
            cost += problem.ps_cost[p, h]
        if room[h] < N or cost >= cheapest - TIE * max(1.0, cost):
            continue
        holds = True
        if p >= 0:
            for r in range(len(worker)):
                needed = N * worker[r] + problem.ps_units[p, r]
                holds = holds and smallest(state.free[h, r, row : row + d]) >= needed
        if holds:
            cheapest, server = cost, h
    return server


def place(problem: Any, state: Any, j: int, k: int, row: int, room: Any, gene: Any) -> bool:
    """Write the placement of a mode from a row of slots on into the plan; False if there is none.

    `room` [h]: workers that fit throughout.
    """
    plan, fit = state.plan, state.fit[problem.worker_type[k]]
    N, end, servers = problem.workers[k], row + problem.duration[k], len(room)
    omega = problem.worker_cost[problem.worker_type[k]].copy()
    if gene[1] > 0.0:
        near = np.zeros(servers)
        if row > 0:
            near += np.minimum(fit[:, row - 1], room)
        if end < fit.shape[1]:
            near += np.minimum(fit[:, end], room)
        omega *= 1.0 + gene[1] * near / np.maximum(room, 1)
    kinds = problem.kinds[problem.kinds_from[k] : problem.kinds_from[k + 1]]
    if problem.central[k]:
        for p in kinds:
            h = place_central(problem, state, k, p, row, room, omega)
            if h >= 0:
                plan.kind[j], plan.host[j], plan.ps[j] = p, h if p >= 0 else -1, 1 if p >= 0 else 0
                plan.servers[j], plan.server[j, 0], plan.beside[j, 0] = 1, h, N
                return True
        return False
    order = np.argsort(omega, kind="mergesort")
    fill, upto = np.empty((4, servers)), np.empty(servers, np.int64)
    total, money = 0, 0.0
    for x in range(servers):
        h = order[x]
        own = min(int(room[h]), N)
        fill[0, x], fill[1, x], fill[2, x], fill[3, x] = omega[h], own, total, money
        total += own
        money += own * omega[h]
        upto[x] = total
    for p in kinds:
        host, number, beside = -1, 0, 0
        if p >= 0:
            host, number, beside = place_ps(problem, state, k, p, row, fill, order, upto)
            if host < 0:
                continue
        else:
            x = 0
            while upto[x] == 0:
                x += 1
            if upto[x] >= N:  # a plan on one server is not a split
                return False
        used, rest, x = 0, N - beside, 0
        if host >= 0:
            plan.server[j, 0], plan.beside[j, 0], used = host, beside, 1
        while rest > 0:
            own = min(int(fill[1, x]), rest)
            if own > 0 and order[x] != host:
                if used == plan.server.shape[1]:
                    return False
                plan.server[j, used], plan.beside[j, used] = order[x], own
                rest -= own
                used += 1
            x += 1
        plan.kind[j], plan.host[j], plan.ps[j], plan.servers[j] = p, host, number, used
        return True
    return False


def cost_mode(
    problem: Any, state: Any, j: int, k: int, factor: float, first: int, window: int
) -> None:
    """Write what mode k of job j costs from each start of a window; infinite if it cannot fit."""
    types, m, d = len(problem.worker_units), problem.worker_type[k], problem.duration[k]
    N, group = problem.workers[k], m + types if problem.central[k] else m
    lowest, length = state.lowest[group], state.length
    if length[group] == 0:
        lowest[:window], length[group] = 0, 1
        for h in range(state.fit.shape[1]):
            row = state.fit[m, h, first : first + window]
            for t in range(window):
                lowest[t] = max(lowest[t], row[t])
    while length[group] < d:  # extend minima over windows of some slots to longer ones
        step = min(length[group], d - length[group])
        left = window - length[group] - step + 1
        np.fmin(lowest[:left], lowest[step : step + left], lowest[:left])
        length[group] += step
    starts = window - d + 1
    weight, begin = problem.weight[j], d + problem.arrival[j]
    paid = problem.paid[m, first : first + window + 1]
    ps, ps_paid = problem.ps[k], problem.paid[problem.ps_kind[k], first : first + window + 1]
    cost, least = state.cost[k - problem.off[j]], np.inf
    for s in range(starts):
        value = np.inf
        if lowest[s] >= N:
            value = weight * (begin + s)
            if factor > 0.0:
                price = N * (paid[s + d] - paid[s]) + ps * (ps_paid[s + d] - ps_paid[s])
                value += factor * price
        cost[s] = value
        least = min(least, value)
    state.least[k - problem.off[j]] = least


def narrow(room: Any, fit: Any, t: int, central: Any) -> int:
    """Lower the room on each server to what fits in a slot; return the room on all, or on one."""
    total, most = 0, 0
    for h in range(len(room)):
        room[h] = min(room[h], fit[h, t])
        total += room[h]
        most = max(most, room[h])
    return most if central else total


def conflict(fit: Any, last: int, N: int, central: Any, room: Any) -> tuple[int, int]:
    """Return the first and the last of a few slots throughout which N workers do not fit.

    `last`: the last slot of a run whose workers do not fit. `room` [h]: overwritten.
    """
    room[:] = MANY
    first = last
    while narrow(room, fit, first, central) >= N:
        first -= 1
    room[:] = MANY
    last = first
    while narrow(room, fit, last, central) >= N:
        last += 1
    return first, last


def drop(problem: Any, state: Any, j: int, k: int, first: int, last: int, window: int) -> None:
    """Drop the candidates in whose runs the workers of mode k do not fit from slot to slot.

    Workers that do not fit on all servers do not fit on one.

    `first`, `last`: of the slots, counted from the first start. `window`: how many slots there are.
    """
    off = problem.off[j]
    for o in range(off, problem.off[j + 1]):
        if (
            state.least[o - off] < np.inf
            and problem.worker_type[o] == problem.worker_type[k]
            and problem.workers[o] >= problem.workers[k]
            and problem.central[o] >= problem.central[k]
        ):
            earliest = max(0, last + 1 - problem.duration[o])
            for s in range(earliest, min(window - problem.duration[o], first) + 1):
                state.cost[o - off, s] = np.inf


def insert(problem: Any, state: Any, j: int, gene: Any, spare: float, rng: Any) -> bool:
    """Insert a job at the least cost; see `solvers.search.moves`. Without a run, its mode is -1.

    `gene`: factor of the prices; weight of the room that the workers have on a server just before
    and after the run, in the choice of servers. Ties: the least volume, then the earliest start.
    """
    plan, fit, weight = state.plan, state.fit, problem.weight[j]
    first, last = problem.arrival[j] - 1, state.free.shape[2]
    if spare < problem.left_out[j] == np.inf:
        last = min(last, int((problem.alone[j] + spare) / weight + 1e-9) - 1)
    window, types = last - first, len(problem.worker_units)
    plan.mode[j] = -1
    if window <= 0:
        return False
    off, number, costed, best = problem.off[j], problem.off[j + 1] - problem.off[j], 0, np.inf
    least, room = state.least[:number], np.empty(fit.shape[1], np.int64)
    least[:] = np.inf
    for m in range(types):
        for t in range(window):
            state.lowest[m, t] = state.every[m, first + t]
    state.length[:types], state.length[types:] = 1, 0
    while True:
        while costed < number:  # cost the modes that may be the cheapest
            k = problem.by_duration[off + costed]
            d = problem.duration[k]
            if d > window or weight * (d + problem.arrival[j]) > best:
                break
            cost_mode(problem, state, j, k, gene[0], first, window)
            best = min(best, state.least[k - off])
            costed += 1
        if best == np.inf:
            if problem.left_out[j] == np.inf or problem.left_out[j] > spare:
                return False
            plan.cost[j], plan.servers[j] = problem.left_out[j], 0
            plan.start[j] = plan.end[j] = first + rng.random() * window  # moves choose jobs by time
            return True
        at = least.argmin()
        k = off + at
        m, N, d = problem.worker_type[k], problem.workers[k], problem.duration[k]
        row_costs = state.cost[at, : window - d + 1]
        start = row_costs.argmin()
        if row_costs[start] == best:
            row, total, most = first + start, 0, 0
            for h in range(len(room)):
                room[h] = smallest(fit[m, h, row : row + d])
                total += room[h]
                most = max(most, room[h])
            if (most if problem.central[k] else total) < N:
                slot, until = conflict(fit[m], row + d - 1, N, problem.central[k], room)
                drop(problem, state, j, k, slot - first, until - first, window)
            elif place(problem, state, j, k, row, room, gene):
                plan.mode[j], plan.start[j], plan.end[j] = k, row, row + d
                plan.cost[j] = weight * (row + 1 + d) if problem.left_out[j] == np.inf else 0.0
                apply(problem, state, j, 1)
                return True
            else:
                in_move = spare < np.inf
                skipped = d // SKIPPED if in_move and problem.ps[k] > 0 else 0
                row_costs[start : start + 1 + skipped] = np.inf
            start = row_costs.argmin()
        least[at] = row_costs[start]
        best = least.min()


def _sample() -> tuple[Any, ...]:
    """Return arguments of the entry, for the compiler."""
    from schedgap.instances.generate import generate
    from schedgap.models.elastic.heuristics.partial_schedule import PartialSchedule

    toy = generate("elastic", preset="toy")
    assert isinstance(toy, ElasticInstance)
    made = PartialSchedule(toy, 10)
    return without_moves(made.problem, made.state, listed(len(toy.jobs), [], (0.0, 0.0)))


KERNEL = Kernel(
    "elastic",
    (
        copy, apply, smallest, has_room, fill_cost, place_ps, place_central, place, narrow,
        conflict, drop, cost_mode, insert, *GENERIC,
    ),
    _sample,
    large,
)  # fmt: skip
