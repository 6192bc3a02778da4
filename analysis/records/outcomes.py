"""What the tasks of a run ended with, and results that contradict each other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedgap.analysis.records.ratios import Array, Bracket, Mask, compared
from schedgap.analysis.records.rows import TaskRow

Texts = NDArray[Any]

FAILED = ("memory", "crash", "error")  # outcomes
CLAIMS = ("optimal", "infeasible")  # statuses


@dataclass(frozen=True, slots=True)
class Tasks:
    """What is known of `k` tasks, as arrays [k].

    `outcome`, `kind` and `status` are texts; `status` is empty without a solution. `relaxed`:
    whether the schedule need not obey all rules of the problem. `evidence`: the word for the
    evidence of the bound, empty without a solution. `largest`: whether the objective is to be
    maximized. NaN without an objective, a bound, a grid, and in `best` without a schedule of any
    method.
    """

    outcome: Texts
    kind: Texts
    status: Texts
    relaxed: Mask
    evidence: Texts
    objective: Array
    bound: Array
    best: Array
    largest: Mask
    grid: Array

    @property
    def claims(self) -> Mask:
        """Whether a method reports that its schedule is optimal, or that there is none."""
        claimed: Mask = np.isin(self.status, CLAIMS)
        return claimed

    def results(self) -> Texts:
        """Return what each task ended with: one of these.

        - `proved`: an optimum, or that there is no schedule, by a proof tree whose every leaf the
          checker has evaluated;
        - `certified`: the same by a certificate of the bound, or by the checker's complete search,
          which `verify` runs again on request;
        - `reported`: the same, but only an engine or a method says so;
        - `feasible`: a schedule that is not said to be optimal;
        - `bounded`: a bound, from a method that returns nothing else;
        - `relaxed`: a schedule that does not obey all rules of the problem;
        - `incomplete`: nothing of this, from a method that ended or used up its time;
        - `failed`: nothing of this, from a method that exceeded its memory or ended with an error;
        - `wrong`: an invalid schedule, or a claim that another method's schedule refutes;
        - `skipped`: the method does not support the instance.
        """
        known = ~np.isnan(self.best) & ~self.relaxed
        _, past = compared(self.best, self.bound, self.largest, self.grid)
        refuted = known & ((self.status == "infeasible") | past)
        scheduled = ~np.isnan(self.objective)
        cases = {
            "skipped": self.outcome == "skipped",
            "wrong": (self.outcome == "invalid") | refuted,
            "relaxed": scheduled & self.relaxed,
            "proved": self.claims & (self.evidence == "proved"),
            "certified": self.claims & (self.evidence == "certified"),
            "reported": self.claims,
            "feasible": scheduled,
            "bounded": (self.kind == "bound") & ~np.isnan(self.bound),
            "failed": np.isin(self.outcome, FAILED),
        }
        return np.select(list(cases.values()), list(cases), "incomplete")

    def completed(self, results: Texts) -> Mask:
        """Return whether each method ended by itself with what methods of its kind are for.

        This is a claimed optimum, or a claim that there is no schedule, for an exact method; a
        bound for a bound; a schedule otherwise. A wrong answer does not count.

        `results` [k]: as returned by `results`.
        """
        found = np.where(self.kind == "bound", ~np.isnan(self.bound), ~np.isnan(self.objective))
        ended = np.where(self.kind == "exact", self.claims, (self.outcome == "done") & found)
        done: Mask = ended & ~np.isin(results, ["wrong", "skipped"])
        return done


def refuted(row: TaskRow, bracket: Bracket) -> bool:
    """Return whether a verified schedule refutes the bound or the status of a record.

    `bracket`: best known schedule and bound of its instance.
    """
    if row.status is None or bracket.best is None or row.relaxed:
        return False
    if row.status == "infeasible":
        return True
    return row.bound is not None and bracket.scale.refutes(bracket.best, row.bound)


def contradictions(
    rows: Sequence[TaskRow], best_known: Mapping[tuple[str, str], Bracket]
) -> list[str]:
    """Describe each pair of contradictory records and each invalid schedule of our methods.

    A wrong answer of an engine in a benchmark is a result of the benchmark: see `wrong_answers`.

    `rows`: rows of any instances and methods. `best_known`: their `brackets`.
    """
    ours = [row for row in rows if not row.formulation]
    return _wrong([row for row in ours if not row.own], ours, best_known)


def wrong_answers(
    rows: Sequence[TaskRow], best_known: Mapping[tuple[str, str], Bracket]
) -> list[str]:
    """Describe each wrong answer of an engine in a benchmark.

    `rows`: rows of any instances and methods. `best_known`: their `brackets`.
    """
    found = [row for row in rows if row.formulation]
    return _wrong(found, found, best_known)


def _wrong(
    checked: Sequence[TaskRow],
    claiming: Sequence[TaskRow],
    best_known: Mapping[tuple[str, str], Bracket],
) -> list[str]:
    """Describe the invalid schedules of some records, and the claims that are refuted."""
    messages = [
        f"{row.instance}: {row.label}: {row.message}" for row in checked if row.outcome == "invalid"
    ]
    for row in claiming:
        bracket = best_known[row.sha256, row.problem]
        if bracket.best is None or not refuted(row, bracket):
            continue
        if row.status == "infeasible":
            said = "says" if row.formulation else "proved"
            messages.append(
                f"{row.instance}: {row.label} {said} that no schedule exists, "
                f"{bracket.best_by} has one"
            )
        else:
            claim = "optimum" if row.status == "optimal" else "bound"
            messages.append(
                f"{row.instance}: {row.label} claims the {claim} "
                f"{row.bound:.10g}, {bracket.best_by} has a schedule of {bracket.best:.10g}"
            )
    return messages
