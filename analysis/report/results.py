"""Data of the report: each record with its ratios, and a row for each method."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from schedgap.analysis.evaluations.experiments import written
from schedgap.analysis.records.finds import Find, finds
from schedgap.analysis.records.rows import TaskRow
from schedgap.analysis.records.stored import StoredRun, configurations_of
from schedgap.analysis.records.switches import Variant, switches, variant
from schedgap.analysis.statistics.comparisons import gaps, pairs, profile
from schedgap.analysis.statistics.summary import summary
from schedgap.analysis.statistics.tables import (
    changed_options,
    instances,
    preset_of,
    ratios,
    table,
)
from schedgap.errors import UsageError
from schedgap.models.family import family
from schedgap.models.figure import Experiment

if TYPE_CHECKING:
    import pandas as pd

    from schedgap.analysis.evaluations.judging import Row as PlottedValue

SHOWN = [
    "method", "instance", "ratio_low", "ratio_high", "bound_low", "bound_high", "seconds", "note",
]  # fmt: skip
MAX_COMPARED = 8  # methods in a profile and in a table of pairs
Pair = tuple[float, float]  # lower and upper end; NaN if unknown
UNKNOWN: Pair = (math.nan, math.nan)


class Result(NamedTuple):
    """One task with the ratios of its schedule to the optimum and of the optimum to its bound.

    `method` is the name of the configuration; `instance` is a label that is unique in the report;
    `seconds` is wall-clock time.
    """

    task: TaskRow
    method: str
    instance: str
    ratio: Pair
    bound_ratio: Pair
    seconds: float
    note: str

    @property
    def family(self) -> str:
        """The family's name."""
        return self.task.family

    @property
    def failed(self) -> bool:
        """Whether the run failed; one that used up its time did not."""
        return self.task.failed

    @property
    def objective(self) -> float | None:
        """The recomputed objective of the schedule, if there is one."""
        return self.task.objective

    @property
    def bound(self) -> float | None:
        """The proved bound, if there is one."""
        return self.task.bound

    @property
    def status(self) -> str:
        """The status of the solution, and how the run ended unless it ended regularly."""
        ended = "" if self.task.outcome == "done" else self.task.outcome
        return ", ".join(part for part in (ended, self.task.status) if part)

    @property
    def inside(self) -> bool:
        """Whether there is a schedule that obeys all rules of the unmodified problem."""
        return self.objective is not None and not self.task.relaxed and not self.task.problem


@dataclass(frozen=True, slots=True)
class Row:
    """One method on all instances of a family or of a preset."""

    family: str
    preset: str
    method: str
    kind: str
    ours: bool  # not the paper's
    own: bool  # the user's own
    facts: Mapping[str, Any]  # the columns of `schedgap.analysis.statistics.summary.summary`
    exceeded: int  # instances on which a guarantee is exceeded although its assumptions hold
    finds: tuple[Find, ...] = ()  # worst cases of the library for the method and its variants

    @property
    def worst_find(self) -> Find | None:
        """The find with the largest certain ratio; None if no ratio was found."""
        worse = [find for find in self.finds if find.low > 1]
        return max(worse, key=lambda each: each.low, default=None)

    @property
    def plain(self) -> bool:
        """Whether it is a method with its default engine and options."""
        return not set(":@[") & set(self.method)

    def pair(self, name: str) -> Pair:
        """Return both ends of an interval in `facts`.

        `name`: its name without `_low` and `_high`, such as `mean`.
        """
        return float(self.facts[f"{name}_low"]), float(self.facts[f"{name}_high"])


@dataclass(frozen=True, slots=True)
class Means:
    """Ratios of a method over its own instances of the unmodified problem.

    `mean` and `worst` are over the `n` instances with a finite ratio. The method tried `instances`:
    `scheduled` of them have a schedule of each repetition, `wrong` a wrong result, and `infinite`
    an infinite ratio (x/0). `sense` is the first instance's.
    """

    mean: Pair
    worst: Pair
    n: int
    instances: int
    scheduled: int
    wrong: int
    infinite: int
    sense: str


@dataclass(frozen=True)
class ReportData:
    """The data that a report shows; what only some parts of it show is computed when asked for."""

    run: StoredRun
    results: tuple[Result, ...]

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """A row for each method."""
        return self._rows(by_preset=False)

    @cached_property
    def rows_by_preset(self) -> tuple[Row, ...]:
        """A row for each preset and method."""
        return self._rows(by_preset=True)

    @cached_property
    def own_means(self) -> Mapping[tuple[str, str], Means]:
        """Means over each method's own instances, by family and method."""
        return _own_means(self.run)

    @cached_property
    def profiles(self) -> Mapping[str, Mapping[str, list[Pair]]]:
        """Steps (factor, share) of the performance profiles, by family and method."""
        profiles: dict[str, dict[str, list[Pair]]] = {}
        for step in _records(_reached(profile(self.run))):
            steps = profiles.setdefault(step["family"], {}).setdefault(step["method"], [])
            steps.append((step["ratio"], step["share"]))
        return profiles

    @cached_property
    def figures(self) -> Mapping[str, tuple[Experiment, list["PlottedValue"]]]:
        """The figures of the papers, by file name."""
        return written(self.run)

    @cached_property
    def gaps(self) -> Sequence[Mapping[str, Any]]:
        """Rows of `statistics.comparisons.gaps`, of exact methods and bounds."""
        found = self._provers
        return _records(gaps(self.run, by_preset=False, methods=found)) if found else ()

    @cached_property
    def completed(self) -> Sequence[Mapping[str, Any]]:
        """Rows of `statistics.comparisons.profile` by seconds, of exact methods and bounds."""
        found = self._provers
        return _records(_reached(profile(self.run, "seconds", methods=found))) if found else ()

    @cached_property
    def pairs(self) -> Sequence[Mapping[str, Any]]:
        """Rows of `statistics.comparisons.pairs`, of the heuristics that are compared."""
        chosen = {method for name in self.families for method in self.heuristics(name)}
        return _records(pairs(self.run, by_preset=False, methods=chosen)) if chosen else ()

    @property
    def _provers(self) -> set[str]:
        return {row.method for row in self.rows if row.kind in ("exact", "bound")}

    def _rows(self, *, by_preset: bool) -> tuple[Row, ...]:
        return _rows(self.run, self._by_method, by_preset=by_preset)

    @cached_property
    def _by_method(self) -> Mapping[tuple[str, str], TaskRow]:
        """A task of each method, by family and method."""
        return {(result.family, result.method): result.task for result in self.results}

    def methods(self, name: str) -> dict[str, TaskRow]:
        """Return a task of each method of a family, by its name in the tables."""
        return {method: task for (owner, method), task in self._by_method.items() if owner == name}

    def ours(self, name: str, method: str) -> bool:
        """Return whether a method is not the paper's.

        `name`, `method`: the family, and the name of the method in the tables.
        """
        return _ours(self._by_method[name, method])

    @cached_property
    def exceeded(self) -> Mapping[tuple[str, str], int]:
        """On how many instances each method exceeds a guarantee although its assumptions hold."""
        frame = ratios(self.run)
        rows = frame.loc[frame["within"].eq(False), ["family", "method", "instance"]]
        found = dict.fromkeys(rows.itertuples(index=False, name=None))
        return Counter((name, method) for name, method, _ in found)

    @property
    def families(self) -> list[str]:
        """The families in the report."""
        return list(self._by_family)

    @cached_property
    def _by_family(self) -> dict[str, list[Result]]:
        found: dict[str, list[Result]] = {}
        for result in self.results:
            found.setdefault(result.family, []).append(result)
        return found

    def heuristics(self, name: str) -> list[str]:
        """Return the algorithms and baselines of a family that are compared in its figures.

        The user's own come first, then the paper's, then ours, with options last; at most
        `MAX_COMPARED`.
        """
        kinds = ("algorithm", "baseline")
        rows = [row for row in self.rows if row.family == name and row.kind in kinds]
        rows = [row for row in rows if row.facts["scheduled"]]
        rows.sort(key=lambda row: (not row.own, not row.plain, row.kind == "baseline", row.ours))
        return [row.method for row in rows[:MAX_COMPARED]]

    @cached_property
    def hashes(self) -> Mapping[str, list[str]]:
        """Hashes of the instances by family, in the order of the results."""
        return {
            name: list(dict.fromkeys(each.task.sha256 for each in found))
            for name, found in self._by_family.items()
        }

    def of(self, name: str) -> list[Result]:
        """Return the results of one family."""
        return self._by_family.get(name, [])


def collect(run: StoredRun) -> ReportData:
    """Return the data that a report shows of a run."""
    frame = table(run)
    columns = (frame[name].tolist() for name in SHOWN)
    method, instance, low, high, below, above, seconds, note = columns
    pairs_of = (list(zip(*both, strict=True)) for both in ((low, high), (below, above)))
    values = run.rows, method, instance, *pairs_of, seconds, map(str, note)
    return ReportData(run, tuple(map(Result._make, zip(*values, strict=True))))


def _reached(steps: "pd.DataFrame") -> "pd.DataFrame":
    """Return the steps of a profile, without the rows of methods that have none."""
    return steps[steps["share"] > 0]


def _records(frame: "pd.DataFrame") -> list[dict[str, Any]]:
    return [{str(key): value for key, value in row.items()} for row in frame.to_dict("records")]


def _rows(
    run: StoredRun, tasks: Mapping[tuple[str, str], TaskRow], *, by_preset: bool
) -> tuple[Row, ...]:
    found = _finds(run, by_preset=by_preset)
    return tuple(
        Row(
            family=facts["family"],
            preset=facts["preset"],
            method=facts["method"],
            kind=facts["kind"],
            ours=_ours(tasks[facts["family"], facts["method"]]),
            own=tasks[facts["family"], facts["method"]].own,
            facts={str(key): value for key, value in facts.items()},
            exceeded=int(facts["exceeded"]),
            finds=found.get((facts["family"], facts["preset"], facts["method"]), ()),
        )
        for facts in summary(run, by_preset=by_preset).to_dict("records")
    )


def _finds(run: StoredRun, *, by_preset: bool) -> dict[tuple[str, str, str], tuple[Find, ...]]:
    """Return the finds of each method (by family, preset and method) that are about its instances.

    These have the objective and the switches of some instance that the method ran on.
    """
    found: dict[tuple[str, str, str], dict[int, Find]] = {}
    for row, configuration in zip(run.rows, configurations_of(run), strict=True):
        name, sha256 = row.family, row.sha256
        known = [each for each in finds(name) if each.method == row.method]
        if not known or row.own or row.problem:
            continue
        here = (row.sense, _variant(run, name, sha256))
        options = changed_options(row)
        key = name, preset_of(run.facts[sha256]) if by_preset else "", configuration
        found.setdefault(key, {}).update(
            (id(each), each)
            for each in known
            if (each.sense, each.variant) == here and dict(each.options) == options
        )
    return {key: tuple(each.values()) for key, each in found.items()}


def _variant(run: StoredRun, name: str, sha256: str) -> Variant:
    """Return the switches of an instance: from the index, unless it is of another version."""
    known = run.facts[sha256].get("switches", {})
    if known.keys() == switches(name).keys():
        return tuple((key, known[key]) for key in switches(name))
    return variant(name, run.instance_data(sha256))


def _ours(task: TaskRow) -> bool:
    """Return whether a method is not the paper's; False if it is unknown."""
    if task.own:
        return True
    try:
        return family(task.family).method(task.method).ours
    except UsageError:
        return False


def _own_means(run: StoredRun) -> dict[tuple[str, str], Means]:
    """Return the means of each method over its own instances, by family and method."""
    frame = instances(run)
    frame = frame[frame["problem"].eq("") & frame["result"].ne("skipped")]
    found: dict[tuple[str, str], Means] = {}
    for (name, method), group in frame.groupby(["family", "method"], sort=False):
        known = group[np.isfinite(group["ratio_low"].to_numpy(float))]
        lows, highs = (known[f"ratio_{end}"].tolist() for end in ("low", "high"))
        n = len(known)
        found[str(name), str(method)] = Means(
            mean=(math.fsum(lows) / n, math.fsum(highs) / n) if n else UNKNOWN,
            worst=(float(known["worst_low"].max()), float(known["worst_high"].max()))
            if n
            else UNKNOWN,
            n=n,
            instances=len(group),
            scheduled=int(group["scheduled"].sum()),
            wrong=int(group["result"].eq("wrong").sum()),
            infinite=int(np.isinf(group["ratio_low"].to_numpy(float)).sum()),
            sense=str(group["sense"].iloc[0]),
        )
    return found
