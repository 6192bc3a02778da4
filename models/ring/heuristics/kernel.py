"""Kernel of the local search: jobs in an order, those inside a server on blocks of GPUs.

Each job of the order starts as soon as its GPUs are free of the jobs before it. Inside a server
these are a block of adjacent GPUs, which the search chooses. A job without a block takes the mode
and the GPUs with which it ends first. A ring has its servers without other rings, or shares each of
them with one other ring at a time. In the second case all of these rings are planned at the rate
for two. So no ring takes longer than planned. The cost is the excess, the GPU-slots beyond a target
makespan.

A move gives a job another block, often in exchange for the jobs there, or another place in the
order. After the last ring the servers are independent, so only the servers of a move run again.

The functions take lists or arrays: uncompiled, lists are faster.

References
----------
S. Kirkpatrick, C. D. Gelatt, M. P. Vecchi, "Optimization by simulated annealing", Science 220
(1983). The blocks are new here: for sizes that divide each other, wide jobs first, they suffice.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from schedgap.solvers.search.annealing import without_moves
from schedgap.solvers.search.compiled import Kernel
from schedgap.solvers.search.moves import temperature, total

Ints = Any  # list of int, or array of int64

ANY, SHARED = -1, -2  # instead of a block: all modes, or only those that may share servers
ONE_WAY = 0.3  # probability that a job changes its block without an exchange
LATE = 0.7  # probability that a job is drawn from those on late GPUs
LATER = 64  # moves after which these are collected again
SHIFT = 0.3  # probability that a job with a block moves in the order, if there are rings
FEW = 15  # jobs from which on the search is compiled


class Problem(NamedTuple):
    """The instance, by job j, server s and GPU g; GPUs are numbered server by server."""

    size: Ints  # [j] GPUs
    inside: Ints  # [j] slots inside one server; 0 if it fits into none
    off: Ints  # [j + 1] first mode of the job
    number: Ints  # [m] servers of the mode
    slots: Ints  # [m] execution time
    shares: Ints  # [m] 1 for the execution time of a ring that shares servers, or inside one
    first: Ints  # [s + 1] first GPU
    server: Ints  # [g]


class Terms(NamedTuple):
    """What the moves aim at."""

    target: int  # makespan, slots
    turn: float  # probability that a job changes between a block, ANY and SHARED


class Plan(NamedTuple):
    """The jobs in order, where they run, and how long the GPUs are busy."""

    order: Ints  # [r] jobs
    block: Ints  # [j] first GPU, or ANY or SHARED
    cost: Ints  # [s] GPU-slots beyond the target
    free: Ints  # [g] slots until it is free
    early: Ints  # [g] slots until it is free of the jobs before rank `apart`
    apart: Ints  # [1] rank from which on all jobs have blocks


class State(NamedTuple):
    """The plan, where its jobs are found, and room to work in."""

    plan: Plan
    rank: Ints  # [j] place in the order
    next: Ints  # [j] the next job of the order with a block there, or -1; [jobs + s] the first
    ring_end: Ints  # [2 s], [2 s + 1] slots until it is free of rings, of those that do not share
    room: Ints  # [s] free GPUs; negative where they are chosen
    late: Ints  # [j] jobs on late GPUs, and last their number
    moved: Ints  # [i] jobs of a move
    source: Ints  # [i] their blocks before it


def run_inside(free: Any, g: int, size: int, slots: int) -> int:
    """Run a job on the block that begins with GPU g; return the slots before its start."""
    start: int = free[g]
    for i in range(g + 1, g + size):
        start = max(start, free[i])
    for i in range(g, g + size):
        free[i] = start + slots
    return start


def fits(problem: Any, state: Any, size: int, number: int, shares: int, slot: int) -> bool:
    """Return whether the servers with the most free GPUs have enough; negate their numbers."""
    free, first, room = state.plan.free, problem.first, state.room
    for s in range(len(room)):
        room[s] = 0
        if number == 1 or state.ring_end[2 * s + shares] <= slot:
            for g in range(first[s], first[s + 1]):
                if free[g] <= slot:
                    room[s] += 1
    for _ in range(number):
        best = 0
        for s in range(1, len(room)):
            if room[s] > room[best]:
                best = s
        if number == 1:  # the fullest that is large enough
            for s in range(len(room)):
                if size <= room[s] < room[best]:
                    best = s
        if room[best] <= 0:
            break
        size -= room[best]
        room[best] = -room[best]
    return size <= 0


def run_free(problem: Any, state: Any, j: int) -> int:
    """Run job j, which has no block, where it ends first; return the slots before its start.

    Of equal ends the first mode counts; on a server, the GPUs that are idle for the shortest time.
    """
    free, room, size = state.plan.free, state.room, problem.size[j]
    latest = 0
    for g in range(len(free)):
        latest = max(latest, free[g])
    end, start, mode, last = -1, 0, 0, problem.off[j + 1] - 1
    for m in range(problem.off[j], last + 1):
        number, shares = problem.number[m], problem.shares[m]
        if state.plan.block[j] == SHARED and shares == 0 and m < last:
            continue
        low, high = 0, latest if end < 0 else end - problem.slots[m] - 1
        if high < 0 or not fits(problem, state, size, number, shares, high):
            continue
        while low < high:
            middle = (low + high) // 2
            if fits(problem, state, size, number, shares, middle):
                high = middle
            else:
                low = middle + 1
        end, start, mode = high + problem.slots[m], high, m
    number, shares = problem.number[mode], problem.shares[mode]
    fits(problem, state, size, number, shares, start)
    while size > 0:
        s = 0
        for other in range(1, len(room)):
            if room[other] < room[s]:
                s = other
        count = min(size, -room[s])
        size -= count
        room[s] = 0
        if number > 1:
            last = min(end, state.ring_end[2 * s]) if shares else end
            state.ring_end[2 * s + 1] = max(last, state.ring_end[2 * s + 1])
            state.ring_end[2 * s] = max(end, state.ring_end[2 * s])
        for _ in range(count):
            best = -1
            for g in range(problem.first[s], problem.first[s + 1]):
                if free[g] <= start and (best < 0 or free[g] > free[best]):
                    best = g
            free[best] = end
    return start


def run_all(problem: Any, state: Any, target: int) -> None:
    """Run all jobs, and compute the cost of all servers."""
    plan, apart = state.plan, 0
    for r in range(len(plan.order)):
        if plan.block[plan.order[r]] < 0:
            apart = r + 1
    for g in range(len(plan.free)):
        plan.free[g] = plan.early[g] = 0
    for i in range(len(state.ring_end)):
        state.ring_end[i] = 0
    for r in range(len(plan.order)):
        j = plan.order[r]
        if plan.block[j] < 0:
            run_free(problem, state, j)
        else:
            run_inside(plan.free, plan.block[j], problem.size[j], problem.inside[j])
        if r == apart - 1:
            for g in range(len(plan.free)):
                plan.early[g] = plan.free[g]
    plan.apart[0] = apart
    for s in range(len(plan.cost)):
        count_excess(problem, plan, target, s)


def move_to(problem: Any, state: Any, j: int, g: int) -> None:
    """Give job j the block at GPU g, or none if that is ANY or SHARED."""
    following, rank, block = state.next, state.rank, state.plan.block
    if block[j] >= 0:
        k = len(rank) + problem.server[block[j]]
        while following[k] != j:
            k = following[k]
        following[k] = following[j]
    block[j] = g
    if g >= 0:
        k = len(rank) + problem.server[g]
        while following[k] >= 0 and rank[following[k]] < rank[j]:
            k = following[k]
        following[j] = following[k]
        following[k] = j


def shift(problem: Any, state: Any, j: int, to: int) -> None:
    """Move job j to a rank; those in between move by one."""
    order, rank, r = state.plan.order, state.rank, state.rank[j]
    step = 1 if to > r else -1
    while r != to:
        order[r] = order[r + step]
        rank[order[r]] = r
        r += step
    order[r] = j
    rank[j] = r
    move_to(problem, state, j, state.plan.block[j])


def run_server(problem: Any, state: Any, target: int, s: int) -> None:
    """Run the jobs from rank `apart` on that are inside server s, and compute its cost."""
    plan, j = state.plan, state.next[len(state.rank) + s]
    for g in range(problem.first[s], problem.first[s + 1]):
        plan.free[g] = plan.early[g]
    while j >= 0:
        if state.rank[j] >= plan.apart[0]:
            run_inside(plan.free, plan.block[j], problem.size[j], problem.inside[j])
        j = state.next[j]
    count_excess(problem, plan, target, s)


def count_excess(problem: Any, plan: Any, target: int, s: int) -> None:
    """Compute the cost of server s."""
    excess = 0
    for g in range(problem.first[s], problem.first[s + 1]):
        if plan.free[g] > target:
            excess += plan.free[g] - target
    plan.cost[s] = excess


def copy(problem: Any, source: Any, target: Any, s: int, end: int) -> None:
    """Copy from one plan to another how long the GPUs of servers s to `end` - 1 are busy."""
    target.apart[0] = source.apart[0]
    for g in range(problem.first[s], problem.first[end]):
        target.free[g], target.early[g] = source.free[g], source.early[g]
    for i in range(s, end):
        target.cost[i] = source.cost[i]


def collect_late(problem: Any, state: Any, target: int) -> None:
    """Collect the jobs on a GPU that is late, and those without a block."""
    number = 0
    for j in range(len(problem.size)):
        g = state.plan.block[j]
        late = g < 0
        for i in range(g, g + problem.size[j]):
            late = late or state.plan.free[i] > target
        if late:
            state.late[number] = j
            number += 1
    state.late[-1] = number


def draw_block(problem: Any, size: int, rng: Any) -> int:
    """Return the first GPU of a block on the server of a random GPU; -1 if it is too small."""
    s = problem.server[int(rng.random() * len(problem.server))]
    gpus = problem.first[s + 1] - problem.first[s]
    if gpus < size:
        return -1
    g: int = problem.first[s] + size * int(rng.random() * (gpus // size))
    if gpus % size and rng.random() < 0.5:
        g += gpus % size
    return g


def exchange(problem: Any, state: Any, j: int, g: int, rng: Any) -> int:
    """Move jobs on different GPUs from the block at GPU g to job j's; return their number."""
    size, block, moved, source = problem.size, state.plan.block, state.moved, state.source
    found, k, number = 1, state.next[len(size) + problem.server[g]], 0
    while k >= 0:
        if k != j and block[k] >= g and block[k] + size[k] <= g + size[j]:
            moved[found] = k
            found += 1
        k = state.next[k]
    for i in range(1, found):  # this loop shuffles the blocks
        other = i + int(rng.random() * (found - i))
        k, apart = moved[other], True
        moved[other] = moved[i]
        for n in range(1, number + 1):
            before, after = source[n] + size[moved[n]] <= block[k], block[k] + size[k] <= source[n]
            apart = apart and (before or after)
        if apart:
            number += 1
            moved[number], source[number] = k, block[k]
    for i in range(1, number + 1):
        move_to(problem, state, moved[i], block[j] + source[i] - g)
    return number


def change(problem: Any, state: Any, turn: float, j: int, rng: Any) -> int:
    """Change the block of job j or its place in the order; return the number of jobs moved."""
    jobs, apart, g, number = len(problem.size), state.plan.apart[0], state.plan.block[j], 0
    state.moved[0], state.source[0] = j, g
    turns = rng.random() < turn
    if turns and (g >= 0 or rng.random() < 0.5 or not problem.inside[j]):
        to = ANY if g == SHARED or (g >= 0 and rng.random() < 0.5) else SHARED
    elif (g < 0 and not turns) or (apart > 0 and rng.random() < SHIFT):
        among = jobs if g < 0 or state.rank[j] < apart else apart
        shift(problem, state, j, int(rng.random() * among))
        return 1
    else:
        to = draw_block(problem, problem.size[j], rng)
        if to < 0 or to == g:
            return 0
        if g >= 0 and rng.random() >= ONE_WAY:
            number = exchange(problem, state, j, to, rng)
    move_to(problem, state, j, to)
    return number + 1


def run(
    problem: Any,
    state: Any,
    old: Any,
    best: Any,
    values: Any,
    terms: Any,
    moves: int,
    cooling: Any,
    rng: Any,
) -> None:
    """Make moves until there is no excess.

    A move is undone if the excess rises by more than an exponential draw, whose mean is the
    temperature, in GPU-slots. The parameters are as of `solvers.search.moves.run`.
    """
    plan, target, servers = state.plan, terms.target, len(state.plan.cost)
    for move in range(moves):
        if values[0] == 0:
            break
        if (int(cooling[3]) + move) % LATER == 0:
            collect_late(problem, state, target)
        if rng.random() < LATE and state.late[-1]:
            j = state.late[int(rng.random() * state.late[-1])]
        else:
            j = int(rng.random() * len(problem.size))
        rank, before = state.rank[j], plan.block[j]
        moved = change(problem, state, terms.turn, j, rng)
        if moved == 0:
            continue
        whole = before < 0 or plan.block[j] < 0 or state.rank[j] != rank
        for i in range(moved):
            whole = whole or state.rank[state.moved[i]] < plan.apart[0]
        if whole:
            copy(problem, plan, old, 0, servers)
            run_all(problem, state, target)
        else:
            a, b = problem.server[before], problem.server[plan.block[j]]
            for s in (a, b):
                copy(problem, plan, old, s, s + 1)
            for s in (a, b):
                run_server(problem, state, target, s)
        excess = total(plan.cost)
        if excess <= values[0] - temperature(cooling, move) * math.log(1.0 - rng.random()):
            values[0] = excess
            if excess < values[1]:
                values[1] = excess
                for r in range(len(plan.order)):
                    best.order[r], best.block[r] = plan.order[r], plan.block[r]
            continue
        for i in range(moved - 1, -1, -1):
            move_to(problem, state, state.moved[i], state.source[i])
        if state.rank[j] != rank:
            shift(problem, state, j, rank)
        if whole:
            copy(problem, old, plan, 0, servers)
        else:
            for s in (a, b):
                copy(problem, old, plan, s, s + 1)


def _sample() -> tuple[Any, ...]:
    """Return arguments of the entry, for the compiler: one job on one GPU."""
    from schedgap.models.ring.heuristics.local_search import state_of

    one, two = np.ones(1, np.int64), np.arange(2)
    problem = Problem(one, one, two, one, one, one, two, 0 * one)
    return without_moves(problem, state_of(problem, [0], [0], np.array), Terms(0, 0.0))


KERNEL = Kernel(
    "ring",
    (total, temperature, run_inside, fits, run_free, count_excess, run_all, move_to, shift,
     run_server, copy, collect_late, draw_block, exchange, change, run),
    _sample,
    lambda instance: len(instance.jobs) >= FEW,
)  # fmt: skip
