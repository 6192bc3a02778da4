"""Decide by column generation whether a schedule can meet given deadlines (ours).

Between two arrivals or deadlines all slots are alike: they form a *class*. A *plan* of a job takes
a level of progress in some slots; a *packing* is a set of bundles that fit one slot together, and
offers each of its jobs a level. If plans and packings may be fractional, the largest share z <= 1
of every job that can be completed is a linear program over both,

    max  z
    s.t. sum_plans of i x >= z                                      for each job
         sum_packings of class c y <= slots of c                    for each class
         sum_packings (level >= l of i) y >= sum_plans (same) x      for each class, job and level.

Its dual prices of the levels prove z < 1, that is, that no schedule meets the deadlines, if

    sum_i least price of a plan of i <= sum_slots largest price of a packing

is violated. The inequality holds for all schedules, so it is a row on the completions. If z = 1, an
integer program over the known packings often gives a schedule.

References
----------
P. Brucker, S. Knust, "A linear programming and constraint propagation-based lower bound for the
RCPSP", European Journal of Operational Research (2000): deadlines refuted by column generation over
sets of activities that run together in an interval.
J. N. Hooker, G. Ottosson, "Logic-based Benders decomposition", Mathematical Programming 96 (2003):
the dual solution as a cut.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from schedgap.instances.dmlrs.compiled import Floats
from schedgap.models.dmlrs.algorithms.dynamic_program import CheapestPlans, exact, undominated
from schedgap.models.dmlrs.exact.slot_packings import (
    LevelChoice,
    PackingCache,
    SlotPlan,
    best_of_slot,
    progress_levels,
)
from schedgap.models.dmlrs.programs.aggregate import JobBundle
from schedgap.models.dmlrs.programs.common_rows import candidate_jobs
from schedgap.models.dmlrs.slot_options import SlotOption, job_at_arrival
from schedgap.models.method import Budget
from schedgap.solvers import Clock, solve
from schedgap.solvers.engines.registry import ENGINES
from schedgap.solvers.loops.column_generation import Columns, Priced, generate_columns
from schedgap.solvers.programs.arrays import LinearProgram
from schedgap.solvers.programs.builder import ProgramBuilder, columns_matrix
from schedgap.solvers.proofs.bins import OutOfTimeError

MARGIN = 1e-5  # on z; prices that prove less do not decide
SCALE = 100.0  # of a cut, so that violations exceed an engine's tolerance
TIME_SHARE = 0.1  # of the time left, for one check
INTEGER_SECONDS = 10.0

LevelPrices = dict[tuple[int, int], Floats]  # prices of levels [l], by class of slots and job


class CompletionCut(NamedTuple):
    """The row sum weight[i, f] <= upper on the completions f of jobs i, valid for all schedules."""

    weight: dict[tuple[int, int], float]
    upper: float


@dataclass(frozen=True, slots=True, eq=False)
class _DualProof:
    """Prices of the levels, and the two sides of the inequality that they prove."""

    level_prices: LevelPrices
    slots_value: float  # at least what all slots together can earn
    cost: float  # what all the jobs pay at least

    @property
    def ratio(self) -> float:
        """Upper bound on z."""
        return self.slots_value / self.cost if self.cost > MARGIN else 1.0


class DeadlineOracle:
    """Checks of deadlines for one instance; packings, plans and prices are kept for the next check.

    `slots`: decides which bundles fit together. `options`: prices to begin with: the options of
    each job, slot by slot from its arrival on. `budget`: time of all checks, and random seed of
    HiGHS.
    """

    def __init__(
        self,
        slots: PackingCache,
        options: Mapping[int, Sequence[Sequence[SlotOption]]],
        budget: Budget,
    ) -> None:
        self.instance, self.slots = slots.instance, slots
        self.clock, self.seed = budget.clock, budget.seed
        instance = self.instance
        self.levels = progress_levels(instance)
        self.jobs = {job.index: job for job in candidate_jobs(instance)}
        self.level_of = {
            item: (i, level)
            for i, own in self.levels.items()
            for level, item in enumerate(own.items)
        }
        self.prices: dict[tuple[int, int], Floats] = {}  # of levels [l], by slot and job
        for i, rows in options.items():
            for t, row in enumerate(rows, self.jobs[i].arrival):
                cost = {(option.internal, option.workers): option.cost for option in row}
                own = [cost[item.internal, item.workers] for item in self.levels[i].items]
                self.prices[t, i] = np.maximum.accumulate(np.array(own))
        self.packings: list[LevelChoice] = []
        self.plans: dict[tuple[Any, ...], Mapping[int, int]] = {}  # level by slot; job first

    def check(self, due: Mapping[int, int]) -> SlotPlan | CompletionCut | None:
        """Return a plan that meets the deadlines, a cut that excludes them, or None if undecided.

        `due`: deadline of each job; other jobs do not run.
        """
        master, clock = _DeadlineMaster(self, due), self.clock.share(TIME_SHARE)
        proofs: list[_DualProof] = []

        def pricing(duals: Floats) -> Priced:
            columns = self._price(master, master.level_prices(duals), proofs, clock)
            if proofs[-1].ratio < 1 - MARGIN:
                return Priced(None, -proofs[-1].ratio)
            return Priced(columns, -1.0)

        try:
            start = self._start(master)
            first = [pricing(start)]  # before the master, so that it has these columns
            result = generate_columns(
                master.program(),
                lambda duals: first.pop() if first else pricing(duals),
                clock=clock,
                prices=start,
                seed=self.seed,
            )
        except OutOfTimeError:
            return None
        best_proof = min(proofs, key=lambda proof: proof.ratio)
        self.prices |= {
            (t, i): best_proof.level_prices[master.at[t], i]
            for t in master.at
            for i in master.jobs[master.at[t]]
        }
        if best_proof.ratio < 1 - MARGIN:
            return self._cut(master, best_proof)
        fractional = result.objective is not None and result.objective < MARGIN - 1
        return self._whole(master) if fractional else None

    def _start(self, master: "_DeadlineMaster") -> Floats:
        """Return initial prices [row]: the last prices of the levels, at cost 1 for all jobs."""
        level_prices = {
            (k, i): np.mean([self.prices[t, i] for t in master.slots[k]], axis=0)
            for k, i in master.first
        }
        cost = sum(
            float(self._cheapest(master, i, level_prices, f).cost[-1])
            for i, f in master.due.items()
        )
        prices = np.zeros(master.size)
        for key, row in master.first.items():
            steps = np.diff(level_prices[key], prepend=0.0)
            prices[row : row + len(steps)] = steps / cost if 0 < cost < np.inf else steps
        return prices

    def _price(
        self,
        master: "_DeadlineMaster",
        level_prices: LevelPrices,
        proofs: list[_DualProof],
        clock: Clock,
    ) -> Columns | None:
        """Record what prices prove; return the best plans and packings as columns, or None."""
        columns: list[dict[int, float]] = []
        cost = slots_value = 0.0
        for i in master.due:
            cheapest = self._cheapest(master, i, level_prices, master.due[i])
            if not cheapest.plans:
                raise OutOfTimeError  # the job has too few slots, by a rounding
            cost += float(cheapest.cost[-1])
            offsets = cheapest.plans[max(cheapest.plans)]
            first = self.jobs[i].arrival
            plan = {
                first + k: self.level_of[JobBundle(i, option.internal, option.workers)][1]
                for k, option in offsets.items()
            }
            self.plans.setdefault((i, *plan.items()), plan)
            columns.append(master.plan(i, plan))
        for k, jobs in enumerate(master.jobs):
            values = {i: level_prices[k, i] for i in jobs}
            upper, chosen = best_of_slot(self.slots, self.levels, values, self.packings, clock)
            slots_value += len(master.slots[k]) * upper
            if chosen:
                if chosen not in self.packings:
                    self.packings.append(chosen)
                columns += master.packing_columns(chosen)
        proofs.append(_DualProof(level_prices, slots_value, cost))
        return master.columns(columns) if columns else None

    def _cheapest(
        self, master: "_DeadlineMaster", i: int, level_prices: LevelPrices, last: int
    ) -> CheapestPlans:
        """Return the cheapest plans of job i; slots after its deadline are free."""
        job, own = job_at_arrival(self.instance, i), self.levels[i]
        rows = []
        for t in range(job.arrival, last + 1):
            prices = level_prices.get((master.at[t], i)) if t in master.at else None
            costs = np.zeros(len(own.items)) if prices is None else prices
            options = [
                SlotOption(float(cost), item.workers, item.internal, {})
                for cost, item in zip(costs, own.items, strict=True)
            ]
            rows.append(undominated(job, options))
        return exact(job, rows)

    def _cut(self, master: "_DeadlineMaster", proof: _DualProof) -> CompletionCut:
        """Return the inequality of a proof as a row on completions."""
        T = self.instance.horizon
        costs = {i: self._cheapest(master, i, proof.level_prices, T).cost for i in master.due}
        # sum_i cost_i(f_i) <= value of all slots, scaled; weights are cut off at 2 SCALE, because
        # a single one violates the row
        scale = SCALE / proof.cost
        upper = scale * proof.slots_value * (1 + 1e-9)
        return CompletionCut(
            {
                (i, self.jobs[i].arrival + k): min(2 * SCALE, scale * cost)
                for i, cost_by_slot in costs.items()
                for k, cost in enumerate(cost_by_slot.tolist())
            },
            upper,
        )

    def _whole(self, master: "_DeadlineMaster") -> SlotPlan | None:
        """Return a plan composed of known packings, or None if there is none or time is up."""
        keys = list(
            dict.fromkeys(
                (k, own) for each in self.packings for k, own in master.restrictions(each)
            )
        )
        counts = [len(own) for own in master.slots]
        builder = ProgramBuilder()
        chosen = builder.columns(
            "packings", len(keys), upper=[counts[k] for k, _ in keys], integer=True
        )
        work = [self.jobs[i].cover_row.least for i in master.due]
        jobs = builder.rows("jobs", len(work), lower=work)
        classes = builder.rows("classes", len(counts), upper=counts)
        for column, (k, own) in enumerate(keys):
            builder.add(classes.at(k), chosen.at(column), 1)
            for i, level in own:
                progress = self.levels[i].progress[level]
                builder.add(jobs.at(master.row[i]), chosen.at(column), progress)
        result = solve(
            builder.program(),
            "highs",
            clock=self.clock.share(1.0, most=INTEGER_SECONDS),
            seed=self.seed,
            options=ENGINES["highs"].usual,
        )
        if result.values is None:
            return None
        free = [list(own) for own in master.slots]
        plan = {}
        for (k, own), number in zip(keys, np.round(result.values).astype(int), strict=True):
            for _ in range(number):
                plan[free[k].pop()] = [self.levels[i].items[level] for i, level in own]
        return plan


class _DeadlineMaster:
    """The classes of slots of some deadlines, and the rows and columns of their master.

    Rows: jobs, classes, then the levels of each class and job.
    """

    def __init__(self, oracle: DeadlineOracle, due: Mapping[int, int]) -> None:
        self.oracle, self.due = oracle, dict(sorted(due.items()))
        classes: dict[tuple[int, ...], list[int]] = {}
        for t in range(1, oracle.instance.horizon + 1):
            running = tuple(i for i, f in self.due.items() if oracle.jobs[i].arrival <= t <= f)
            if running:
                classes.setdefault(running, []).append(t)
        self.jobs, self.slots = list(classes), list(classes.values())
        self.at = {t: k for k, own in enumerate(self.slots) for t in own}
        self.row = {i: n for n, i in enumerate(self.due)}
        self.first: dict[tuple[int, int], int] = {}  # the row of the lowest level
        self.size = len(self.due) + len(self.jobs)
        for k, jobs in enumerate(self.jobs):
            for i in jobs:
                self.first[k, i] = self.size
                self.size += len(oracle.levels[i].items)

    def program(self) -> LinearProgram:
        """Return the master: the column z first, then the known plans and packings."""
        entries = [dict.fromkeys(self.row.values(), -1.0)]
        for (i, *_), plan in self.oracle.plans.items():
            if i in self.due and max(plan) <= self.due[i]:
                entries.append(self.plan(i, plan))
        for chosen in self.oracle.packings:
            entries += self.packing_columns(chosen)
        columns = self.columns(entries)
        lower, upper = np.zeros(self.size), np.full(self.size, np.inf)
        counts = slice(len(self.due), len(self.due) + len(self.jobs))
        lower[counts], upper[counts] = -np.inf, [len(own) for own in self.slots]
        column_upper = np.full(len(entries), np.inf)
        column_upper[0] = 1.0
        cost = np.zeros(len(entries))
        cost[0] = -1.0
        return LinearProgram(
            cost, np.zeros(len(entries)), column_upper, columns.matrix, lower, upper
        )

    def level_prices(self, duals: Floats) -> LevelPrices:
        """Return the prices of the levels: the cumulated duals [row] of their rows."""
        prices = {}
        for (k, i), row in self.first.items():
            steps = duals[row : row + len(self.oracle.levels[i].items)]
            prices[k, i] = np.cumsum(np.maximum(0.0, steps))
        return prices

    def plan(self, i: int, levels: Mapping[int, int]) -> dict[int, float]:
        """Return the column of a plan of job i, by row."""
        entries = {self.row[i]: 1.0}
        for t, level in levels.items():
            first = self.first[self.at[t], i]
            for row in range(first, first + level + 1):
                entries[row] = entries.get(row, 0.0) - 1.0
        return entries

    def packing_columns(self, chosen: LevelChoice) -> list[dict[int, float]]:
        """Return the columns of a packing, one for each class of slots."""
        columns = []
        for k, own in self.restrictions(chosen):
            column = {len(self.due) + k: 1.0}
            for i, level in own:
                first = self.first[k, i]
                column |= dict.fromkeys(range(first, first + level + 1), 1.0)
            columns.append(column)
        return columns

    def restrictions(
        self, chosen: LevelChoice
    ) -> Iterable[tuple[int, tuple[tuple[int, int], ...]]]:
        """Yield each class with the jobs of a packing that may run in it, and their levels."""
        for k, jobs in enumerate(self.jobs):
            own = tuple((i, chosen[i]) for i in jobs if i in chosen)
            if own:
                yield k, own

    def columns(self, entries: list[dict[int, float]]) -> Columns:
        """Return columns of cost 0."""
        return Columns(np.zeros(len(entries)), columns_matrix(entries, self.size), entries)
