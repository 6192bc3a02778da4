"""Comparison of objectives and bounds: exact on a grid of values, within a width otherwise."""

import math
from dataclasses import dataclass
from typing import Literal, Self

from schedgap.instances.instance import Instance
from schedgap.instances.solution import Kind, Sense, Status
from schedgap.models.family import family

WIDTH = 1e-6  # relative difference up to which objective and bound meet, if there is no grid
ROUND_OFF = 1e-9  # relative error of a value that was evaluated in floating point
NEGLIGIBLE = 1e-15  # absolute error around 0, of the methods' own values
MAX_STEPS = 2.0**53  # beyond this, floating-point numbers skip grid points
MAX_ERROR = 0.25  # largest distance, in steps, of a value from the grid point that it stands for

Comparison = Literal["open", "met", "refuted"]


@dataclass(frozen=True, slots=True)
class Scale:
    """Sense of an objective and the grid on which its optimum lies; compares objectives and bounds.

    On a grid, values are compared as integers: the numbers of their grid points. A value stands for
    a grid point if it differs from this point by round-off only. Round-off is 1e-9 of a step or
    four units in the last place, and never more than a quarter of a step. From 2^53 steps on, no
    bound meets an objective. Without a grid, an objective and a bound meet if they differ by 1e-6
    of the larger.

    `sense`: for "min", bounds are lower bounds. `grid`: step of the grid, > 0; None without a grid.
    """

    sense: Sense
    grid: float | None = None

    @classmethod
    def of(cls, instance: Instance) -> Self:
        """Return the scale of an instance's objective."""
        owner = family(instance.family)
        return cls(owner.sense(instance), owner.grid(instance))

    def compare(self, objective: float, bound: float) -> Comparison:
        """Return whether a gap is left between objective and bound, they meet, or they contradict.

        `objective`: objective of a verified schedule. `bound`: a bound, possibly infinite.
        "refuted": the schedule is better than the bound permits.
        """
        value, limit = self._steps(objective), self._steps(bound)
        if not math.isfinite(limit):
            return "refuted" if limit > 0 else "open"
        larger = max(abs(value), abs(limit))
        if self.grid is None:
            if value - limit > WIDTH * larger:
                return "open"
            return "met" if limit - value <= max(NEGLIGIBLE, WIDTH * larger) else "refuted"
        if larger >= MAX_STEPS:
            return "refuted" if limit - value > ROUND_OFF * larger else "open"
        nearest, proved = round(value), _least_point(limit)
        if proved > nearest:
            return "refuted"
        return "met" if proved == nearest and _stands_for(value, nearest) else "open"

    def meets(self, objective: float, bound: float) -> bool:
        """Return whether an objective is optimal if the bound is valid."""
        return self.compare(objective, bound) == "met"

    def refutes(self, objective: float, bound: float) -> bool:
        """Return whether the objective of a verified schedule shows that a bound is wrong."""
        return self.compare(objective, bound) == "refuted"

    def exceeds(self, objective: float, bound: float) -> bool:
        """Return whether a bound is past the objective that it bounds, by more than round-off.

        Stricter than `refutes` without a grid: engines have tolerances, a claim in a file has none.
        """
        value, limit = self._steps(objective), self._steps(bound)
        larger = max(abs(value), abs(limit))
        if not math.isfinite(larger):
            return limit > value
        return limit - value > (ROUND_OFF * larger if self.grid is None else _error(value))

    def implies(self, proved: float, claimed: float) -> bool:
        """Return whether a proved bound is at least as strong as a claimed one."""
        strong, weak = self._steps(proved), self._steps(claimed)
        larger = max(abs(strong), abs(weak))
        if not math.isfinite(larger):
            return weak <= strong
        if self.grid is None:
            return weak - strong <= ROUND_OFF * larger
        if larger >= MAX_STEPS:
            return weak <= strong
        return _demanded_point(weak) <= _least_point(strong)

    def same(self, a: float, b: float) -> bool:
        """Return whether two values are equal, up to round-off."""
        near = abs(a - b) <= ROUND_OFF * max(abs(a), abs(b))
        if self.grid is None or not near:
            return near
        steps = max(abs(a), abs(b)) / self.grid
        return a == b if steps >= MAX_STEPS else abs(a - b) / self.grid <= _error(steps)

    def on_grid(self, bound: float) -> float:
        """Return the strongest grid value that a bound proves; without a grid, the bound.

        A lower bound is rounded up and an upper bound down, unless it exceeds a grid point by
        round-off only.
        """
        steps = self._steps(bound)
        if self.grid is None or not abs(steps) < MAX_STEPS:
            return bound
        return self._value(_least_point(steps))

    def demanded(self, claimed: float) -> float:
        """Return the weakest grid value that a claimed bound asks for; without a grid, the bound.

        Unlike `on_grid`, it never gives a part of a step away: the claim may be a forgery.
        """
        steps = self._steps(claimed)
        if self.grid is None or not abs(steps) < MAX_STEPS:
            return claimed
        return self._value(_demanded_point(steps))

    def next_better(self, objective: float) -> float | None:
        """Return the best grid value that is better than an objective; None without a grid."""
        steps = self._steps(objective)
        if self.grid is None or not abs(steps) < MAX_STEPS:
            return None
        nearest = round(steps)
        return self._value(nearest - 1 if _stands_for(steps, nearest) else math.floor(steps))

    def width(self, objective: float, bound: float) -> float:
        """Return by how much the optimum may be better than an objective that the bound meets.

        Relative to the objective; 0 on a grid.
        """
        gap = self._steps(objective) - self._steps(bound)
        if self.grid is not None or gap <= 0:
            return 0.0
        return gap / abs(objective) if objective else gap

    def _steps(self, value: float) -> float:
        """Return a value in grid steps; less is better."""
        steps = value if self.grid is None else value / self.grid
        return steps if self.sense == "min" else -steps

    def _value(self, point: int) -> float:
        """Return the value of a grid point from its number."""
        assert self.grid is not None
        signed = point if self.sense == "min" else -point
        per_unit = round(1 / self.grid)
        is_reciprocal = abs(per_unit * self.grid - 1) <= ROUND_OFF
        return signed / per_unit if is_reciprocal else signed * self.grid


def _error(steps: float) -> float:
    """Return the round-off, in steps, that a value of so many steps may have."""
    return min(MAX_ERROR, max(1e-9, abs(steps) * 2.0**-50))


def _stands_for(steps: float, point: int) -> bool:
    return abs(steps - point) <= _error(steps)


def _least_point(bound: float) -> int:
    """Return the number of the least grid point that a lower bound, in steps, permits."""
    nearest = round(bound)
    if _stands_for(bound, nearest):
        return nearest
    slack = max(1e-6, ROUND_OFF * abs(bound))
    return max(math.floor(bound), math.ceil(bound - slack))


def _demanded_point(bound: float) -> int:
    """Return the number of the least grid point that is not below a claimed lower bound."""
    nearest = round(bound)
    return nearest if _stands_for(bound, nearest) else math.ceil(bound)


def tighter(a: float | None, b: float | None, sense: Sense) -> float | None:
    """Return the stronger of two bounds.

    `a`, `b`: the bounds; None stands for no bound. `sense`: sense of the objective.
    """
    if a is None or b is None:
        return b if a is None else a
    return max(a, b) if sense == "min" else min(a, b)


def derive_status(
    kind: Kind,
    objective: float | None,
    bound: float | None,
    scale: Scale,
    *,
    infeasible: bool = False,
) -> Status:
    """Return the status that follows from objective and bound, whatever an engine reported.

    `kind`: kind of the method: exact, bound, algorithm or baseline. `objective`: verified objective
    of the schedule, if there is one. `bound`: bound of the method, if it has one. `scale`: scale of
    the objective. `infeasible`: whether the method claims that no schedule exists.
    """
    if infeasible:
        return "infeasible"
    if objective is None:
        return "bound" if kind == "bound" and bound is not None else "unknown"
    return "optimal" if bound is not None and scale.meets(objective, bound) else "feasible"
