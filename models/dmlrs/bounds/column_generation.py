"""R-DMLRS (8), (9) by column generation, all machines merged (ours): whole bundles, not fluid.

A column is a plan of one job: a completion slot and, slot by slot, a number of workers in one mode.
On identical machines the program has as good a dual with one price for each slot and resource as
with one for each machine; on different machines it is a relaxation. The pricing problem is (15) at
full capacity, solved by Algorithm 3 with progress rounded up on a grid. No plan costs less, so any
prices p >= 0 prove the Lagrangian bound

    sum_t,r p C + sum_i max(0, max_f [u_i(f - a_i) - cost_i(f)]).

The value of a master over some of the columns proves nothing.

References
----------
G. B. Dantzig, P. Wolfe, "Decomposition principle for linear programs", Operations Research 8
(1960).
M. E. Lübbecke, J. Desrosiers, "Selected topics in column generation", Operations Research 53
(2005): the Lagrangian bound.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from schedgap.instances.dmlrs import INTERNAL, DmlrsInstance, arrays
from schedgap.instances.dmlrs.compiled import Floats
from schedgap.models.dmlrs.algorithms.dynamic_program import CheapestPlans, on_grid_up
from schedgap.models.dmlrs.slot_options import SlotOption, job_at_arrival
from schedgap.models.dmlrs.throughput import bundles, first_completions, mode_limits
from schedgap.models.mechanisms.restricted_master import Priced, RestrictedMaster
from schedgap.models.method import Budget
from schedgap.solvers import Clock
from schedgap.solvers.loops.column_generation import ColumnGenerationResult

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True)
class JobColumn:
    """A plan of one job: its options by slot, from 1."""

    job: int
    completion: int
    options: dict[int, SlotOption]


def cheapest(instance: DmlrsInstance, i: int, prices: Floats, grid: int) -> CheapestPlans:
    """Return Theta of job i at full capacity, with progress rounded up.

    `prices` [t, r]: prices >= 0 of the resources. `grid`: steps of the work, >= 1.
    """
    job, own = job_at_arrival(instance, i), bundles(instance, i)
    rows: list[list[SlotOption]] = [[] for _ in range(instance.horizon - job.arrival + 1)]
    for mode, width in enumerate(mode_limits(instance, i)):
        workers = own.workers[own.workers <= width].tolist()
        costs = prices[job.arrival - 1 :] @ own.demand[: len(workers)].T
        for row, slot_costs in zip(rows, costs.tolist(), strict=True):
            row += [
                SlotOption(cost, n, mode == INTERNAL, {})
                for n, cost in zip(workers, slot_costs, strict=True)
            ]
    return on_grid_up(job, rows, grid)


def payoff(instance: DmlrsInstance, i: int, cost: Floats) -> float:
    """Return an upper bound on lambda_i, (11), with all rounding allowed for.

    `cost` [k]: lower bounds on the cost of completion in slot a_i + k.
    """
    view, T = arrays(instance), instance.horizon
    lead = first_completions(instance)[i] - int(view.arrival[i])
    utility = view.utility[i, lead : T - int(view.arrival[i]) + 1]
    lower = cost[lead:] * (1 - 4 * _EPS * (T + len(instance.resources) + 8))
    return float((utility - lower).max(initial=0.0))


def price_all(
    instance: DmlrsInstance, prices: Floats, grid: int, clock: Clock
) -> tuple[float, dict[int, CheapestPlans]] | None:
    """Return the bound that prices prove, and each job's cheapest plans; None if time was up.

    `prices` [t, r]: prices >= 0 of the resources. `grid`: steps of the work, >= 1.
    """
    capacity = arrays(instance).capacity_milli.sum(axis=0) / 1000
    terms, plans = (prices * capacity).ravel().tolist(), {}
    for i, first in enumerate(first_completions(instance)):
        if first <= instance.horizon:
            if clock.expired():
                return None
            plans[i] = cheapest(instance, i, prices, grid)
            terms.append(payoff(instance, i, plans[i].cost))
    return math.fsum(terms) * (1 + 8 * _EPS), plans


def generate(
    instance: DmlrsInstance,
    *,
    grid: int,
    budget: Budget,
    prices: Floats | None = None,
    on_bound: Callable[[float, Floats], None] = lambda bound, prices: None,
) -> ColumnGenerationResult:
    """Solve the master; its `bound` and `prices` are for minus the sum of utilities.

    `grid`: Q >= 1, steps of the work. `prices` [t, r]: prices to begin with. `on_bound`: receives
    each better bound on the sum of utilities, and its prices [t, r].
    """
    view, T, R = arrays(instance), instance.horizon, len(instance.resources)
    jobs = [i for i, first in enumerate(first_completions(instance)) if first <= T]
    master: RestrictedMaster[JobColumn] = RestrictedMaster()
    capacity = master.rows("capacity", (T, R), upper=view.capacity_milli.sum(axis=0) / 1000)
    once = master.rows("once", len(jobs), upper=1)
    row_of = dict(zip(jobs, once.positions.tolist(), strict=True))

    def cost_and_entries(column: JobColumn) -> tuple[float, dict[int, float]]:
        own, found = bundles(instance, column.job), {row_of[column.job]: 1.0}
        for t, option in column.options.items():
            demand = own.demand[int(np.searchsorted(own.workers, option.workers))]
            found |= dict(zip(capacity.positions[t - 1].tolist(), demand.tolist(), strict=True))
        utility = float(view.utility[column.job, column.completion - view.arrival[column.job]])
        return -utility, {row: value for row, value in found.items() if value}

    def pricing(duals: Floats) -> Priced | None:
        priced = price_all(instance, resource_prices(instance, duals), grid, budget.clock)
        if priced is None:
            return None
        (bound, plans_of), columns = priced, []
        for i, plans in plans_of.items():
            arrival = int(view.arrival[i])
            lead = first_completions(instance)[i] - arrival
            for k, plan in plans.plans.items():
                # a coarse grid may complete the work too early: the job completes at `lead` then
                f = max(k, lead)
                if view.utility[i, f] - plans.cost[k] > 1e-9 - duals[row_of[i]]:
                    options = {arrival + s: option for s, option in plan.items()}
                    columns.append(JobColumn(i, arrival + f, options))
        if not columns:
            return Priced(None, -bound)
        cost, entries = zip(*map(cost_and_entries, columns), strict=True)
        return Priced(master.columns(cost, entries, columns), -bound)

    return master.solve(
        pricing,
        clock=budget.clock,
        duals=None if prices is None else master.duals({capacity: -prices}),
        seed=budget.seed,
        threads=budget.threads,
        on_bound=lambda bound, duals: on_bound(-bound, resource_prices(instance, duals)),
    ).result


def resource_prices(instance: DmlrsInstance, duals: Floats) -> Floats:
    """Return the prices p [t, r] that duals of the master are.

    `duals` [row]: duals of the rows of `generate`: capacity by slot and resource first.
    """
    shape = instance.horizon, len(instance.resources)
    prices: Floats = np.maximum(0.0, -np.asarray(duals)[: shape[0] * shape[1]]).reshape(shape)
    return prices
