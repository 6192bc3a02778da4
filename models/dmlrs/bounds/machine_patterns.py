"""DMLRS by columns of jobs and patterns of machines (ours): what one machine holds, exactly.

A relaxation that merges all machines overlooks what no machine can hold alone. For example, three
workers of 3 GPUs each do not fit two machines of 4. Here every slot chooses patterns for its
machines of each type. A pattern is a number of each *item* that one machine holds at a time. An
item is a worker of a job, a PS, or a whole bundle of the job. A job buys the items of its plan. The
master is

    max  sum_plans u x
    s.t. sum_plans (items in slot t) x - sum_patterns (items) y <= 0    for each t and item  (price)
         sum_patterns y_tq <= machines of type q                       for each t and type
         sum_plans of job i x <= 1                                     for each job.

Any prices r >= 0 of the items bound every schedule's sum of utilities by

    sum_t sum_types machines * max_pattern [r_t pattern] + sum_i max(0, max_plan [u_i - r plan]),

that is, by a knapsack for each slot and type, and by (15) for each job.

References
----------
P. C. Gilmore, R. E. Gomory, "A linear programming approach to the cutting-stock problem",
Operations Research 9 (1961): patterns priced by knapsacks.
M. E. Lübbecke, J. Desrosiers, "Selected topics in column generation", Operations Research 53
(2005): the Lagrangian bound of prices that are not optimal.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from schedgap.instances.dmlrs import DmlrsInstance, arrays
from schedgap.instances.dmlrs.compiled import Floats, Ints
from schedgap.models.dmlrs.algorithms.dynamic_program import (
    CheapestPlans,
    exact,
    on_grid_up,
    undominated,
)
from schedgap.models.dmlrs.bounds.column_generation import JobColumn, payoff
from schedgap.models.dmlrs.slot_options import SlotOption, job_at_arrival
from schedgap.models.dmlrs.throughput import (
    bundles,
    first_completions,
    machine_limits,
    max_external_workers,
)
from schedgap.models.mechanisms.knapsack import SAFE, NodeBudget, Option, multiple_choice_knapsack
from schedgap.models.mechanisms.restricted_master import Priced, RestrictedMaster, prices_at_most
from schedgap.models.method import Budget
from schedgap.solvers import Clock

MIN_PRICE = 1e-9  # smaller prices, and smaller gains of a column, count as 0
RELATIVE_GAP = 2e-4  # between master and bound; closing the rest takes longer than a search
MAX_ROWS = 30_000  # most rows of the master
MAX_WORKERS = 64  # most workers of one job in a slot
MAX_EXACT_BUNDLES = 1500  # up to so many for a job in all slots, its plans are priced exactly
GRID = 3000  # steps of the work for other jobs
MAX_NODES = 400_000  # limit for all knapsacks of one evaluation; later ones have weaker bounds


class PatternItem(NamedTuple):
    """What a machine holds: a worker or a PS of a job across machines, or a whole bundle.

    `workers`, `ps` are 1, 0 or 0, 1, or, if `inside`, all that the job has in the slot.
    """

    job: int
    workers: int
    ps: int
    inside: bool


class MachinePattern(NamedTuple):
    """Numbers of the items [k] on one machine of a type in a slot, from 1."""

    slot: int
    type: int
    numbers: Ints


class PatternMaster:
    """The items of an instance's jobs, its types of machines, and the rows of the master."""

    def __init__(self, instance: DmlrsInstance) -> None:
        """Declare the rows: items by slot, types by slot, the jobs that can be completed."""
        view, T = arrays(instance), instance.horizon
        self.instance = instance
        self.capacity, self.machines = np.unique(view.capacity_milli, axis=0, return_counts=True)
        self.jobs = [i for i, first in enumerate(first_completions(instance)) if first <= T]
        self.items: list[PatternItem] = []
        for i in self.jobs:
            if max_external_workers(instance, i):
                self.items += [PatternItem(i, 1, 0, False), PatternItem(i, 0, 1, False)]
            own, limit = bundles(instance, i), int(machine_limits(instance).internal[i].max())
            pairs = zip(own.workers.tolist(), own.ps.tolist(), strict=True)
            self.items += [PatternItem(i, n, m, True) for n, m in pairs if n <= limit]
        self.index = {item: k for k, item in enumerate(self.items)}
        self.demand = np.array(  # [k, r] thousandths
            [p.workers * view.worker_milli[p.job] + p.ps * view.ps_milli[p.job] for p in self.items]
        ).reshape(len(self.items), len(instance.resources))
        self.arrival = view.arrival[[item.job for item in self.items]]  # [k]
        self.master: RestrictedMaster[JobColumn | MachinePattern] = RestrictedMaster()
        self.item_rows = self.master.rows("items", (T, len(self.items)), upper=0)
        self.type_rows = self.master.rows("types", (T, len(self.machines)), upper=self.machines)
        job_rows = self.master.rows("jobs", len(self.jobs), upper=1).positions.tolist()
        self.job_row: dict[int, int] = dict(zip(self.jobs, job_rows, strict=True))

    def options(self, i: int, price: Floats) -> list[list[SlotOption]]:
        """Return the options of job i in each slot from its arrival on, at their prices.

        `price` [t, k]: prices of the items.
        """
        own, limit = bundles(self.instance, i), max_external_workers(self.instance, i)
        rows = []
        for at in price[int(arrays(self.instance).arrival[i]) - 1 :]:
            row = []
            for n, m in zip(own.workers.tolist(), own.ps.tolist(), strict=True):
                if n <= limit:
                    worker = at[self.index[PatternItem(i, 1, 0, False)]]
                    ps = at[self.index[PatternItem(i, 0, 1, False)]]
                    row.append(SlotOption(float(n * worker + m * ps), n, False, {}))
                if (k := self.index.get(PatternItem(i, n, m, True))) is not None:
                    row.append(SlotOption(float(at[k]), n, True, {}))
            rows.append(row)
        return rows

    def knapsack(
        self, type_: int, slot: int, price: Floats, budget: NodeBudget
    ) -> tuple[float, Ints]:
        """Return a bound on the value of one machine in a slot, and a pattern.

        `type_`, `slot`: type of the machine, from 0; slot, from 1. `price` [k]: prices of the items
        in the slot. `budget`: reduced by the nodes used.

        The bound is at least the largest price of a pattern. The pattern [k] has this price, unless
        the nodes ran out.
        """
        numbers = np.zeros(len(self.items), dtype=np.int64)
        capacity = self.capacity[type_]
        fits = (self.demand <= capacity).all(axis=1) & (self.arrival <= slot) & (price > 0)
        of_bundles: dict[int, list[Option[tuple[int, int]]]] = {}
        choices: list[list[Option[tuple[int, int]]]] = []
        for k in np.flatnonzero(fits).tolist():
            demand, value = tuple(self.demand[k].tolist()), float(price[k])
            if self.items[k].inside:
                if not self._is_dominated(k, price):
                    own = of_bundles.setdefault(self.items[k].job, [])
                    own.append(Option(value, demand, (k, 1)))
                continue
            copies = min(b // a for a, b in zip(demand, capacity.tolist(), strict=True) if a)
            own_bundles = bundles(self.instance, self.items[k].job)
            most = int((own_bundles.workers if self.items[k].workers else own_bundles.ps)[-1])
            choices.append(
                [
                    Option(n * value, tuple(n * a for a in demand), (k, n))
                    for n in range(1, min(copies, most) + 1)
                ]
            )
        bound, names = multiple_choice_knapsack(
            [*choices, *of_bundles.values()], capacity.tolist(), budget
        )
        for k, number in names:
            numbers[k] = number
        return bound, numbers

    def _is_dominated(self, k: int, price: Floats) -> bool:
        """Return whether a bundle costs no more than its workers and PSs one by one."""
        item = self.items[k]
        worker = self.index.get(PatternItem(item.job, 1, 0, False))
        if worker is None:
            return False
        ps = self.index[PatternItem(item.job, 0, 1, False)]
        return bool(price[k] <= item.workers * price[worker] + item.ps * price[ps])

    def column(self, column: JobColumn | MachinePattern) -> tuple[float, dict[int, float]]:
        """Return the cost of a column of the master, and its coefficients by row.

        `column`: a job's plan needs items, a machine's pattern supplies them.
        """
        items = self.item_rows.positions
        if isinstance(column, MachinePattern):
            own = items[column.slot - 1]
            entries = {int(own[k]): -float(n) for k, n in enumerate(column.numbers) if n}
            entries[int(self.type_rows.at(column.slot - 1, column.type))] = 1.0
            return 0.0, entries
        i, view = column.job, arrays(self.instance)
        own_bundles, entries = bundles(self.instance, i), {self.job_row[i]: 1.0}
        for slot, option in column.options.items():
            own, n = items[slot - 1], option.workers
            m = int(own_bundles.ps[np.searchsorted(own_bundles.workers, n)])
            if option.internal:
                entries[int(own[self.index[PatternItem(i, n, m, True)]])] = 1.0
            else:
                entries[int(own[self.index[PatternItem(i, 1, 0, False)]])] = float(n)
                entries[int(own[self.index[PatternItem(i, 0, 1, False)]])] = float(m)
        return -float(view.utility[i, column.completion - view.arrival[i]]), entries


def is_too_large(instance: DmlrsInstance) -> bool:
    """Return whether an instance has too many workers in a slot, or too many rows, for prices."""
    most = int(arrays(instance).batch.max(initial=0))
    return most > MAX_WORKERS or PatternMaster(instance).master.height > MAX_ROWS


class PriceEvaluation(NamedTuple):
    """What prices of the items prove, and the columns that are best at them."""

    bound: float  # upper bound on the sum of utilities
    patterns: list[tuple[int, Ints]]  # types and numbers of the items [k]
    plans: dict[int, CheapestPlans]  # cheapest plans by job


def evaluate_prices(layout: PatternMaster, price: Floats, clock: Clock) -> PriceEvaluation | None:
    """Return the bound that any item prices prove, with the best columns; None if time was up.

    `layout`: items and types of the instance. `price` [t, k]: prices >= 0 of the items.
    """
    values, patterns = [], []
    budget = NodeBudget(MAX_NODES)
    for t, slot_price in enumerate(price):
        for q, count in enumerate(layout.machines):
            if clock.expired():
                return None
            value, numbers = layout.knapsack(q, t + 1, slot_price, budget)
            values.append(count * value)
            patterns.append((q, numbers))
    plans = {}
    for i in layout.jobs:
        job = job_at_arrival(layout.instance, i)
        rows = [undominated(job, row) for row in layout.options(i, price)]
        few = len(rows) * len(job.bundles.workers) <= MAX_EXACT_BUNDLES
        plans[i] = exact(job, rows) if few else on_grid_up(job, rows, GRID)
        values.append(payoff(layout.instance, i, plans[i].cost))
    return PriceEvaluation(math.fsum(values) * SAFE, patterns, plans)


def generate_patterns(
    instance: DmlrsInstance,
    prices: Floats,
    *,
    budget: Budget,
    on_bound: Callable[[float, Floats], None],
) -> None:
    """Look by column generation for item prices that prove better and better bounds.

    `prices` [t, r]: prices of the resources on all machines merged, to begin with. `on_bound`:
    receives each better bound on the sum of utilities, with its item prices [t, k].
    """
    layout = PatternMaster(instance)

    def item_prices(duals: Floats) -> Floats:
        price = prices_at_most(layout.item_rows, duals)
        return np.where(price > MIN_PRICE, price, 0.0)

    def pricing(duals: Floats) -> Priced | None:
        price = item_prices(duals)
        evaluation = evaluate_prices(layout, price, budget.clock)
        if evaluation is None:
            return None
        columns = _patterns(layout, evaluation.patterns, price, duals)
        for i, cheapest in evaluation.plans.items():
            job = job_at_arrival(instance, i)
            for k, plan in cheapest.plans.items():
                # reduced cost: price of the plan + price of the job's row - utility < 0
                if job.utility[k] - cheapest.cost[k] > MIN_PRICE - duals[layout.job_row[i]]:
                    options = {job.arrival + s: option for s, option in plan.items()}
                    columns.append(JobColumn(i, job.arrival + k, options))
        if not columns:
            return Priced(None, -evaluation.bound)
        cost, entries = zip(*map(layout.column, columns), strict=True)
        return Priced(layout.master.columns(cost, entries, columns), -evaluation.bound)

    layout.master.solve(
        pricing,
        clock=budget.clock,
        gap=RELATIVE_GAP,
        duals=layout.master.duals({layout.item_rows: -(prices @ (layout.demand / 1000).T)}),
        seed=budget.seed,
        threads=budget.threads,
        on_bound=lambda bound, duals: on_bound(-bound, item_prices(duals)),
    )


def _patterns(
    layout: PatternMaster, patterns: Sequence[tuple[int, Ints]], price: Floats, duals: Floats
) -> list[JobColumn | MachinePattern]:
    """Return each pattern in all slots where it pays, without the jobs that arrive later."""
    type_price = prices_at_most(layout.type_rows, duals)
    columns: list[JobColumn | MachinePattern] = []
    for q, numbers in patterns:
        for t, slot_price in enumerate(price):
            present = np.where(layout.arrival <= t + 1, numbers, 0)
            if present @ slot_price > type_price[t, q] + MIN_PRICE:
                columns.append(MachinePattern(t + 1, q, present))
    return columns
