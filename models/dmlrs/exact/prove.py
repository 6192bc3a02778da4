"""Write a proof of optimality: refute every better value over the program of `proof.py`.

Joins that program to the shared prover. Its relaxation merges all machines; the cuts of a slot
exclude what the machines cannot hold. Take the cuts sum worth v <= limit, scaled such that every
choice of bundles that a slot holds is worth 1 at most. The cut that a point violates most maximizes
worth v. It comes from a linear program whose rows are generated.

References
----------
D. Applegate, R. Bixby, V. Chvátal, W. Cook, "TSP cuts which do not conform to the template
paradigm", Computational Combinatorial Optimization, Lecture Notes in Computer Science 2241 (2001):
separation of a small polytope by optimizing over it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.models.dmlrs import proof
from schedgap.models.dmlrs.exact.packing import read
from schedgap.models.dmlrs.proof import Bundle
from schedgap.models.method import Budget
from schedgap.solvers import Clock
from schedgap.solvers.engines.highs import Relaxation
from schedgap.solvers.programs.arrays import Floats, LinearProgram
from schedgap.solvers.proofs.bins import OutOfTimeError
from schedgap.solvers.proofs.checker import Box
from schedgap.solvers.proofs.prover import Proved, prove

SCALES = (1, 2, 3, 4, 6, 12, 60, 1000)  # factors of a cut's coefficients, tried in this order
FINE = 10**6  # scale of the coefficients while they are computed
LEAST = 1e-6  # values of columns below it count as 0
VIOLATION = 1e-3  # relative


def prove_goal(
    instance: DmlrsInstance, goal: int, schedule: object = None, *, budget: Budget
) -> Proved:
    """Look for a proof that no schedule has a value of `goal` or less.

    `goal`: minimised value, from `proof.goal`. `schedule`: JSON data of the schedule that is
    claimed to be optimal; not used. `budget`: time and seed of the engine.

    Raises
    ------
    RefusedError
        If the program is too large to be written down.
    """
    model = proof.Model(instance, goal)
    separate = [SlotSeparator(model, budget.clock)]
    found = prove(
        model.program,
        clock=budget.clock,
        separate=separate,
        kinds=model.kinds,
        seed=budget.seed,
    )
    if found.better is None:
        return found
    try:
        schedule, _ = read(model, np.array(found.better, float), budget.clock)
    except OutOfTimeError:
        return found
    return found if schedule is None else replace(found, better=schedule)


Worth = dict[Bundle, int]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class SlotSeparator:
    """Separates cuts of slots.

    `model`: the program, and what a slot holds. `clock`: time budget.
    """

    def __init__(self, model: proof.Model, clock: Clock) -> None:
        self.model, self.clock = model, clock
        self.bundles = sorted({bundle for own in model.bundles for bundle in own.values()})
        self.index = {bundle: k for k, bundle in enumerate(self.bundles)}
        self.job, self.internal, self.workers = np.array(self.bundles, int).reshape(-1, 3).T
        self.known: list[Worth] = []
        self.coefficients: list[Floats] = []  # a known cut each, by bundle; right side 1
        self.held: dict[tuple[Bundle, ...], Bools] = {}  # bundles [k] that a choice can become

    def __call__(self, point: Floats, box: Box) -> Sequence[Mapping[str, Any]]:
        """Return a violated cut for each slot that has one.

        `point` [j]: a solution of the relaxation. `box`: bounds of the columns; not used.
        """
        found = []
        for slot, own in enumerate(self.model.bundles):
            value = np.zeros(len(self.bundles))
            for j, bundle in own.items():
                value[self.index[bundle]] = point[j]
            if self.clock.expired() or not (value > LEAST).any():
                continue
            worth = self._known(value) or self._separate(value)
            if worth:
                named = [[b.job, int(b.internal), b.workers, w] for b, w in worth.items()]
                found.append({"why": "slot", "slot": slot, "worth": sorted(named)})
        return found

    def _known(self, value: Floats) -> Worth | None:
        """Return the worth of bundles whose known cut a point [k] violates most, or None."""
        if not self.known:
            return None
        violation = np.array(self.coefficients) @ value
        most = int(violation.argmax())
        return self.known[most] if violation[most] > 1 + VIOLATION else None

    def _separate(self, value: Floats) -> Worth | None:
        """Return the worth of bundles whose cut a point [k] violates, or None."""
        support = np.flatnonzero(value > LEAST)
        bundles = [self.bundles[k] for k in support]
        size = len(bundles)
        rows, right = [np.zeros(size)], [0.0]
        for k, n in permutations(range(size), 2):
            if bundles[k].becomes(bundles[n]):  # then it is worth no less
                rows.append(np.zeros(size))
                rows[-1][n], rows[-1][k] = 1, -1
                right.append(0.0)
        held = self._choices(value, support)
        relaxation = Relaxation(
            LinearProgram(
                -value[support],
                np.zeros(size),
                np.ones(size),
                np.concatenate([np.array(rows), held]),
                np.full(len(rows) + len(held), -np.inf),
                np.array(right + [1.0] * len(held)),
            )
        )
        while not self.clock.expired():
            result = relaxation.solve(self.clock)
            if result.values is None or (result.objective or 0.0) >= -1 - VIOLATION:
                return None
            fine = np.round(np.asarray(result.values) * FINE).astype(int).tolist()
            worth = {b: w for b, w in zip(bundles, fine, strict=True) if w > 0}
            limit, chosen = self.model.best(worth)
            if limit <= FINE * (1 + 1e-5):
                return self._whole(worth, value)
            if sum(worth[b] for b in chosen) <= FINE * (1 + 1e-5):
                return None  # the search was too long
            self.held[chosen] = np.any([self._smaller(bundle) for bundle in chosen], axis=0)
            relaxation.add_rows([-np.inf], [1.0], [[float(b in chosen) for b in bundles]])
        return None

    def _choices(self, value: Floats, support: Ints) -> Floats:
        """Return the rows of known choices: of each job one bundle [support] of largest value."""
        if not self.held:
            return np.zeros((0, len(support)))
        can = np.array(list(self.held.values()))[:, support]
        rows = np.zeros(can.shape)
        for i in np.unique(self.job[support]):
            own = np.flatnonzero(self.job[support] == i)
            rated = np.where(can[:, own], value[support[own]], 0.0)
            best = rated.argmax(axis=1)
            rows[np.arange(len(rows)), own[best]] = rated[np.arange(len(rows)), best] > 0
        distinct = sorted({row.tobytes() for row in rows})  # faster than `np.unique`
        return np.frombuffer(b"".join(distinct)).reshape(len(distinct), -1)

    def _known_limit(self, worth: Worth) -> float:
        """Return what the best known choice is worth: no more than the limit of the cut."""
        if not self.held or not worth:
            return 0.0
        place = [self.index[bundle] for bundle in sorted(worth)]
        begin = np.unique(self.job[place], return_index=True)[1]
        parts = np.array(list(self.held.values()))[:, place] * [worth[b] for b in sorted(worth)]
        return float(np.maximum.reduceat(parts, begin, axis=1).sum(axis=1).max())

    def _smaller(self, bundle: Bundle) -> Bools:
        """Return which bundles [k] a bundle can become."""
        within = (self.job == bundle.job) & (self.workers <= bundle.workers)
        return np.asarray(within & (self.internal <= bundle.internal))

    def _whole(self, worth: Worth, value: Floats) -> Worth | None:
        """Return a worth in small integers whose cut is violated, too, or None."""
        for scale in SCALES:
            tried = {b: round(w * scale / FINE) for b, w in worth.items()}
            tried = {b: w for b, w in tried.items() if w}
            total = np.zeros(len(self.bundles))
            for b, w in tried.items():
                larger = (self.job == b.job) & (self.workers >= b.workers)
                larger &= self.internal >= b.internal
                total[larger] = np.maximum(total[larger], w)
            if total @ value <= self._known_limit(tried) * (1 + VIOLATION):
                continue
            limit = self.model.best(tried)[0]
            if total @ value > limit * (1 + VIOLATION):
                self.known.append(tried)
                self.coefficients.append(total / limit)
                return tried
        return None
