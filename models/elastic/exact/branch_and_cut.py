"""Branch and cut over a pool of runs: a tree of ever fewer runs, each node tightened by cuts.

A node holds the runs that it allows. It branches on when a job ends, where its runs with a share
differ in that, else on one run: taken, or not. Children start with the cuts of their parent.
"""

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.exact.cutting_planes import TightenedPool, tighten
from schedgap.models.elastic.exact.run_pool import Mask
from schedgap.models.elastic.programs.columns import ElasticRun, fits_together
from schedgap.solvers import Clock
from schedgap.solvers.engines.results import OnBound

SHARE = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class TreeResult:
    """Where the search stopped: `lower` bounds all schedules of the pool up to `most`.

    `complete`: the best of them is `runs`, or there is none.
    """

    lower: float
    runs: list[ElasticRun] | None
    complete: bool
    nodes: int


@dataclass(order=True, slots=True)
class _Node:
    bound: float
    number: int
    parent: TightenedPool = field(compare=False)
    allowed: Mask = field(compare=False)  # of the runs of the parent


def branch_and_cut(
    left: TightenedPool,
    most: float,
    *,
    below: Callable[[float], float],
    clock: Clock,
    seed: int = 0,
    threads: int = 1,
    on_runs: Callable[[list[ElasticRun]], None] | None = None,
    on_bound: OnBound | None = None,
) -> TreeResult:
    """Find the best schedule of the runs that are left, of a value up to `most`.

    Parameters
    ----------
    below : callable
        From the value of a schedule to the largest value that counts as better.
    on_bound : callable or None
        Told of better bounds on the schedules of the pool, `most` at most.
    """
    instance = left.pool.instance
    runs: list[ElasticRun] | None = None
    goal, lower, number, nodes = most, -math.inf, 0, 0

    def keep(found: list[ElasticRun]) -> None:
        nonlocal runs, goal
        value = value_of(instance, found)
        if is_schedule(instance, found) and value <= goal + 1e-9 * max(1.0, abs(goal)):
            runs, goal = found, below(value)
            if on_runs is not None:
                on_runs(found)

    heap = [_Node(left.bound, 0, left, left.reduced <= most - left.value + 2 * left.margin)]
    while heap and not clock.expired():
        node = heapq.heappop(heap)
        if node.bound > goal:
            heap = []
            break
        if node.bound > lower:
            lower = node.bound
            if on_bound is not None:
                on_bound(lower)
        parent = node.parent
        solved = tighten(
            parent.pool.keep(node.allowed),
            goal,
            near=parent.reduced[node.allowed],
            rows=None if parent.rows is None else parent.rows.of(node.allowed),
            clock=clock,
            seed=seed,
            threads=threads,
            on_runs=keep,
        )
        nodes += 1
        bound = max(node.bound, solved.bound)
        if bound > goal:
            continue
        if solved.shares is None:  # out of time
            heapq.heappush(heap, node)
            break
        whole = [*solved.pool.runs]
        if len({run.job for run in whole}) == len(whole):
            keep(whole)
        for allowed in _children(instance, solved, goal):
            number += 1
            heapq.heappush(heap, _Node(bound, number, solved, allowed))
    open_bound = min((node.bound for node in heap), default=math.inf)
    value = math.inf if runs is None else value_of(instance, runs)
    return TreeResult(max(lower, min(open_bound, value, most)), runs, not heap, nodes)


def is_schedule(instance: ElasticInstance, runs: list[ElasticRun]) -> bool:
    """Whether runs keep to the capacities, and all jobs run that must."""
    complete = instance.is_batch or len({run.job for run in runs}) == len(instance.jobs)
    return complete and fits_together(instance, runs)


def value_of(instance: ElasticInstance, runs: list[ElasticRun]) -> float:
    """Return what runs cost in the minimisation."""
    weight = [job.weight for job in instance.jobs]
    return math.fsum(-weight[r.job] if instance.is_batch else weight[r.job] * r.end for r in runs)


def _children(instance: ElasticInstance, solved: TightenedPool, goal: float) -> list[Mask]:
    """Return the runs of both sides of the branch that moves a job's end the most.

    Shares without fractions are branched on, too: they may overfill a server by an engine's
    tolerance, or cost a little more than another schedule of the node. Where no two runs that are
    left exclude each other, the one schedule of all of them has been looked at: in a batch all
    others lack one of them.
    """
    pool, shares = solved.pool, solved.shares
    assert shares is not None
    alive = solved.reduced <= goal - solved.value + 2 * solved.margin
    best, side = 0.0, None
    for j, job in enumerate(instance.jobs):
        own = np.flatnonzero((pool.job == j) & (shares > SHARE))
        share, end = shares[own], pool.end[own]
        for at in np.unique(end)[:-1]:
            late = float(share @ np.maximum(end - at, 0))
            early = float(share @ np.maximum(at + 1 - end, 0))
            if (score := min(late, early) * job.weight) > best:
                best, side = score, (pool.job != j) | (pool.end <= at)
                other = (pool.job != j) | (pool.end > at)
    if side is not None:
        return [side & alive, other & alive]
    left = np.flatnonzero(alive)
    held = np.where(shares[left] > SHARE, np.abs(shares[left] - 0.5), 1.0)
    for taken in left[np.argsort(held, kind="stable")].tolist():
        if (clash := pool.excluded(taken) & alive).any():
            rest = alive.copy()
            rest[taken] = False
            return [alive & ~clash, rest]
    if not alive.all():
        return [alive]
    if not instance.is_batch:
        return []
    return [alive & (np.arange(len(pool)) != i) for i in left.tolist()]
