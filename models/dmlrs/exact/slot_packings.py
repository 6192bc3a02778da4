"""A cache of which bundles fit one slot together, and the best bundles of a slot at given values.

References
----------
A. M. Geoffrion, "Lagrangean relaxation for integer programming", Mathematical Programming Study 2
(1974): prices of the merged capacity bound the branch and bound over the jobs of a slot.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from schedgap.instances.dmlrs import Counts, DmlrsInstance, DmlrsSchedule, arrays
from schedgap.instances.dmlrs.compiled import Floats, Ints
from schedgap.models.dmlrs.exact.packing import Packing, dominates, minimal_infeasible_subset, pack
from schedgap.models.dmlrs.programs.aggregate import JobBundle
from schedgap.models.dmlrs.programs.common_rows import CandidateJob, candidate_jobs
from schedgap.models.dmlrs.throughput import bundles, ps_needed
from schedgap.solvers import Clock, solve
from schedgap.solvers.programs.arrays import LinearProgram
from schedgap.solvers.proofs.bins import OutOfTimeError

CLOCK_INTERVAL = 256  # nodes between two readings of the clock
CLOSE = 1e-9  # sums of values that exceed the best one by less are not searched for

SlotPlan = Mapping[int, Sequence[JobBundle]]  # bundles by slot


class PackingCache:
    """Packings of sets of bundles, each computed once, and minimal infeasible subsets."""

    def __init__(self, instance: DmlrsInstance, clock: Clock) -> None:
        self.instance, self.clock = instance, clock
        self._packings: dict[frozenset[JobBundle], Packing] = {}
        self._minimal: dict[frozenset[JobBundle], tuple[JobBundle, ...]] = {}
        self._packable = _KnownSets(len(instance.jobs))
        self._unpackable = _KnownSets(len(instance.jobs))

    def __len__(self) -> int:
        return len(self._packings)

    def packing(self, items: Sequence[JobBundle]) -> Packing:
        """Return the packing of the bundles of a slot.

        `items`: bundles of one slot.
        """
        key = frozenset(items)
        if key not in self._packings:
            packing = pack(self.instance, sorted(items), self.clock)
            self._packings[key] = packing
            if packing.infeasible or packing.counts is not None:
                (self._unpackable if packing.infeasible else self._packable).add(items)
        return self._packings[key]

    def fits(self, items: Sequence[JobBundle]) -> bool:
        """Return whether a slot holds the bundles.

        `items`: bundles of one slot.

        Raises
        ------
        OutOfTimeError
            When the time is up before that is decided.
        """
        if self._packable.dominated_by(items):
            return True
        if self._unpackable.dominates_one(items):
            return False
        packing = self.packing(items)
        if packing.counts is None and not packing.infeasible:
            raise OutOfTimeError
        return not packing.infeasible

    def minimal_subset(self, items: Sequence[JobBundle]) -> tuple[JobBundle, ...]:
        """Return a minimal infeasible subset of bundles.

        `items`: bundles that cannot be packed.
        """
        key = frozenset(items)
        if key not in self._minimal:
            self._minimal[key] = minimal_infeasible_subset(self.instance, sorted(items), self.clock)
        return self._minimal[key]

    def schedule(self, plan: SlotPlan) -> DmlrsSchedule:
        """Return the schedule of a plan, without the jobs of least utility that do not fit.

        `plan`: bundles by slot.
        """
        view = arrays(self.instance)
        last = {item.job: t for t in sorted(plan) for item in plan[t]}
        utility = {i: float(view.utility[i, t - view.arrival[i]]) for i, t in last.items()}
        remaining = dict(plan)
        while (t := self._unpacked(remaining)) is not None:
            candidates = remaining[t]
            if self.packing(candidates).infeasible:
                candidates = self.minimal_subset(candidates)
            dropped = min((item.job for item in candidates), key=utility.__getitem__)
            remaining = {
                s: [item for item in items if item.job != dropped] for s, items in remaining.items()
            }
        plans: dict[int, dict[int, Counts]] = {}
        for t, items in remaining.items():
            for item, held in zip(sorted(items), self.packing(items).counts or (), strict=True):
                plans.setdefault(item.job, {})[t] = held
        return DmlrsSchedule.of_plans(self.instance, plans)

    def _unpacked(self, plan: SlotPlan) -> int | None:
        """Return the first slot without a packing: infeasible, or not decided in time."""
        return next((t for t in sorted(plan) if self.packing(plan[t]).counts is None), None)


class _KnownSets:
    """Sets of bundles as rows of workers [set, job and mode]; internal ones count in both modes."""

    def __init__(self, jobs: int) -> None:
        self._rows = np.zeros((64, 2 * jobs), dtype=np.int64)
        self._size = 0

    def add(self, items: Sequence[JobBundle]) -> None:
        """Add a set."""
        if self._size == len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
        self._rows[self._size] = self._row(items)
        self._size += 1

    def dominated_by(self, items: Sequence[JobBundle]) -> bool:
        """Return whether a known set takes at least the capacity of these bundles."""
        return bool((self._rows[: self._size] >= self._row(items)).all(axis=1).any())

    def dominates_one(self, items: Sequence[JobBundle]) -> bool:
        """Return whether these bundles take at least the capacity of a known set."""
        return bool((self._rows[: self._size] <= self._row(items)).all(axis=1).any())

    def _row(self, items: Sequence[JobBundle]) -> Ints:
        row: Ints = np.zeros(self._rows.shape[1], dtype=np.int64)
        for item in items:
            row[2 * item.job] = item.workers
            row[2 * item.job + 1] = item.workers if item.internal else 0
        return row


# --- the best of a slot ------------------------------------------------------------------------


class ProgressLevels:
    """The bundles of a job by rising progress, without those that a smaller bundle makes useless.

    `progress` [l] is in the whole numbers of the job's row (3), see `cover_row`.
    """

    def __init__(self, instance: DmlrsInstance, job: CandidateJob) -> None:
        view, i = arrays(instance), job.index
        modes = (
            (False, job.external, job.cover_row.external),
            (True, max(job.internal), job.cover_row.internal),
        )
        both = [
            (n * progress, JobBundle(i, internal, n))
            for internal, limit, progress in modes
            for n in bundles(instance, i).workers.tolist()
            if n <= limit
        ]
        kept = [
            (done, item)
            for done, item in sorted(both)
            if not any(more >= done and item != o and dominates(item, o) for more, o in both)
        ]
        self.items = tuple(item for _, item in kept)
        self.progress: Ints = np.array([done for done, _ in kept], dtype=np.int64)
        self.easier = np.array(  # [l, other]: whether the other takes no more capacity
            [[a != b and dominates(a, b) for b in self.items] for a in self.items], dtype=bool
        )
        self.demand: Ints = np.array(  # [l, r] thousandths
            [
                n * view.worker_milli[i] + ps_needed(float(view.ratio[i]), n) * view.ps_milli[i]
                for _, _, n in self.items
            ]
        )


def progress_levels(instance: DmlrsInstance) -> dict[int, ProgressLevels]:
    """Return the levels of the jobs that some schedule may complete."""
    return {job.index: ProgressLevels(instance, job) for job in candidate_jobs(instance)}


LevelChoice = dict[int, int]  # level by job


def best_of_slot(
    slots: PackingCache,
    levels: Mapping[int, ProgressLevels],
    values: Mapping[int, Floats],
    known: Iterable[LevelChoice],
    clock: Clock,
) -> tuple[float, LevelChoice]:
    """Return a bound on the value of the bundles of a slot, and bundles of that value.

    `slots`: decides which bundles fit together. `levels`: levels by job. `values`: by job, the
    values of its levels [l]; never decreasing. `known`: level choices that fit a slot, to begin
    with.

    Raises
    ------
    OutOfTimeError
        When the time is up before the search ends.

    Notes
    -----
    Branch and bound over the jobs. The linear relaxation with merged machines prices the capacity:
    value so far + price of the free capacity + what later jobs are worth beyond these prices is a
    bound, and so is value so far + all values of the later jobs.
    """
    levels_by_job: dict[int, list[int]] = {}
    for i, own in values.items():
        if len(own) and own[-1] > 0:
            beaten = (levels[i].easier & (own >= own[:, None])).any(axis=1)
            levels_by_job[i] = np.flatnonzero(~beaten & (own > 0))[::-1].tolist()
    if not levels_by_job:
        return 0.0, {}
    capacity = arrays(slots.instance).capacity_milli.sum(axis=0)
    price = _capacity_prices(levels, values, levels_by_job, capacity)
    margin = {i: values[i][own] - levels[i].demand[own] @ price for i, own in levels_by_job.items()}
    jobs = sorted(levels_by_job, key=lambda i: -float(values[i][-1]))
    # most that the jobs from k on add, beyond the prices and without prices
    priced, unpriced = np.zeros(len(jobs) + 1), np.zeros(len(jobs) + 1)
    for k in range(len(jobs) - 1, -1, -1):
        priced[k] = priced[k + 1] + max(0.0, float(margin[jobs[k]].max()))
        unpriced[k] = unpriced[k + 1] + float(values[jobs[k]][-1])
    gain_of = {i: values[i][own] for i, own in levels_by_job.items()}
    demand = {i: levels[i].demand[own] for i, own in levels_by_job.items()}
    chosen = max(known, key=lambda own: _total(own, values), default={})
    chosen = {i: level for i, level in chosen.items() if i in levels_by_job}
    best, nodes = _total(chosen, values), 0
    items: list[JobBundle] = []
    path: LevelChoice = {}

    def visit(k: int, value: float, free: Ints) -> None:
        """Branch on the level of job k, best values first, then on leaving it out."""
        nonlocal best, chosen, nodes
        nodes += 1
        if nodes % CLOCK_INTERVAL == 0 and clock.expired():
            raise OutOfTimeError
        if value > best:
            best, chosen = value, dict(path)
        if k == len(jobs) or value + min(unpriced[k], price @ free + priced[k]) <= best + CLOSE:
            return
        i = jobs[k]
        free_after = free - demand[i]
        value_after = value + gain_of[i]
        bound = value_after + np.minimum(unpriced[k + 1], free_after @ price + priced[k + 1])
        for n in np.flatnonzero((free_after >= 0).all(axis=1) & (bound > best + CLOSE)).tolist():
            if bound[n] > best + CLOSE:
                level = levels_by_job[i][n]
                items.append(levels[i].items[level])
                if slots.fits(items):
                    path[i] = level
                    visit(k + 1, float(value_after[n]), free_after[n])
                    del path[i]
                items.pop()
        visit(k + 1, value, free)

    visit(0, 0.0, capacity)
    return best + CLOSE, chosen


def _total(chosen: LevelChoice, values: Mapping[int, Floats]) -> float:
    """Return the value of the chosen levels."""
    return sum(float(values[i][level]) for i, level in chosen.items() if i in values)


def _capacity_prices(
    levels: Mapping[int, ProgressLevels],
    values: Mapping[int, Floats],
    levels_by_job: Mapping[int, list[int]],
    capacity: Ints,
) -> Floats:
    """Return prices [r] of the merged capacity from the linear relaxation of the slot."""
    owner = np.repeat(np.arange(len(levels_by_job)), [len(own) for own in levels_by_job.values()])
    demand = np.concatenate([levels[i].demand[own] for i, own in levels_by_job.items()])
    once = (owner == np.arange(len(levels_by_job))[:, None]).astype(float)
    size = len(capacity) + len(levels_by_job)
    result = solve(
        LinearProgram(
            -np.concatenate([values[i][own] for i, own in levels_by_job.items()]),
            np.zeros(len(owner)),
            np.ones(len(owner)),
            np.concatenate([demand.T, once]),
            np.full(size, -np.inf),
            np.concatenate([capacity, np.ones(len(levels_by_job))]).astype(float),
        ),
        "highs",
        clock=Clock(),
    )
    duals = np.zeros(size) if result.duals is None else result.duals
    prices: Floats = np.maximum(0.0, -duals[: len(capacity)])
    return prices
