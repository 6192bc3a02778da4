"""Judge a schedule that no method of this package has made, and compare it with what is known."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from schedgap.analysis.comparing.run import Run
from schedgap.analysis.own.reading import check_name
from schedgap.analysis.plots.marks import broken_chart, broken_title
from schedgap.analysis.records.booked import better_sides, called
from schedgap.analysis.records.folder import JUDGED, Folder, record_data, task_key
from schedgap.analysis.records.index import Index
from schedgap.analysis.records.ratios import RatioInterval, ratio_interval
from schedgap.analysis.records.sources import family_hash
from schedgap.analysis.results.bounds import Scale, tighter
from schedgap.analysis.results.solution import (
    Solution,
    load_solution,
    side_by_side,
    solution_data,
)
from schedgap.analysis.results.verifying import is_schedule, verify, verify_file
from schedgap.analysis.runners.runner import installed_versions
from schedgap.errors import InputError, UsageError
from schedgap.instances.arguments import a_name, a_path, an_instance, checked
from schedgap.instances.book import Book
from schedgap.instances.instance import Instance, html_table
from schedgap.instances.records import plain, read_json
from schedgap.instances.verdict import Verdict, Violation, outside
from schedgap.models.family import Chart, family

BY_HAND = "by-hand"  # name of a schedule without one


@dataclass(frozen=True, slots=True)
class Known:
    """What is verified of a solution: a schedule's objective, a bound, or both."""

    name: str
    family: str
    sha256: str
    problem: str
    scale: Scale | None  # None for a verdict, which stores no scale
    objective: float | None
    bound: float | None
    relaxed: bool


@dataclass(frozen=True)
class JudgedSchedule:
    """A schedule with its verdict, and its ratio to the optimum as far as it is known.

    It is false if the schedule breaks a rule.

    Attributes
    ----------
    instance : Instance
        What the schedule was judged on.
    schedule : JSON data
        As it was given, also if it breaks a rule.
    verdict : Verdict
        Whether it obeys the rules, and its objective.
    name : str
        What to call it.
    ratio : RatioInterval or None
        Ratio to the optimum; None for a schedule that breaks a rule.
    references : tuple of Known
        What the ratio rests on.
    """

    instance: Instance
    schedule: Any
    verdict: Verdict
    name: str
    ratio: RatioInterval | None = None
    references: tuple[Known, ...] = ()

    def __bool__(self) -> bool:
        return self.verdict.feasible

    @property
    def feasible(self) -> bool:
        """Whether the schedule obeys all rules."""
        return self.verdict.feasible

    @property
    def objective(self) -> float | None:
        """Its objective; None if it breaks a rule."""
        return self.verdict.objective

    @property
    def violations(self) -> tuple[Violation, ...]:
        """The rules that it breaks."""
        return self.verdict.violations

    @property
    def solution(self) -> Solution:
        """The schedule as a solution of the instance.

        Raises
        ------
        InputError
            If it breaks a rule.
        """
        self._require_feasible()
        data = solution_data(
            self.instance,
            method=self.name,
            engine=None,
            kind="algorithm",
            options={},
            seed=None,
            status="feasible",
            objective=self.objective,
            bound=None,
            seconds=0.0,
            schedule=self.schedule,
            versions=installed_versions(),
        )
        return Solution.bind(self.instance, data)

    def gantt(self, compare_with: "Solution | JudgedSchedule | None" = None) -> Any:
        """Return a Gantt chart of the schedule as a Plotly figure.

        A schedule that breaks rules is drawn too, as far as it can be read. Hatched frames mark the
        violations.

        Parameters
        ----------
        compare_with : Solution or JudgedSchedule, optional
            Another schedule of the instance, drawn below on the same time axis.
        """
        return side_by_side(self, compare_with)

    def _chart(self) -> Chart:
        if self.feasible:
            return self.solution._chart()
        return broken_chart(self.instance, self.schedule, self.violations)

    def _title(self) -> str:
        if self.feasible:
            return self.solution._title()
        return broken_title(self.name, self.violations)

    @checked(file=a_path)
    def save(self, file: str | os.PathLike[str]) -> None:
        """Write a solution file, which `verify` and `load_solution` read.

        Parameters
        ----------
        file : path
            Place of a solution file; an existing one is replaced.

        Raises
        ------
        InputError
            If the schedule breaks a rule, or the file cannot be written.
        """
        self.solution.save(file)

    def to_data(self) -> dict[str, Any]:
        """Return the verdict and the ratio as JSON data."""
        interval = self.ratio
        return {
            "name": self.name,
            "instance": self.instance.name,
            "instance_sha256": self.instance.sha256,
            "feasible": self.feasible,
            "objective": self.objective,
            "violations": [asdict(violation) for violation in self.violations],
            "relaxed": list(self.verdict.relaxed),
            "ratio": None
            if interval is None
            else [interval.low, interval.high if interval.high < float("inf") else None],
            "references": [asdict(reference) for reference in self.references],
        }

    @checked(run=a_path)
    def store(self, run: str | os.PathLike[str]) -> None:
        """Put the schedule into a run folder, next to the results of methods.

        It replaces one of the same instance that was put there by the same name.

        Parameters
        ----------
        run : path
            The run folder; created if necessary.

        Raises
        ------
        InputError
            If the schedule breaks a rule, or the folder cannot be written.
        UsageError
            If a method of the family, or one of your own in the folder, has this name.
        """
        solution = self.solution
        owner = family(self.instance.family)
        check_name(self.name)
        if self.name in owner.aliases or any(method.name == self.name for method in owner.methods):
            raise UsageError(f"'{self.name}' is a method of family {owner.name}: use another name")
        folder = Folder(run)
        if any(
            row.method == self.name and row.own and not row.judged
            for row in Index(folder.path).rows()
        ):
            raise UsageError(f"'{self.name}' is a method of your own in {run}: use another name")
        folder.create()
        folder.store_instance(self.instance)
        task = task_key({"instance": self.instance.sha256, "judged": self.name})
        folder.store(
            record_data(
                self.instance,
                task,
                code=family_hash(owner.name) + JUDGED,
                method=self.name,
                label=self.name,
                kind="algorithm",
                own=True,
                options={},
                problem="",
                solution=solution.to_data(),
                relaxed=list(owner.omitted_rules(self.schedule)),
                versions=installed_versions(),
            )
        )

    def _require_feasible(self) -> None:
        if not self.feasible:
            raise InputError(f"{self.name} is no solution: {self._first()}")

    def _first(self) -> str:
        first = self.violations[0]
        return f"breaks {first.rule}: {first.message}"

    def _facts(self) -> dict[str, str]:
        if not self.feasible:
            broken = {item.rule: item.message for item in reversed(self.violations)}
            return {"verdict": f"{len(self.violations)} violation(s)", **broken}
        apart = outside(self.verdict.relaxed)
        verdict = f"feasible ({apart})" if apart else "feasible"
        facts = {"verdict": verdict, "objective": f"{self.objective:.10g}"}
        if self.references:
            names = ", ".join(dict.fromkeys(reference.name for reference in self.references))
            facts["ratio"] = f"{self.ratio} ({names})"
        return facts

    def __repr__(self) -> str:
        facts = ", ".join(f"{key} {value}" for key, value in self._facts().items())
        return f"<{self.name} on {self.instance.family} {self.instance.name!r}: {facts}>"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        return html_table(self._facts())


Reference = Solution | JudgedSchedule | Verdict


def ratio(solution: Reference, *references: Reference | Run) -> RatioInterval:
    """Return the ratio of a schedule to the optimum, as an interval.

    The optimum lies between the best of the bounds and the best of the schedules. The ratio is
    objective / optimum for minimization and optimum / objective for maximization. Nothing counts
    that is not verified. This function verifies a solution that was read from a file or made by
    hand. The bound of such a solution counts only if its certificate or its proof holds. The
    results of a run count as in its tables.

    Parameters
    ----------
    solution : Solution, JudgedSchedule or Verdict
        The schedule whose ratio is returned, as of `solve`, `judge` or `verify`.
    *references : Solution, JudgedSchedule, Verdict or Run
        What else is known of the same instance, such as a solution of `exact`, or a run.

    Raises
    ------
    UsageError
        If the solutions belong to different instances or problems, if one breaks a rule, or if
        `solution` has no schedule.
    """
    if isinstance(solution, Solution) and solution.schedule is None:
        raise UsageError(f"no ratio: {solution._no_schedule()}")
    given = known(solution)
    others = [other for reference in references for other in _known_by(given, reference)]
    return interval(given, others)


def known(given: Reference) -> Known:
    """Return what is verified of a solution.

    Raises
    ------
    UsageError
        If it breaks a rule, or a claim of it is refuted.
    """
    if isinstance(given, JudgedSchedule):
        if not given.feasible:
            raise UsageError(f"no ratio: {given.name} {given._first()}")
        return _of_verdict(given.verdict, given.name)
    if isinstance(given, Verdict):
        return _of_verdict(given, "the schedule")
    if not isinstance(given, Solution):
        raise UsageError(
            f"no ratio: need what solve, judge or verify return, not {type(given).__name__}"
        )
    owner, bound = family(given.family), given.bound
    if not given.verified:
        if given.schedule is None:
            bound = None
        else:
            verdict = verify(given.of_instance, given)
            if not verdict.feasible:
                first = verdict.violations[0]
                raise UsageError(f"no ratio: {given.method}: {first.rule}: {first.message}")
            if "checked" not in (verdict.bound_status, verdict.optimality_status):
                bound = None
    relaxed = given.schedule is not None and bool(owner.omitted_rules(given.schedule))
    return Known(
        given.method, given.family, given.instance_sha256, owner.problem(given.options),
        Scale.of(given.of_instance), given.objective, bound, relaxed,
    )  # fmt: skip


def _of_verdict(verdict: Verdict, name: str) -> Known:
    if not verdict.instance_sha256:
        raise UsageError("no ratio: the verdict is not one of verify")
    if not verdict.feasible:
        first = verdict.violations[0]
        raise UsageError(f"no ratio: {name} breaks {first.rule}: {first.message}")
    return Known(
        name, verdict.family, verdict.instance_sha256, "", None, verdict.objective, None,
        bool(verdict.relaxed),
    )  # fmt: skip


def _known_by(given: Known, reference: Reference | Run) -> Iterator[Known]:
    """Yield what is known from a reference; of a run, the best of its results."""
    if not isinstance(reference, Run):
        yield known(reference)
        return
    bracket = reference.brackets.get((given.sha256, given.problem))
    if bracket is None:
        raise UsageError("no ratio: the run has no result for this instance")
    head = (given.family, given.sha256, given.problem, bracket.scale)
    if bracket.best is not None:
        yield Known(bracket.best_by, *head, bracket.best, None, False)
    if bracket.bound is not None:
        yield Known(bracket.bound_by, *head, None, bracket.bound, False)


def interval(given: Known, references: "list[Known]") -> RatioInterval:
    """Return the ratio of a verified schedule to an optimum that references enclose.

    `references`: of the same instance and problem.

    Raises
    ------
    UsageError
        If they belong to different instances or problems, or `given` has no schedule.
    """
    every = [given, *references]
    if len({(solution.family, solution.sha256) for solution in every}) > 1:
        raise UsageError("no ratio: the solutions belong to different instances")
    problems = list(dict.fromkeys(solution.problem for solution in every))
    if len(problems) > 1:
        names = " and ".join(repr(problem or "the instance itself") for problem in problems)
        raise UsageError(f"no ratio: they solve different problems, {names}")
    if given.objective is None:
        raise UsageError(f"no ratio: {given.name} has no schedule")
    scale = next((solution.scale for solution in every if solution.scale is not None), None)
    if scale is None:  # verdicts alone: they know of no bound
        raise UsageError("no ratio: need a reference that is a solution, a judgement or a run")
    pick = min if scale.sense == "min" else max
    values = [
        solution.objective
        for solution in every
        if solution.objective is not None and not solution.relaxed
    ]
    bound: float | None = None
    for solution in every:
        bound = tighter(bound, solution.bound, scale.sense)
    best = pick(values, default=given.objective)  # all relaxed: compare with this one
    return ratio_interval(given.objective, best, bound, scale)


@checked(instance=an_instance, name=a_name)
def judge(
    instance: Instance,
    schedule: "Mapping[str, object] | str | os.PathLike[str] | Any",
    *references: Reference | Run,
    name: str = BY_HAND,
) -> JudgedSchedule:
    """Verify a schedule that was made elsewhere, and return its objective and its ratio.

    On an instance of the record book, the record counts where no reference is as good.

    Parameters
    ----------
    instance : Instance
        What the schedule is for.
    schedule : mapping, path, Solution or schedule
        The data of a schedule or of a solution file, a file with either, a solution, or a schedule
        of the family.
    *references : Solution, JudgedSchedule, Verdict or Run
        What is known of the instance, for the ratio; see `ratio`.
    name : str
        What to call it in charts and tables.

    Raises
    ------
    InputError
        If the data are no schedule of the family, or a solution of another instance.
    """
    data, verdict, own = _read(instance, schedule)
    if not verdict.feasible:
        return JudgedSchedule(instance, data, verdict, name)
    given = Known(
        name, instance.family, instance.sha256, "", Scale.of(instance), verdict.objective, own,
        bool(verdict.relaxed),
    )  # fmt: skip
    others = [other for reference in references for other in _known_by(given, reference)]
    others += _of_the_book(given, others)
    return JudgedSchedule(instance, data, verdict, name, interval(given, others), tuple(others))


def _of_the_book(given: Known, others: Sequence[Known]) -> Iterator[Known]:
    """Yield what the record book has of the instance, where no reference is as good."""
    entry = Book().entries(given.sha256).get(given.problem)
    if entry is None or given.scale is None:
        return
    head = (given.family, given.sha256, given.problem, given.scale)
    bound = given.bound
    for other in others:
        bound = tighter(bound, other.bound, given.scale.sense)
    values = [
        other.objective for other in others if other.objective is not None and not other.relaxed
    ]
    pick = min if given.scale.sense == "min" else max
    schedule, proved = better_sides(entry, given.scale, pick(values, default=None), bound)
    if schedule is not None:
        yield Known(called(schedule), *head, schedule.value, None, False)
    if proved is not None:
        yield Known(called(proved), *head, None, proved.value, False)


def _read(instance: Instance, given: Any) -> tuple[Any, Verdict, float | None]:
    """Return the data of a schedule, its verdict, and the bound that came with it, if checked."""
    if isinstance(given, str | os.PathLike):
        file = Path(given)
        data = read_json(file)
        verdict = verify_file(instance, file)
        if isinstance(data, Mapping) and is_schedule(data):
            return data, verdict, None
        solution = load_solution(file, instance)
    else:
        if isinstance(given, Instance):
            raise InputError("need a schedule, not an instance", path="schedule")
        if hasattr(given, "to_data") and not isinstance(given, Solution):
            given = given.to_data(instance)
        if not isinstance(given, Mapping | Solution):
            raise InputError(f"need a schedule, not {type(given).__name__}", path="schedule")
        data = given if isinstance(given, Solution) else plain(given)
        verdict = verify(instance, data)
        if not isinstance(data, Solution) and is_schedule(data):
            return data, verdict, None
        solution = data if isinstance(data, Solution) else Solution.bind(instance, data)
    if solution.schedule is None:
        raise InputError("has no schedule", path="schedule")
    checked = "checked" in (verdict.bound_status, verdict.optimality_status)
    return solution.schedule, verdict, solution.bound if checked else None
