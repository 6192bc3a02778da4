"""What the report shows of a run: each record with its ratios, and one row for each method."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from schedgap.analysis.folder import FAILURES, TaskRecord
from schedgap.analysis.stored import StoredRun
from schedgap.analysis.tables import profile, ratios, summary, table
from schedgap.errors import UsageError
from schedgap.models.family import family

Pair = tuple[float, float]  # least and greatest value; not a number where there is none


@dataclass(frozen=True, slots=True)
class Result:
    """One record with its ratios: of the schedule to the optimum, of the optimum to the bound.

    `instance` is a label that is unique in the report. `seconds` is wall clock.
    """

    record: TaskRecord
    instance: str
    ratio: Pair
    bound_ratio: Pair
    seconds: float
    note: str

    @property
    def family(self) -> str:
        """The family's name."""
        return self.record.instance.family

    @property
    def method(self) -> str:
        """The method with what differs from its defaults."""
        return self.record.label

    @property
    def failed(self) -> bool:
        """Whether the run broke off."""
        return self.record.outcome in FAILURES

    @property
    def objective(self) -> float | None:
        """The recomputed objective of the schedule, if there is one."""
        return None if self.record.solution is None else self.record.solution.objective

    @property
    def bound(self) -> float | None:
        """The proved bound, if there is one."""
        return None if self.record.solution is None else self.record.solution.bound

    @property
    def status(self) -> str:
        """The status of the solution, with how the run ended where it did not end well."""
        solution = self.record.solution
        ended = "" if self.record.outcome == "done" else self.record.outcome
        return ", ".join(part for part in (ended, solution.status if solution else "") if part)

    @property
    def inside(self) -> bool:
        """Whether there is a schedule that obeys every rule of the plain problem."""
        return self.objective is not None and not self.record.relaxed and not self.record.problem


@dataclass(frozen=True, slots=True)
class Row:
    """One method on all instances of a family, or on those of one preset."""

    family: str
    preset: str
    method: str
    kind: str
    ours: bool
    facts: Mapping[str, Any]  # the columns of `schedgap.analysis.tables.summary`
    exceeded: int  # instances on which a guarantee whose assumptions hold is broken

    def pair(self, name: str) -> Pair:
        """Return the two ends of a fact such as `mean`."""
        return float(self.facts[f"{name}_low"]), float(self.facts[f"{name}_high"])


@dataclass(frozen=True, slots=True)
class Results:
    """All that a report is made of."""

    run: StoredRun
    results: tuple[Result, ...]
    rows: tuple[Row, ...]
    rows_by_preset: tuple[Row, ...]
    profiles: Mapping[str, Mapping[str, list[Pair]]]  # family -> method -> (factor, share)

    @property
    def families(self) -> list[str]:
        """The families in the report, each once."""
        return list(dict.fromkeys(each.family for each in self.results))

    def of(self, name: str) -> list[Result]:
        """Return the results of one family."""
        return [each for each in self.results if each.family == name]


def collect(run: StoredRun) -> Results:
    """Return what a report shows of a run."""
    results = []
    for record, row in zip(run.records, table(run).to_dict("records"), strict=True):
        results.append(
            Result(
                record=record,
                instance=row["instance"],
                ratio=(row["ratio_low"], row["ratio_high"]),
                bound_ratio=(row["bound_low"], row["bound_high"]),
                seconds=row["seconds"],
                note=str(row["note"]),
            )
        )
    profiles: dict[str, dict[str, list[Pair]]] = {}
    for step in profile(run).to_dict("records"):
        steps = profiles.setdefault(step["family"], {}).setdefault(step["method"], [])
        steps.append((step["ratio"], step["share"]))
    ours = {(each.family, each.method): _ours(each.record) for each in results}
    rows, rows_by_preset = (_rows(run, ours, by_preset=each) for each in (False, True))
    return Results(run, tuple(results), rows, rows_by_preset, profiles)


def _rows(
    run: StoredRun, ours: Mapping[tuple[str, str], bool], *, by_preset: bool
) -> tuple[Row, ...]:
    broken = [row for row in ratios(run).to_dict("records") if row["within"] is False]
    return tuple(
        Row(
            family=facts["family"],
            preset=facts["preset"],
            method=facts["method"],
            kind=facts["kind"],
            ours=ours[facts["family"], facts["method"]],
            facts={str(key): value for key, value in facts.items()},
            exceeded=sum(
                (row["family"], row["method"]) == (facts["family"], facts["method"])
                and (not by_preset or row["preset"] == facts["preset"])
                for row in broken
            ),
        )
        for facts in summary(run, by_preset=by_preset).to_dict("records")
    )


def _ours(record: TaskRecord) -> bool:
    """Whether the method is ours and not the paper's; False for one that is not registered."""
    try:
        return family(record.instance.family).method(record.method).ours
    except UsageError:
        return False


def mean_and_worst(results: list[Result]) -> tuple[Pair, Pair]:
    """Return the mean and the greatest ratio, both as intervals; infinite ratios x/0 left out."""
    pairs = [each.ratio for each in results if each.inside and math.isfinite(each.ratio[0])]
    if not pairs:
        return (math.nan, math.nan), (math.nan, math.nan)
    lows, highs = zip(*pairs, strict=True)
    return (math.fsum(lows) / len(lows), math.fsum(highs) / len(highs)), (max(lows), max(highs))
