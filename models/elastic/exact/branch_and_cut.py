"""Branch and cut over a pool of runs: nodes are subsets of the runs, each tightened by cuts.

A node branches on the completion of a job whose fractional runs differ in it, otherwise on one run:
taken, or not. Children inherit the cuts of their parent.

References
----------
M. Padberg, G. Rinaldi, "A branch-and-cut algorithm for the resolution of large-scale symmetric
traveling salesman problems", SIAM Review 33 (1991).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.exact.cutting_planes import TightenedPool, tighten
from schedgap.models.elastic.exact.run_pool import Mask
from schedgap.models.elastic.programs.columns import ElasticRun, fits_together
from schedgap.models.mechanisms.branch_and_price import (
    OUT_OF_TIME,
    UnsettledError,
    best_first,
    splits,
)
from schedgap.models.method import Budget
from schedgap.solvers.engines.results import OnBound

SHARE = 1e-6  # below it, a run counts as not used


@dataclass(frozen=True, slots=True, eq=False)
class TreeResult:
    """Result of the search: `lower` bounds all schedules of the pool up to `most`.

    If `complete`, the best of them is `runs`, or none exists.
    """

    lower: float
    runs: list[ElasticRun] | None
    complete: bool
    nodes: int


@dataclass(slots=True, eq=False)
class _PoolNode:
    """A subset of the runs of the parent, with a bound on its schedules."""

    bound: float
    parent: TightenedPool
    allowed: Mask  # [i] of the runs of the parent


def branch_and_cut(
    root: TightenedPool,
    most: float,
    *,
    next_better: Callable[[float], float],
    budget: Budget,
    on_runs: Callable[[list[ElasticRun]], None] | None = None,
    on_bound: OnBound | None = None,
) -> TreeResult:
    """Find the best schedule of a pool of runs, of a value up to `most`.

    `most`: largest value of interest. `next_better`: from the value of a schedule to the largest
    value that counts as better. `on_runs`: receives each better schedule. `on_bound`: receives each
    better bound on the schedules of the pool, at most `most`.
    """
    instance = root.pool.instance
    incumbent: list[ElasticRun] | None = None
    target, lower, nodes = most, -math.inf, 0

    def offer(runs: list[ElasticRun]) -> None:
        nonlocal incumbent, target
        value = value_of(instance, runs)
        if is_schedule(instance, runs) and value <= target + 1e-9 * max(1.0, abs(target)):
            incumbent, target = runs, next_better(value)
            if on_runs is not None:
                on_runs(runs)

    def report(bound: float) -> None:
        nonlocal lower
        if bound > lower:
            lower = bound
            if on_bound is not None:
                on_bound(lower)

    def branch(node: _PoolNode) -> list[_PoolNode]:
        nonlocal nodes
        parent = node.parent
        solved = tighten(
            parent.pool.keep(node.allowed),
            target,
            near=parent.reduced[node.allowed],
            rows=None if parent.rows is None else parent.rows.of(node.allowed),
            budget=budget,
            on_runs=offer,
        )
        nodes += 1
        node.bound = max(node.bound, solved.bound)
        if node.bound > target:
            return []
        if solved.shares is None:
            raise UnsettledError(OUT_OF_TIME)
        runs = [*solved.pool.runs]
        if len({run.job for run in runs}) == len(runs):  # one run of each job is left
            offer(runs)
        subsets = _children(instance, solved, target)
        return [_PoolNode(node.bound, solved, allowed) for allowed in subsets]

    allowed = root.reduced <= most - root.value + 2 * root.margin
    end = best_first(
        _PoolNode(root.bound, root, allowed),
        branch,
        is_closed=lambda bound: bound > target,
        clock=budget.clock,
        on_bound=report,
    )
    value = math.inf if incumbent is None else value_of(instance, incumbent)
    return TreeResult(max(lower, min(end.bound, value, most)), incumbent, not end.stopped, nodes)


def is_schedule(instance: ElasticInstance, runs: list[ElasticRun]) -> bool:
    """Return whether runs respect the capacities and contain all jobs that must run.

    `runs`: at most one for each job.
    """
    complete = instance.is_batch or len({run.job for run in runs}) == len(instance.jobs)
    return complete and fits_together(instance, runs)


def value_of(instance: ElasticInstance, runs: list[ElasticRun]) -> float:
    """Return the value of runs in the minimisation.

    `runs`: at most one for each job.
    """
    weight = [job.weight for job in instance.jobs]
    return math.fsum(-weight[r.job] if instance.is_batch else weight[r.job] * r.end for r in runs)


def _children(instance: ElasticInstance, solved: TightenedPool, target: float) -> list[Mask]:
    """Return the subsets of runs of the child nodes.

    The completion of a job is split where the smaller of the two changes in the mean weighted
    completion is largest. Without such a job, a run that excludes others is taken or not; integral
    solutions are branched on, too, since they may exceed a capacity by an engine's tolerance, or
    cost a little more than another schedule of the node. If no two of the runs exclude each other,
    the schedule of all of them has been offered before; in a batch all others lack one of them.
    """
    pool, shares = solved.pool, solved.shares
    assert shares is not None
    alive = solved.reduced <= target - solved.value + 2 * solved.margin
    best, early = 0.0, None
    for j, job in enumerate(instance.jobs):
        own = np.flatnonzero((pool.job == j) & (shares > SHARE))
        for at, distance in splits(shares[own], pool.end[own]):
            if (score := min(distance) * job.weight) > best:
                best, early = score, (pool.job != j) | (pool.end <= at)
                late = (pool.job != j) | (pool.end > at)
    if early is not None:
        return [early & alive, late & alive]
    remaining = np.flatnonzero(alive)
    fractionality = np.where(shares[remaining] > SHARE, np.abs(shares[remaining] - 0.5), 1.0)
    for i in remaining[np.argsort(fractionality, kind="stable")].tolist():
        if (excluded := pool.excluded(i) & alive).any():
            without = alive.copy()
            without[i] = False
            return [alive & ~excluded, without]
    if not alive.all():
        return [alive]
    if not instance.is_batch:
        return []
    return [alive & (np.arange(len(pool)) != i) for i in remaining.tolist()]
