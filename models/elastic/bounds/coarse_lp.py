"""The linear program behind `pooled-lp-coarse`, by column generation.

Rows are the jobs, and pools x resources x blocks of slots; a column is a run of `coarse_prices`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.bounds.coarse_prices import (
    BlockPrices,
    PoolPricer,
    PoolPriceSums,
    PoolRun,
    coarse_certificate,
    server_pools,
)
from schedgap.models.elastic.bounds.schedule_lp import OnProved
from schedgap.models.elastic.bounds.volume import contended_slots
from schedgap.models.elastic.placement import Floats
from schedgap.models.elastic.time_windows import shortest
from schedgap.solvers.children.clock import Clock
from schedgap.solvers.loops.column_generation import Columns, Priced, generate_columns
from schedgap.solvers.programs.arrays import LinearProgram

BLOCKS = 100  # where the slots of one are not given
ROUGH = 1e-3  # relative gap at which the prices of one pool guide those of several


@dataclass(frozen=True, slots=True, eq=False)
class CoarseLpResult:
    """Where column generation stopped; of a batch problem values are minus the weight."""

    bound: float | None
    prices: BlockPrices | None
    objective: float | None
    rounds: int
    columns: int


def run_cost(instance: ElasticInstance, job: int, end: int) -> float:
    """Return what a run of a job that is complete before a slot costs."""
    weight = instance.jobs[job].weight
    return -weight if instance.is_batch else weight * end


def fallback_costs(instance: ElasticInstance, slots: int) -> Floats:
    """[j] cost of a run after the last price, or of an artificial one dearer than any schedule."""
    if instance.last_end is not None:
        dear = 2 * sum(job.weight for job in instance.jobs) * (instance.horizon + 1)
        return np.full(len(instance.jobs), dear)
    return np.array(
        [
            run_cost(instance, j, max(slots + 1, job.arrival) + (shortest(instance, j) or 0))
            for j, job in enumerate(instance.jobs)
        ]
    )


class _BlockRows:
    """Rows of the master: the jobs, then pools x resources x blocks in mean servers."""

    def __init__(self, pricer: PoolPricer, block: int, slots: int) -> None:
        self.pricer, self.block, self.slots = pricer, block, slots
        self.jobs = len(pricer.instance.jobs)
        self.blocks = -(-slots // block)
        mean = pricer.view.capacity.mean(axis=0)
        self.size = np.where(mean > 0, mean, 1.0)  # [r]
        self._begin = np.arange(self.blocks) * block
        self._end = np.minimum(self._begin + block, slots)
        length = (self._end - self._begin).astype(float)
        cells = np.outer((pricer.capacity / self.size).ravel(), length).ravel()
        self.rows = self.jobs + len(cells)
        once, none = np.ones(self.jobs), np.full(self.jobs, -np.inf)
        at_least = none if pricer.instance.is_batch else once
        self.row_lower = np.concatenate([at_least, np.full(len(cells), -np.inf)])
        self.row_upper = np.concatenate([once, cells])

    def prices(self, duals: Floats) -> BlockPrices:
        """Return the prices behind duals [i]; those of the wrong sign count as 0."""
        shape = *self.pricer.capacity.shape, self.blocks
        cells = np.maximum(0.0, -duals[self.jobs :]).reshape(shape) / self.size[:, None]
        return BlockPrices(self.block, self.slots, self.pricer.pool, cells + 0.0)

    def duals(self, prices: BlockPrices, least: Floats) -> Floats:
        """Return the duals [i] of given prices, on these pools."""
        return np.concatenate([least, -(prices.price * self.size[:, None]).ravel()])

    def columns(self, runs: list[tuple[int, PoolRun]], sums: PoolPriceSums) -> Columns:
        """Return runs of jobs as columns."""
        rows: list[Any] = []
        entries: list[Any] = []
        at, cost = [], []
        for column, (j, taken) in enumerate(runs):
            end = self.pricer.end(j, taken)
            inside = np.minimum(end - 1, self._end) - np.maximum(taken.start - 1, self._begin)
            blocks = np.flatnonzero(inside > 0)
            use = self.pricer.usage(sums, j, taken) / self.size
            cells = np.flatnonzero(use.ravel())
            rows += [[j], (self.jobs + cells[:, None] * self.blocks + blocks).ravel()]
            entries += [[1.0], np.outer(use.ravel()[cells], inside[blocks]).ravel()]
            at.append(np.full(1 + len(cells) * len(blocks), column))
            cost.append(run_cost(self.pricer.instance, j, end))
        index = (np.concatenate(rows), np.concatenate(at))
        matrix = sparse.csc_array((np.concatenate(entries), index), (self.rows, len(runs)))
        return Columns(np.array(cost), matrix, [None] * len(runs))


def solve_coarse(
    instance: ElasticInstance,
    *,
    block: int | None,
    clock: Clock,
    pools: int = 1,
    seed: int = 0,
    threads: int = 1,
    on_bound: OnProved | None = None,
    each: int = 3,
    gap: float = 1e-6,
) -> CoarseLpResult:
    """Solve the linear relaxation over modes on pools of servers, prices constant on blocks.

    Parameters
    ----------
    block : int or None
        Slots that share a price; None: for about a hundred blocks.
    pools : int
        Most pools; equal servers are in one.
    each : int
        Columns of a job to add in a round.
    gap : float
        Relative gap between master and bound at which it ends.

    Notes
    -----
    The first columns run each job after the last price; where the horizon ends before, artificial
    columns dearer than any schedule do. With several pools, those of the prices of one come first.
    """
    pricer = PoolPricer(instance, server_pools(instance, pools))
    block = block or -(-contended_slots(instance) // BLOCKS)
    layout = _BlockRows(pricer, block, contended_slots(instance))
    slots, jobs = layout.slots, layout.jobs
    costs: Any = np.zeros(0)
    known: Any = sparse.csc_array((layout.rows, 0))
    if not instance.is_batch:
        known = sparse.eye_array(layout.rows, jobs, format="csc")
        costs = fallback_costs(instance, slots)
    center = None
    if len(pricer.capacity) > 1:
        rough = solve_coarse(
            instance, block=block, clock=clock, seed=seed, threads=threads, on_bound=on_bound,
            gap=max(gap, ROUGH),
        )  # fmt: skip
        if rough.prices is not None:
            spread = np.repeat(rough.prices.price, len(pricer.capacity), axis=0)
            prices = BlockPrices(block, slots, pricer.pool, spread)
            if (priced := pricer.all(prices, each, clock)) is not None:
                least, runs, sums = priced
                center = layout.duals(prices, least)
                if first := [(j, run) for j in pricer.jobs for run in runs[j]]:
                    fresh = layout.columns(first, sums)
                    costs = np.concatenate([costs, np.asarray(fresh.cost)])
                    known = sparse.hstack([known, fresh.matrix], format="csc")
    master = LinearProgram.nonnegative(
        costs,
        known.tocsr(),
        row_lower=layout.row_lower,
        row_upper=layout.row_upper,
    )

    latest: list[BlockPrices] = []

    def pricing(duals: Floats) -> Priced | None:
        prices = layout.prices(duals)
        latest[:] = [prices]
        if (priced := pricer.all(prices, each, clock)) is None:
            return None
        least, runs, sums = priced
        fresh = [(j, run) for j in pricer.jobs for run in runs[j] if run.cost < duals[j] - 1e-9]
        columns = layout.columns(fresh, sums) if fresh else None
        return Priced(columns, pricer.bound(prices, least))

    def proved(bound: float) -> None:
        if on_bound is not None:
            on_bound(bound, coarse_certificate(latest[0]))

    result = generate_columns(
        master, pricing, clock=clock, seed=seed, threads=threads, on_bound=proved,
        prices=center, gap=gap,
    )  # fmt: skip
    return CoarseLpResult(
        bound=result.bound,
        prices=None if result.prices is None else layout.prices(result.prices),
        objective=result.objective,
        rounds=result.rounds,
        columns=len(result.tags),
    )
