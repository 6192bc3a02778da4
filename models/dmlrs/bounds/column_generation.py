"""R-DMLRS (8), (9) by columns, all machines as one (ours): whole bundles, no fluid workers.

A column is a slot of completion and, slot by slot, a number of workers in one mode. With machines
that are alike the program has as good a dual with one price for each slot and resource; with unlike
ones it is a relaxation. Pricing is (15) at full capacity by Algorithm 3 with progress rounded up on
a grid: no plan costs less, so any prices prove a bound, and the master's own value proves nothing.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from schedgap.instances.dmlrs import DmlrsInstance, arrays
from schedgap.instances.dmlrs.compiled import Floats
from schedgap.models.dmlrs.algorithms.dynamic_program import CheapestPlans, on_grid_up
from schedgap.models.dmlrs.slot_options import SlotOption, job_at_arrival
from schedgap.models.dmlrs.throughput import (
    bundles,
    first_completions,
    machine_limits,
    max_external_workers,
)
from schedgap.solvers.children.clock import Clock
from schedgap.solvers.loops.column_generation import (
    ColumnGenerationResult,
    Columns,
    Priced,
    generate_columns,
)
from schedgap.solvers.programs.arrays import LinearProgram

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True)
class JobColumn:
    """A way to run one job: the offers of its slots, by slot from 1."""

    job: int
    completion: int
    options: dict[int, SlotOption]


def cheapest(instance: DmlrsInstance, i: int, prices: Floats, grid: int) -> CheapestPlans:
    """Return Theta of job i at prices [t, r], progress rounded up, at full capacity."""
    job, job_bundles = job_at_arrival(instance, i), bundles(instance, i)
    rows: list[list[SlotOption]] = [[] for _ in range(instance.horizon - job.arrival + 1)]
    internal_limit = int(machine_limits(instance).internal[i].max())
    for internal, width in ((True, internal_limit), (False, max_external_workers(instance, i))):
        workers = job_bundles.workers[job_bundles.workers <= width].tolist()
        costs = prices[job.arrival - 1 :] @ job_bundles.demand[: len(workers)].T
        for row, slot_costs in zip(rows, costs.tolist(), strict=True):
            row += [
                SlotOption(cost, n, internal, {})
                for n, cost in zip(workers, slot_costs, strict=True)
            ]
    return on_grid_up(job, rows, grid)


def payoff(instance: DmlrsInstance, i: int, cost: Floats) -> float:
    """Return at least lambda_i, (11), of the costs [k] of completing in slot a + k."""
    view, T = arrays(instance), instance.horizon
    lead = first_completions(instance)[i] - int(view.arrival[i])
    utility = view.utility[i, lead : T - int(view.arrival[i]) + 1]
    lower = cost[lead:] * (1 - 4 * _EPS * (T + len(instance.resources) + 8))
    return float((utility - lower).max(initial=0.0))


def grid_bound(instance: DmlrsInstance, prices: Floats, grid: int) -> float:
    """Return the bound on the optimum that prices [t, r] prove, with progress in `grid` parts."""
    payoffs = []
    for i, first in enumerate(first_completions(instance)):
        if first <= instance.horizon:
            payoffs.append(payoff(instance, i, cheapest(instance, i, prices, grid).cost))
    return _dual_value(instance, prices, payoffs)


def _dual_value(instance: DmlrsInstance, prices: Floats, payoffs: list[float]) -> float:
    capacity = arrays(instance).capacity_milli.sum(axis=0) / 1000
    return math.fsum([*(prices * capacity).ravel().tolist(), *payoffs]) * (1 + 8 * _EPS)


def generate(
    instance: DmlrsInstance,
    *,
    grid: int,
    clock: Clock,
    prices: Floats | None = None,
    seed: int = 0,
    threads: int = 1,
    on_bound: Callable[[float, Floats], None] | None = None,
) -> ColumnGenerationResult:
    """Solve the master; its `bound` and `prices` are those of minus the sum of utilities.

    Parameters
    ----------
    grid : int
        Parts of the work, Q >= 1.
    prices : array [t, r] or None
        Good prices to begin with.
    on_bound : callable or None
        Called with each better bound on the sum of utilities, and its prices [t, r].
    """
    view, T, R = arrays(instance), instance.horizon, len(instance.resources)
    jobs = [i for i, first in enumerate(first_completions(instance)) if first <= T]
    job_row = {i: T * R + k for k, i in enumerate(jobs)}
    capacity = np.tile(view.capacity_milli.sum(axis=0) / 1000, T)
    row_count = T * R + len(jobs)
    master = LinearProgram(
        np.zeros(1),
        np.zeros(1),
        np.zeros(1),
        sparse.csr_array((row_count, 1)),
        np.full(row_count, -np.inf),
        np.concatenate([capacity, np.ones(len(jobs))]),
    )

    def entries(column: JobColumn) -> Floats:
        plans, job_bundles = np.zeros(row_count), bundles(instance, column.job)
        plans[job_row[column.job]] = 1
        for t, option in column.options.items():
            k = int(np.searchsorted(job_bundles.workers, option.workers))
            plans[(t - 1) * R : t * R] = job_bundles.demand[k]
        return plans

    best = [-math.inf]

    def pricing(duals: Floats) -> Priced | None:
        prices_now = resource_prices(instance, duals)
        columns: list[JobColumn] = []
        payoffs = []
        for i in jobs:
            if clock.expired():
                return None
            plans = cheapest(instance, i, prices_now, grid)
            payoffs.append(payoff(instance, i, plans.cost))
            arrival = int(view.arrival[i])
            lead = first_completions(instance)[i] - arrival
            for k, offsets in plans.plans.items():
                # a coarse grid may call work done too early: it completes at `lead` all the same
                f = max(k, lead)
                if view.utility[i, f] - plans.cost[k] > 1e-9 - duals[job_row[i]]:
                    columns.append(
                        JobColumn(i, arrival + f, {arrival + s: o for s, o in offsets.items()})
                    )
        bound = -_dual_value(instance, prices_now, payoffs)
        if on_bound is not None and bound > best[0]:
            best[0] = bound
            on_bound(-bound, prices_now)
        if not columns:
            return Priced(None, bound)
        costs = [-float(view.utility[c.job, c.completion - view.arrival[c.job]]) for c in columns]
        matrix: Any = np.column_stack([entries(column) for column in columns])
        return Priced(Columns(costs, matrix, columns), bound)

    start = None
    if prices is not None:
        start = np.concatenate([-prices.ravel(), np.zeros(len(jobs))])
    return generate_columns(
        master,
        pricing,
        clock=clock,
        prices=start,
        seed=seed,
        threads=threads,
    )


def resource_prices(instance: DmlrsInstance, duals: Floats) -> Floats:
    """Return p [t, r] of the master's duals [row]."""
    shape = instance.horizon, len(instance.resources)
    prices: Floats = np.maximum(0.0, -np.asarray(duals)[: shape[0] * shape[1]]).reshape(shape)
    return prices
