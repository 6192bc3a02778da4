"""Solve an instance again by both sides of a search, and prove its optimum."""

from collections.abc import Mapping, Sequence
from typing import Any

from schedgap.analysis.comparing.judged import interval, known
from schedgap.analysis.records.ratios import RatioInterval, divide
from schedgap.analysis.results.bounds import Scale
from schedgap.analysis.results.solution import Solution
from schedgap.analysis.solving.solve import solve
from schedgap.analysis.studies.finds import WorstCase
from schedgap.analysis.studies.targets import (
    Options,
    Target,
    bounds_of,
    changed_options,
    references,
)
from schedgap.errors import ContradictionError, EngineUnavailableError, UsageError
from schedgap.instances.families import from_data
from schedgap.instances.instance import Instance
from schedgap.models.family import family

SECOND: Mapping[str, tuple[str, ...]] = {  # an exact method of another form than `exact`
    "dmlrs": ("milp-machine",),
    "edge": ("cp-sat",),
    "elastic": ("cp-sat",),
    "hare": ("time-indexed",),
    "ring": ("branch-simulate",),
}


def certify(target: Target, data: Mapping[str, Any], time_limit: float = 60.0) -> WorstCase:
    """Return an instance as a find: both sides are solved again, and the optimum is proved.

    Parameters
    ----------
    target : Target
        What the instance should show.
    data : mapping
        JSON data of the instance.
    time_limit : float
        Of each method, in seconds.

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
    solution = solve(instance, target.own or target.method, time_limit=time_limit, **options)
    _check_ended(solution, time_limit)
    compared = _references(target, instance, time_limit)
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
        ((1, score),),
    )  # fmt: skip


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
    facts = [known(each) for each in (solution, *references)]
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


def _references(target: Target, instance: Instance, time_limit: float) -> list[Solution]:
    """Solve an instance by what the target is compared with."""
    if not target.optimum:
        other = solve(
            instance,
            target.other or target.against,
            time_limit=time_limit,
            **target.against_options,
        )
        _check_ended(other, time_limit)
        return [other]
    quick = [(method.name, options) for method, options in references(target)]
    if target.against == "bound":
        bounds: list[tuple[str, Options]] = [
            (name, {}) for name in bounds_of(family(target.family))
        ]
        return _solutions(instance, [*quick, *bounds], time_limit)
    exact: list[tuple[str, Options]] = [
        (name, {}) for name in ("exact", *SECOND.get(target.family, ()))
    ]
    found = _solutions(instance, exact, time_limit)
    if not any(each.status == "optimal" for each in found):  # the best schedule known is another
        named = [each.method for each in found]
        found += _solutions(instance, [each for each in quick if each[0] not in named], time_limit)
    return found


def _solutions(
    instance: Instance, methods: Sequence[tuple[str, Options]], time_limit: float
) -> list[Solution]:
    """Solve an instance by each method that supports it and whose engines are installed."""
    owner, found = family(instance.family), []
    for name, options in methods:
        if owner.method(name).unsupported_reason(instance) is None:
            try:
                found.append(solve(instance, name, time_limit=time_limit, **options))
            except EngineUnavailableError:
                if len(methods) == 1:
                    raise
    return found


def _named(target: Target, data: Mapping[str, Any]) -> Instance:
    """Return the instance with a name that says what it shows."""
    return from_data({**data, "name": f"{target.family}-{target.method}-worst-{target.seed}"})


def over_claim(ratio: RatioInterval, factor: float) -> float:
    """Return by what factor a ratio certainly exceeds a claimed one; above 1 refutes the claim.

    Parameters
    ----------
    ratio : RatioInterval
        The ratio to the optimum.
    factor : float
        The claimed factor, > 0.
    """
    return ratio.low / factor
