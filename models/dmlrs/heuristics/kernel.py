"""Kernel of the local search: inserts a job where it pays best, in the free capacity of the slots.

A job takes the slots of least price for its progress. Each slot has its largest number of workers,
and the most expensive one the least number that suffices. The job completes in the slot where its
utility minus that price is largest. On one machine n workers have their m(n) PSs. Across machines
there are two ways: all workers that fit, with the PSs in the remaining capacity, or bundles of both
on every machine. Neither dominates the other. Machines with the least value of free capacity are
filled first.

References
----------
R. Kolisch, "Serial and parallel resource-constrained project scheduling methods revisited: theory
and computation", European Journal of Operational Research 90 (1996): schedules built serially.
R. Panigrahy, K. Talwar, L. Uyeda, U. Wieder, "Heuristics for vector bin packing", technical report,
Microsoft Research (2011): weighted sums of the free capacities.
"""

from typing import Any, NamedTuple

import numpy as np

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.instances.dmlrs.compiled import Floats, Ints
from schedgap.models.dmlrs.bounds.kernel import large
from schedgap.models.dmlrs.throughput import FULL
from schedgap.solvers.search.annealing import listed, without_moves
from schedgap.solvers.search.compiled import Kernel
from schedgap.solvers.search.moves import GENERIC

BASE_PRICE = 1e-6  # value of free capacity without a price


class Problem(NamedTuple):
    """The jobs that can be completed, with slots from 0 and capacities in thousandths."""

    alone: Floats  # [j] 0, the least loss of utility
    keys: Floats  # [k, j] priorities
    job: Ints  # [j] index in the instance
    arrival: Ints  # [j] first slot
    lead: Ints  # [j] slots from the arrival to the earliest completion
    utility: Floats  # [j, d] by delay
    needed: Floats  # [j, mode] N
    ratio: Floats  # [j] gamma
    worker: Floats  # [j, r] demand of a worker
    ps: Floats  # [j, r] demand of a PS
    most: Ints  # [j] largest allowed number of workers
    down: Ints  # [j, n] largest allowed number of workers up to n
    servers: Ints  # [j, n] m(n)
    price: Floats  # [t, r] of a thousandth


class Plan(NamedTuple):
    """What each job holds, as a list of entries."""

    start: Floats  # [j] first slot; without a schedule, the arrival
    end: Floats  # [j] last slot; without a schedule, the earliest completion
    cost: Floats  # [j] loss of utility
    used: Ints  # [j] number of entries; 0 without a schedule
    slot: Ints  # [j, e]
    machine: Ints  # [j, e]
    workers: Ints  # [j, e]
    ps: Ints  # [j, e]


class State(NamedTuple):
    """The plan, what is free next to it, and room to work in."""

    plan: Plan
    free: Floats  # [t, r, h]
    inside: Floats  # [t, h] most workers with their PSs
    alone: Floats  # [t, h] most workers without PSs
    beside: Floats  # [t, h] most PSs next to these workers
    width: Ints  # [t, mode] most workers in a mode
    mode: Ints  # [t] the mode of more progress at its width
    progress: Floats  # [t] then
    cost: Floats  # [t] then
    order: Ints  # [x] slots of some progress by cost for it
    chosen: Ints  # [x] slots of the best schedule, the most expensive last


def copy(source: Any, target: Any, j: int) -> None:
    """Copy the row of job j from one plan to another."""
    target.start[j], target.end[j] = source.start[j], source.end[j]
    target.cost[j], target.used[j] = source.cost[j], source.used[j]
    for e in range(source.used[j]):
        target.slot[j, e], target.machine[j, e] = source.slot[j, e], source.machine[j, e]
        target.workers[j, e], target.ps[j, e] = source.workers[j, e], source.ps[j, e]


def apply(problem: Any, state: Any, j: int, sign: int) -> None:
    """Take (1) or give back (-1) the capacity that job j holds."""
    plan, free = state.plan, state.free
    for e in range(plan.used[j]):
        t, h, w, s = plan.slot[j, e], plan.machine[j, e], plan.workers[j, e], plan.ps[j, e]
        for r in range(free.shape[1]):
            free[t, r, h] -= sign * (w * problem.worker[j, r] + s * problem.ps[j, r])


def allowed(problem: Any, j: int, workers: float, ps: float) -> int:
    """Return the largest allowed number of workers up to given totals of workers and PSs."""
    n = problem.down[j, int(min(workers, problem.most[j], (ps + 1) * problem.ratio[j]))]
    while n > 0 and problem.servers[j, n] > ps:
        n = problem.down[j, n - 1]
    return int(n)


def measure(problem: Any, state: Any, j: int, t: int, most: int) -> None:
    """Write how many workers and PSs of job j slot t can hold, with at most some workers."""
    free, inside, alone, beside = state.free[t], state.inside[t], state.alone[t], state.beside[t]
    resources, machines = free.shape
    for h in range(machines):
        inside[h] = alone[h] = most
        beside[h] = problem.servers[j, most]
    for r in range(resources):
        a, b = problem.worker[j, r], problem.ps[j, r]
        unit = a + b / problem.ratio[j]
        if unit > 0.0:
            for h in range(machines):
                inside[h] = min(inside[h], np.floor(free[r, h] / unit + 1e-6))
        if a > 0.0:
            for h in range(machines):
                alone[h] = min(alone[h], np.floor(free[r, h] / a))
    bundled, widest, workers, ps = 0.0, 0, 0.0, 0.0
    for h in range(machines):
        n, fits = problem.down[j, int(inside[h])], False
        while n > 0 and not fits:
            m, fits = problem.servers[j, n], True
            for r in range(resources):
                fits = fits and n * problem.worker[j, r] + m * problem.ps[j, r] <= free[r, h]
            if not fits:
                n = problem.down[j, n - 1]
        inside[h] = n
        bundled += n
        widest = max(widest, n)
        workers += alone[h]
    state.width[t, 0], state.width[t, 1] = widest, 0
    if machines == 1 or workers == 0.0:
        return
    for r in range(resources):
        a, b = problem.worker[j, r], problem.ps[j, r]
        if b > 0.0:
            for h in range(machines):
                beside[h] = min(beside[h], np.floor((free[r, h] - alone[h] * a) / b))
    for h in range(machines):
        ps += beside[h]
    separate = allowed(problem, j, min(workers, float(most)), ps)
    state.width[t, 1] = max(separate, allowed(problem, j, min(bundled, float(most)), np.inf))


def enter(state: Any, j: int, t: int, h: int, workers: int, ps: int) -> None:
    """Append an entry to the plan of job j; without room it counts, but is not there."""
    plan, e = state.plan, state.plan.used[j]
    if e < plan.slot.shape[1]:
        plan.slot[j, e], plan.machine[j, e] = t, h
        plan.workers[j, e], plan.ps[j, e] = workers, ps
    plan.used[j] += 1


def fullest(problem: Any, state: Any, t: int, share: float, free: Any) -> Any:
    """Return the machines in ascending order of the value of some free capacity [r, h]."""
    value = np.zeros(free.shape[1])
    for r in range(free.shape[0]):
        price = share * problem.price[t, r] + BASE_PRICE
        for h in range(free.shape[1]):
            value[h] += price * free[r, h]
    return np.argsort(value, kind="mergesort")


def place(problem: Any, state: Any, j: int, t: int, n: int, mode: int, share: float) -> None:
    """Enter n workers with their PSs in a slot whose width has been measured and is no less."""
    free, inside = state.free[t], state.inside[t]
    order, m = fullest(problem, state, t, share, free), problem.servers[j, n]
    if mode == 0:
        for h in order:
            if inside[h] >= n:
                enter(state, j, t, h, n, m)
                return
    if state.alone[t].sum() >= n and state.beside[t].sum() >= m:
        counts, left = np.zeros(len(order), np.int64), free.copy()
        for h in order:
            counts[h] = min(n, int(state.alone[t, h]))
            n -= counts[h]
            for r in range(len(left)):
                left[r, h] -= counts[h] * problem.worker[j, r]
        for h in fullest(problem, state, t, share, left):
            room = float(m)
            for r in range(len(left)):
                if problem.ps[j, r] > 0.0:
                    room = min(room, np.floor(left[r, h] / problem.ps[j, r]))
            s = int(room)
            m -= s
            if counts[h] + s > 0:
                enter(state, j, t, h, counts[h], s)
        return
    for h in order:
        w = min(n, int(inside[h]))
        s = min(m, problem.servers[j, w])
        n, m = n - w, m - s
        if w > 0:
            enter(state, j, t, h, w, s)


def least(problem: Any, state: Any, j: int, t: int, internal: int, external: int) -> Any:
    """Return mode and number of workers that end the work in a slot; on one machine if possible."""
    A, B = problem.needed[j, 0], problem.needed[j, 1]
    missing = FULL - internal / A - external / B
    for mode in range(2):
        n = max(1, int(np.ceil(missing * problem.needed[j, mode])) - 1)
        while n <= state.width[t, mode]:
            done = (internal + n) / A + external / B
            if mode == 1:
                done = internal / A + (external + n) / B
            if done >= FULL and problem.down[j, n] == n:
                return mode, n
            n += 1
    return state.mode[t], state.width[t, state.mode[t]]


def cheapest(problem: Any, state: Any, j: int, gene: Any, spare: float) -> int:
    """Choose the slots of the best schedule of job j; return their number, 0 without one."""
    first, lead, utility = problem.arrival[j], problem.lead[j], problem.utility[j]
    order, progress, cost = state.order, state.progress, state.cost
    most = problem.down[j, max(1, int(gene[1] * problem.most[j]))]
    best, number, found = 0.0, 0, 0
    for t in range(first, len(state.free)):
        value = utility[t - first]
        if t >= first + lead and (value <= best or utility[lead] - value > spare):
            break  # utilities only fall
        measure(problem, state, j, t, most)
        inside = state.width[t, 0] / problem.needed[j, 0]
        across = state.width[t, 1] / problem.needed[j, 1]
        mode = 1 if across > inside else 0
        state.mode[t], progress[t] = mode, max(inside, across)
        if progress[t] > 0.0:
            n = state.width[t, mode]
            cost[t] = 0.0
            for r in range(problem.price.shape[1]):
                demand = n * problem.worker[j, r] + problem.servers[j, n] * problem.ps[j, r]
                cost[t] += gene[0] * problem.price[t, r] * demand
            x = number
            while x > 0 and cost[order[x - 1]] * progress[t] > cost[t] * progress[order[x - 1]]:
                order[x] = order[x - 1]
                x -= 1
            order[x] = t
            number += 1
        if t < first + lead:
            continue
        done, paid, x = 0.0, 0.0, 0
        while x < number and done < FULL:
            done += progress[order[x]]
            paid += cost[order[x]]
            x += 1
        if done < FULL:
            continue
        last = order[x - 1]
        paid -= max(0.0, (done - 1.0) / progress[last]) * cost[last]
        if value - paid > best:
            best, found = value - paid, x
            state.chosen[:x] = order[:x]
    return found


def insert(problem: Any, state: Any, j: int, gene: Any, spare: float, rng: Any) -> bool:
    """Insert a job where it pays best; see `solvers.search.moves`. Without a payoff: no schedule.

    `gene`: share of the prices; most workers, as a share of the largest number. At no price a job
    completes as early as it can, at the whole price it leaves expensive slots to others.
    """
    plan, first, lead = state.plan, problem.arrival[j], problem.lead[j]
    number = cheapest(problem, state, j, gene, spare)
    internal, external, end, plan.used[j] = 0, 0, 0, 0
    for x in range(number):
        t = state.chosen[x]
        mode, n = state.mode[t], state.width[t, state.mode[t]]
        if x == number - 1:
            mode, n = least(problem, state, j, t, internal, external)
        internal, external = internal + n * (1 - mode), external + n * mode
        place(problem, state, j, t, n, mode, gene[0])
        end = max(end, t)
    if number == 0 or plan.used[j] > plan.slot.shape[1]:
        plan.used[j], plan.cost[j] = 0, problem.utility[j, lead]
        plan.start[j], plan.end[j] = first, first + lead
        return bool(plan.cost[j] <= spare)
    plan.start[j], plan.end[j] = state.chosen[:number].min(), end
    plan.cost[j] = problem.utility[j, lead] - problem.utility[j, end - first]
    apply(problem, state, j, 1)
    return True


def _sample() -> tuple[Any, ...]:
    """Return arguments of the entry, for the compiler."""
    from schedgap.instances.generate import generate
    from schedgap.models.dmlrs.heuristics.partial_schedule import PartialSchedule

    toy = generate("dmlrs", preset="toy")
    assert isinstance(toy, DmlrsInstance)
    made = PartialSchedule(toy, np.zeros((toy.horizon, len(toy.resources))))
    return without_moves(made.problem, made.state, listed(len(made.problem.job), [], (1.0, 1.0)))


KERNEL = Kernel(
    "dmlrs",
    (copy, apply, allowed, measure, enter, fullest, place, least, cheapest, insert, *GENERIC),
    _sample,
    large,
)
