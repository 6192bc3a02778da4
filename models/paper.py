"""Data on a paper: equations, algorithms, guarantees and errata, with their place in the source."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from schedgap.instances.instance import Instance

EquationStatus = Literal["modelled", "implied", "replaced", "checked", "background"]


@dataclass(frozen=True, slots=True)
class Equation:
    """How an equation of the paper is represented in the source.

    `modelled`: by the rows named in `by`. `implied`: by these rows, for the reason in `note`.
    `replaced`: by these rows, because of the erratum in `note`. `checked`: the function in `by`
    evaluates it on a schedule. `background`: it constrains no schedule.
    """

    status: EquationStatus
    by: tuple[str, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Algorithm:
    """A printed algorithm: its title, its number of lines, and the function that implements it."""

    title: str
    lines: int
    function: str


@dataclass(frozen=True, slots=True)
class Guarantee:
    """A printed claim on the approximation ratio of an algorithm.

    `evaluate(instance)` returns `claim`, `factor` (None if there is none), `holds` (whether the
    instance meets the assumptions) and `failed` (the assumptions that it does not meet). It takes
    the method options named in `options` as keywords; if another option has not its default, there
    is no guarantee. `verdict` says whether the claim is true; `tests` show it. With `ours` the
    assumptions are not the paper's, and an instance that fails them may refute the claim. `measure`
    is for a claim that is not on a schedule's value: from an instance to the factor by which the
    claim is missed there, 1 if it is kept; `near`, from an instance on which it is kept to how
    close it comes to being missed, from 0 to 1, guides a search that would otherwise see the same
    value everywhere. `ratio` says whether the claim is on a method's ratio to the optimum.
    """

    claim: str
    source: str
    methods: tuple[str, ...]
    assumptions: tuple[str, ...]
    evaluate: Callable[..., Mapping[str, Any]]
    verdict: str
    tests: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    ours: bool = False
    measure: Callable[[Any], float] | None = None
    near: Callable[[Any], float] | None = None
    ratio: bool = True

    @property
    def searchable(self) -> bool:
        """Whether a search for bad instances has a score for the claim."""
        return self.ratio or self.measure is not None


@dataclass(frozen=True, slots=True)
class Erratum:
    """An error or gap of the paper: where, what it says, the problem, and our decision.

    `switch` names the option that restores the literal reading, if there is one. `tests` show the
    problem or check the decision; for editorial errors there are none, as `problem` says.
    """

    where: str
    printed: str
    problem: str
    decision: str
    switch: str = ""
    tests: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Symbol:
    """A symbol of the paper, its key in our files, its domain or unit, and its meaning."""

    letter: str
    key: str
    domain: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Paper:
    """Data on one paper; `problem` and `schedule` describe the problem and its schedules."""

    citation: str
    doi: str
    problem: str
    schedule: str
    rules: Mapping[str, str]
    symbols: tuple[Symbol, ...] = ()
    equations: Mapping[str, Equation] = field(default_factory=dict)
    algorithms: Mapping[str, Algorithm] = field(default_factory=dict)
    guarantees: Mapping[str, Guarantee] = field(default_factory=dict)
    errata: Mapping[str, Erratum] = field(default_factory=dict)

    def guarantee(
        self, instance: Instance, method: str, changed: Mapping[str, object]
    ) -> Mapping[str, Any]:
        """Return the paper's guarantee for a method on an instance; empty if there is none.

        Parameters
        ----------
        instance : Instance
            The instance.
        method : str
            Name of the method.
        changed : mapping
            Options of the method that do not have their defaults.
        """
        for claim in self.guarantees.values():
            if method in claim.methods and set(changed) <= set(claim.options):
                return claim.evaluate(instance, **changed)
        return {}
