"""What a family says of its paper, as data: equations, algorithms, guarantees, errata."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

EquationStatus = Literal["modelled", "implied", "replaced", "checked", "background"]


@dataclass(frozen=True, slots=True)
class Equation:
    """Where an equation of the paper stands in the source.

    `modelled`: `by` are row names; `implied`: by those rows, `note` says why; `replaced`: by those
    rows, `note` names the erratum; `checked`: `by` is the function that evaluates it on a run;
    `background`: it constrains no schedule.
    """

    status: EquationStatus
    by: tuple[str, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Algorithm:
    """A printed algorithm: its title, its number of lines, and the function that follows it."""

    title: str
    lines: int
    function: str


@dataclass(frozen=True, slots=True)
class Guarantee:
    """A printed claim on an algorithm's ratio.

    `evaluate(instance)` returns `claim`, `factor` (None where there is none), `holds` (whether the
    instance meets the assumptions) and `failed` (those it does not meet). It takes the options of
    the methods that are named in `options` as keywords; with another option changed from its
    default the paper promises nothing. `verdict` says whether the claim stands; `tests` show it.
    """

    claim: str
    source: str
    methods: tuple[str, ...]
    assumptions: tuple[str, ...]
    evaluate: Callable[..., Mapping[str, Any]]
    verdict: str
    tests: tuple[str, ...]
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Erratum:
    """A slip or a gap of the paper: where, what it says, why that cannot be meant, what we do.

    `switch` names the setting that restores the literal reading, '' where there is none. `tests`
    show the problem or hold the decision; editorial slips have none and say so in `problem`.
    """

    where: str
    printed: str
    problem: str
    decision: str
    switch: str = ""
    tests: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Symbol:
    """A letter of the paper, its key in our files, its unit or domain, and what it means."""

    letter: str
    key: str
    domain: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Paper:
    """One paper, traced; `problem` and `schedule` tell in a few sentences what it is about."""

    citation: str
    doi: str
    problem: str
    schedule: str
    symbols: tuple[Symbol, ...]
    rules: Mapping[str, str]
    equations: Mapping[str, Equation]
    algorithms: Mapping[str, Algorithm]
    guarantees: Mapping[str, Guarantee]
    errata: Mapping[str, Erratum]

    def guarantee(
        self, instance: Any, method: str, changed: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """Return what the paper promises of a method on an instance; empty when nothing.

        `changed`: the options that are not at their defaults.
        """
        for claim in self.guarantees.values():
            if method in claim.methods and set(changed) <= set(claim.options):
                return claim.evaluate(instance, **changed)
        return {}
