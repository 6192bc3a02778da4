"""Kernel of the local search: jobs in an order, those inside a server on blocks of GPUs.

Each job of the order starts as soon as its GPUs are free of the jobs before it. Inside a server
these are a block of adjacent GPUs, which the search chooses. A job without a block takes the mode
and the GPUs with which it ends first. A ring either has its servers without other rings, or is
planned at the rate for two and shares each of them with one such ring at a time. So no ring takes
longer than planned. The cost is the excess, the GPU-slots beyond a target makespan.

A move gives a job another block, often in exchange for the jobs there, or another place in the
order. After the last ring the servers are independent, so only the servers of a move run again.

The functions take lists or arrays: uncompiled, lists are faster.

References
----------
S. Kirkpatrick, C. D. Gelatt, M. P. Vecchi, "Optimization by simulated annealing", Science 220
(1983). The blocks are new here: for sizes that divide each other, wide jobs first, they suffice.
"""

import math
from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple, cast

import numpy as np

from schedgap.instances.ring import RingInstance
from schedgap.solvers.search.compiled import Kernel

Ints = Any  # list of int, or array of int64

ANY, SHARED = -1, -2  # instead of a block: all modes, or only those that may share servers
ONE_WAY = 0.3  # probability that a job changes its block without an exchange
LATE = 0.7  # probability that a job is drawn from those on late GPUs
LATER = 64  # moves after which these are collected again
SHIFT = 0.3  # probability that a job with a block moves in the order, if there are rings
LARGE = 100  # jobs x servers from which on the search waits until it is compiled


class Problem(NamedTuple):
    """The instance, by job j, server s and GPU g; GPUs are numbered server by server."""

    target: int  # makespan, slots
    size: Ints  # [j] GPUs
    turn: float  # probability that a job changes between a block, ANY and SHARED
    inside: Ints  # [j] slots inside one server; 0 if it fits into none
    off: Ints  # [j + 1] first mode of the job
    number: Ints  # [m] servers of the mode
    slots: Ints  # [m] execution time
    shares: Ints  # [m] 1 for the execution time of a ring that shares servers, or inside one
    first: Ints  # [s + 1] first GPU
    server: Ints  # [g]


class Plan(NamedTuple):
    """The jobs in order, and where they run."""

    cost: Ints  # [s] GPU-slots beyond the target
    order: Ints  # [r] jobs
    block: Ints  # [j] first GPU, or ANY or SHARED


class State(NamedTuple):
    """The plan, what follows from it, and room to work in."""

    plan: Plan
    free: Ints  # [g] slots until it is free
    early: Ints  # [g] slots until it is free of the jobs before rank `apart`
    apart: Ints  # [1] rank from which on all jobs have blocks
    rank: Ints  # [j] place in the order
    head: Ints  # [s] first job of the order with a block there, or -1
    next: Ints  # [j] the next such job, or -1
    ring_end: Ints  # [2 s], [2 s + 1] slots until it is free of rings, of those that do not share
    room: Ints  # [s] free GPUs; negative where they are chosen
    late: Ints  # [j] jobs on late GPUs, and last their number
    taken: Ints  # [i] whether a GPU of a block is taken
    moved: Ints  # [i] jobs of a move
    source: Ints  # [i] their blocks before it
    kept: Ints  # [2 g + 1] `free`, `early` and `apart` before it


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
    free, first, room = state.free, problem.first, state.room
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
    free, room, size = state.free, state.room, problem.size[j]
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


def run_all(problem: Any, state: Any) -> None:
    """Run all jobs, and compute the cost of all servers."""
    plan, free, early, apart = state.plan, state.free, state.early, 0
    for r in range(len(plan.order)):
        if plan.block[plan.order[r]] < 0:
            apart = r + 1
    for g in range(len(free)):
        free[g] = 0
        early[g] = 0
    for i in range(len(state.ring_end)):
        state.ring_end[i] = 0
    for r in range(len(plan.order)):
        j = plan.order[r]
        if plan.block[j] < 0:
            run_free(problem, state, j)
        else:
            run_inside(free, plan.block[j], problem.size[j], problem.inside[j])
        if r == apart - 1:
            early[:] = free
    state.apart[0] = apart
    for s in range(len(plan.cost)):
        count_excess(problem, state, s)


def link_all(problem: Any, state: Any) -> None:
    """Compute the ranks, and the jobs inside each server."""
    plan = state.plan
    for s in range(len(state.head)):
        state.head[s] = -1
    for r in range(len(plan.order) - 1, -1, -1):
        j = plan.order[r]
        state.rank[j] = r
        if plan.block[j] >= 0:
            s = problem.server[plan.block[j]]
            state.next[j] = state.head[s]
            state.head[s] = j


def move_to(problem: Any, state: Any, j: int, g: int) -> None:
    """Give job j the block at GPU g, or none if that is ANY or SHARED."""
    head, rank, block = state.head, state.rank, state.plan.block
    if block[j] >= 0:
        s = problem.server[block[j]]
        if head[s] == j:
            head[s] = state.next[j]
        else:
            k = head[s]
            while state.next[k] != j:
                k = state.next[k]
            state.next[k] = state.next[j]
    block[j] = g
    if g >= 0:
        s = problem.server[g]
        k = head[s]
        if k < 0 or rank[k] > rank[j]:
            state.next[j] = k
            head[s] = j
        else:
            while state.next[k] >= 0 and rank[state.next[k]] < rank[j]:
                k = state.next[k]
            state.next[j] = state.next[k]
            state.next[k] = j


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


def run_server(problem: Any, state: Any, s: int) -> None:
    """Run the jobs from rank `apart` on that are inside server s, and compute its cost."""
    first, last = problem.first[s], problem.first[s + 1]
    state.free[first:last] = state.early[first:last]
    j = state.head[s]
    while j >= 0:
        if state.rank[j] >= state.apart[0]:
            g, size = state.plan.block[j], problem.size[j]
            run_inside(state.free, g, size, problem.inside[j])
        j = state.next[j]
    count_excess(problem, state, s)


def count_excess(problem: Any, state: Any, s: int) -> None:
    """Compute the cost of server s."""
    excess = 0
    for g in range(problem.first[s], problem.first[s + 1]):
        if state.free[g] > problem.target:
            excess += state.free[g] - problem.target
    state.plan.cost[s] = excess


def collect_late(problem: Any, state: Any) -> None:
    """Collect the jobs on a GPU that is late, and those without a block."""
    number = 0
    for j in range(len(problem.size)):
        g = state.plan.block[j]
        late = g < 0
        if not late:
            for i in range(g, g + problem.size[j]):
                late = late or state.free[i] > problem.target
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
    size, block, taken, moved = problem.size, state.plan.block, state.taken, state.moved
    found, k = 1, state.head[problem.server[g]]
    while k >= 0:
        if k != j and block[k] >= g and block[k] + size[k] <= g + size[j]:
            moved[found] = k
            found += 1
        k = state.next[k]
    for i in range(size[j]):
        taken[i] = 0
    number = 0
    for i in range(1, found):  # in random order
        other = i + int(rng.random() * (found - i))
        k = moved[other]
        moved[other] = moved[i]
        at, busy = block[k] - g, 0
        for n in range(at, at + size[k]):
            busy += taken[n]
        if busy == 0:
            for n in range(at, at + size[k]):
                taken[n] = 1
            number += 1
            moved[number] = k
            state.source[number] = block[k]
    for i in range(1, number + 1):
        move_to(problem, state, moved[i], block[j] + state.source[i] - g)
    return number


def change(problem: Any, state: Any, j: int, rng: Any) -> int:
    """Change the block of job j or its place in the order; return the number of jobs moved."""
    jobs, apart, g, number = len(problem.size), state.apart[0], state.plan.block[j], 0
    state.moved[0], state.source[0] = j, g
    turn = rng.random() < problem.turn
    if turn and (g >= 0 or rng.random() < 0.5 or not problem.inside[j]):
        to = ANY if g == SHARED or (g >= 0 and rng.random() < 0.5) else SHARED
    elif (g < 0 and not turn) or (apart > 0 and rng.random() < SHIFT):
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
    order: Any,
    genes: Any,
    memory: Any,
    chances: Any,
    most: int,
    moves: int,
    cooling: Any,
    rng: Any,
) -> int:
    """Make moves; `order`, `genes`, `memory`, `chances` and `most` are not read.

    A move is undone if the excess rises by more than an exponential draw, whose mean is the
    temperature, in GPU-slots. `solvers.search.moves.run` has the other parameters.
    """
    plan, free, kept, gpus = state.plan, state.free, state.kept, len(state.free)
    for move in range(moves):
        if values[0] == 0:
            break
        if (int(cooling[3]) + move) % LATER == 0:
            collect_late(problem, state)
        if rng.random() < LATE and state.late[-1]:
            j = state.late[int(rng.random() * state.late[-1])]
        else:
            j = int(rng.random() * len(problem.size))
        rank, before = state.rank[j], plan.block[j]
        moved = change(problem, state, j, rng)
        if moved == 0:
            continue
        after = plan.block[j]
        whole = before < 0 or after < 0 or state.rank[j] != rank
        for i in range(moved):
            whole = whole or state.rank[state.moved[i]] < state.apart[0]
        excess = 0.0
        if whole:
            old.cost[:] = plan.cost
            kept[:gpus], kept[gpus:-1], kept[-1] = free, state.early, state.apart[0]
            run_all(problem, state)
            for s in range(len(plan.cost)):
                excess += plan.cost[s]
        else:
            a, b = problem.server[before], problem.server[after]
            for s in (a, b):
                old.cost[s] = plan.cost[s]
                for g in range(problem.first[s], problem.first[s + 1]):
                    kept[g] = free[g]
            for s in (a, b):
                run_server(problem, state, s)
            excess = values[0] + plan.cost[a] - old.cost[a]
            if a != b:
                excess += plan.cost[b] - old.cost[b]
        share = max(cooling[2], (cooling[3] + move) / cooling[4])
        temperature = cooling[0] * math.exp(share * math.log(cooling[1] / cooling[0]))
        if excess <= values[0] - temperature * math.log(1.0 - rng.random()):
            values[0] = excess
            if excess < values[1]:
                values[1] = excess
                best.cost[:], best.order[:], best.block[:] = plan.cost, plan.order, plan.block
            continue
        for i in range(moved - 1, -1, -1):
            move_to(problem, state, state.moved[i], state.source[i])
        if whole:
            if state.rank[j] != rank:
                shift(problem, state, j, rank)
            plan.cost[:] = old.cost
            free[:], state.early[:], state.apart[0] = kept[:gpus], kept[gpus:-1], kept[-1]
        else:
            for s in (a, b):
                plan.cost[s] = old.cost[s]
                for g in range(problem.first[s], problem.first[s + 1]):
                    free[g] = kept[g]
    return 0


def kernel(instance: RingInstance) -> Kernel | None:
    """Return what an instance of this size needs compiled."""
    return KERNEL if len(instance.jobs) * len(instance.servers) >= LARGE else None


class RingKernel(Kernel):
    """A kernel with its own moves in place of the generic ones."""

    def _sources(self) -> tuple[FunctionType, ...]:
        return cast(tuple[FunctionType, ...], self.functions)


def state_of(problem: Problem, plan: Plan, convert: Callable[[list[int]], Ints] = list) -> State:
    """Return the state before any job runs; `convert`: from lists to lists or arrays."""
    gpus, servers, jobs = len(problem.server), len(problem.first) - 1, len(problem.size)
    lengths = (
        gpus, gpus, 1, jobs, servers, jobs, 2 * servers, servers, jobs + 1, max(problem.size),
        jobs + 1, jobs + 1, 2 * gpus + 1,
    )  # fmt: skip
    state = State(plan, *(convert([0] * length) for length in lengths))
    link_all(problem, state)
    return state


def _sample() -> tuple[Any, ...]:
    """Return a problem, a state and a gene of the compiled entry: one job on one GPU."""
    one, two = np.ones(1, np.int64), np.arange(2)
    problem = Problem(0, one, 0.0, one, two, one, one, one, two, 0 * one)
    state = state_of(problem, Plan(one.copy(), 0 * one, 0 * one), np.array)
    return problem, state, (0.0,)


KERNEL = RingKernel(
    "ring",
    (run_inside, fits, run_free, count_excess, run_all, link_all, move_to, shift, run_server,
     collect_late, draw_block, exchange, change, run),
    _sample,
)  # fmt: skip
