"""Whether jobs can all be complete by slots of theirs, whatever runs where: by columns (ours).

Between two arrivals or deadlines all slots are alike. A plan of a job takes a level of progress in
some of these slots; a set of items that a slot holds offers one to each of its jobs. As with whole
jobs and whole slots, the largest part z of every job that fits is a linear program over both. Its
prices, rents of levels, prove z < 1 where no schedule has these deadlines:

    sum_i least rent of a plan of i <= sum_slots largest rent of what the slot holds

is broken then, a row on completions that holds for all schedules. Where z = 1, an integer program
over the sets of items that are known often is a schedule.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from schedgap.instances.dmlrs.compiled import Floats
from schedgap.models.dmlrs.algorithms.dynamic_program import Cheapest, exact, not_dominated
from schedgap.models.dmlrs.exact.bin_completion import OutOfTimeError
from schedgap.models.dmlrs.exact.slot_packings import Chosen, Plan, Slots, all_levels, best
from schedgap.models.dmlrs.offers import Offer, arrived
from schedgap.models.dmlrs.programs.aggregate import Item
from schedgap.models.dmlrs.programs.common_rows import parts
from schedgap.solvers import Clock, solve
from schedgap.solvers.engines.results import USUAL_TOLERANCES
from schedgap.solvers.loops.column_generation import Columns, Priced, generate_columns
from schedgap.solvers.programs.arrays import LinearProgram

MARGIN = 1e-5  # of z: prices that prove less leave the question open
SCALE = 100.0  # of a cut: its deadlines break it by more than an engine's tolerance
PART = 0.1  # of the time left, for one answer
INTEGER_SECONDS = 10.0

Rents = dict[tuple[int, int], Floats]  # of levels [l], by class of slots and job


class Cut(NamedTuple):
    """Every schedule has sum weight[i, f] <= most over its jobs i and their completions f."""

    weight: dict[tuple[int, int], float]
    most: float


@dataclass(frozen=True, slots=True, eq=False)
class _Proof:
    rents: Rents
    room: float  # at least what all slots together can earn
    cost: float  # what all the jobs pay at least

    @property
    def part(self) -> float:
        """At least z."""
        return self.room / self.cost if self.cost > MARGIN else 1.0


class Deadlines:
    """Answers for one instance; what slots and jobs did for one helps with the next.

    Parameters
    ----------
    offers : mapping
        Rents to begin with: what each job can rent, slot by slot from its arrival on.
    """

    def __init__(
        self, slots: Slots, offers: Mapping[int, Sequence[Sequence[Offer]]], clock: Clock, seed: int
    ) -> None:
        self.instance, self.slots, self.clock, self.seed = slots.instance, slots, clock, seed
        instance = self.instance
        self.levels = all_levels(instance)
        self.part = {part.job: part for part in parts(instance)}
        self.place = {
            item: (i, level)
            for i, own in self.levels.items()
            for level, item in enumerate(own.items)
        }
        self.rent: dict[tuple[int, int], Floats] = {}  # of levels [l], by slot and job
        for i, rows in offers.items():
            for t, row in enumerate(rows, self.part[i].arrival):
                cost = {(offer.internal, offer.workers): offer.cost for offer in row}
                own = [cost[item.internal, item.workers] for item in self.levels[i].items]
                self.rent[t, i] = np.maximum.accumulate(np.array(own))
        self.sets: list[Chosen] = []
        self.plans: dict[tuple[Any, ...], Mapping[int, int]] = {}  # level by slot; job first

    def check(self, due: Mapping[int, int]) -> Plan | Cut | None:
        """Return a plan that completes the jobs by `due`, a cut that says none does, or None.

        Parameters
        ----------
        due : mapping
            The last slot of each job; others do not run.
        """
        case, clock = _Case(self, due), self.clock.share(PART)
        proofs: list[_Proof] = []

        def pricing(duals: Floats) -> Priced:
            found = self._price(case, case.rents(duals), proofs, clock)
            if proofs[-1].part < 1 - MARGIN:
                return Priced(None, -proofs[-1].part)
            return Priced(found, -1.0)

        try:
            start = self._start(case)
            first = [pricing(start)]  # before the master, so that it has these columns
            result = generate_columns(
                case.master(),
                lambda duals: first.pop() if first else pricing(duals),
                clock=clock,
                prices=start,
                seed=self.seed,
            )
        except OutOfTimeError:
            return None
        least = min(proofs, key=lambda proof: proof.part)
        self.rent |= {
            (t, i): least.rents[case.at[t], i] for t in case.at for i in case.jobs[case.at[t]]
        }
        if least.part < 1 - MARGIN:
            return self._cut(case, least)
        whole = result.objective is not None and result.objective < MARGIN - 1
        return self._whole(case) if whole else None

    def _start(self, case: "_Case") -> Floats:
        """Return prices [row]: the last rents, of 1 for all the jobs together."""
        rents = {
            (k, i): np.mean([self.rent[t, i] for t in case.slots[k]], axis=0) for k, i in case.first
        }
        cost = sum(float(self._cheapest(case, i, rents, f).cost[-1]) for i, f in case.due.items())
        prices = np.zeros(case.size)
        for key, row in case.first.items():
            steps = np.diff(rents[key], prepend=0.0)
            prices[row : row + len(steps)] = steps / cost if 0 < cost < np.inf else steps
        return prices

    def _price(
        self, case: "_Case", rents: Rents, proofs: list[_Proof], clock: Clock
    ) -> Columns | None:
        fresh: list[dict[int, float]] = []
        cost = room = 0.0
        for i in case.due:
            found = self._cheapest(case, i, rents, case.due[i])
            if not found.ways:
                raise OutOfTimeError  # the job has too few slots, by a rounding
            cost += float(found.cost[-1])
            way = found.ways[max(found.ways)]
            first = self.part[i].arrival
            plan = {
                first + k: self.place[Item(i, offer.internal, offer.workers)][1]
                for k, offer in way.items()
            }
            self.plans.setdefault((i, *plan.items()), plan)
            fresh.append(case.plan(i, plan))
        for k, among in enumerate(case.jobs):
            values = {i: rents[k, i] for i in among}
            most, chosen = best(self.slots, self.levels, values, self.sets, clock)
            room += len(case.slots[k]) * most
            if chosen:
                if chosen not in self.sets:
                    self.sets.append(chosen)
                fresh += case.offered(chosen)
        proofs.append(_Proof(rents, room, cost))
        return case.columns(fresh) if fresh else None

    def _cheapest(self, case: "_Case", i: int, rents: Rents, last: int) -> Cheapest:
        """Return the least rents of job i; slots after its deadline are free."""
        job, own = arrived(self.instance, i), self.levels[i]
        rows = []
        for t in range(job.arrival, last + 1):
            rent = rents.get((case.at[t], i)) if t in case.at else None
            costs = np.zeros(len(own.items)) if rent is None else rent
            offers = [
                Offer(float(cost), item.workers, item.internal, {})
                for cost, item in zip(costs, own.items, strict=True)
            ]
            rows.append(not_dominated(job, offers))
        return exact(job, rows)

    def _cut(self, case: "_Case", proof: _Proof) -> Cut:
        T = self.instance.horizon
        costs = {i: self._cheapest(case, i, proof.rents, T).cost for i in case.due}
        scale = SCALE / proof.cost
        most = scale * proof.room * (1 + 1e-9)
        return Cut(
            {
                (i, self.part[i].arrival + k): min(2 * SCALE, scale * cost)
                for i, own in costs.items()
                for k, cost in enumerate(own.tolist())
            },
            most,
        )

    def _whole(self, case: "_Case") -> Plan | None:
        """Return a plan of known sets of items, or None where there is none, or no time."""
        keys = list(
            dict.fromkeys((k, own) for each in self.sets for k, own in case.restricted(each))
        )
        size = len(case.due) + len(case.jobs)
        matrix = np.zeros((size, len(keys)))
        for column, (k, own) in enumerate(keys):
            matrix[len(case.due) + k, column] = 1
            for i, level in own:
                matrix[case.row[i], column] = self.levels[i].progress[level]
        counts = np.array([len(own) for own in case.slots], dtype=float)
        needs = [self.part[i].cover.least for i in case.due]
        result = solve(
            LinearProgram(
                np.zeros(len(keys)),
                np.zeros(len(keys)),
                counts[[k for k, _ in keys]],
                matrix,
                np.concatenate([needs, np.full(len(counts), -np.inf)]),
                np.concatenate([np.full(len(needs), np.inf), counts]),
                integer=np.ones(len(keys), dtype=bool),
            ),
            "highs",
            clock=self.clock.share(1.0, most=INTEGER_SECONDS),
            seed=self.seed,
            options=USUAL_TOLERANCES["highs"],
        )
        if result.values is None:
            return None
        free = [list(own) for own in case.slots]
        plan = {}
        for (k, own), number in zip(keys, np.round(result.values).astype(int), strict=True):
            for _ in range(number):
                plan[free[k].pop()] = [self.levels[i].items[level] for i, level in own]
        return plan


class _Case:
    """Deadlines, their classes of slots, and the rows of the master.

    Rows: jobs, classes, then the levels of each class and job.
    """

    def __init__(self, known: Deadlines, due: Mapping[int, int]) -> None:
        self.known, self.due = known, dict(sorted(due.items()))
        classes: dict[tuple[int, ...], list[int]] = {}
        for t in range(1, known.instance.horizon + 1):
            here = tuple(i for i, f in self.due.items() if known.part[i].arrival <= t <= f)
            if here:
                classes.setdefault(here, []).append(t)
        self.jobs, self.slots = list(classes), list(classes.values())
        self.at = {t: k for k, own in enumerate(self.slots) for t in own}
        self.row = {i: n for n, i in enumerate(self.due)}
        self.first: dict[tuple[int, int], int] = {}  # the row of the lowest level
        self.size = len(self.due) + len(self.jobs)
        for k, among in enumerate(self.jobs):
            for i in among:
                self.first[k, i] = self.size
                self.size += len(known.levels[i].items)

    def master(self) -> LinearProgram:
        """Return the program: z first, then the plans and sets of items that are known."""
        fresh = [dict.fromkeys(self.row.values(), -1.0)]
        for (i, *_), plan in self.known.plans.items():
            if i in self.due and max(plan) <= self.due[i]:
                fresh.append(self.plan(i, plan))
        for chosen in self.known.sets:
            fresh += self.offered(chosen)
        made = self.columns(fresh)
        lower, upper = np.zeros(self.size), np.full(self.size, np.inf)
        counts = slice(len(self.due), len(self.due) + len(self.jobs))
        lower[counts], upper[counts] = -np.inf, [len(own) for own in self.slots]
        most = np.full(len(fresh), np.inf)
        most[0] = 1.0
        cost = np.zeros(len(fresh))
        cost[0] = -1.0
        return LinearProgram(cost, np.zeros(len(fresh)), most, made.matrix, lower, upper)

    def rents(self, duals: Floats) -> Rents:
        """Return the rents of levels that the duals [row] are, as their steps."""
        found = {}
        for (k, i), row in self.first.items():
            steps = duals[row : row + len(self.known.levels[i].items)]
            found[k, i] = np.cumsum(np.maximum(0.0, steps))
        return found

    def plan(self, i: int, levels: Mapping[int, int]) -> dict[int, float]:
        """Return the column of a plan of job i, by row."""
        found = {self.row[i]: 1.0}
        for t, level in levels.items():
            first = self.first[self.at[t], i]
            for row in range(first, first + level + 1):
                found[row] = found.get(row, 0.0) - 1.0
        return found

    def offered(self, chosen: Chosen) -> list[dict[int, float]]:
        """Return the columns of a set of items, for each class of slots."""
        found = []
        for k, own in self.restricted(chosen):
            column = {len(self.due) + k: 1.0}
            for i, level in own:
                first = self.first[k, i]
                column |= dict.fromkeys(range(first, first + level + 1), 1.0)
            found.append(column)
        return found

    def restricted(self, chosen: Chosen) -> Iterable[tuple[int, tuple[tuple[int, int], ...]]]:
        """Yield each class, and the jobs of a set, with their levels, that may run in it."""
        for k, among in enumerate(self.jobs):
            own = tuple((i, chosen[i]) for i in among if i in chosen)
            if own:
                yield k, own

    def columns(self, entries: list[dict[int, float]]) -> Columns:
        """Return columns of the master that cost nothing."""
        starts = np.cumsum([0, *map(len, entries)])
        rows = [row for own in entries for row in own]
        values = [value for own in entries for value in own.values()]
        matrix: Any = sparse.csc_array((values, rows, starts), shape=(self.size, len(entries)))
        return Columns(np.zeros(len(entries)), matrix, entries)
