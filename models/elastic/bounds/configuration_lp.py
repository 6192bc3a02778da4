"""The linear program behind `configuration-lp`, by column generation.

Rows are the jobs; for each container (a worker or PS of one type) and block of slots, usage less
supply <= 0; and for each kind of server and block, configurations chosen <= 1. A column is a run of
a job, or a configuration that all servers of a kind hold throughout a block. A row of a block is
the sum of the rows of its slots, so prices are constant in each block. Prices of long blocks are
found soon, and are the first ones of the program with shorter blocks.

References
----------
P. C. Gilmore, R. E. Gomory, "A linear programming approach to the cutting-stock problem",
Operations Research 9 (1961): configurations as columns.
F. Glover, "Surrogate constraint duality in mathematical programming", Operations Research (1975):
sums of rows as a relaxation.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
from annotated_types import Ge
from numpy.typing import ArrayLike

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
from schedgap.models.elastic.modes import cluster, mode_table
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
LONGER = (10, 4)  # blocks so many times as long come first
ROUGH = 5e-3  # relative gap at which their prices are a good enough start


OnProved = Callable[[float, Mapping[str, object]], None]
"""Receives each better bound of the minimisation, with its certificate."""


class LpResult(NamedTuple):
    """Result of column generation; in a batch problem values are minus the weight."""

    bound: float
    prices: Any
    certificate: Mapping[str, object]
    objective: float | None
    rounds: int
    columns: int


def generate(
    rows: Any,
    pricing: Callable[[Floats], Priced | None],
    *,
    budget: Budget,
    gap: float,
    rounds: int | None = None,
    first: Floats | None = None,
    on_bound: OnProved | None = None,
) -> LpResult | None:
    """Generate columns; return None if time runs out before the first bound.

    `rows`: has the `master`, and `prices` and `certificate` of its dual values [i].
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
    """The restricted master: rows of jobs [j], containers [i, b] and kinds of servers [k, b]."""

    def __init__(self, instance: ElasticInstance, block: int, slots: int) -> None:
        self.pricer = pricer = ContainerPricer(instance)
        self.block, self.slots = block, slots
        edges = block_edges(block, slots)
        self._begin, self._end = edges[:-1], edges[1:]
        self._length = self._end - self._begin
        self.master: RestrictedMaster[object] = RestrictedMaster()
        lower = -np.inf if pricer.instance.is_batch else 1.0
        self.jobs = self.master.rows("job", len(pricer.instance.jobs), lower=lower, upper=1.0)
        shape = len(containers(cluster(instance))), len(self._length)
        self.used = self.master.rows("used", shape, upper=0.0)
        kinds = len(pricer.number), len(self._length)
        self.servers = self.master.rows("server", kinds, upper=1.0)

    def prices(self, duals: Floats) -> ContainerPrices:
        """Return the prices of dual values [i]."""
        return ContainerPrices(self.block, self.slots, prices_at_most(self.used, duals))

    def certificate(self, duals: Floats) -> Mapping[str, object]:
        """Return the certificate of dual values [i]."""
        return block_certificate(self.prices(duals))

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
            own, end = mode_table(self.pricer.instance, run.job), self.pricer.end(run)
            inside = np.minimum(end - 1, self._end) - np.maximum(run.start - 1, self._begin)
            blocks = np.flatnonzero(inside > 0)
            counts = np.array([own.workers[run.row], own.ps[run.row]])
            held = np.array([own.worker_type[run.row], self.pricer.types + own.ps_type[run.row]])
            at = self.used.positions[held[counts > 0]][:, blocks]
            amounts = np.outer(counts[counts > 0], inside[blocks])
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
) -> LpResult | None:
    """Solve the linear relaxation over runs and configurations, with prices constant on blocks.

    Returns None if time runs out before the first bound.

    `block`: slots that share a price; None: such that there are about a hundred blocks. `gap`:
    relative gap between master and bound at which it ends. `on_bound`: receives each better bound
    with its certificate. `on_start`: receives the first prices.
    """
    slots = contended_slots(instance)
    block, best = block or -(-slots // BLOCKS), None
    for times in (*LONGER, 1):
        rows = _Master(instance, times * block, slots)
        found = _solve(rows, best and best.prices, budget, gap if times == 1 else ROUGH, on_bound)
        if found is None:
            break
        if best is None:
            on_start(found.prices)
        if best is None or found.bound > best.bound:
            best = found
    return best


def _solve(
    rows: _Master,
    start: ContainerPrices | None,
    budget: Budget,
    gap: float,
    on_bound: OnProved | None,
) -> LpResult | None:
    """Solve the program of one length of blocks.

    `start`: prices, of which the cheapest runs and most valuable configurations are the first
    columns.
    """
    pricer, first = rows.pricer, None
    if start is not None:
        start = start.by_blocks(rows.block)
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
        values, chosen = pricer.best_configurations(prices)
        improving = [run for own in runs for run in own if run.cost < duals[run.job] - 1e-9]
        bound = pricer.bound(least, pricer.supply(prices, values))
        return Priced(rows.columns(improving, chosen), bound)

    return generate(rows, pricing, budget=budget, gap=gap, first=first, on_bound=on_bound)
