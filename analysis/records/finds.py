"""The worst cases of the library: certified ratios, and for which variant of the problem."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from schedgap.analysis.records.switches import Variant, variant
from schedgap.instances.families import OWN
from schedgap.instances.instance import Instance
from schedgap.instances.library import library
from schedgap.instances.solution import Sense
from schedgap.models.family import family


@dataclass(frozen=True, slots=True)
class Find:
    """An instance of the library, and what is certified of a method on it.

    `low` and `high` are the ends of the ratio to the optimum; only `low` is certain where `high` is
    larger, or None. `claimed` is the paper's factor on the instance, whether or not its assumptions
    hold there. `refutes` names a guarantee of the family, which is missed by the factor `score`.
    `variant` are the switches of the instance.
    """

    instance: Instance
    sense: Sense
    method: str
    options: Mapping[str, Any]
    objective: float
    reference: float | None
    low: float
    high: float | None
    claimed: float | None
    refutes: str
    score: float | None
    variant: Variant

    @property
    def name(self) -> str:
        """The method with its options, as in the tables of a run."""
        return ":".join((self.method, *(f"{key}={value}" for key, value in self.options.items())))


@cache
def finds(name: str) -> tuple[Find, ...]:
    """Return the finds of a family; none for a family of another package."""
    return tuple(_find(instance) for instance in library(name)) if name in OWN else ()


def _find(instance: Instance) -> Find:
    facts = instance.meta["worst_case"]
    low, high = facts["ratio"]
    return Find(
        instance=instance,
        sense=family(instance.family).sense(instance),
        method=facts["method"],
        options=facts["options"],
        objective=facts["objective"],
        reference=facts["reference"],
        low=low,
        high=high,
        claimed=facts.get("claimed"),
        refutes=facts.get("refutes", ""),
        score=facts.get("score"),
        variant=variant(instance.family, instance.to_data()),
    )
