"""The linear program behind `configuration-lp`, by column generation.

Each job has a row. Each container (a worker or PS of one type) has a row in each block of slots:
usage less supply <= 0. Each kind of server has a row in each block: configurations chosen <= 1. A
column is a run of a job, or a configuration that all servers of a kind hold throughout a block. A
row of a block is the sum of the rows of its slots, so prices are constant in each block. Few blocks
are solved soon: their prices and the columns of their optimum are the first ones of the program
with more blocks. Where the weighted completion is minimised, many short jobs run early, and long
ones late. So the lengths of few blocks grow geometrically.

References
----------
P. C. Gilmore, R. E. Gomory, "A linear programming approach to the cutting-stock problem",
Operations Research 9 (1961): configurations as columns.
F. Glover, "Surrogate constraint duality in mathematical programming", Operations Research (1975):
sums of rows as a relaxation.
L. A. Hall, A. S. Schulz, D. B. Shmoys, J. Wein, "Scheduling to minimize average completion time:
off-line and on-line approximation algorithms", Mathematics of Operations Research 22 (1997):
intervals of geometric lengths.
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
from schedgap.models.elastic.bounds.contention import contended_slots
from schedgap.models.elastic.modes import cluster, mode_table
from schedgap.models.elastic.placement import Floats, Ints
from schedgap.models.elastic.time_windows import shortest
from schedgap.models.mechanisms.restricted_master import (
    MasterSolution,
    Priced,
    RestrictedMaster,
    prices_at_most,
)
from schedgap.models.method import Budget
from schedgap.solvers.loops.column_generation import Columns
from schedgap.solvers.programs.builder import Entries

Block = Annotated[
    int | None,
    "slots that share a price; default: such that there are about 200 blocks",
    Ge(1),
]

BLOCKS = 200  # number of blocks if their length is not given
FEWER = (10, 20, 40, 80)  # so many blocks come first
GROWTH = 15  # ratio of the last to the first length of these blocks, about
ROUGH = 5e-3  # relative gap at which their prices are a good enough start


OnProved = Callable[[float, Mapping[str, object]], None]
"""Receives each better bound of the minimisation, with its certificate."""


class LpResult(NamedTuple):
    """Result of column generation; in a batch problem values are minus the weight."""

    bound: float
    prices: Any
    certificate: Mapping[str, object]
    solution: MasterSolution[Any]


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
    duals = solution.duals
    return LpResult(solution.bound, rows.prices(duals), rows.certificate(duals), solution)


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


_Tag = ContainerRun | tuple[int, int, int]  # or configuration: kind k, its index c, block b


class _Master:
    """The restricted master: rows of jobs [j], containers [i, b] and kinds of servers [k, b]."""

    def __init__(self, pricer: ContainerPricer, edges: Ints) -> None:
        self.pricer, instance = pricer, pricer.instance
        self.edges, self._begin, self._end = edges, edges[:-1], edges[1:]
        self._length = self._end - self._begin
        self.master: RestrictedMaster[_Tag] = RestrictedMaster()
        lower = -np.inf if pricer.instance.is_batch else 1.0
        self.jobs = self.master.rows("job", len(pricer.instance.jobs), lower=lower, upper=1.0)
        shape = len(containers(cluster(instance))), len(self._length)
        self.used = self.master.rows("used", shape, upper=0.0)
        kinds = len(pricer.number), len(self._length)
        self.servers = self.master.rows("server", kinds, upper=1.0)

    def prices(self, duals: Floats) -> ContainerPrices:
        """Return the prices of dual values [i]."""
        return ContainerPrices(self.edges, prices_at_most(self.used, duals))

    def certificate(self, duals: Floats) -> Mapping[str, object]:
        """Return the certificate of dual values [i]."""
        return block_certificate(self.prices(duals))

    def duals(self, prices: ContainerPrices, least: Floats, values: Floats) -> Floats:
        """Return the dual values [i] of prices, least costs, and values of configurations."""
        server_values = values * self.pricer.number[:, None] * self._length
        return self.master.duals(
            {self.jobs: least, self.used: -prices.price, self.servers: -server_values}
        )

    def columns(
        self, runs: Sequence[ContainerRun], chosen: Sequence[tuple[int, int, int]]
    ) -> Columns:
        """Return the columns of runs, and of the configurations chosen (k, c, b).

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
        for k, c, b in chosen:
            number, table = configurations(self.pricer.instance)[k]
            held = np.flatnonzero(table[c])
            supply = table[c][held] * (number * self._length[b])
            at = self.used.positions[held, b]
            entries.append([(at, -supply), (self.servers.positions[k, b], 1.0)])
            cost.append(0.0)
        return self.master.columns(cost, entries, [*runs, *chosen])


def solve_configurations(
    instance: ElasticInstance,
    *,
    block: int | None,
    budget: Budget,
    pricer: ContainerPricer | None = None,
    gap: float = 1e-6,
    on_bound: OnProved | None = None,
    on_start: Callable[[ContainerPrices], object] = lambda prices: None,
) -> LpResult | None:
    """Solve the linear relaxation over runs and configurations, with prices constant on blocks.

    Returns None if time runs out before the first bound.

    `block`: slots that share a price; None: such that there are about two hundred blocks. `pricer`:
    the pricing problem, for example compiled. `gap`: relative gap between master and bound at which
    it ends. `on_bound`: receives each better bound
    with its certificate. `on_start`: receives the first prices.
    """
    best, levels = None, _levels(contended_slots(instance), block)
    for edges in levels:
        rows = _Master(pricer or ContainerPricer(instance), edges)
        found = _solve(rows, best, budget, gap if edges is levels[-1] else ROUGH, on_bound)
        if found is None:
            break
        if best is None:
            on_start(found.prices)
        if best is None or found.bound > best.bound:
            best = found
    return best


def _levels(slots: int, block: int | None) -> list[Ints]:
    """Return edges of blocks: few of growing lengths, then more, then all of one length.

    `block`: this length, of which all others are multiples; None: a two-hundredth of the slots.
    """
    every = block_edges(block or -(-slots // BLOCKS), slots)
    grown = [(GROWTH ** (np.arange(n) / n) - 1) / (GROWTH - 1) for n in FEWER]
    starts = [np.unique((share * (len(every) - 1)).astype(int)) for share in grown]
    few = [np.append(every[own], slots) for own in starts if 2 * len(own) < len(every)]
    return [*few, every]


def _solve(
    rows: _Master,
    start: LpResult | None,
    budget: Budget,
    gap: float,
    on_bound: OnProved | None,
) -> LpResult | None:
    """Solve the program of some blocks.

    `start`: result for fewer blocks. The columns of its optimum, the cheapest runs and the most
    valuable configurations at its prices are the first columns.
    """
    pricer, first = rows.pricer, None

    if start is not None:
        prices = start.prices.by_blocks(rows.edges)
        if (priced := pricer.price_jobs(prices, budget.clock)) is None:
            return None
        least, runs = priced
        values, chosen = pricer.best_configurations(prices)
        first = rows.duals(prices, least, values)
        old = start.prices.block_of(rows.edges[:-1])
        for tag, _ in start.solution.support:
            if isinstance(tag, ContainerRun):
                runs.append([tag])
            else:
                chosen += [(tag[0], tag[1], int(b)) for b in np.flatnonzero(old == tag[2])]
        rows.master.begin(rows.columns([run for own in runs for run in own], chosen))
    if not pricer.instance.is_batch:
        costs = fallback_costs(pricer.instance, int(rows.edges[-1]))
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
