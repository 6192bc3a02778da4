"""Optima by CP-SAT, for a child process: HiGHS and CP-SAT cannot share one."""

import math
from collections.abc import Callable
from typing import Any

from schedgap.errors import ScaleError
from schedgap.instances.elastic import ElasticInstance, ElasticSchedule
from schedgap.models.elastic.exact.build_programs import cp_sat
from schedgap.models.elastic.heuristics.initial import known_windows, starting_schedule
from schedgap.models.elastic.programs import compact, intervals
from schedgap.models.elastic.programs.columns import fits_together, runs_from
from schedgap.models.elastic.programs.weights import scaled_weights
from schedgap.models.method import Budget
from schedgap.models.program import Known, program_stage
from schedgap.solvers import Clock, solve
from strategies.clocks import StopAt


def schedules(
    send: Callable[[Any], None], instances: list[ElasticInstance]
) -> list[tuple[ElasticSchedule | None, ...] | None]:
    """Return the schedules of the interval model and the packing over all runs.

    None in place of a schedule where there is none; None for an instance without integers.
    """
    return [_each(instance) for instance in instances]


def _each(instance: ElasticInstance) -> tuple[ElasticSchedule | None, ...] | None:
    try:
        model = intervals.build(instance, span=known_windows(instance))
    except ScaleError:
        return None
    start = starting_schedule(instance)
    hints = None if start is None else intervals.start(model, instance, start)
    result = solve(model, "cp-sat", clock=Clock(60), start=hints)
    assert result.status in ("optimal", "infeasible")
    interval = packing = None
    if result.status == "optimal":
        interval = intervals.read(model, instance, result.values)
    runs = compact.enumerate_runs(instance, known_windows(instance), 200_000)
    assert runs is not None
    model = compact.build(instance, runs)
    result = solve(model, "cp-sat", clock=Clock(60))
    assert result.status in ("optimal", "infeasible")
    if result.status == "optimal":
        packing = compact.read(model, instance)
    return interval, packing


class Kept:
    """What a stage reports."""

    lower = -math.inf

    def __init__(self) -> None:
        self.schedules: list[ElasticSchedule] = []
        self.bounds: list[float] = []

    def incumbent(self, schedule: ElasticSchedule, objective: float | None = None) -> None:
        """Keep a schedule that the rules accept, as a search state does."""
        self.schedules.append(schedule)

    def bound(self, value: float, certificate: object = None, *, confirmed: bool = True) -> None:
        """Keep a bound."""
        self.bounds.append(value)

    def phase(self, text: str) -> None:
        """Keep nothing."""


def stopped(
    send: Callable[[Any], None], instances: list[ElasticInstance]
) -> list[list[tuple[list[ElasticSchedule], list[float], bool]]]:
    """Return what the stage on intervals says when it is stopped at its 1st, 2nd, ... reading."""
    found = []
    for instance in instances:
        larger, _ = scaled_weights(instance)
        ends = []
        for k in range(1, 8):
            kept = Kept()
            known = Known(starting_schedule(larger))
            report = program_stage(
                kept, cp_sat, larger, known, {}, "cp-sat", budget=Budget(StopAt(k))
            )
            values = [value / larger.jobs[0].weight for value in kept.bounds]
            bounds = [value * instance.jobs[0].weight for value in values]
            schedules = [
                s for s in kept.schedules if fits_together(instance, runs_from(instance, s))
            ]
            ends.append((schedules, bounds, report.infeasible))
        found.append(ends)
    return found
