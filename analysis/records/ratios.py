"""Ratios to the optimum: exact if the optimum is proved, otherwise intervals."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from schedgap.analysis.intervals import interval_text
from schedgap.analysis.records.rows import TaskRow
from schedgap.analysis.results.bounds import (
    MAX_ERROR,
    MAX_STEPS,
    NEGLIGIBLE,
    ROUND_OFF,
    WIDTH,
    Comparison,
    Scale,
    tighter,
)
from schedgap.instances.solution import EVIDENCE, Evidence, Sense

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class RatioInterval:
    """An interval [low, high] that contains a ratio to the optimum; `high` may be infinite.

    Ratios are at least 1 for every feasible schedule; 1 means optimal.
    """

    low: float
    high: float

    @property
    def exact(self) -> bool:
        """Whether the interval is a single number."""
        return self.low == self.high

    def __str__(self) -> str:
        return interval_text(self.low, self.high)


def divide(value: float, reference: float, sense: Sense) -> float:
    """Return value / reference for "min" and reference / value for "max".

    0/0 is 1, and x/0 is infinite.

    `value`, `reference`: objectives or bounds. `sense`: sense of the objective.
    """
    above, below = (value, reference) if sense == "min" else (reference, value)
    if below == 0:
        return 1.0 if above == 0 else math.inf
    return above / below


def ratio_interval(value: float, best: float, bound: float | None, scale: Scale) -> RatioInterval:
    """Return the ratio of an objective to an optimum that lies between `bound` and `best`.

    If `bound` and `best` meet, the ratio is exact. A bound that `best` refutes is ignored.

    `value`: objective of a schedule. `best`: objective of the best known schedule. `bound`: best
    proved bound on the optimum, if there is one. `scale`: scale of the objective.
    """
    low = divide(value, best, scale.sense)
    match "refuted" if bound is None else scale.compare(best, bound):
        case "refuted":
            return RatioInterval(low, math.inf)
        case "met":
            return RatioInterval(low, low)
    assert bound is not None
    return RatioInterval(low, max(low, divide(value, bound, scale.sense)))


# --- records of a run ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bracket:
    """Best schedule and best bound of one instance, among all records of one problem.

    `evidence`: what the bound rests on, in the words of `instances/solution.py`.
    """

    best: float | None
    best_by: str
    bound: float | None
    bound_by: str
    evidence: Evidence
    scale: Scale

    @property
    def comparison(self) -> Comparison:
        """How the best schedule compares with the bound; "open" if one of them is missing."""
        if self.best is None or self.bound is None:
            return "open"
        return self.scale.compare(self.best, self.bound)

    @property
    def closed(self) -> bool:
        """Whether schedule and bound meet, so the schedule is optimal if the bound is valid."""
        return self.comparison == "met"


def brackets(
    rows: Iterable[TaskRow], grids: Mapping[str, float | None] = MappingProxyType({})
) -> dict[tuple[str, str], Bracket]:
    """Return the best verified schedule and the best bound by (instance hash, problem).

    `rows`: rows of any instances and methods. `grids`: grids of instances by hash, for rows that do
    not have them.
    """
    groups: dict[tuple[str, str], list[TaskRow]] = {}
    for row in rows:
        group = groups.setdefault((row.sha256, row.problem), [])
        if row.status is not None and not row.relaxed:
            group.append(row)
    return {key: _bracket(group, grids) for key, group in groups.items()}


def _bracket(group: Sequence[TaskRow], grids: Mapping[str, float | None]) -> Bracket:
    best: float | None = None
    bound: float | None = None
    best_by = bound_by = ""
    group = _without_wrong_bounds(group, grids)
    scale = Scale("min")
    if group:
        scale = Scale(group[-1].sense, grids.get(group[-1].sha256, group[-1].grid))
    for row in group:
        value, own = row.objective, row.bound
        if value is not None and (
            best is None or (value < best if row.sense == "min" else value > best)
        ):
            best, best_by = value, row.label
        if own is not None and tighter(bound, own, row.sense) != bound:
            bound, bound_by = own, row.label
    found: list[Evidence] = [
        row.evidence
        for row in group
        if bound is not None
        and row.evidence is not None
        and row.bound is not None
        and scale.implies(row.bound, bound)
    ]
    evidence: Evidence = max(found, key=EVIDENCE.index, default="reported")
    return Bracket(best, best_by, bound, bound_by, evidence, scale)


def _without_wrong_bounds(
    group: Sequence[TaskRow], grids: Mapping[str, float | None]
) -> Sequence[TaskRow]:
    """Leave out the answers of engines in a benchmark whose bounds a schedule refutes."""
    if not any(row.formulation for row in group):
        return group
    values = [row.objective for row in group if row.objective is not None]
    if not values:
        return group
    first = group[0]
    scale = Scale(first.sense, grids.get(first.sha256, first.grid))
    best = min(values) if first.sense == "min" else max(values)
    return [
        row
        for row in group
        if not row.formulation or row.bound is None or not scale.refutes(best, row.bound)
    ]


@dataclass(frozen=True, slots=True)
class Ratios:
    """Ratios of many records, as arrays; NaN without a schedule or without a bound.

    `low`, `high` are the ends of the ratio of the schedule to the optimum. `bound_low`,
    `bound_high` are the ends of the ratio of the optimum to the method's own bound.
    """

    low: Array
    high: Array
    bound_low: Array
    bound_high: Array


def ratios(value: Array, own: Array, largest: Mask, of: Sequence[Bracket]) -> Ratios:
    """Return the ratios of many records to the optimum, as `ratio_interval` does for one.

    `value`, `own` [k]: objectives and bounds of the records; NaN without one. `largest` [k]:
    whether the objective is to be maximized. `of` [k]: best known schedule and bound of each one's
    instance.
    """
    best, bound = (
        as_array(bracket.best for bracket in of),
        as_array(bracket.bound for bracket in of),
    )
    known = np.where(np.isnan(best), value, best)
    grid = as_array(bracket.scale.grid for bracket in of)
    low = _divided(value, known, largest)
    met, refuted = compared(known, bound, largest, grid)
    high = np.where(met, low, _larger(low, _divided(value, bound, largest)))
    high = np.where(np.isnan(bound) | refuted, math.inf, high)
    without = np.isnan(value)
    below, above = _divided(bound, own, largest), _divided(best, own, largest)
    closed, _ = compared(best, bound, largest, grid)
    below_low = np.where(closed, above, below)
    below_high = np.where(closed, above, _larger(below, above))
    below_high = np.where(np.isnan(best), math.inf, below_high)
    neither = np.isnan(own) | np.isnan(bound)
    return Ratios(
        *(np.where(without, math.nan, end) for end in (low, high)),
        *(np.where(neither, math.nan, end) for end in (below_low, below_high)),
    )


def as_array(values: Iterable[float | None]) -> Array:
    """Return numbers as an array, with NaN for None."""
    return np.array([math.nan if value is None else value for value in values], float)


def _divided(value: Array, reference: Array, largest: Mask) -> Array:
    """Return what `divide` does, for arrays."""
    above = np.where(largest, reference, value)
    below = np.where(largest, value, reference)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        quotient = above / below
    return np.where(below == 0, np.where(above == 0, 1.0, math.inf), quotient)


def compared(objective: Array, bound: Array, largest: Mask, grid: Array) -> tuple[Mask, Mask]:
    """Return what `Scale.compare` does, for arrays: where objective and bound meet or contradict.

    `objective`, `bound` [k]: NaN without one: they neither meet nor contradict. `largest` [k]:
    whether the objective is to be maximized. `grid` [k]: step of the objective's grid; NaN without
    a grid.
    """
    free, sign = np.isnan(grid), np.where(largest, -1.0, 1.0)
    step = sign * np.where(free, 1.0, grid)
    with np.errstate(invalid="ignore", over="ignore"):
        value, limit = objective / step, bound / step
        past, larger = limit - value, np.maximum(np.abs(value), np.abs(limit))
        width = np.where(free, WIDTH, ROUND_OFF) * larger
        nearest, least = np.rint(value), _least_points(limit)
        points = ~free & (larger < MAX_STEPS)
        met = np.where(
            points,
            (least == nearest) & _stand_for(value, nearest),
            free & (-past <= width) & (past <= np.maximum(NEGLIGIBLE, width)),
        )
        refuted = np.where(
            points, least > nearest, past > np.where(free, np.maximum(NEGLIGIBLE, width), width)
        )
    refuted = np.where(np.isinf(limit), limit > 0, refuted) & ~np.isnan(objective)
    return met & np.isfinite(limit), refuted


def _least_points(bound: Array) -> Array:
    """Return the numbers of the least grid points that lower bounds, in steps, permit."""
    nearest = np.rint(bound)
    slack = np.maximum(1e-6, ROUND_OFF * np.abs(bound))
    rounded = np.maximum(np.floor(bound), np.ceil(bound - slack))
    return np.where(_stand_for(bound, nearest), nearest, rounded)


def _stand_for(steps: Array, points: Array) -> Mask:
    error = np.minimum(MAX_ERROR, np.maximum(1e-9, np.abs(steps) * 2.0**-50))
    near: Mask = np.abs(steps - points) <= error
    return near


def _larger(low: Array, high: Array) -> Array:
    return np.where(high > low, high, low)
