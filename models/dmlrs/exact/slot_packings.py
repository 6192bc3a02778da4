"""What one slot holds together, remembered; and the best of it at given values (ours)."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from schedgap.instances.dmlrs import Counts, DmlrsInstance, DmlrsSchedule, arrays
from schedgap.instances.dmlrs.compiled import Floats, Ints
from schedgap.models.dmlrs.exact.bin_completion import OutOfTimeError
from schedgap.models.dmlrs.exact.packing import Packing, dominates, few_that_do_not_fit, pack
from schedgap.models.dmlrs.programs.aggregate import Item
from schedgap.models.dmlrs.programs.common_rows import Part, parts
from schedgap.models.dmlrs.throughput import bundles, ps_needed
from schedgap.solvers import Clock, solve
from schedgap.solvers.programs.arrays import LinearProgram

LOOK = 256  # nodes between two looks at the clock
CLOSE = 1e-9  # a sum of values that exceeds the best one by less is not looked for

Plan = Mapping[int, Sequence[Item]]  # what runs in each slot


class Slots:
    """The packing of sets of items, each set once, and the few of those that do not fit."""

    def __init__(self, instance: DmlrsInstance, clock: Clock) -> None:
        self.instance, self.clock = instance, clock
        self._packings: dict[frozenset[Item], Packing] = {}
        self._few: dict[frozenset[Item], tuple[Item, ...]] = {}
        self._fit, self._unfit = _Sets(len(instance.jobs)), _Sets(len(instance.jobs))

    def __len__(self) -> int:
        return len(self._packings)

    def packing(self, items: Sequence[Item]) -> Packing:
        """Return where the items of a slot go."""
        key = frozenset(items)
        if key not in self._packings:
            found = pack(self.instance, sorted(items), self.clock)
            self._packings[key] = found
            if found.impossible or found.counts is not None:
                (self._unfit if found.impossible else self._fit).add(items)
        return self._packings[key]

    def fits(self, items: Sequence[Item]) -> bool:
        """Whether a slot holds the items; OutOfTimeError when that cannot be told any more."""
        if self._fit.some_at_least(items):
            return True
        if self._unfit.some_at_most(items):
            return False
        found = self.packing(items)
        if found.counts is None and not found.impossible:
            raise OutOfTimeError
        return not found.impossible

    def few(self, items: Sequence[Item]) -> tuple[Item, ...]:
        """Return the smallest part of impossible items."""
        key = frozenset(items)
        if key not in self._few:
            self._few[key] = few_that_do_not_fit(self.instance, sorted(items), self.clock)
        return self._few[key]

    def schedule(self, plan: Plan) -> DmlrsSchedule:
        """Return the packed slots, without the jobs of least utility that do not fit."""
        view = arrays(self.instance)
        last = {item.job: t for t in sorted(plan) for item in plan[t]}
        worth = {i: float(view.utility[i, t - view.arrival[i]]) for i, t in last.items()}
        left = dict(plan)
        while (t := self._unpacked(left)) is not None:
            among = self.few(left[t]) if self.packing(left[t]).impossible else left[t]
            least = min((item.job for item in among), key=worth.__getitem__)
            left = {s: [each for each in own if each.job != least] for s, own in left.items()}
        plans: dict[int, dict[int, Counts]] = {}
        for t, own in left.items():
            for item, held in zip(sorted(own), self.packing(own).counts or (), strict=True):
                plans.setdefault(item.job, {})[t] = held
        return DmlrsSchedule.of_plans(self.instance, plans)

    def _unpacked(self, plan: Plan) -> int | None:
        """Return the first slot that does not fit, or of which time does not let us tell."""
        return next((t for t in sorted(plan) if self.packing(plan[t]).counts is None), None)


class _Sets:
    """Sets of items by workers [set, job and mode]: an internal item counts in both modes."""

    def __init__(self, jobs: int) -> None:
        self._rows = np.zeros((64, 2 * jobs), dtype=np.int64)
        self._size = 0

    def add(self, items: Sequence[Item]) -> None:
        """Remember a set."""
        if self._size == len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
        self._rows[self._size] = self._row(items)
        self._size += 1

    def some_at_least(self, items: Sequence[Item]) -> bool:
        """Whether a set is known that takes all the room of these items."""
        return bool((self._rows[: self._size] >= self._row(items)).all(axis=1).any())

    def some_at_most(self, items: Sequence[Item]) -> bool:
        """Whether a set is known whose room these items take."""
        return bool((self._rows[: self._size] <= self._row(items)).all(axis=1).any())

    def _row(self, items: Sequence[Item]) -> Ints:
        row: Ints = np.zeros(self._rows.shape[1], dtype=np.int64)
        for item in items:
            row[2 * item.job] = item.workers
            row[2 * item.job + 1] = item.workers if item.internal else 0
        return row


# --- the best of a slot ------------------------------------------------------------------------


class Levels:
    """The items of a job by rising progress, without those that take more room for no more of it.

    `progress` [l] is in the whole numbers of the job's row (3), see `cover`.
    """

    def __init__(self, instance: DmlrsInstance, part: Part) -> None:
        view, i = arrays(instance), part.job
        both = [
            (n * (part.cover.inside if internal else part.cover.across), Item(i, internal, n))
            for internal, most in ((False, part.across), (True, max(part.inside)))
            for n in bundles(instance, i).workers.tolist()
            if n <= most
        ]
        kept = [
            (done, item)
            for done, item in sorted(both)
            if not any(more >= done and item != o and dominates(item, o) for more, o in both)
        ]
        self.items = tuple(item for _, item in kept)
        self.progress: Ints = np.array([done for done, _ in kept], dtype=np.int64)
        self.easier = np.array(  # [l, other]: takes no more room
            [[a != b and dominates(a, b) for b in self.items] for a in self.items], dtype=bool
        )
        self.demand: Ints = np.array(  # [l, r] thousandths
            [
                n * view.worker_milli[i] + ps_needed(float(view.ratio[i]), n) * view.ps_milli[i]
                for _, _, n in self.items
            ]
        )


def all_levels(instance: DmlrsInstance) -> dict[int, Levels]:
    """Return the levels of the jobs that some schedule may complete."""
    return {part.job: Levels(instance, part) for part in parts(instance)}


Chosen = dict[int, int]  # level by job


def best(
    slots: Slots,
    levels: Mapping[int, Levels],
    values: Mapping[int, Floats],
    known: Iterable[Chosen],
    clock: Clock,
) -> tuple[float, Chosen]:
    """Return at least what any items of a slot are worth together, and items worth so much.

    OutOfTimeError when the clock ended that.

    Parameters
    ----------
    values : mapping
        By job, of its levels [l]; never falling.
    known : iterable
        Sets that slots hold, to begin with.

    Notes
    -----
    Branch and bound over the jobs. All machines as one, relaxed, price the room: what is left of
    it and what these prices leave to a job bound the jobs that come.
    """
    ways: dict[int, list[int]] = {}
    for i, own in values.items():
        if len(own) and own[-1] > 0:
            beaten = (levels[i].easier & (own >= own[:, None])).any(axis=1)
            ways[i] = np.flatnonzero(~beaten & (own > 0))[::-1].tolist()
    if not ways:
        return 0.0, {}
    room = arrays(slots.instance).capacity_milli.sum(axis=0)
    price = _prices(levels, values, ways, room)
    margin = {i: values[i][own] - levels[i].demand[own] @ price for i, own in ways.items()}
    jobs = sorted(ways, key=lambda i: -float(values[i][-1]))
    # what the jobs from k on add at most, at prices and without
    priced, free = np.zeros(len(jobs) + 1), np.zeros(len(jobs) + 1)
    for k in range(len(jobs) - 1, -1, -1):
        priced[k] = priced[k + 1] + max(0.0, float(margin[jobs[k]].max()))
        free[k] = free[k + 1] + float(values[jobs[k]][-1])
    worth_of = {i: values[i][own] for i, own in ways.items()}
    demand = {i: levels[i].demand[own] for i, own in ways.items()}
    chosen = max(known, key=lambda own: _worth(own, values), default={})
    chosen = {i: level for i, level in chosen.items() if i in ways}
    most, nodes = _worth(chosen, values), 0
    items: list[Item] = []
    path: Chosen = {}

    def visit(k: int, value: float, left: Ints) -> None:
        nonlocal most, chosen, nodes
        nodes += 1
        if nodes % LOOK == 0 and clock.expired():
            raise OutOfTimeError
        if value > most:
            most, chosen = value, dict(path)
        if k == len(jobs) or value + min(free[k], price @ left + priced[k]) <= most + CLOSE:
            return
        i = jobs[k]
        after = left - demand[i]
        more = value + worth_of[i]
        bound = more + np.minimum(free[k + 1], after @ price + priced[k + 1])
        for n in np.flatnonzero((after >= 0).all(axis=1) & (bound > most + CLOSE)).tolist():
            if bound[n] > most + CLOSE:
                level = ways[i][n]
                items.append(levels[i].items[level])
                if slots.fits(items):
                    path[i] = level
                    visit(k + 1, float(more[n]), after[n])
                    del path[i]
                items.pop()
        visit(k + 1, value, left)

    visit(0, 0.0, room)
    return most + CLOSE, chosen


def _worth(chosen: Chosen, values: Mapping[int, Floats]) -> float:
    return sum(float(values[i][level]) for i, level in chosen.items() if i in values)


def _prices(
    levels: Mapping[int, Levels],
    values: Mapping[int, Floats],
    ways: Mapping[int, list[int]],
    room: Ints,
) -> Floats:
    """Return prices [r] of room of all machines as one, for whole jobs in parts."""
    owner = np.repeat(np.arange(len(ways)), [len(own) for own in ways.values()])
    demand = np.concatenate([levels[i].demand[own] for i, own in ways.items()])
    once = (owner == np.arange(len(ways))[:, None]).astype(float)
    size = len(room) + len(ways)
    result = solve(
        LinearProgram(
            -np.concatenate([values[i][own] for i, own in ways.items()]),
            np.zeros(len(owner)),
            np.ones(len(owner)),
            np.concatenate([demand.T, once]),
            np.full(size, -np.inf),
            np.concatenate([room, np.ones(len(ways))]).astype(float),
        ),
        "highs",
        clock=Clock(),
    )
    duals = np.zeros(size) if result.duals is None else result.duals
    found: Floats = np.maximum(0.0, -duals[: len(room)])
    return found
