"""The linear program behind `configuration-lp`, by column generation.

Rows are the jobs, what is taken and offered of each container in each block of slots, and the
servers of each kind in each block. A column is a run of a job, or a configuration of all servers of
a kind throughout a block.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from schedgap.instances.elastic import ElasticInstance
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
from schedgap.solvers.children.clock import Clock
from schedgap.solvers.loops.column_generation import Columns, Priced, generate_columns
from schedgap.solvers.programs.arrays import LinearProgram

ROUGH = 1e-2  # relative gap at which the prices of one pool are good enough to start from


@dataclass(frozen=True, slots=True, eq=False)
class ConfigurationLpResult:
    """Where column generation stopped; of a batch problem values are minus the weight.

    `rough`: the prices of one pool of servers with which it began; they prove less, but have a
    bound where there was no time for more.
    """

    bound: float | None
    prices: ContainerPrices | None
    rough: BlockPrices | None
    objective: float | None
    rounds: int
    columns: int


class _ContainerRows:
    """Rows of the master: jobs [j], containers by block [i, b], kinds of server by block [k, b]."""

    def __init__(self, pricer: ContainerPricer, block: int, slots: int, count: int) -> None:
        self.pricer, self.block, self.slots = pricer, block, slots
        self.jobs, self.containers = len(pricer.instance.jobs), count
        edges = ContainerPrices(block, slots, np.zeros((0, 0))).edges()
        self._begin, self._end = edges[:-1], edges[1:]
        self.blocks = len(self._begin)
        self._first = self.jobs + count * self.blocks
        self.rows = self._first + len(pricer.number) * self.blocks
        once, none = np.ones(self.jobs), np.full(self.rows - self.jobs, -np.inf)
        at_least = np.full(self.jobs, -np.inf) if pricer.instance.is_batch else once
        self.row_lower = np.concatenate([at_least, none])
        cells = np.zeros(self._first - self.jobs)
        self.row_upper = np.concatenate([once, cells, np.ones(self.rows - self._first)])

    def prices(self, duals: Floats) -> ContainerPrices:
        """Return the prices behind duals [i]; those of the wrong sign count as 0."""
        cells = np.maximum(0.0, -duals[self.jobs : self._first]) + 0.0  # no -0.0
        return ContainerPrices(self.block, self.slots, cells.reshape(-1, self.blocks))

    def duals(self, prices: ContainerPrices, least: Floats, worth: Floats) -> Floats:
        """Return the duals [i] of given prices."""
        each = worth * self.pricer.number[:, None] * (self._end - self._begin)
        return np.concatenate([least, -prices.price.ravel(), -each.ravel()])

    def runs(self, runs: list[ContainerRun]) -> tuple[Floats, Any]:
        """Return the costs of runs, and their columns, sparse [i, l]."""
        rows, entries, cost = [], [], []
        for run in runs:
            own, end = container_demands(self.pricer.instance, run.job), self.pricer.end(run)
            inside = np.minimum(end - 1, self._end) - np.maximum(run.start - 1, self._begin)
            blocks = np.flatnonzero(inside > 0)
            taken = [(own.worker, own.workers), (own.ps, own.pss)]
            held = [(int(kind[run.row]), int(count[run.row])) for kind, count in taken]
            held = [(i, count) for i, count in held if count]
            at = [self.jobs + i * self.blocks + blocks for i, _ in held]
            rows.append(np.concatenate([[run.job], *at]))
            entries.append(np.concatenate([[1.0], *(n * inside[blocks] for _, n in held)]))
            cost.append(run_cost(self.pricer.instance, run.job, end))
        return np.array(cost), self._matrix(rows, entries)

    def offers(self, chosen: Ints) -> Any:
        """Return the columns of configurations chosen [k, b]; sparse [i, l]."""
        rows, entries = [], []
        for (k, b), one in np.ndenumerate(chosen):
            held = self.pricer.configurations[k][one]
            some = np.flatnonzero(held)
            size = self.pricer.number[k] * (self._end[b] - self._begin[b])
            server = self._first + k * self.blocks + b
            rows.append(np.append(self.jobs + some * self.blocks + b, server))
            entries.append(np.append(-held[some] * size, 1.0))
        return self._matrix(rows, entries)

    def _matrix(self, rows: list[Any], entries: list[Any]) -> Any:
        if not rows:
            return sparse.csc_array((self.rows, 0))
        starts = np.cumsum([0, *map(len, rows)])
        parts = (np.concatenate(entries), np.concatenate(rows), starts)
        return sparse.csc_array(parts, shape=(self.rows, len(rows)))


def solve_configurations(
    instance: ElasticInstance,
    *,
    block: int | None,
    clock: Clock,
    seed: int = 0,
    threads: int = 1,
    gap: float = 1e-6,
    on_bound: OnProved | None = None,
) -> ConfigurationLpResult:
    """Solve the linear relaxation over needs and configurations, prices constant on blocks.

    Parameters
    ----------
    block : int or None
        Slots that share a price; None: for about a hundred blocks.
    gap : float
        Relative gap between master and bound at which it ends.

    Raises
    ------
    ScaleError
        When a server has too many configurations.

    Notes
    -----
    It begins with the prices of one pool of servers: a container costs what it asks for.
    """
    pricer, demand = ContainerPricer(instance), containers(cluster(instance))
    rough = solve_coarse(
        instance, block=block, clock=clock, seed=seed, threads=threads, on_bound=on_bound, gap=ROUGH
    )
    if rough.prices is None:
        return ConfigurationLpResult(None, None, None, None, rough.rounds, 0)
    start = ContainerPrices(rough.prices.block, rough.prices.slots, demand @ rough.prices.price[0])
    layout = _ContainerRows(pricer, start.block, start.slots, len(demand))
    if (priced := pricer.wanted(start, clock)) is None:
        return ConfigurationLpResult(rough.bound, None, rough.prices, None, rough.rounds, 0)
    least, wanted = priced
    worth, chosen = pricer.offered(start)
    costs, known = layout.runs([run for runs in wanted for run in runs])
    own = [(costs, known), (np.zeros(worth.size), layout.offers(chosen))]
    if not instance.is_batch:
        late = sparse.eye_array(layout.rows, layout.jobs, format="csc")
        own.append((fallback_costs(instance, layout.slots), late))
    cost = np.concatenate([part for part, _ in own])
    master = LinearProgram.nonnegative(
        cost,
        sparse.hstack([part for _, part in own], format="csr"),
        row_lower=layout.row_lower,
        row_upper=layout.row_upper,
    )

    latest = [start]

    def pricing(duals: Floats) -> Priced | None:
        prices = layout.prices(duals)
        latest[:] = [prices]
        if (priced := pricer.wanted(prices, clock)) is None:
            return None
        least, wanted = priced
        worth, chosen = pricer.offered(prices)
        fresh = [run for runs in wanted for run in runs if run.cost < duals[run.job] - 1e-9]
        costs, runs = layout.runs(fresh)
        offers = layout.offers(chosen)
        cost = np.concatenate([costs, np.zeros(offers.shape[1])])
        columns = Columns(cost, sparse.hstack([runs, offers], format="csc"), [None] * len(cost))
        return Priced(columns, pricer.bound(prices, least, worth))

    def proved(bound: float) -> None:
        if on_bound is not None:
            on_bound(bound, configuration_certificate(latest[0]))

    result = generate_columns(
        master, pricing, clock=clock, seed=seed, threads=threads, on_bound=proved,
        prices=layout.duals(start, least, worth), gap=gap,
    )  # fmt: skip
    return ConfigurationLpResult(
        bound=rough.bound if result.bound is None else result.bound,
        prices=None if result.prices is None else layout.prices(result.prices),
        rough=rough.prices,
        objective=result.objective,
        rounds=result.rounds,
        columns=len(result.tags),
    )
