"""Runs of family `dmlrs` that are stopped at every reading of the clock, and what they may say."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import pytest

from schedgap.instances.dmlrs import DmlrsInstance, DmlrsSchedule
from schedgap.models.dmlrs import rules
from schedgap.models.dmlrs.bounds import solve_relaxations
from schedgap.models.dmlrs.bounds.certificates import check_certificate
from schedgap.models.dmlrs.exact import exact
from schedgap.models.dmlrs.heuristics import search_stages
from schedgap.models.dmlrs.heuristics.partial_schedule import PartialSchedule
from schedgap.models.method import Budget, MethodResult, RunContext
from schedgap.models.search_state import SearchState
from strategies.clocks import StopAt
from strategies.dmlrs import best_schedule
from strategies.dmlrs_methods import METHODS

known_best = lru_cache(maxsize=64)(best_schedule)
CLOSE = 1e-9  # relative: sums in another order
STARTS = ("usual", "none", "best")


@dataclass
class Judge:
    """Hears all that a run says, and compares it with the optimum at once."""

    instance: DmlrsInstance
    best: float
    certificates: int = 0
    _seen: dict[str, float] = field(default_factory=dict)

    def incumbent(self, schedule: DmlrsSchedule, objective: float) -> None:
        """A schedule that is feasible, and worth what it is said to be."""
        data = schedule.to_data(self.instance)
        assert list(rules.check(self.instance, data, {})) == []
        value = rules.objective(self.instance, data)
        assert value == pytest.approx(objective, rel=CLOSE, abs=0)
        assert value <= self.best * (1 + CLOSE)

    def bound(self, value: float, certificate: Any = None, **more: object) -> None:
        """A bound that no schedule exceeds, and that its certificate proves."""
        assert value >= self.best * (1 - CLOSE)
        if certificate is not None:
            key = repr(certificate)
            if key not in self._seen:
                self._seen[key] = check_certificate(self.instance, certificate)
            assert self._seen[key] == pytest.approx(value, rel=CLOSE, abs=0)
            self.certificates += 1

    def phase(self, text: str) -> None:
        """What is done now is not a claim."""

    def outcome(self, found: MethodResult) -> None:
        """What a stopped run returns: both sides of the optimum, and nothing else."""
        assert not found.infeasible
        if found.bound is not None:
            self.bound(found.bound, found.certificate)
        if found.schedule is not None:
            data = found.schedule.to_data(self.instance)
            self.incumbent(found.schedule, rules.objective(self.instance, data))


def started(patch: pytest.MonkeyPatch, start: str, best: DmlrsSchedule) -> None:
    """Begin a run as usual, without any heuristic, or with the best schedule and no heuristic."""
    patch.setattr(exact, "MOVES", 3)
    if start == "usual":
        return
    patch.setattr(PartialSchedule, "insert_by_density", lambda *args: None)
    patch.setattr(search_stages, "anneal", lambda *args, **rest: None)
    if start == "best":
        patch.setattr(solve_relaxations, "SearchState", _knowing(best))


def _knowing(best: DmlrsSchedule) -> Any:
    def made(*args: Any, **rest: Any) -> SearchState:
        found = SearchState(*args, **rest)
        found.incumbent(best)
        return found

    return made


def places(clock_of: Any, first: int, more: int) -> Iterator[int]:
    """Yield where to stop: the first readings one by one, then some spread over the rest.

    `clock_of(k)` runs until the k-th reading, and returns the readings that were left.
    """
    yield from range(first + 1)
    whole = 10**9
    used = whole - clock_of(whole)
    if used > first:
        step = max(1.0, (used - first) / more)
        at = first + step
        while at < used + step:
            yield round(at)
            at += step


def stop_everywhere(
    name: str,
    instance: DmlrsInstance,
    start: str,
    *,
    first: int = 12,
    more: int = 12,
    options: dict[str, Any] | None = None,
) -> int:
    """Stop a method at many readings; return how many stops there were."""
    value, schedule = known_best(instance)
    method, judge = METHODS[name], Judge(instance, value)
    tried = 0

    def run(k: int) -> int:
        nonlocal tried
        clock = StopAt(k)
        engine = "highs" if "highs" in method.engines else None  # the engine of this process
        call = RunContext(method.parse(options or {}), engine, Budget(clock), judge)
        judge.outcome(method(instance, call))
        tried += 1
        return clock.readings_left

    with pytest.MonkeyPatch.context() as patch:
        started(patch, start, schedule)
        for k in places(run, first, more):
            run(k)
    return tried
