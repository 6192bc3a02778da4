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
from schedgap.models.dmlrs.algorithms.dynamic_program import Cheapest, on_grid_up
from schedgap.models.dmlrs.offers import Offer, arrived
from schedgap.models.dmlrs.throughput import bundles, external_width, first_completions, widths
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
class Column:
    """A way to run one job: the offers of its slots, by slot from 1."""

    job: int
    completion: int
    offers: dict[int, Offer]


def cheapest(instance: DmlrsInstance, i: int, prices: Floats, grid: int) -> Cheapest:
    """Return Theta of job i at prices [t, r], progress rounded up, at full capacity."""
    job, some = arrived(instance, i), bundles(instance, i)
    rows: list[list[Offer]] = [[] for _ in range(instance.horizon - job.arrival + 1)]
    inside = int(widths(instance).internal[i].max())
    for internal, width in ((True, inside), (False, external_width(instance, i))):
        workers = some.workers[some.workers <= width].tolist()
        costs = prices[job.arrival - 1 :] @ some.demand[: len(workers)].T
        for row, own in zip(rows, costs.tolist(), strict=True):
            row += [Offer(cost, n, internal, {}) for n, cost in zip(workers, own, strict=True)]
    return on_grid_up(job, rows, grid)


def payoff(instance: DmlrsInstance, i: int, cost: Floats) -> float:
    """Return at least lambda_i, (11), of the costs [k] of completing in slot a + k."""
    view, T = arrays(instance), instance.horizon
    lead = first_completions(instance)[i] - int(view.arrival[i])
    worth = view.utility[i, lead : T - int(view.arrival[i]) + 1]
    lower = cost[lead:] * (1 - 4 * _EPS * (T + len(instance.resources) + 8))
    return float((worth - lower).max(initial=0.0))


def grid_bound(instance: DmlrsInstance, prices: Floats, grid: int) -> float:
    """Return the bound on the optimum that prices [t, r] prove, with progress in `grid` parts."""
    found = []
    for i, first in enumerate(first_completions(instance)):
        if first <= instance.horizon:
            found.append(payoff(instance, i, cheapest(instance, i, prices, grid).cost))
    return _total(instance, prices, found)


def _total(instance: DmlrsInstance, prices: Floats, payoffs: list[float]) -> float:
    rooms = arrays(instance).capacity_milli.sum(axis=0) / 1000
    return math.fsum([*(prices * rooms).ravel().tolist(), *payoffs]) * (1 + 8 * _EPS)


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
    place = {i: T * R + k for k, i in enumerate(jobs)}
    rooms = np.tile(view.capacity_milli.sum(axis=0) / 1000, T)
    size = T * R + len(jobs)
    master = LinearProgram(
        np.zeros(1),
        np.zeros(1),
        np.zeros(1),
        sparse.csr_array((size, 1)),
        np.full(size, -np.inf),
        np.concatenate([rooms, np.ones(len(jobs))]),
    )

    def entries(column: Column) -> Floats:
        found, own = np.zeros(size), bundles(instance, column.job)
        found[place[column.job]] = 1
        for t, offer in column.offers.items():
            k = int(np.searchsorted(own.workers, offer.workers))
            found[(t - 1) * R : t * R] = own.demand[k]
        return found

    best = [-math.inf]

    def pricing(duals: Floats) -> Priced | None:
        at = prices_of(instance, duals)
        fresh: list[Column] = []
        payoffs = []
        for i in jobs:
            if clock.expired():
                return None
            found = cheapest(instance, i, at, grid)
            payoffs.append(payoff(instance, i, found.cost))
            arrival = int(view.arrival[i])
            lead = first_completions(instance)[i] - arrival
            for k, way in found.ways.items():
                # a coarse grid may call work done too early: it completes at `lead` all the same
                f = max(k, lead)
                if view.utility[i, f] - found.cost[k] > 1e-9 - duals[place[i]]:
                    fresh.append(Column(i, arrival + f, {arrival + s: o for s, o in way.items()}))
        bound = -_total(instance, at, payoffs)
        if on_bound is not None and bound > best[0]:
            best[0] = bound
            on_bound(-bound, at)
        if not fresh:
            return Priced(None, bound)
        costs = [-float(view.utility[c.job, c.completion - view.arrival[c.job]]) for c in fresh]
        matrix: Any = np.column_stack([entries(column) for column in fresh])
        return Priced(Columns(costs, matrix, fresh), bound)

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


def prices_of(instance: DmlrsInstance, duals: Floats) -> Floats:
    """Return p [t, r] of the master's duals [row]."""
    shape = instance.horizon, len(instance.resources)
    found: Floats = np.maximum(0.0, -np.asarray(duals)[: shape[0] * shape[1]]).reshape(shape)
    return found
