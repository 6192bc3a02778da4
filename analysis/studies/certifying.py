"""Solve an instance again by both sides of a search, and prove its optimum."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from schedgap.analysis.records.ratios import RatioInterval, divide, ratio_interval
from schedgap.analysis.results.bounds import tighter
from schedgap.analysis.results.solution import Solution
from schedgap.analysis.solving.solve import solve
from schedgap.analysis.studies.finds import WorstCase
from schedgap.analysis.studies.targets import Target, changed_options, reference_names
from schedgap.errors import EngineUnavailableError, UsageError
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
    """
    instance = _named(target, data)
    owner = family(target.family)
    sense = owner.sense(instance)
    solution = solve(instance, target.method, time_limit=time_limit, **target.options)
    references = _references(target, instance, time_limit)
    if solution.objective is None:
        raise UsageError(f"{target.method} has no schedule on {instance.name}: no ratio")
    values = [each.objective for each in references if each.objective is not None]
    pick = min if sense == "min" else max
    if target.against in ("exact", "bound"):
        bound = None
        for each in references:
            bound = tighter(bound, each.bound, sense)
        ratio = ratio_interval(
            solution.objective, pick([solution.objective, *values]), bound, sense
        )
    else:
        quotient = divide(solution.objective, values[0], sense) if values else math.inf
        ratio = RatioInterval(quotient, quotient)
    changed = changed_options(owner.method(target.method), target.options)
    guarantee = dict(owner.paper.guarantee(instance, target.method, changed))
    score = ratio.low
    if target.guarantee is not None:
        claim = owner.paper.guarantees[target.guarantee]
        guarantee = dict(claim.evaluate(instance, **changed))
        if claim.measure is not None:
            score = claim.measure(instance)
        elif guarantee["factor"]:
            score = over_claim(ratio, guarantee["factor"])
    return WorstCase(
        instance, target, solution, tuple(references), ratio, guarantee, score, score, 0, 0, 0.0,
        ((1, score),),
    )  # fmt: skip


def _references(target: Target, instance: Instance, time_limit: float) -> list[Solution]:
    """Solve an instance by what the target is compared with."""
    owner = family(target.family)
    names: Sequence[str] = (target.against,)
    if target.against == "exact":
        names = ("exact", *SECOND.get(target.family, ()))
    elif target.against == "bound":
        names = (*reference_names(target), "lp")
    found = []
    for name in names:
        method = owner.method(name)
        if method.unsupported_reason(instance) is None:
            try:
                found.append(solve(instance, name, time_limit=time_limit))
            except EngineUnavailableError:
                if len(names) == 1:
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
