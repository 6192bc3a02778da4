"""The linear program behind `configuration-lp`, by column generation.

Rows are the jobs; for each container (a worker or PS of one type) and block of slots, usage less
supply <= 0; and for each kind of server and block, configurations chosen <= 1. A column is a run of
a job, or a configuration that all servers of a kind hold throughout a block.

References
----------
P. C. Gilmore, R. E. Gomory, "A linear programming approach to the cutting-stock problem",
Operations Research 9 (1961): configurations as columns.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Ge
from numpy.typing import ArrayLike

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.bounds.block_pricing import block_edges
from schedgap.models.elastic.bounds.coarse_lp import fallback_costs, run_cost, solve_coarse
from schedgap.models.elastic.bounds.coarse_prices import BlockPrices
from schedgap.models.elastic.bounds.configurations import containers
from schedgap.models.elastic.bounds.container_prices import (
    ContainerPricer,
    ContainerPrices,
    ContainerRun,
    configuration_certificate,
    container_demands,
)
from schedgap.models.elastic.bounds.schedule_lp import OnProved
from schedgap.models.elastic.modes import cluster
from schedgap.models.elastic.placement import Floats, Ints
from schedgap.models.mechanisms.restricted_master import Priced, RestrictedMaster, prices_at_most
from schedgap.models.method import Budget
from schedgap.solvers.loops.column_generation import Columns
from schedgap.solvers.programs.builder import Entries

Block = Annotated[
    int | None,
    "slots that share a price; default: such that there are about 100 blocks",
    Ge(1),
]

ROUGH = 1e-2  # relative gap at which the prices of one pool are a good enough start


@dataclass(frozen=True, slots=True, eq=False)
class ConfigurationLpResult:
    """Result of column generation; in a batch problem values are minus the weight.

    `rough` are the prices of one pool of servers with which it started. They prove a weaker bound,
    the only one when time runs out early.
    """

    bound: float | None
    prices: ContainerPrices | None
    rough: BlockPrices | None
    objective: float | None
    rounds: int
    columns: int


class _ConfigurationMaster:
    """The restricted master: rows of jobs [j], containers [i, b], and kinds of servers [k, b]."""

    def __init__(self, pricer: ContainerPricer, block: int, slots: int, count: int) -> None:
        self.pricer, self.block, self.slots = pricer, block, slots
        edges = block_edges(block, slots)
        self._begin, self._end = edges[:-1], edges[1:]
        self._length = self._end - self._begin
        blocks = len(self._begin)
        self.master: RestrictedMaster[object] = RestrictedMaster()
        lower = -np.inf if pricer.instance.is_batch else 1.0
        self.jobs = self.master.rows("job", len(pricer.instance.jobs), lower=lower, upper=1.0)
        self.containers = self.master.rows("container", (count, blocks), upper=0.0)
        self.servers = self.master.rows("server", (len(pricer.number), blocks), upper=1.0)
        self._container_at = self.containers.positions
        self._server_at = self.servers.positions

    def prices(self, duals: Floats) -> ContainerPrices:
        """Return the prices of dual values [i]."""
        return ContainerPrices(self.block, self.slots, prices_at_most(self.containers, duals))

    def duals(self, prices: ContainerPrices, least: Floats, values: Floats) -> Floats:
        """Return the dual values [i] of prices, least costs, and values of configurations."""
        server_values = values * self.pricer.number[:, None] * self._length
        return self.master.duals(
            {self.jobs: least, self.containers: -prices.price, self.servers: -server_values}
        )

    def columns(self, runs: Sequence[ContainerRun], chosen: Ints) -> Columns:
        """Return the columns of runs, and of the configurations chosen [k, b].

        A run uses its containers for its slots in each block. A configuration supplies its
        containers on all servers of the kind for all slots of the block.
        """
        cost: list[float] = []
        entries: list[Entries] = []
        for run in runs:
            own, end = container_demands(self.pricer.instance, run.job), self.pricer.end(run)
            inside = np.minimum(end - 1, self._end) - np.maximum(run.start - 1, self._begin)
            blocks = np.flatnonzero(inside > 0)
            entry: list[tuple[ArrayLike, ArrayLike]] = [(run.job, 1.0)]
            for kind, count in ((own.worker, own.workers), (own.ps, own.ps_count)):
                if count[run.row]:
                    at = self._container_at[int(kind[run.row]), blocks]
                    entry.append((at, int(count[run.row]) * inside[blocks]))
            entries.append(entry)
            cost.append(run_cost(self.pricer.instance, run.job, end))
        for (k, b), c in np.ndenumerate(chosen):
            configuration = self.pricer.configurations[k][c]
            held = np.flatnonzero(configuration)
            supply = configuration[held] * (self.pricer.number[k] * self._length[b])
            entries.append([(self._container_at[held, b], -supply), (self._server_at[k, b], 1.0)])
            cost.append(0.0)
        return self.master.columns(cost, entries)


def solve_configurations(
    instance: ElasticInstance,
    *,
    block: int | None,
    budget: Budget,
    gap: float = 1e-6,
    on_bound: OnProved | None = None,
) -> ConfigurationLpResult:
    """Solve the linear relaxation over runs and configurations, with prices constant on blocks.

    `block`: slots that share a price; None: such that there are about a hundred blocks. `gap`:
    relative gap between master and bound at which it ends. `on_bound`: receives each better bound
    with its certificate.

    Raises
    ------
    ScaleError
        When a server has too many configurations.

    Notes
    -----
    It starts from the prices of the relaxation with one pool of servers: the price of a container
    is that of its demand.
    """
    pricer, demand = ContainerPricer(instance), containers(cluster(instance))
    rough = solve_coarse(instance, block=block, budget=budget, on_bound=on_bound, gap=ROUGH)
    if rough.prices is None:
        return ConfigurationLpResult(None, None, None, None, rough.rounds, 0)
    start = ContainerPrices(rough.prices.block, rough.prices.slots, demand @ rough.prices.price[0])
    rows = _ConfigurationMaster(pricer, start.block, start.slots, len(demand))
    # The first columns: cheapest runs and most valuable configurations at these prices.
    if (priced := pricer.price_jobs(start, budget.clock)) is None:
        return ConfigurationLpResult(rough.bound, None, rough.prices, None, rough.rounds, 0)
    least, runs = priced
    values, chosen = pricer.best_configurations(start)
    rows.master.begin(rows.columns([run for own in runs for run in own], chosen))
    if not instance.is_batch:
        costs = fallback_costs(instance, rows.slots)
        rows.master.begin(rows.master.artificial(rows.jobs, costs))

    def pricing(duals: Floats) -> Priced | None:
        prices = rows.prices(duals)
        if (priced := pricer.price_jobs(prices, budget.clock)) is None:
            return None
        least, runs = priced
        values, chosen = pricer.best_configurations(prices)
        improving = [run for own in runs for run in own if run.cost < duals[run.job] - 1e-9]
        return Priced(rows.columns(improving, chosen), pricer.bound(prices, least, values))

    def proved(bound: float, duals: Floats) -> None:
        if on_bound is not None:
            on_bound(bound, configuration_certificate(rows.prices(duals)))

    solution = rows.master.solve(
        pricing,
        clock=budget.clock,
        seed=budget.seed,
        threads=budget.threads,
        on_bound=proved,
        duals=rows.duals(start, least, values),
        gap=gap,
    )
    return ConfigurationLpResult(
        bound=rough.bound if solution.bound is None else solution.bound,
        prices=None if solution.duals is None else rows.prices(solution.duals),
        rough=rough.prices,
        objective=solution.result.objective,
        rounds=solution.result.rounds,
        columns=len(solution.result.tags),
    )
