"""The linear program behind `pooled-lp-coarse`, by column generation.

Rows are the jobs, and pools x resources x blocks of slots; a column is a run of `coarse_prices`. A
row of a block is the sum of the capacity rows of its slots, so prices are constant in each block.

References
----------
F. Glover, "Surrogate constraint duality in mathematical programming", Operations Research (1975):
sums of rows as a relaxation.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

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
from schedgap.models.mechanisms.restricted_master import Priced, RestrictedMaster, prices_at_most
from schedgap.models.method import Budget
from schedgap.solvers.loops.column_generation import Columns
from schedgap.solvers.programs.builder import Entries

BLOCKS = 100  # number of blocks if their length is not given
ROUGH = 1e-3  # relative gap at which the prices of one pool are the start for several


@dataclass(frozen=True, slots=True, eq=False)
class CoarseLpResult:
    """Result of column generation; in a batch problem values are minus the weight."""

    bound: float | None
    prices: BlockPrices | None
    objective: float | None
    rounds: int
    columns: int


def run_cost(instance: ElasticInstance, job: int, end: int) -> float:
    """Return the objective coefficient of a run.

    `end`: start + duration.
    """
    weight = instance.jobs[job].weight
    return -weight if instance.is_batch else weight * end


def fallback_costs(instance: ElasticInstance, slots: int) -> Floats:
    """Return [j] the cost of a column that fills the row of a job without using any capacity.

    It stands for a run after the last priced slot; where the horizon ends before, it is artificial
    and costs more than any schedule.

    `slots`: number of slots with prices.
    """
    if instance.last_end is not None:
        ceiling = 2 * sum(job.weight for job in instance.jobs) * (instance.horizon + 1)
        return np.full(len(instance.jobs), ceiling)
    return np.array(
        [
            run_cost(instance, j, max(slots + 1, job.arrival) + (shortest(instance, j) or 0))
            for j, job in enumerate(instance.jobs)
        ]
    )


class _BlockMaster:
    """The restricted master: rows of the jobs, and of pools x resources x blocks."""

    def __init__(self, pricer: PoolPricer, block: int, slots: int) -> None:
        self.pricer, self.block, self.slots = pricer, block, slots
        mean = pricer.view.capacity.mean(axis=0)
        self._size = np.where(mean > 0, mean, 1.0)  # [r]: capacity rows count mean servers
        self._begin = np.arange(-(-slots // block)) * block
        self._end = np.minimum(self._begin + block, slots)
        length = self._end - self._begin
        self.master: RestrictedMaster[object] = RestrictedMaster()
        lower = -np.inf if pricer.instance.is_batch else 1.0
        self.jobs = self.master.rows("job", len(pricer.instance.jobs), lower=lower, upper=1.0)
        capacity = (pricer.capacity / self._size)[:, :, None] * length
        self.cells = self.master.rows("capacity", capacity.shape, upper=capacity)
        self._at = self.cells.positions  # [pool, r, b]

    def prices(self, duals: Floats) -> BlockPrices:
        """Return the prices of dual values [i]."""
        price = prices_at_most(self.cells, duals) / self._size[:, None]
        return BlockPrices(self.block, self.slots, self.pricer.pool, price)

    def duals(self, prices: BlockPrices, least: Floats) -> Floats:
        """Return the dual values [i] of prices and of the least costs of the jobs."""
        cells = -(prices.price * self._size[:, None])
        return self.master.duals({self.jobs: least, self.cells: cells})

    def columns(self, runs: Sequence[tuple[int, PoolRun]], sums: PoolPriceSums) -> Columns:
        """Return runs as columns: their usage times their slots in each block."""
        cost: list[float] = []
        entries: list[Entries] = []
        for j, run in runs:
            end = self.pricer.end(j, run)
            inside = np.minimum(end - 1, self._end) - np.maximum(run.start - 1, self._begin)
            blocks = np.flatnonzero(inside > 0)
            usage = self.pricer.usage(sums, j, run) / self._size  # [pool, r]
            used = np.nonzero(usage)
            amounts = np.outer(usage[used], inside[blocks])
            entries.append([(j, 1.0), (self._at[used][:, blocks], amounts.ravel())])
            cost.append(run_cost(self.pricer.instance, j, end))
        return self.master.columns(cost, entries)


def solve_coarse(
    instance: ElasticInstance,
    *,
    block: int | None,
    budget: Budget,
    pools: int = 1,
    on_bound: OnProved | None = None,
    per_job: int = 3,
    gap: float = 1e-6,
) -> CoarseLpResult:
    """Solve the linear relaxation over modes on pools of servers, with prices constant on blocks.

    `block`: slots that share a price; None: such that there are about a hundred blocks. `pools`:
    largest number of pools; equal servers are in one. `on_bound`: receives each better bound with
    its certificate. `per_job`: columns of a job to add in each round. `gap`: relative gap between
    master and bound at which it ends.

    Notes
    -----
    The first columns are those of `fallback_costs`. With several pools, the relaxation with one
    pool is solved first: its prices are the first dual values, and give the next columns.
    """
    pricer = PoolPricer(instance, server_pools(instance, pools))
    block = block or -(-contended_slots(instance) // BLOCKS)
    rows = _BlockMaster(pricer, block, contended_slots(instance))
    if not instance.is_batch:
        costs = fallback_costs(instance, rows.slots)
        rows.master.begin(rows.master.artificial(rows.jobs, costs))
    start = None
    if len(pricer.capacity) > 1:
        rough = solve_coarse(
            instance, block=block, budget=budget, on_bound=on_bound, gap=max(gap, ROUGH)
        )
        if rough.prices is not None:
            repeated = np.repeat(rough.prices.price, len(pricer.capacity), axis=0)
            prices = BlockPrices(block, rows.slots, pricer.pool, repeated)
            if (priced := pricer.price_jobs(prices, per_job, budget.clock)) is not None:
                least, runs, sums = priced
                start = rows.duals(prices, least)
                if first := [(j, run) for j in pricer.jobs for run in runs[j]]:
                    rows.master.begin(rows.columns(first, sums))

    def pricing(duals: Floats) -> Priced | None:
        prices = rows.prices(duals)
        if (priced := pricer.price_jobs(prices, per_job, budget.clock)) is None:
            return None
        least, runs, sums = priced
        improving = [(j, run) for j in pricer.jobs for run in runs[j] if run.cost < duals[j] - 1e-9]
        columns = rows.columns(improving, sums) if improving else None
        return Priced(columns, pricer.bound(prices, least))

    def proved(bound: float, duals: Floats) -> None:
        if on_bound is not None:
            on_bound(bound, coarse_certificate(rows.prices(duals)))

    solution = rows.master.solve(
        pricing,
        clock=budget.clock,
        seed=budget.seed,
        threads=budget.threads,
        on_bound=proved,
        duals=start,
        gap=gap,
    )
    return CoarseLpResult(
        bound=solution.bound,
        prices=None if solution.duals is None else rows.prices(solution.duals),
        objective=solution.result.objective,
        rounds=solution.result.rounds,
        columns=len(solution.result.tags),
    )
