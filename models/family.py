"""A family as a whole: what the command line, the runs and the report ask of it."""

import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from schedgap.errors import UsageError
from schedgap.instances.families import FAMILIES
from schedgap.instances.solution import Sense
from schedgap.instances.verdict import Violation
from schedgap.models.figure import Experiment
from schedgap.models.method import Method
from schedgap.models.paper import Paper


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of a Gantt chart."""

    lane: str
    start: float
    end: float
    group: str  # decides the colour, such as the job
    text: str  # shown on hover
    soft: bool = False  # drawn faint: a delay that does not occupy the lane


@dataclass(frozen=True, slots=True)
class Link:
    """A dotted line from the end of one bar to the start of another: one thing, interrupted."""

    group: str
    lane: str
    start: float
    to_lane: str
    end: float


@dataclass(frozen=True, slots=True)
class Chart:
    """The picture of a schedule: lanes from top to bottom, bars on them, and the unit of time."""

    lanes: tuple[str, ...]
    bars: tuple[Bar, ...]
    unit: str
    links: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True)
class Family:
    """One paper's problem.

    The functions take the instance and a schedule as plain JSON data (`schedule` of a solution
    file), which they do not trust. `check` raises InputError where a file is not a solution of this
    family at all. `objective` is for schedules without violations. `grid` is the step on which all
    values of left-shifted schedules lie, or None. `problem(options)` names the problem that a
    method solves with these options: '' is the instance itself; bounds of one problem are never
    used for another. `omitted_rules(schedule)` names the rules of the program that a schedule says
    it leaves out (a preemptive baseline): it has no bound and is never the best known schedule.
    `metrics(instance, schedule)`: further numbers by name, shown beside the objective.
    `null_schedule(instance)`: the empty schedule where it is always feasible, reported when a
    method stops without one; else None.
    """

    name: str
    title: str
    paper: Paper
    methods: tuple[Method, ...]
    aliases: Mapping[str, str]
    sense: Callable[[Any], Sense]
    check: Callable[
        [Any, Any, Mapping[str, Any]], Iterator[Violation]
    ]  # (instance, schedule, options)
    objective: Callable[[Any, Any], float]
    chart: Callable[[Any, Any], Chart]
    grid: Callable[[Any], float | None] = field(default=lambda instance: None)
    problem: Callable[[Mapping[str, Any]], str] = field(default=lambda options: "")
    omitted_rules: Callable[[Any], tuple[str, ...]] = field(default=lambda schedule: ())
    metrics: Callable[[Any, Any], Mapping[str, float]] = field(
        default=lambda instance, schedule: {}
    )
    null_schedule: Callable[[Any], Any] = field(default=lambda instance: None)
    check_certificate: Callable[[Any, Mapping[str, Any]], float] | None = None
    programs: Mapping[str, Callable[[Any], Any]] = field(
        default_factory=dict
    )  # name -> build(instance), a Pyomo model
    suite: Callable[[], list[Any]] | None = None  # small instances of the quick comparison
    experiments: Callable[[], list[Experiment]] | None = None  # figures of the paper

    def method(self, name: str) -> Method:
        """Return a method by its name or alias."""
        target = self.aliases.get(name, name)
        for method in self.methods:
            if method.name == target:
                return method
        known = ", ".join([*self.aliases, *(method.name for method in self.methods)])
        raise UsageError(f"family {self.name} has no method '{name}': choose one of {known}")


def family(name: str) -> Family:
    """Return a family by its name."""
    if name not in FAMILIES:
        raise UsageError(f"no family '{name}': choose one of {', '.join(FAMILIES)}")
    found: Family = importlib.import_module(f"schedgap.models.{name}").FAMILY
    return found


def families() -> list[Family]:
    """Return all families."""
    return [family(name) for name in FAMILIES]
