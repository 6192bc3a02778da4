"""The linear program behind `configuration-lp`, by column generation.

Rows are the jobs; for each container (a worker or PS of one type) and block of slots, usage less
supply <= 0; and for each kind of server and block, configurations chosen <= 1. A column is a run of
a job, or a configuration that all servers of a kind hold throughout a block. A row of a block is
the sum of the rows of its slots, so prices are constant in each block.

The first prices come from a coarser program, in which all servers are one pool: its rows are the
jobs, and resources x blocks. Where servers have too many configurations, there is no other.

References
----------
P. C. Gilmore, R. E. Gomory, "A linear programming approach to the cutting-stock problem",
Operations Research 9 (1961): configurations as columns.
F. Glover, "Surrogate constraint duality in mathematical programming", Operations Research (1975):
sums of rows as a relaxation.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Generic, Protocol, TypeVar

import numpy as np
from annotated_types import Ge
from numpy.typing import ArrayLike

from schedgap.errors import ScaleError
from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.bounds.block_pricing import block_edges
from schedgap.models.elastic.bounds.container_prices import (
    ContainerPricer,
    ContainerPrices,
    ContainerRun,
    block_certificate,
    configurations,
    containers,
)
from schedgap.models.elastic.bounds.volume import contended_slots
from schedgap.models.elastic.modes import cluster
from schedgap.models.elastic.placement import Floats, Ints
from schedgap.models.elastic.time_windows import shortest
from schedgap.models.mechanisms.restricted_master import Priced, RestrictedMaster, prices_at_most
from schedgap.models.method import Budget
from schedgap.solvers.loops.column_generation import Columns
from schedgap.solvers.programs.builder import Entries

Block = Annotated[
    int | None,
    "slots that share a price; default: such that there are about 100 blocks",
    Ge(1),
]

BLOCKS = 100  # number of blocks if their length is not given
ROUGH = 5e-4  # relative gap at which the prices of one pool are a good enough start


OnProved = Callable[[float, Mapping[str, object]], None]
"""Receives each better bound of the minimisation, with its certificate."""

Prices = TypeVar("Prices", covariant=True)


@dataclass(frozen=True, slots=True, eq=False)
class LpResult(Generic[Prices]):
    """Result of column generation; in a batch problem values are minus the weight."""

    bound: float
    prices: Prices
    certificate: Mapping[str, object]
    objective: float | None
    rounds: int
    columns: int


class _Rows(Protocol[Prices]):
    """A restricted master whose dual values are prices that certify a bound."""

    master: RestrictedMaster[Any]

    def prices(self, duals: Floats) -> Prices: ...
    def certificate(self, duals: Floats) -> Mapping[str, object]: ...


def generate(
    rows: _Rows[Prices],
    pricing: Callable[[Floats], Priced | None],
    *,
    budget: Budget,
    gap: float,
    rounds: int | None = None,
    first: Floats | None = None,
    on_bound: OnProved | None = None,
) -> LpResult[Prices] | None:
    """Generate columns; return None if time runs out before the first bound.

    `pricing`: from dual values [i] to columns and a bound. `gap`, `rounds`: relative gap between
    master and bound, and number of rounds, at which it ends. `first` [i]: dual values to begin
    with. `on_bound`: receives each better bound with its certificate.
    """

    def proved(bound: float, duals: Floats) -> None:
        if on_bound is not None:
            on_bound(bound, rows.certificate(duals))

    solution = rows.master.solve(
        pricing,
        clock=budget.clock,
        seed=budget.seed,
        threads=budget.threads,
        on_bound=proved,
        duals=first,
        gap=gap,
        rounds=rounds,
    )
    if solution.bound is None or solution.duals is None:
        return None
    prices, proof = rows.prices(solution.duals), rows.certificate(solution.duals)
    result = solution.result
    columns = len(result.tags)
    return LpResult(solution.bound, prices, proof, result.objective, result.rounds, columns)


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


class _Master:
    """The restricted master: rows of jobs [j], of what runs use, and of kinds of servers [k, b].

    Runs use containers [i, b], or with `pooled` resources [r, b], and there are no rows of servers.
    """

    def __init__(self, instance: ElasticInstance, block: int, slots: int, *, pooled: bool) -> None:
        self.pricer = pricer = ContainerPricer(instance, pooled=pooled)
        self.block, self.slots, self.pooled = block, slots, pooled
        view, edges = cluster(pricer.instance), block_edges(block, slots)
        self._begin, self._end = edges[:-1], edges[1:]
        self._length = self._end - self._begin
        self.master: RestrictedMaster[object] = RestrictedMaster()
        lower = -np.inf if pricer.instance.is_batch else 1.0
        self.jobs = self.master.rows("job", len(pricer.instance.jobs), lower=lower, upper=1.0)
        demand = containers(view)
        if pooled:  # rows count mean servers
            mean = view.capacity.mean(axis=0)
            self._size = np.where(mean > 0, mean, 1.0)
            self._use = demand / self._size  # [i, r]
            self._capacity = np.outer(view.capacity.sum(axis=0) / self._size, self._length)
        else:
            self._use = np.eye(len(demand))  # [i, i]
            self._capacity = np.zeros((len(demand), len(self._length)))
        self.used = self.master.rows("used", self._capacity.shape, upper=self._capacity)
        kinds = 0 if pooled else len(pricer.number)
        self.servers = self.master.rows("server", (kinds, len(self._length)), upper=1.0)

    def prices(self, duals: Floats) -> ContainerPrices:
        """Return the prices of dual values [i]."""
        price = self._use @ prices_at_most(self.used, duals)
        return ContainerPrices(self.block, self.slots, price)

    def certificate(self, duals: Floats) -> Mapping[str, object]:
        """Return the certificate of dual values [i]."""
        pool = prices_at_most(self.used, duals) / self._size[:, None] if self.pooled else None
        return block_certificate(self.pricer.instance, self.prices(duals), pool)

    def paid(self, prices: ContainerPrices, duals: Floats) -> tuple[float, Ints]:
        """Return what all servers are worth, and the most valuable configurations [k, b]."""
        if self.pooled:
            worth = prices_at_most(self.used, duals) * self._capacity
            return float(worth.sum()), np.zeros(self.servers.shape, dtype=np.int64)
        values, chosen = self.pricer.best_configurations(prices)
        return self.pricer.supply(prices, values), chosen

    def duals(self, prices: ContainerPrices, least: Floats, values: Floats) -> Floats:
        """Return the dual values [i] of prices, least costs, and values of configurations."""
        server_values = values * self.pricer.number[:, None] * self._length
        return self.master.duals(
            {self.jobs: least, self.used: -prices.price, self.servers: -server_values}
        )

    def columns(self, runs: Sequence[ContainerRun], chosen: Ints) -> Columns:
        """Return the columns of runs, and of the configurations chosen [k, b].

        A run uses its containers for its slots in each block. A configuration supplies its
        containers on all servers of the kind for all slots of the block.
        """
        cost: list[float] = []
        entries: list[Entries] = []
        for run in runs:
            own, end = self.pricer.demands(run.job), self.pricer.end(run)
            inside = np.minimum(end - 1, self._end) - np.maximum(run.start - 1, self._begin)
            blocks = np.flatnonzero(inside > 0)
            usage = own.workers[run.row] * self._use[own.worker[run.row]]
            usage = usage + own.ps_count[run.row] * self._use[own.ps[run.row]]
            used = np.flatnonzero(usage)
            amounts = np.outer(usage[used], inside[blocks])
            at = self.used.positions[used][:, blocks]
            entry: list[tuple[ArrayLike, ArrayLike]] = [(run.job, 1.0), (at, amounts.ravel())]
            entries.append(entry)
            cost.append(run_cost(self.pricer.instance, run.job, end))
        for (k, b), c in np.ndenumerate(chosen):
            number, table = configurations(self.pricer.instance)[k]
            held = np.flatnonzero(table[c])
            supply = table[c][held] * (number * self._length[b])
            at = self.used.positions[held, b]
            entries.append([(at, -supply), (self.servers.positions[k, b], 1.0)])
            cost.append(0.0)
        return self.master.columns(cost, entries)


def solve_configurations(
    instance: ElasticInstance,
    *,
    block: int | None,
    budget: Budget,
    gap: float = 1e-6,
    on_bound: OnProved | None = None,
    on_start: Callable[[ContainerPrices], object] = lambda prices: None,
) -> LpResult[ContainerPrices] | None:
    """Solve the linear relaxation over runs and configurations, with prices constant on blocks.

    Returns None if time runs out before the first bound.

    `block`: slots that share a price; None: such that there are about a hundred blocks. `gap`:
    relative gap between master and bound at which it ends. `on_bound`: receives each better bound
    with its certificate. `on_start`: receives the prices of one pool.
    """
    slots = contended_slots(instance)
    block = block or -(-slots // BLOCKS)
    try:
        configurations(instance)
    except ScaleError:
        pooled = _Master(instance, block, slots, pooled=True)
        return _solve(pooled, None, budget, gap, on_bound)
    rough = _solve(_Master(instance, block, slots, pooled=True), None, budget, ROUGH, on_bound)
    if rough is None:
        return None
    on_start(rough.prices)
    whole = _Master(instance, block, slots, pooled=False)
    return _solve(whole, rough.prices, budget, gap, on_bound) or rough


def _solve(
    rows: _Master,
    start: ContainerPrices | None,
    budget: Budget,
    gap: float,
    on_bound: OnProved | None,
) -> LpResult[ContainerPrices] | None:
    """Solve one of the two programs.

    `start`: its cheapest runs and most valuable configurations are the first columns.
    """
    pricer, first = rows.pricer, None
    if start is not None:
        if (priced := pricer.price_jobs(start, budget.clock)) is None:
            return None
        least, runs = priced
        values, chosen = pricer.best_configurations(start)
        first = rows.duals(start, least, values)
        rows.master.begin(rows.columns([run for own in runs for run in own], chosen))
    if not pricer.instance.is_batch:
        costs = fallback_costs(pricer.instance, rows.slots)
        rows.master.begin(rows.master.artificial(rows.jobs, costs))

    def pricing(duals: Floats) -> Priced | None:
        prices = rows.prices(duals)
        if (priced := pricer.price_jobs(prices, budget.clock)) is None:
            return None
        least, runs = priced
        paid, chosen = rows.paid(prices, duals)
        improving = [run for own in runs for run in own if run.cost < duals[run.job] - 1e-9]
        columns = rows.columns(improving, chosen) if improving or chosen.size else None
        return Priced(columns, pricer.bound(least, paid))

    return generate(rows, pricing, budget=budget, gap=gap, first=first, on_bound=on_bound)
