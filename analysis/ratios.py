"""Ratios to the optimum: a number where it is proved, an interval where it is only bracketed."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from schedgap.analysis.bounds import contradict, meet, tighter
from schedgap.analysis.folder import TaskRecord
from schedgap.analysis.solution import Solution
from schedgap.errors import UsageError
from schedgap.instances.solution import Sense, SolutionFile
from schedgap.models.family import family


@dataclass(frozen=True, slots=True)
class RatioInterval:
    """The ratio lies in [low, high]; both are >= 1 for the better side, `high` may be infinite."""

    low: float
    high: float

    @property
    def exact(self) -> bool:
        """True when the ratio is known, not only bracketed."""
        return self.low == self.high

    def __str__(self) -> str:
        if self.exact:
            return f"{self.low:.4f}"
        if math.isinf(self.high):
            return f">= {self.low:.4f}"
        return f"{self.low:.4f} to {self.high:.4f}"


def divide(value: float, reference: float, sense: Sense) -> float:
    """Return value / reference for min, reference / value for max; 0/0 is 1, x/0 is infinite."""
    above, below = (value, reference) if sense == "min" else (reference, value)
    if below == 0:
        return 1.0 if above == 0 else math.inf
    return above / below


def bracket(value: float, best: float, bound: float | None, sense: Sense) -> RatioInterval:
    """Return the ratio of a value to an optimum between `bound` and the best known value.

    Where these two meet, the optimum is the best known value, and the ratio is exact. A bound
    that contradicts the best known value counts for nothing.
    """
    low = divide(value, best, sense)
    if bound is None or contradict(best, bound, sense):
        return RatioInterval(low, math.inf)
    if meet(best, bound):
        return RatioInterval(low, low)
    return RatioInterval(low, max(low, divide(value, bound, sense)))


def ratio(solution: Solution, reference: Solution) -> RatioInterval:
    """Return the ratio of a solution to the optimum, as far as the two solutions bracket it.

    The optimum lies between the better of the two bounds and the better of the two schedules.
    For min it is objective / optimum, for max optimum / objective.

    Raises
    ------
    UsageError
        When they are not of one instance and one problem, or the solution holds no schedule.
    """
    for what in ("family", "instance_sha256"):
        if getattr(solution, what) != getattr(reference, what):
            raise UsageError("no ratio: the two solutions are not of the same instance")
    owner = family(solution.family)
    problems = [owner.problem(each.options) for each in (solution, reference)]
    if problems[0] != problems[1]:
        names = " and ".join(repr(problem or "the instance itself") for problem in problems)
        raise UsageError(f"no ratio: they solve different problems, {names}")
    if solution.objective is None:
        raise UsageError(f"no ratio: {solution.method} left no schedule")
    sense = solution.sense
    schedules = [
        each.objective
        for each in (solution, reference)
        if each.objective is not None and not owner.omitted_rules(each.schedule)
    ]
    bound = tighter(solution.bound, reference.bound, sense)
    best = _best(schedules, sense)
    if best is None:  # only a relaxed schedule: nothing below it is known
        best = solution.objective
    return bracket(solution.objective, best, bound, sense)


def _best(values: Iterable[float], sense: Sense) -> float | None:
    return (min if sense == "min" else max)(values, default=None)


# --- records of a run ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bracket:
    """What is known of one instance's optimum from all records of one problem."""

    best: float | None
    best_by: str
    bound: float | None
    bound_by: str

    @property
    def proved(self) -> bool:
        """True when schedule and bound meet."""
        return self.best is not None and self.bound is not None and meet(self.best, self.bound)


def brackets(records: Iterable[TaskRecord]) -> dict[tuple[str, str], Bracket]:
    """Return by (instance hash, problem) the best verified schedule and the best bound."""
    groups: dict[tuple[str, str], list[TaskRecord]] = {}
    for record in records:
        groups.setdefault((record.instance.sha256, record.problem), []).append(record)
    return {key: _bracket(group) for key, group in groups.items()}


def _bracket(group: Sequence[TaskRecord]) -> Bracket:
    best: float | None = None
    bound: float | None = None
    best_by = bound_by = ""
    for record in group:
        found = record.solution
        if found is None or record.relaxed:
            continue
        pick = min if found.sense == "min" else max
        if found.objective is not None and (best is None or pick(best, found.objective) != best):
            best, best_by = found.objective, record.label
        if found.bound is not None and tighter(bound, found.bound, found.sense) != bound:
            bound, bound_by = found.bound, record.label
    return Bracket(best, best_by, bound, bound_by)


def objective_ratio(found: SolutionFile, known: Bracket) -> RatioInterval | None:
    """Return the ratio of a record's schedule to the optimum, or None without a schedule."""
    if found.objective is None:
        return None
    best = found.objective if known.best is None else known.best
    return bracket(found.objective, best, known.bound, found.sense)


def bound_ratio(found: SolutionFile, known: Bracket) -> RatioInterval | None:
    """Return the ratio of the optimum to a record's bound (>= 1; mirrored for max), or None."""
    if found.bound is None or known.bound is None:
        return None
    low = divide(known.bound, found.bound, found.sense)
    if known.best is None:
        return RatioInterval(low, math.inf)
    high = divide(known.best, found.bound, found.sense)
    return RatioInterval(high, high) if known.proved else RatioInterval(low, max(low, high))


def contradictions(records: Sequence[TaskRecord]) -> list[str]:
    """Return in words each pair of records that cannot both be right, and each invalid schedule."""
    found = [
        f"{record.instance.name}: {record.label}: {record.message}"
        for record in records
        if record.outcome == "invalid"
    ]
    groups: dict[tuple[str, str], list[TaskRecord]] = {}
    for record in records:
        if record.solution is not None and not record.relaxed:
            groups.setdefault((record.instance.sha256, record.problem), []).append(record)
    for group in groups.values():
        known = _bracket(group)
        for record in group:
            answer = record.solution
            assert answer is not None
            if known.best is None:
                continue
            if answer.status == "infeasible":
                found.append(
                    f"{record.instance.name}: {record.label} proved that no schedule exists, "
                    f"{known.best_by} has one"
                )
            elif answer.bound is not None and contradict(known.best, answer.bound, answer.sense):
                claim = "optimum" if answer.status == "optimal" else "bound"
                found.append(
                    f"{record.instance.name}: {record.label} claims the {claim} "
                    f"{answer.bound:.10g}, {known.best_by} has a schedule of {known.best:.10g}"
                )
    return found
