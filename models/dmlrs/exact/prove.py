"""Write a proof of optimality: refute every better value over the program of `proof.py`.

Joins that program to the shared prover. Its relaxation merges all machines; the cuts of a slot
exclude what the machines cannot hold. Of the cuts sum worth v <= limit, the one most violated by a
point maximizes worth v while every choice of bundles that a slot holds is worth 1 at most: a linear
program whose rows are generated.

References
----------
D. Applegate, R. Bixby, V. Chvátal, W. Cook, "TSP cuts which do not conform to the template
paradigm", Computational Combinatorial Optimization, Lecture Notes in Computer Science 2241 (2001):
separation of a small polytope by optimizing over it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.models.dmlrs import proof
from schedgap.models.dmlrs.proof import Bundle
from schedgap.models.method import Budget
from schedgap.solvers import Clock
from schedgap.solvers.engines.highs import Relaxation
from schedgap.solvers.programs.arrays import Floats, LinearProgram
from schedgap.solvers.proofs.checker import Box
from schedgap.solvers.proofs.prover import Proved, prove

SCALES = (1, 2, 3, 4, 6, 12, 60, 1000)  # of the worths of a cut, which are whole numbers
FINE = 10**6  # of the worths while they are sought
LEAST = 1e-6  # values of columns below it count as 0
VIOLATION = 1e-3  # relative


def prove_goal(
    instance: DmlrsInstance, goal: int, schedule: object = None, *, budget: Budget
) -> Proved:
    """Look for a proof that no schedule has a value of `goal` or less.

    Parameters
    ----------
    goal : int
        Minimised value, from `proof.goal`.
    schedule : object
        JSON data of the schedule that is claimed to be optimal; not used.
    budget : Budget
        Time and seed of the engine.

    Raises
    ------
    RefusedError
        If the program is too large to be written down.
    """
    model = proof.Model(instance, goal)
    separate = [SlotSeparator(model, budget.clock)]
    return prove(
        model.program,
        clock=budget.clock,
        separate=separate,
        kinds=model.kinds,
        seed=budget.seed,
    )


Worth = dict[Bundle, int]


class SlotSeparator:
    """Separates cuts of slots.

    Parameters
    ----------
    model : Model
        The program, and what a slot holds.
    clock : Clock
        Time budget.
    """

    def __init__(self, model: proof.Model, clock: Clock) -> None:
        self.model, self.clock = model, clock
        self.known: dict[frozenset[tuple[Bundle, int]], Worth] = {}

    def __call__(self, point: Floats, box: Box) -> Sequence[Mapping[str, Any]]:
        """Return a violated cut for each slot that has one.

        Parameters
        ----------
        point : array [j]
            A solution of the relaxation.
        box : (lower, upper)
            Bounds of the columns; not used.
        """
        found = []
        for slot, own in enumerate(self.model.bundles):
            value = {bundle: float(point[j]) for j, bundle in own.items() if point[j] > LEAST}
            if self.clock.expired() or not value:
                continue
            worth = self._known(value) or self._separate(value)
            if worth:
                named = [[b.job, int(b.internal), b.workers, w] for b, w in worth.items()]
                found.append({"why": "slot", "slot": slot, "worth": sorted(named)})
        return found

    def _violation(self, worth: Worth, value: Mapping[Bundle, float]) -> float:
        """Return by how much a point violates a cut, relative to its limit."""
        total = sum(
            v * max((w for b, w in worth.items() if bundle.becomes(b)), default=0)
            for bundle, v in value.items()
        )
        limit = self.model.best(worth)[0] if total else 0
        return total / limit - 1 if limit else total

    def _known(self, value: Mapping[Bundle, float]) -> Worth | None:
        """Return known worths whose cut is violated most, or None."""
        present = {b.job for b in value}
        most, chosen = VIOLATION, None
        for worth in self.known.values():
            own = {b: w for b, w in worth.items() if b.job in present}
            violation = self._violation(own, value)
            if violation > most:
                most, chosen = violation, own
        return chosen

    def _separate(self, value: Mapping[Bundle, float]) -> Worth | None:
        """Return the worths of a violated cut, or None."""
        bundles = sorted(value)
        weight = np.array([value[bundle] for bundle in bundles])
        size = len(bundles)
        order = [
            (k, n)
            for k in range(size)
            for n in range(size)
            if k != n and bundles[k].becomes(bundles[n])
        ]
        rows = np.zeros((len(order), size))
        for row, (k, n) in zip(rows, order, strict=True):  # worth more if it can become the other
            row[n], row[k] = 1, -1
        relaxation = Relaxation(
            LinearProgram(
                -weight,
                np.zeros(size),
                np.ones(size),
                rows,
                np.full(len(order), -np.inf),
                np.zeros(len(order)),
            )
        )
        while not self.clock.expired():
            result = relaxation.solve(self.clock)
            if (
                result.values is None
                or result.objective is None
                or -result.objective <= 1 + VIOLATION
            ):
                return None
            fine = np.round(np.asarray(result.values) * FINE).astype(int).tolist()
            worth = {b: w for b, w in zip(bundles, fine, strict=True) if w > 0}
            limit, chosen = self.model.best(worth)
            if sum(worth[b] for b in chosen) <= FINE * (1 + 1e-5):
                return self._whole(worth, value) if limit <= FINE * (1 + 1e-5) else None
            row = np.array([[float(b in chosen) for b in bundles]])
            relaxation.add_rows([-np.inf], [1.0], row)
        return None

    def _whole(self, worth: Worth, value: Mapping[Bundle, float]) -> Worth | None:
        """Return worths in small whole numbers whose cut is violated, too, or None."""
        for scale in SCALES:
            tried = {b: round(w * scale / FINE) for b, w in worth.items()}
            tried = {b: w for b, w in tried.items() if w}
            if self._violation(tried, value) > VIOLATION:
                self.known[frozenset(tried.items())] = tried
                return tried
        return None
