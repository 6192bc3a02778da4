"""DMLRS by columns of jobs and patterns of machines (ours): what one machine can hold, exactly.

With all machines as one nobody sees what no machine alone can hold: three workers of 3 GPUs do not
fit two machines of 4. Here the machines of one type have patterns in a slot, whole numbers of
workers, of PSs and of bundles that share a machine, and jobs rent what patterns offer. Prices are
rents of these parts by slot. Any rents r >= 0 bound every schedule's sum of utilities by

    sum_t sum_types machines * max_pattern [r_t pattern] + sum_i max(0, max_plan [u_i - rent]),

a knapsack for each slot and type, and (15) for each job.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from schedgap.instances.dmlrs import DmlrsInstance, arrays
from schedgap.instances.dmlrs.compiled import Floats, Ints
from schedgap.models.dmlrs.algorithms.dynamic_program import (
    CheapestPlans,
    exact,
    on_grid_up,
    undominated,
)
from schedgap.models.dmlrs.bounds.column_generation import JobColumn, payoff
from schedgap.models.dmlrs.bounds.knapsack import ROUND_UP, KnapsackOption, NodeBudget, knapsack
from schedgap.models.dmlrs.slot_options import SlotOption, job_at_arrival
from schedgap.models.dmlrs.throughput import (
    bundles,
    first_completions,
    machine_limits,
    max_external_workers,
)
from schedgap.solvers import Clock
from schedgap.solvers.loops.column_generation import Columns, Priced, generate_columns
from schedgap.solvers.programs.arrays import LinearProgram

MIN_PRICE = 1e-9  # a rent is more than this, or none
RELATIVE_GAP = 2e-4  # relative, of master and bound: what is left is slow, and a search is faster
MAX_ROWS = 30_000  # of the master
MAX_WORKERS = 64  # of a job in a slot
MAX_EXACT_BUNDLES = (
    1500  # of a job in all its slots together, whose plans are cheapest without rounding
)
GRID = 3000  # parts of the work, for jobs with more
MAX_NODES = 400_000  # of all the knapsacks of one judgement; those after it have weaker bounds


class PatternItem(NamedTuple):
    """What a machine holds: a worker or a PS of a job across machines, or n workers with their PSs.

    `workers` 1 and `ps` 0, or 0 and 1; `inside`: all of a job's workers and PSs of the slot.
    """

    job: int
    workers: int
    ps: int
    inside: bool


class MachinePattern(NamedTuple):
    """Numbers of parts [k] on one machine of a type in a slot, from 1."""

    slot: int
    type: int
    numbers: Ints


@dataclass(frozen=True, slots=True, eq=False)
class ItemPrices:
    """Rents, and what they prove."""

    price: Floats  # [t, k] by part
    bound: float  # on the sum of utilities
    slot_value: Floats  # [t] at least the rent of all machines together
    payoff: dict[int, float]  # by job, at least the largest of its plans, or 0


class PatternMaster:
    """The parts of an instance's jobs, its types of machines, and the rows of the master.

    Rows: parts by slot, then types by slot, then the jobs that can be completed.
    """

    def __init__(self, instance: DmlrsInstance) -> None:
        view, T = arrays(instance), instance.horizon
        self.instance = instance
        self.capacity, self.machines = np.unique(view.capacity_milli, axis=0, return_counts=True)
        self.jobs = [i for i, first in enumerate(first_completions(instance)) if first <= T]
        self.items: list[PatternItem] = []
        for i in self.jobs:
            if max_external_workers(instance, i):
                self.items += [PatternItem(i, 1, 0, False), PatternItem(i, 0, 1, False)]
            job_bundles, limit = (
                bundles(instance, i),
                int(machine_limits(instance).internal[i].max()),
            )
            pairs = zip(job_bundles.workers.tolist(), job_bundles.ps.tolist(), strict=True)
            self.items += [PatternItem(i, n, m, True) for n, m in pairs if n <= limit]
        self.index = {part: k for k, part in enumerate(self.items)}
        self.demand = np.array(  # [k, r] thousandths
            [p.workers * view.worker_milli[p.job] + p.ps * view.ps_milli[p.job] for p in self.items]
        ).reshape(len(self.items), len(instance.resources))
        self.arrival = view.arrival[[part.job for part in self.items]]  # [k]
        self.max_count = [self._max_count(part) for part in self.items]  # [k] of a machine
        self.link_rows = T * len(self.items)
        self.shape = T, len(self.machines)

    @property
    def rows(self) -> int:
        """How many rows the master has."""
        return self.link_rows + self.shape[0] * self.shape[1] + len(self.jobs)

    def _max_count(self, part: PatternItem) -> int:
        """Return how many of a part a slot of any schedule has at most."""
        if part.inside:
            return 1
        job_bundles = bundles(self.instance, part.job)
        return int((job_bundles.workers if part.workers else job_bundles.ps)[-1])

    def prices_of_duals(self, duals: Floats) -> Floats:
        """Return the rents [t, k] of the master's duals [row]."""
        prices: Floats = np.maximum(0.0, -np.asarray(duals)[: self.link_rows])
        return np.where(prices > MIN_PRICE, prices, 0.0).reshape(self.shape[0], -1)

    def options(self, i: int, price: Floats) -> list[list[SlotOption]]:
        """Return all that job i can rent, slot by slot from its arrival on."""
        job_bundles, limit = bundles(self.instance, i), max_external_workers(self.instance, i)
        rows = []
        for slot_prices in price[int(arrays(self.instance).arrival[i]) - 1 :]:
            row = []
            for n, m in zip(job_bundles.workers.tolist(), job_bundles.ps.tolist(), strict=True):
                if n <= limit:
                    worker, ps = (
                        self.index[PatternItem(i, *unit, False)] for unit in ((1, 0), (0, 1))
                    )
                    row.append(
                        SlotOption(
                            float(n * slot_prices[worker] + m * slot_prices[ps]), n, False, {}
                        )
                    )
                if (k := self.index.get(PatternItem(i, n, m, True))) is not None:
                    row.append(SlotOption(float(slot_prices[k]), n, True, {}))
            rows.append(row)
        return rows

    def knapsack(
        self, type_: int, slot: int, price: Floats, budget: NodeBudget
    ) -> tuple[float, Ints]:
        """Return at least the largest rent [k] of a machine in a slot, and a pattern.

        A bundle that pays no more than its workers and PSs one by one is left out.
        """
        numbers = np.zeros(len(self.items), dtype=np.int64)
        slot_value = self.capacity[type_]
        fits = (self.demand <= slot_value).all(axis=1) & (self.arrival <= slot) & (price > 0)
        bundle_options: dict[int, list[KnapsackOption]] = {}
        choices: list[list[KnapsackOption]] = []
        for k in np.flatnonzero(fits).tolist():
            demand, value = tuple(self.demand[k].tolist()), float(price[k])
            if self.items[k].inside:
                if not self._is_dominated(k, price):
                    bundle_options.setdefault(self.items[k].job, []).append(
                        KnapsackOption(value, demand, (k, 1))
                    )
                continue
            copies = min(b // a for a, b in zip(demand, slot_value.tolist(), strict=True) if a)
            choices.append(
                [
                    KnapsackOption(n * value, tuple(n * a for a in demand), (k, n))
                    for n in range(1, min(copies, self.max_count[k]) + 1)
                ]
            )
        most_rent, names = knapsack(
            [*choices, *bundle_options.values()], slot_value.tolist(), budget
        )
        for k, number in names:
            numbers[k] = number
        return most_rent, numbers

    def _is_dominated(self, k: int, price: Floats) -> bool:
        part = self.items[k]
        worker = self.index.get(PatternItem(part.job, 1, 0, False))
        if not part.inside or worker is None:
            return False
        ps = self.index[PatternItem(part.job, 0, 1, False)]
        return bool(price[k] <= part.workers * price[worker] + part.ps * price[ps])

    def entries(self, column: JobColumn | MachinePattern) -> dict[int, float]:
        """Return the entries of a column of the master, by row."""
        size = len(self.items)
        if isinstance(column, MachinePattern):
            base = (column.slot - 1) * size
            entries = {base + int(k): -float(n) for k, n in enumerate(column.numbers) if n}
            entries[self.link_rows + (column.slot - 1) * self.shape[1] + column.type] = 1.0
            return entries
        i, job_bundles, entries = column.job, bundles(self.instance, column.job), {}
        for slot, option in column.options.items():
            base, n = (slot - 1) * size, option.workers
            m = int(job_bundles.ps[np.searchsorted(job_bundles.workers, n)])
            if option.internal:
                entries[base + self.index[PatternItem(i, n, m, True)]] = 1.0
            else:
                entries[base + self.index[PatternItem(i, 1, 0, False)]] = float(n)
                entries[base + self.index[PatternItem(i, 0, 1, False)]] = float(m)
        entries[self.job_row(i)] = 1.0
        return entries

    def job_row(self, i: int) -> int:
        """Return the row of a job."""
        return self.link_rows + self.shape[0] * self.shape[1] + self.jobs.index(i)


class PriceEvaluation(NamedTuple):
    """What rents prove, and what pays best at them."""

    item_prices: ItemPrices
    patterns: list[tuple[int, Ints]]  # types and numbers of parts [k]
    plans: dict[int, CheapestPlans]  # by job


def evaluate_prices(layout: PatternMaster, price: Floats, clock: Clock) -> PriceEvaluation | None:
    """Return what rents [t, k] >= 0 prove; any prove something. None when there was no time."""
    slot_value, patterns = np.zeros(layout.shape[0]), []
    budget = NodeBudget(MAX_NODES)
    for t, slot_prices in enumerate(price):
        for q, count in enumerate(layout.machines):
            if clock.expired():
                return None
            max_count, numbers = layout.knapsack(q, t + 1, slot_prices, budget)
            slot_value[t] += count * max_count
            patterns.append((q, numbers))
    plans, payoffs = {}, {}
    for i in layout.jobs:
        job = job_at_arrival(layout.instance, i)
        rows = [undominated(job, slot_prices) for slot_prices in layout.options(i, price)]
        few = len(rows) * len(job.bundles.workers) <= MAX_EXACT_BUNDLES
        plans[i] = exact(job, rows) if few else on_grid_up(job, rows, GRID)
        payoffs[i] = payoff(layout.instance, i, plans[i].cost)
    bound = float(slot_value.sum() + sum(payoffs.values())) * ROUND_UP
    return PriceEvaluation(ItemPrices(price, bound, slot_value, payoffs), patterns, plans)


def generate_patterns(
    instance: DmlrsInstance,
    prices: Floats,
    *,
    clock: Clock,
    seed: int = 0,
    threads: int = 1,
    on_bound: Callable[[float, Floats], None] | None = None,
) -> ItemPrices | None:
    """Return the best rents found from prices [t, r] of all machines as one, or None.

    `on_bound` hears of bounds on the sum of utilities, each with its rents [t, k].
    """
    layout = PatternMaster(instance)
    T = layout.shape[0]
    start = np.concatenate(
        [-(prices @ (layout.demand / 1000).T).ravel(), np.zeros(layout.rows - layout.link_rows)]
    )
    upper = np.concatenate(
        [np.zeros(layout.link_rows), np.tile(layout.machines, T), np.ones(len(layout.jobs))]
    )
    master = LinearProgram(
        np.zeros(1), np.zeros(1), np.zeros(1), sparse.csr_array((layout.rows, 1)),
        np.full(layout.rows, -np.inf), upper,
    )  # fmt: skip
    best: list[ItemPrices] = []

    def pricing(duals: Floats) -> Priced | None:
        price, convexity_duals = (
            layout.prices_of_duals(duals),
            np.maximum(0.0, -duals[layout.link_rows :]),
        )
        evaluation = evaluate_prices(layout, price, clock)
        if evaluation is None:
            return None
        if not best or evaluation.item_prices.bound < best[0].bound:
            best[:] = [evaluation.item_prices]
            if on_bound is not None:
                on_bound(evaluation.item_prices.bound, price)
        columns: list[JobColumn | MachinePattern] = []
        for q, numbers in evaluation.patterns:
            columns += _patterns(layout, q, numbers, price, convexity_duals)
        for i, plans in evaluation.plans.items():
            job = job_at_arrival(instance, i)
            for k, offsets in plans.plans.items():
                if job.utility[k] - plans.cost[k] > MIN_PRICE - duals[layout.job_row(i)]:
                    options = {job.arrival + s: option for s, option in offsets.items()}
                    columns.append(JobColumn(i, job.arrival + k, options))
        return Priced(_columns(layout, columns) if columns else None, -evaluation.item_prices.bound)

    generate_columns(
        master,
        pricing,
        clock=clock,
        gap=RELATIVE_GAP,
        prices=start,
        seed=seed,
        threads=threads,
    )
    return best[0] if best else None


def _patterns(
    layout: PatternMaster, q: int, numbers: Ints, price: Floats, rows: Floats
) -> list[MachinePattern]:
    """Return a pattern in all slots in which it pays, without the jobs that are not there yet."""
    patterns = []
    for t, slot_prices in enumerate(price):
        present = np.where(layout.arrival <= t + 1, numbers, 0)
        if present @ slot_prices > rows[t * layout.shape[1] + q] + MIN_PRICE:
            patterns.append(MachinePattern(t + 1, q, present))
    return patterns


def _columns(layout: PatternMaster, fresh: Sequence[JobColumn | MachinePattern]) -> Columns:
    view = arrays(layout.instance)
    cost = [
        0.0
        if isinstance(column, MachinePattern)
        else -float(view.utility[column.job, column.completion - view.arrival[column.job]])
        for column in fresh
    ]
    entries = [layout.entries(column) for column in fresh]
    rows = [row for own in entries for row in own]
    values = [value for own in entries for value in own.values()]
    starts = np.cumsum([0, *map(len, entries)])
    matrix: Any = sparse.csc_array((values, rows, starts), shape=(layout.rows, len(fresh)))
    return Columns(cost, matrix, fresh)
