"""The contract between a family and the commands, runs and reports that serve all families."""

import os
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, Generic, cast, get_args

from schedgap.errors import FamilyError, FamilyWarning, UsageError, choices
from schedgap.instances import contract
from schedgap.instances.contract import Guard
from schedgap.instances.families import (
    FAMILIES,
    OWN,
    Source,
    external_family,
    unknown_family_message,
)
from schedgap.instances.instance import Instance
from schedgap.instances.solution import Kind, Sense
from schedgap.instances.verdict import Violation
from schedgap.models.figure import Claim, Experiment, MissingValueError, Point
from schedgap.models.method import I, Method, MethodResult, RunContext, S
from schedgap.models.paper import Guarantee, Paper
from schedgap.models.program import Program

if TYPE_CHECKING:  # it loads NumPy
    from schedgap.instances.generate import Generator
    from schedgap.instances.mutations import Space

_NAME = re.compile(r"[A-Za-z0-9][\w.+-]*")  # method names: commands separate by ',', ':' and '='


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of a Gantt chart; times in the unit of the chart.

    A bar may use a part of its lane's machine. It then has this share of the height of the lane, in
    (0, 1]. It begins at `offset`, in [0, 1), below the lane's upper edge.
    """

    lane: str
    start: float
    end: float
    group: str  # decides the colour, such as the job
    text: str  # shown on hover
    soft: bool = False  # drawn faint: a delay that does not occupy the lane
    share: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, slots=True)
class Link:
    """A dotted line from the end of one bar to the start of the next one of the same job."""

    group: str
    lane: str
    start: float
    to_lane: str
    end: float


@dataclass(frozen=True, slots=True)
class Chart:
    """A Gantt chart: lanes from top to bottom, bars on them, the unit of time, and links.

    `marks` frame where rules are broken; the group of a mark is the rule.
    """

    lanes: tuple[str, ...]
    bars: tuple[Bar, ...]
    unit: str
    links: tuple[Link, ...] = ()
    marks: tuple[Bar, ...] = ()


@dataclass(frozen=True, slots=True)
class Family(Generic[I, S]):
    """One paper's problem: its paper, its methods, its verifier, and what reports need.

    The type arguments are the family's classes of instances and schedules:
    `FAMILY: Family[HareInstance, HareSchedule] = Family(...)`. The functions below take a schedule
    as plain JSON data, the `schedule` of a solution file, which they do not trust.

    Attributes
    ----------
    name, title : str
        Key of the family in files and commands, and one line on its problem.
    paper : Paper
        The paper's equations, algorithms, guarantees and errata.
    methods : tuple of Method
        All methods.
    sense : callable
        From an instance to "min" or "max".
    check : callable
        From instance, schedule and the method's options to the violated rules; InputError where
        the data are no schedule of this family.
    objective : callable
        Objective value of a schedule that `check` accepts.
    chart : callable
        The Gantt chart of an instance and a schedule.
    aliases : mapping
        Method by further names.
    grid : callable
        The step of which the values of all left-shifted schedules are multiples, or None.
    problem : callable
        From a method's options to the name of the variant that it solves; "" is the instance as it
        stands. A bound of one variant is never used for another.
    refute : callable
        From an instance and a method's options to one line on why there is no schedule, or None.
        It is asked before every method that proves infeasibility.
    omitted_rules : callable
        The rules of the program that a schedule declares it omits (a preemptive baseline). Such a
        schedule has no bound and is never the best known one.
    metrics : callable
        Further numbers on an instance and a schedule by name, shown with the objective.
    null_schedule : callable
        The empty schedule of an instance if it is always feasible, else None; reported when a
        method stops without a schedule.
    past : callable or None
        From an instance, a schedule and a time to what the schedule does before that time, as a
        list of mappings. None if all jobs are there from the start. A schedule of any shape may be
        given, and any error may be raised.
    check_certificate : callable or None
        The bound that a certificate proves for an instance, evaluated again.
    programs : mapping
        The programs by name; calling one builds what `schedgap export` writes.
    index_names : callable
        From an instance to the names of what the indices of its programs stand for; see `Program`.
    suite : callable or None
        Small instances of the quick comparison.
    experiments : callable or None
        Figures of the paper's evaluation; with `quick=True` scaled down, with at least ten draws.
    instances : class or None
        Class of the instances. A family of another package needs it.
    generator : Generator or None
        The presets of a family of another package.
    mutations : Space or None
        What a search for worst cases may change in instances of a family of another package. By
        default, this is all numbers, and the lists of records with an id up to six entries.
    """

    name: str
    title: str
    paper: Paper
    methods: tuple[Method[I, S], ...]
    sense: Callable[[I], Sense]
    check: Callable[[I, Any, Mapping[str, Any]], Iterator[Violation]]
    objective: Callable[[I, Any], float]
    chart: Callable[[I, Any], Chart]
    aliases: Mapping[str, str] = field(default_factory=dict)
    grid: Callable[[I], float | None] = field(default=lambda instance: None)
    problem: Callable[[Mapping[str, Any]], str] = field(default=lambda options: "")
    refute: Callable[[I, Mapping[str, Any]], str | None] = field(
        default=lambda instance, options: None
    )
    omitted_rules: Callable[[Any], tuple[str, ...]] = field(default=lambda schedule: ())
    metrics: Callable[[I, Any], Mapping[str, float]] = field(default=lambda instance, schedule: {})
    null_schedule: Callable[[I], Mapping[str, Any] | None] = field(default=lambda instance: None)
    past: Callable[[I, Any, float], list[Mapping[str, Any]]] | None = None
    check_certificate: Callable[[I, Mapping[str, Any]], float] | None = None
    programs: Mapping[str, Program[I, S]] = field(default_factory=dict)
    index_names: Callable[[I], Mapping[str, Any]] = field(default=lambda instance: {})
    suite: Callable[[], list[Instance]] | None = None
    experiments: Callable[..., list[Experiment]] | None = None
    instances: type[I] | None = None
    generator: "Generator | None" = None
    mutations: "Space | None" = None

    def __post_init__(self) -> None:
        if self.name in OWN:
            return
        for part, accept in _PARTS.items():  # what other packages do is checked at run time
            function = getattr(self, part)
            if callable(function) and not isinstance(function, Guard):
                guard = Guard(str(self.name), part, function, accept, part in _VERDICTS)
                object.__setattr__(self, part, guard)
        for part, guarded in _NESTED.items():
            object.__setattr__(self, part, guarded(str(self.name), getattr(self, part)))

    def fault(self) -> str | None:
        """Return what is wrong with the parts of a family of another package, or None."""
        return _fault(self)

    def method(self, name: str) -> Method[I, S]:
        """Return a method by its name or alias; UsageError if there is none.

        Parameters
        ----------
        name : str
            As in the table of methods, or one of the aliases.
        """
        target = self.aliases.get(name, name)
        for method in self.methods:
            if method.name == target:
                return method
        known = [*self.aliases, *(method.name for method in self.methods)]
        raise UsageError(f"family {self.name} has no method '{name}': {choices(name, known)}")

    def run(self, method: Method[I, S], instance: I, call: RunContext[S]) -> MethodResult[S]:
        """Run a method in this process, unless `refute` shows that there is no schedule.

        Parameters
        ----------
        method : Method
            One of the family's.
        instance : Instance
            Of the family.
        call : RunContext
            Options, engine, budget and progress of the method.
        """
        if method.proves_infeasible and (reason := self.refute(instance, call.options)):
            return MethodResult(infeasible=True, note=reason)
        result = method(instance, call)
        return result if self.name in OWN else _checked(self.name, method.name, result)


def _drawable(found: Any) -> Chart:
    """Accept charts whose bars and links have finite times and texts where texts belong."""
    chart = contract.is_a(Chart, "a Chart")(found)
    texts = [chart.unit, *chart.lanes]
    for bar in chart.bars:
        contract.is_a(Bar, "bars")(bar)
        texts += [bar.lane, bar.group, bar.text]
        for value in (bar.start, bar.end, bar.share, bar.offset):
            contract.number(value)
    for link in chart.links:
        contract.is_a(Link, "links")(link)
        texts += [link.group, link.lane, link.to_lane]
        for value in (link.start, link.end):
            contract.number(value)
    contract.all_are(str, "texts for lanes, groups and bars")(texts)
    return cast(Chart, chart)


def _methods(family: str, found: Any) -> Any:
    """Return methods whose reason against an instance is guarded; anything else as it is."""
    if not isinstance(found, tuple):
        return found
    accept = contract.optional(contract.is_a(str, "a text or None"))
    return tuple(
        replace(method, unsupported_reason=contract.guarded(
            family, f"method {method.name}: unsupported_reason", method.unsupported_reason, accept))
        if isinstance(method, Method) else method
        for method in found
    )  # fmt: skip


def _programs(family: str, found: Any) -> Any:
    """Return programs whose builders are guarded; what reads values is asked for any values."""
    if not isinstance(found, Mapping):
        return found

    def guarded(key: str, program: Program) -> Program:
        def part(function: Any, accept: contract.Accept) -> Any:
            return contract.guarded(family, f"program {key}", function, accept)

        return replace(
            program,
            build=part(program.build, contract.anything),
            narrow=part(program.narrow, contract.anything),
            unit=part(program.unit, contract.number),
        )

    return {
        key: guarded(key, program) if isinstance(program, Program) else program
        for key, program in found.items()
    }


def _paper(family: str, found: Any) -> Any:
    """Return a paper whose guarantees are guarded."""
    if not isinstance(found, Paper) or not isinstance(found.guarantees, Mapping):
        return found

    def guarded(name: str, claim: Guarantee) -> Guarantee:
        part = f"guarantee {name}"
        return replace(
            claim,
            evaluate=contract.guarded(family, part, claim.evaluate, contract.mapping),
            measure=contract.guarded(family, part, claim.measure, contract.number),
        )

    claims = {
        name: guarded(name, guarantee) if isinstance(guarantee, Guarantee) else guarantee
        for name, guarantee in found.guarantees.items()
    }
    return replace(found, guarantees=claims)


def _presets(family: str, found: Any) -> Any:
    """Return a generator whose presets are guarded."""
    presets = getattr(found, "presets", None)
    if not isinstance(presets, tuple) or not all(hasattr(preset, "make") for preset in presets):
        return found
    makes = [
        contract.guarded(family, f"preset {preset.name}", preset.make, contract.anything)
        for preset in presets
    ]
    made = [replace(preset, make=make) for preset, make in zip(presets, makes, strict=True)]
    return replace(found, presets=tuple(made))


def _space(family: str, found: Any) -> Any:
    """Return a space whose repair is guarded."""
    if not callable(getattr(found, "repair", None)):
        return found
    repair = contract.guarded(family, "mutations", found.repair, lambda returned: None)
    return replace(found, repair=repair)


_NESTED: Mapping[str, Callable[[str, Any], Any]] = {
    "methods": _methods,
    "programs": _programs,
    "paper": _paper,
    "generator": _presets,
    "mutations": _space,
}


def _figures(found: Any) -> list[Experiment]:
    """Accept figures; drawing their points and judging their claims is guarded."""
    figures = contract.all_are(Experiment, "experiments")(found)
    return [replace(figure, draw=_drawn(figure), claims=_claims(figure)) for figure in figures]


def _drawn(figure: Experiment) -> Any:
    accept = contract.all_are(Point, "points")
    return contract.guarded(figure.family, f"figure {figure.figure}", figure.draw, accept)


def _claims(figure: Experiment) -> Any:
    contract.all_are(Claim, "claims")(figure.claims)
    passes = MissingValueError, ZeroDivisionError  # the draw is not measured

    def part(claim: Claim, function: Any) -> Any:
        name = f"claim '{claim.text}'"
        return contract.guarded(figure.family, name, function, contract.anything, *passes)

    return tuple(
        replace(printed, holds=part(printed, printed.holds), measure=part(printed, printed.measure))
        for printed in figure.claims
    )


_PARTS: Mapping[str, contract.Accept] = {
    "sense": contract.one_of("min", "max"),
    "check": contract.all_are(Violation, "violations"),
    "objective": contract.number,
    "chart": _drawable,
    "grid": contract.step,
    "problem": contract.is_a(str, "a text"),
    "refute": contract.optional(contract.is_a(str, "a text or None")),
    "omitted_rules": contract.texts,
    "metrics": contract.numbers,
    "null_schedule": contract.json_data,
    "check_certificate": contract.number,
    "suite": contract.all_are(Instance, "instances"),
    "experiments": _figures,
    "index_names": contract.mapping,
}
_VERDICTS = frozenset({"check", "objective", "check_certificate"})


def _checked(family: str, method: str, result: object) -> MethodResult:
    """Return the result of a method of another package, if its parts have the right types."""
    wrong = None
    if not isinstance(result, MethodResult):
        wrong = contract.ReturnedError(result, "a MethodResult")
    elif result.schedule is not None and not callable(getattr(result.schedule, "to_data", None)):
        wrong = contract.ReturnedError(result.schedule, "a schedule with to_data(instance)")
    elif result.bound is not None and not isinstance(result.bound, Real):
        wrong = contract.ReturnedError(result.bound, "a bound that is a number or None")
    elif not isinstance(result.note, str) or not isinstance(result.trace, Mapping):
        wrong = contract.ReturnedError(result.note, "a note that is a text, and a trace by name")
    elif result.certificate is not None:
        try:
            contract.json_data(result.certificate)
        except contract.ReturnedError as error:
            wrong = error
    if wrong is not None:
        raise FamilyError(f"family {family}: method {method}: {wrong}")
    assert isinstance(result, MethodResult)
    return result


def family(name: str) -> Family:
    """Return a family by its name.

    `name`: one of `FAMILIES`.

    Raises
    ------
    UsageError
        If there is none, or if another package's family cannot be imported or breaks the contract.
    """
    if name not in FAMILIES:
        raise UsageError(f"no family '{name}': {unknown_family_message(name)}")
    found: Family = external_family(name) if FAMILIES[name].package else FAMILIES[name].family()
    return found


def families() -> list[Family]:
    """Return all families; a warning says which of other packages cannot be used."""
    found = []
    for name in FAMILIES:
        try:
            found.append(family(name))
        except UsageError as error:
            warnings.warn(f"left out: {error}", FamilyWarning, stacklevel=2)
    return found


def family_of(module: str) -> Family:
    """Import a family by its module, and register it if this process does not know it.

    `module`: module with the `FAMILY`.
    """
    source = Source(module)
    found: Family = source.family()
    if found.name not in FAMILIES:
        FAMILIES.add(found.name, source)
    return found


def register(family: Family) -> None:
    """Make a family that is not part of this package known to all functions of this process.

    Its module must have it as `FAMILY`, and child processes must be able to import the module. An
    installed package announces its family with an entry point of the group `schedgap.families`
    instead, and the command line knows it too.

    Parameters
    ----------
    family : Family
        The family, with `instances` and, to generate some, `generator`.

    Raises
    ------
    UsageError
        If the family breaks the contract, its name is taken, or no module has it.
    """
    if fault := _fault(family):
        raise UsageError(f"the family cannot be registered: {fault}")
    homes = [
        name
        for name, module in list(sys.modules.items())
        if name != "__main__" and getattr(module, "__dict__", {}).get("FAMILY") is family
    ]
    if not homes:
        raise UsageError(
            f"family {family.name}: child processes cannot import it; write it to a file as "
            "FAMILY = Family(...) and import that"
        )
    known = FAMILIES.get(family.name)
    if known is not None and known.models not in homes:
        raise UsageError(f"family {family.name}: the name is taken by {known.models}")
    FAMILIES.add(family.name, known or Source(homes[0]))


def _fault(family: object) -> str | None:
    """Return what is wrong with a family of another package, or None."""
    if not isinstance(family, Family):
        return f"FAMILY is of type {type(family).__name__}, not Family"
    name, cls = family.name, family.instances
    if not (isinstance(name, str) and name.isidentifier() and name == name.lower()):
        return f"name {name!r}: need a lower-case identifier"
    if not (isinstance(cls, type) and issubclass(cls, Instance)):
        return "instances: need a subclass of Instance"
    if get_args(cls.model_fields["family"].annotation) != (name,):
        return f'instances: {cls.__name__} needs the field `family: Literal["{name}"]`'
    for part, kind in (("title", str), ("paper", Paper), ("programs", Mapping)):
        if not isinstance(getattr(family, part), kind):
            return f"{part}: {type(getattr(family, part)).__name__}, need {kind.__name__}"
    for key, program in family.programs.items():
        if not isinstance(program, Program):
            return f"programs: {key!r} is no Program"
    if fault := _fault_of_instances(family, cls):
        return fault
    if not family.methods or not all(isinstance(method, Method) for method in family.methods):
        return "methods: need at least one Method"
    names = [*(method.name for method in family.methods), *family.aliases]
    if twice := sorted({taken for taken in names if names.count(taken) > 1}):
        return f"methods: '{twice[0]}' occurs twice"
    targets = {method.name for method in family.methods}
    if wrong := sorted(set(family.aliases.values()) - targets):
        return f"aliases: no method '{wrong[0]}'"
    kinds = get_args(Kind)
    for method in family.methods:
        if not (isinstance(method.name, str) and _NAME.fullmatch(method.name)):
            return f"method {method.name!r}: need a name of letters, digits and '-'"
        if not (isinstance(method.summary, str) and isinstance(method.source, str)):
            return f"method {method.name}: summary and source: need texts"
        if method.kind not in kinds:
            return f"method {method.name}: kind {method.kind!r}: need one of {', '.join(kinds)}"
        if not callable(method.run):
            return f"method {method.name}: run cannot be called"
    for part in ("sense", "check", "objective", "chart"):
        if not callable(getattr(family, part)):
            return f"{part}: cannot be called"
    return None


def _fault_of_instances(family: Family, cls: type[Instance]) -> str | None:
    """Return what is wrong with the generator of a family, or with what a search may change."""
    if family.generator is not None:
        if not hasattr(family.generator, "by_name"):
            return "generator: need a Generator"
        if family.generator.default not in family.generator.by_name:
            return f"generator: no preset '{family.generator.default}', its default"
    if family.mutations is not None:
        if not isinstance(getattr(family.mutations, "lists", None), Mapping):
            return "mutations: need a Space with the lists and their lengths"
        if wrong := [name for name in family.mutations.lists if name not in cls.model_fields]:
            return f"mutations: instances have no list '{wrong[0]}'"
    return None


def blamed(error: Exception) -> FamilyError | None:
    """Return an error in the words for a family of another package whose code raised it.

    `error`: as raised; None is returned where no code of such a family was running.
    """
    files = {frame.filename for frame in traceback.extract_tb(error.__traceback__)}
    for name in FAMILIES:
        module = sys.modules.get(FAMILIES[name].models.partition(".")[0])
        file = getattr(module, "__file__", None)
        if name in OWN or file is None:
            continue
        home = os.path.dirname(file) + os.sep if hasattr(module, "__path__") else file
        if any(path.startswith(home) for path in files):
            return FamilyError(f"family {name}: {contract.fault(error)}")
    return None
