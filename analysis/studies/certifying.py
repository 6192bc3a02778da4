"""Solve an instance again by both sides of a search, and prove its optimum."""

import math
import threading
from collections.abc import Mapping, Sequence
from typing import Any, cast

from schedgap.analysis.comparing.judged import interval, known
from schedgap.analysis.records.ratios import RatioInterval, divide
from schedgap.analysis.results.bounds import Scale
from schedgap.analysis.results.solution import Solution
from schedgap.analysis.runners.request import Limits
from schedgap.analysis.runners.runner import Runner
from schedgap.analysis.solving.choices import Choice
from schedgap.analysis.solving.solve import solve, solved
from schedgap.analysis.studies.finds import WorstCase
from schedgap.analysis.studies.targets import (
    Options,
    Target,
    bounds_of,
    changed_options,
    references,
)
from schedgap.errors import (
    ContradictionError,
    EngineUnavailableError,
    Interrupted,
    UsageError,
)
from schedgap.instances.families import from_data
from schedgap.instances.instance import Instance
from schedgap.models.family import family
from schedgap.solvers.children.clock import Clock

SECOND_EXACT_METHOD: Mapping[
    str, tuple[str, ...]
] = {  # an exact method of another form than `exact`
    "dmlrs": ("milp-machine",),
    "edge": ("cp-sat",),
    "elastic": ("cp-sat",),
    "hare": ("time-indexed",),
    "ring": ("rar-ddls-cp",),
}


LEAST_SECONDS = 5.0  # the tested method's least time, even if no time is left
QUICK_SECONDS = 2.0  # the same for each method whose schedule replaces the optimum
QUICK_SHARE = 0.3  # share of the time for other schedules if the optimum is not proved


def certify(
    target: Target,
    data: Mapping[str, Any],
    time_limit: float = 60.0,
    clock: Clock | None = None,
) -> WorstCase:
    """Return an instance as a find: both sides are solved again, and the optimum is proved.

    `target`: what the instance should show. `data`: JSON data of the instance. `time_limit`: of
    each method, in seconds. `clock`: time for all methods together. If it is not enough,
    `WorstCase.uncertified` says so.

    Raises
    ------
    UsageError
        If the method, or the one that it is compared with, has no schedule or no time to end.
    ContradictionError
        If a schedule refutes a bound, which is a bug.
    """
    instance = _named(target, data)
    owner = family(target.family)
    options = dict(target.options)
    clock = clock or Clock()
    least = min(time_limit, max(LEAST_SECONDS, clock.remaining()))
    chosen = Choice.of(target.own or target.method).with_settings(options)
    solution = solve(instance, cast(Any, chosen), time_limit=least)
    _check_ended(solution, least)
    compared = _references(target, instance, time_limit, clock)
    ratio = _ratio(target, solution, compared)
    changed = changed_options(target.chosen(), options)
    guarantee = dict(owner.paper.guarantee(instance, solution.method, changed))
    score = ratio.low
    if target.guarantee is not None:
        claim = owner.paper.guarantees[target.guarantee]
        guarantee = dict(claim.evaluate(instance, **changed))
        if claim.measure is not None:
            score = claim.measure(instance)
        elif guarantee.get("factor") and (guarantee.get("holds") or claim.ours):
            score = over_claim(ratio, guarantee["factor"])
        else:
            score = 0.0  # the claim says nothing on this instance
    return WorstCase(
        instance, target, solution, tuple(compared), ratio, guarantee, score, score, 0, 0, 0.0,
        ((1, score),), uncertified=_uncertified(target, compared, ratio),
    )  # fmt: skip


def _uncertified(target: Target, compared: Sequence[Solution], ratio: RatioInterval) -> str:
    """Return why the ratio to the optimum is not certified; empty if it is."""
    if not target.optimum or any(solution.status == "optimal" for solution in compared):
        return ""
    if target.against != "bound":
        return "the optimum was not proved within the time limit"
    return "" if math.isfinite(ratio.high) else "no bound was found within the time limit"


def _check_ended(solution: Solution, time_limit: float) -> None:
    """Raise UsageError if a method has no schedule, or was stopped before it had its answer."""
    if "stopped" in solution.trace or solution.seconds >= time_limit:
        raise UsageError(
            f"{solution.method} needs more than {time_limit:g} s on {solution.instance}: no ratio"
        )
    if solution.objective is None:
        raise UsageError(f"{solution.method} has no schedule on {solution.instance}: no ratio")


def _ratio(target: Target, solution: Solution, references: Sequence[Solution]) -> RatioInterval:
    """Return the ratio to the optimum, as far as it is certain, or to the other method."""
    if not target.optimum:
        (other,) = references
        assert solution.objective is not None and other.objective is not None
        quotient = divide(solution.objective, other.objective, solution.sense)
        return RatioInterval(quotient, quotient)
    facts = [known(item) for item in (solution, *references)]
    scale = Scale.of(solution.of_instance)
    for bound in facts:
        for best in facts:
            if bound.bound is None or best.objective is None or best.relaxed:
                continue
            if scale.refutes(best.objective, bound.bound):
                raise ContradictionError(
                    f"{bound.name} has the bound {bound.bound:.10g} on {solution.instance}, "
                    f"{best.name} a schedule of {best.objective:.10g}"
                )
    return interval(facts[0], facts[1:])


def _references(
    target: Target, instance: Instance, time_limit: float, clock: Clock
) -> list[Solution]:
    """Solve an instance by what the target is compared with."""
    if not target.optimum:
        least = min(time_limit, max(LEAST_SECONDS, clock.remaining()))
        compared = Choice.of(target.other or target.against).with_settings(target.against_options)
        other = solve(instance, cast(Any, compared), time_limit=least)
        _check_ended(other, least)
        return [other]
    quick = [(method.name, options) for method, options in references(target)]
    if target.against == "bound":
        bounds: list[tuple[str, Options]] = [
            (name, {}) for name in bounds_of(family(target.family))
        ]
        found = _solutions(instance, quick, time_limit, clock.share(QUICK_SHARE), QUICK_SECONDS)
        return found + _solutions(instance, bounds, time_limit, clock)
    exact: list[tuple[str, Options]] = [
        (name, {}) for name in ("exact", *SECOND_EXACT_METHOD.get(target.family, ()))
    ]
    found = _solutions(instance, exact, time_limit, clock.share(1 - QUICK_SHARE))
    if all(solution.status != "optimal" for solution in found):
        named = [solution.method for solution in found]
        more = [solution for solution in quick if solution[0] not in named]
        found += _solutions(instance, more, time_limit, clock, QUICK_SECONDS)
    return found


def _solutions(
    instance: Instance,
    methods: Sequence[tuple[str, Options]],
    time_limit: float,
    clock: Clock,
    least: float = 0.0,
) -> list[Solution]:
    """Solve an instance by each method that supports it and whose engines are installed.

    Each method has an equal share of the time that is left, and at least `least` seconds. If
    `least` is 0, it is stopped when the clock has run out, even if its process is still starting.
    """
    owner, found = family(instance.family), []
    for place, (name, options) in enumerate(methods):
        share = clock.remaining() / (len(methods) - place)
        seconds = min(time_limit, max(least, share))
        if seconds > 0 and owner.method(name).unsupported_reason(instance) is None:
            try:
                chosen = Choice(name).with_settings(options)
                runner = chosen.runner(instance, Limits(seconds), None)
                solution = _solved(instance, runner, math.inf if least else clock.remaining())
            except EngineUnavailableError:
                if len(methods) == 1:
                    raise
            else:
                found += [] if solution is None else [solution]
    return found


def _solved(instance: Instance, runner: Runner, seconds: float) -> Solution | None:
    """Solve an instance, and stop after some seconds, the start of processes included.

    Return what was found by then; None if that is nothing.
    """
    if math.isinf(seconds):
        return solved(instance, runner)
    late = threading.Event()
    timer = threading.Timer(seconds, late.set)
    timer.start()
    try:
        return solved(instance, runner, interrupt=late)
    except KeyboardInterrupt as error:
        if not late.is_set():
            raise
        return error.solution if isinstance(error, Interrupted) else None
    finally:
        timer.cancel()


def _named(target: Target, data: Mapping[str, Any]) -> Instance:
    """Return the instance with a name that says what it shows."""
    return from_data({**data, "name": f"{target.family}-{target.method}-worst-{target.seed}"})


def over_claim(ratio: RatioInterval, factor: float) -> float:
    """Return by what factor a ratio certainly exceeds a claimed one; above 1 refutes the claim.

    `factor`: the claimed factor, > 0.
    """
    return ratio.low / factor
