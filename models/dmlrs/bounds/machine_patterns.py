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
    Cheapest,
    exact,
    not_dominated,
    on_grid_up,
)
from schedgap.models.dmlrs.bounds.column_generation import Column, payoff
from schedgap.models.dmlrs.bounds.knapsack import SAFE, Budget, Option, knapsack
from schedgap.models.dmlrs.offers import Offer, arrived
from schedgap.models.dmlrs.throughput import bundles, external_width, first_completions, widths
from schedgap.solvers import Clock
from schedgap.solvers.loops.column_generation import Columns, Priced, generate_columns
from schedgap.solvers.programs.arrays import LinearProgram

POSITIVE = 1e-9  # a rent is more than this, or none
GAP = 2e-4  # relative, of master and bound: what is left is slow, and a search is faster
MOST_ROWS = 30_000  # of the master
MOST_WORKERS = 64  # of a job in a slot
MOST_BUNDLES = 1500  # of a job in all its slots together, whose plans are cheapest without rounding
GRID = 3000  # parts of the work, for jobs with more
NODES = 400_000  # of all the knapsacks of one judgement; those after it have weaker bounds


class Part(NamedTuple):
    """What a machine holds: a worker or a PS of a job across machines, or n workers with their PSs.

    `workers` 1 and `ps` 0, or 0 and 1; `inside`: all of a job's workers and PSs of the slot.
    """

    job: int
    workers: int
    ps: int
    inside: bool


class Pattern(NamedTuple):
    """Numbers of parts [k] on one machine of a type in a slot, from 1."""

    slot: int
    type: int
    numbers: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Rents:
    """Rents, and what they prove."""

    rent: Floats  # [t, k] by part
    bound: float  # on the sum of utilities
    room: Floats  # [t] at least the rent of all machines together
    payoff: dict[int, float]  # by job, at least the largest of its plans, or 0


class Parts:
    """The parts of an instance's jobs, its types of machines, and the rows of the master.

    Rows: parts by slot, then types by slot, then the jobs that can be completed.
    """

    def __init__(self, instance: DmlrsInstance) -> None:
        view, T = arrays(instance), instance.horizon
        self.instance = instance
        self.capacity, self.machines = np.unique(view.capacity_milli, axis=0, return_counts=True)
        self.jobs = [i for i, first in enumerate(first_completions(instance)) if first <= T]
        self.parts: list[Part] = []
        for i in self.jobs:
            if external_width(instance, i):
                self.parts += [Part(i, 1, 0, False), Part(i, 0, 1, False)]
            some, most = bundles(instance, i), int(widths(instance).internal[i].max())
            pairs = zip(some.workers.tolist(), some.ps.tolist(), strict=True)
            self.parts += [Part(i, n, m, True) for n, m in pairs if n <= most]
        self.place = {part: k for k, part in enumerate(self.parts)}
        self.demand = np.array(  # [k, r] thousandths
            [p.workers * view.worker_milli[p.job] + p.ps * view.ps_milli[p.job] for p in self.parts]
        ).reshape(len(self.parts), len(instance.resources))
        self.arrival = view.arrival[[part.job for part in self.parts]]  # [k]
        self.most = [self._most(part) for part in self.parts]  # [k] of a machine
        self.links = T * len(self.parts)
        self.shape = T, len(self.machines)

    @property
    def rows(self) -> int:
        """How many rows the master has."""
        return self.links + self.shape[0] * self.shape[1] + len(self.jobs)

    def _most(self, part: Part) -> int:
        """Return how many of a part a slot of any schedule has at most."""
        if part.inside:
            return 1
        some = bundles(self.instance, part.job)
        return int((some.workers if part.workers else some.ps)[-1])

    def rent_of(self, duals: Floats) -> Floats:
        """Return the rents [t, k] of the master's duals [row]."""
        found: Floats = np.maximum(0.0, -np.asarray(duals)[: self.links])
        return np.where(found > POSITIVE, found, 0.0).reshape(self.shape[0], -1)

    def offers(self, i: int, rent: Floats) -> list[list[Offer]]:
        """Return all that job i can rent, slot by slot from its arrival on."""
        some, most = bundles(self.instance, i), external_width(self.instance, i)
        found = []
        for own in rent[int(arrays(self.instance).arrival[i]) - 1 :]:
            row = []
            for n, m in zip(some.workers.tolist(), some.ps.tolist(), strict=True):
                if n <= most:
                    worker, ps = (self.place[Part(i, *unit, False)] for unit in ((1, 0), (0, 1)))
                    row.append(Offer(float(n * own[worker] + m * own[ps]), n, False, {}))
                if (k := self.place.get(Part(i, n, m, True))) is not None:
                    row.append(Offer(float(own[k]), n, True, {}))
            found.append(row)
        return found

    def knapsack(self, type_: int, slot: int, rent: Floats, budget: Budget) -> tuple[float, Ints]:
        """Return at least the largest rent [k] of a machine in a slot, and a pattern.

        A bundle that pays no more than its workers and PSs one by one is left out.
        """
        numbers = np.zeros(len(self.parts), dtype=np.int64)
        room = self.capacity[type_]
        fits = (self.demand <= room).all(axis=1) & (self.arrival <= slot) & (rent > 0)
        inside: dict[int, list[Option]] = {}
        choices: list[list[Option]] = []
        for k in np.flatnonzero(fits).tolist():
            demand, value = tuple(self.demand[k].tolist()), float(rent[k])
            if self.parts[k].inside:
                if not self._apart(k, rent):
                    inside.setdefault(self.parts[k].job, []).append(Option(value, demand, (k, 1)))
                continue
            most = min(b // a for a, b in zip(demand, room.tolist(), strict=True) if a)
            choices.append(
                [
                    Option(n * value, tuple(n * a for a in demand), (k, n))
                    for n in range(1, min(most, self.most[k]) + 1)
                ]
            )
        most_rent, names = knapsack([*choices, *inside.values()], room.tolist(), budget)
        for k, number in names:
            numbers[k] = number
        return most_rent, numbers

    def _apart(self, k: int, rent: Floats) -> bool:
        part = self.parts[k]
        worker = self.place.get(Part(part.job, 1, 0, False))
        if not part.inside or worker is None:
            return False
        ps = self.place[Part(part.job, 0, 1, False)]
        return bool(rent[k] <= part.workers * rent[worker] + part.ps * rent[ps])

    def entries(self, column: Column | Pattern) -> dict[int, float]:
        """Return the entries of a column of the master, by row."""
        size = len(self.parts)
        if isinstance(column, Pattern):
            base = (column.slot - 1) * size
            found = {base + int(k): -float(n) for k, n in enumerate(column.numbers) if n}
            found[self.links + (column.slot - 1) * self.shape[1] + column.type] = 1.0
            return found
        i, some, found = column.job, bundles(self.instance, column.job), {}
        for slot, offer in column.offers.items():
            base, n = (slot - 1) * size, offer.workers
            m = int(some.ps[np.searchsorted(some.workers, n)])
            if offer.internal:
                found[base + self.place[Part(i, n, m, True)]] = 1.0
            else:
                found[base + self.place[Part(i, 1, 0, False)]] = float(n)
                found[base + self.place[Part(i, 0, 1, False)]] = float(m)
        found[self.row_of(i)] = 1.0
        return found

    def row_of(self, i: int) -> int:
        """Return the row of a job."""
        return self.links + self.shape[0] * self.shape[1] + self.jobs.index(i)


class Judged(NamedTuple):
    """What rents prove, and what pays best at them."""

    rents: Rents
    patterns: list[tuple[int, Ints]]  # types and numbers of parts [k]
    plans: dict[int, Cheapest]  # by job


def judge(made: Parts, rent: Floats, clock: Clock) -> Judged | None:
    """Return what rents [t, k] >= 0 prove; any prove something. None when there was no time."""
    room, patterns = np.zeros(made.shape[0]), []
    budget = Budget(NODES)
    for t, own in enumerate(rent):
        for q, count in enumerate(made.machines):
            if clock.expired():
                return None
            most, numbers = made.knapsack(q, t + 1, own, budget)
            room[t] += count * most
            patterns.append((q, numbers))
    plans, payoffs = {}, {}
    for i in made.jobs:
        job = arrived(made.instance, i)
        rows = [not_dominated(job, own) for own in made.offers(i, rent)]
        few = len(rows) * len(job.bundles.workers) <= MOST_BUNDLES
        plans[i] = exact(job, rows) if few else on_grid_up(job, rows, GRID)
        payoffs[i] = payoff(made.instance, i, plans[i].cost)
    bound = float(room.sum() + sum(payoffs.values())) * SAFE
    return Judged(Rents(rent, bound, room, payoffs), patterns, plans)


def solve_patterns(
    instance: DmlrsInstance,
    prices: Floats,
    *,
    clock: Clock,
    seed: int = 0,
    threads: int = 1,
    on_bound: Callable[[float, Floats], None] | None = None,
) -> Rents | None:
    """Return the best rents found from prices [t, r] of all machines as one, or None.

    `on_bound` hears of bounds on the sum of utilities, each with its rents [t, k].
    """
    made = Parts(instance)
    T = made.shape[0]
    start = np.concatenate(
        [-(prices @ (made.demand / 1000).T).ravel(), np.zeros(made.rows - made.links)]
    )
    upper = np.concatenate(
        [np.zeros(made.links), np.tile(made.machines, T), np.ones(len(made.jobs))]
    )
    master = LinearProgram(
        np.zeros(1), np.zeros(1), np.zeros(1), sparse.csr_array((made.rows, 1)),
        np.full(made.rows, -np.inf), upper,
    )  # fmt: skip
    best: list[Rents] = []

    def pricing(duals: Floats) -> Priced | None:
        rent, rows = made.rent_of(duals), np.maximum(0.0, -duals[made.links :])
        found = judge(made, rent, clock)
        if found is None:
            return None
        if not best or found.rents.bound < best[0].bound:
            best[:] = [found.rents]
            if on_bound is not None:
                on_bound(found.rents.bound, rent)
        fresh: list[Column | Pattern] = []
        for q, numbers in found.patterns:
            fresh += _patterns(made, q, numbers, rent, rows)
        for i, plans in found.plans.items():
            job = arrived(instance, i)
            for k, way in plans.ways.items():
                if job.utility[k] - plans.cost[k] > POSITIVE - duals[made.row_of(i)]:
                    offers = {job.arrival + s: offer for s, offer in way.items()}
                    fresh.append(Column(i, job.arrival + k, offers))
        return Priced(_columns(made, fresh) if fresh else None, -found.rents.bound)

    generate_columns(
        master,
        pricing,
        clock=clock,
        gap=GAP,
        prices=start,
        seed=seed,
        threads=threads,
    )
    return best[0] if best else None


def _patterns(made: Parts, q: int, numbers: Ints, rent: Floats, rows: Floats) -> list[Pattern]:
    """Return a pattern in all slots in which it pays, without the jobs that are not there yet."""
    found = []
    for t, own in enumerate(rent):
        here = np.where(made.arrival <= t + 1, numbers, 0)
        if here @ own > rows[t * made.shape[1] + q] + POSITIVE:
            found.append(Pattern(t + 1, q, here))
    return found


def _columns(made: Parts, fresh: Sequence[Column | Pattern]) -> Columns:
    view = arrays(made.instance)
    cost = [
        0.0
        if isinstance(each, Pattern)
        else -float(view.utility[each.job, each.completion - view.arrival[each.job]])
        for each in fresh
    ]
    own = [made.entries(each) for each in fresh]
    rows = [row for entries in own for row in entries]
    values = [value for entries in own for value in entries.values()]
    starts = np.cumsum([0, *map(len, own)])
    matrix: Any = sparse.csc_array((values, rows, starts), shape=(made.rows, len(fresh)))
    return Columns(cost, matrix, fresh)
