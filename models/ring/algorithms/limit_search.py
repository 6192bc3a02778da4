"""Search for the limit on the loads of GPUs, Algorithm 1, lines 4-23.

The baselines use the same search for their limits.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from schedgap.instances.ring import RingInstance
from schedgap.models.method import AlgorithmRun, MethodResult, RunContext
from schedgap.models.ring.algorithms.events import Journal
from schedgap.models.ring.dispatch import NO_PLACE, Choose, Trial, dispatch, trial_schedule
from schedgap.models.ring.rates import RateTable
from schedgap.models.ring.simulator import schedule_metrics

Bisection = Literal["improvement", "feasibility", "scan"]


@dataclass(frozen=True, slots=True)
class LimitAttempt:
    """One attempt of the search: a limit, a threshold, and the run of the dispatcher with both."""

    limit: int  # theta_u, slots
    kappa: int | None  # None for a policy without a threshold
    trial: Trial


@dataclass(frozen=True, slots=True)
class LimitSearchResult:
    """The best attempt of a search, or None if no run was feasible, and all attempts in order."""

    best: LimitAttempt | None
    attempts: tuple[LimitAttempt, ...]


OnBetter = Callable[[LimitAttempt], None]


class TrialCache:
    """Runs of the dispatcher by limit and threshold; identical runs are made once.

    Loads start from 0 in each run (E30).

    `order`: jobs in the order of dispatch. `policy`: kappa -> the choice of GPUs with this
    threshold. `journal`: recorder of every step.
    """

    def __init__(
        self,
        table: RateTable,
        order: list[int],
        policy: Callable[[int | None], Choose],
        journal: Journal | None = None,
    ) -> None:
        self._table, self._order, self._policy = table, order, policy
        self.horizon = table.horizon
        self.journal = Journal(table, recording=False) if journal is None else journal
        self._trials: dict[int | None, list[Trial]] = {}  # trials by kappa

    def __call__(self, limit: int, kappa: int | None) -> Trial:
        """Return the run with this limit and this threshold.

        `limit`: theta_u, slots. `kappa`: threshold on the size of a job; None for a policy without
        one.
        """
        earlier, journal = self._trials.setdefault(kappa, []), self.journal
        for trial in reversed(earlier):
            if trial.holds_for(limit):
                journal.repeat(limit, kappa, trial)
                return trial
        journal.run(limit, kappa)
        trial = dispatch(
            self._table,
            self._order,
            self._policy(kappa),
            limit=limit,
            observer=journal if journal.recording else None,
        )
        journal.result(trial)
        earlier.append(trial)
        return trial


def first_limit(horizon: int) -> int:
    """Return the limit that a bisection tries first (Algorithm 1, line 6).

    `horizon`: T, slots.
    """
    return (1 + horizon) // 2


def search_limit(
    trials: TrialCache,
    kappas: Iterable[int | None],
    bisection: Bisection = "improvement",
    *,
    stop: Callable[[], bool] = lambda: False,
    on_better: OnBetter = lambda attempt: None,
) -> LimitSearchResult:
    """Search the limit theta_u, with all thresholds at each limit (Algorithm 1, lines 4-23).

    `trials`: the runs; its journal records the search, and T is the largest limit. `kappas`:
    thresholds in the order in which they are tried; among equal makespans the first is kept.
    `bisection`: lower the limit when the best makespan has improved (as printed, E17), or when some
    run is feasible; "scan" tries every limit. `stop`: asked between two runs whether time is up.
    `on_better`: called with every attempt that is better than all before it.

    The result has the best attempt and all attempts.

    Notes
    -----
    Infeasible runs are discarded (E13), and a makespan of T is accepted (E14).
    """
    thresholds, journal = list(kappas), trials.journal
    best: LimitAttempt | None = None  # A1 L4, E14
    attempts: list[LimitAttempt] = []
    left, right = 1, trials.horizon  # A1 L4
    while left <= right:  # A1 L5
        theta = left if bisection == "scan" else (left + right) // 2  # A1 L6, E18
        journal.limit(theta, left, right)
        best_here: LimitAttempt | None = None  # A1 L6 m_theta, y_theta
        for kappa in thresholds:  # A1 L7
            if stop():
                before, best = best, _better(best, best_here)
                _note_better(journal, best, before)
                journal.stop(theta, kappa)
                return LimitSearchResult(best, tuple(attempts))
            attempt = LimitAttempt(theta, kappa, trials(theta, kappa))  # A1 L8-L16
            attempts.append(attempt)
            best_here = _better(best_here, attempt)  # A1 L17-L18, E13, E15
            if best_here is attempt and _better(best, attempt) is attempt:
                on_better(attempt)
        before, best = best, _better(best, best_here)  # A1 L19-L20
        _note_better(journal, best, before)
        lower = best is not before if bisection == "improvement" else best_here is not None
        if lower and bisection != "scan":
            right = theta - 1  # A1 L21
            journal.lower(right)
        else:  # A1 L22
            left = theta + 1  # A1 L23
            journal.higher(left)
    return LimitSearchResult(best, tuple(attempts))


def _better(best: LimitAttempt | None, new: LimitAttempt | None) -> LimitAttempt | None:
    """Return the new attempt if it is feasible and has a smaller makespan, else `best`."""
    if new is None or not new.trial.feasible:
        return best
    if best is None or new.trial.makespan < best.trial.makespan:
        return new
    return best


def _note_better(journal: Journal, best: LimitAttempt | None, before: LimitAttempt | None) -> None:
    if best is not None and best is not before:
        old = None if before is None else before.trial
        journal.improve(best.limit, best.kappa, best.trial, old)


def algorithm_run(
    instance: RingInstance,
    result: LimitSearchResult,
    trace: Mapping[str, object],
    events: Iterable[Mapping[str, object]] = (),
) -> AlgorithmRun:
    """Return the schedule of the best attempt with its metrics and the log of all runs.

    `result`: result of a search on the instance. `trace`: plain JSON data that is added to the
    trace. `events`: events of the search.
    """
    trace = {**trace, "runs": _run_log(result.attempts)}
    if result.best is None:
        return AlgorithmRun(None, tuple(events), trace)
    best = result.best
    facts: dict[str, object] = {"theta": best.limit}
    if best.kappa is not None:
        facts["kappa"] = best.kappa
    schedule = trial_schedule(instance, best.trial, **facts)
    return AlgorithmRun(schedule, tuple(events), schedule_metrics(instance, schedule) | trace)


def method_result(run: AlgorithmRun) -> MethodResult:
    """Return the run of an algorithm as the result of a method.

    `run`: without a schedule if no run of the dispatcher was feasible.
    """
    note = NO_PLACE if run.schedule is None else ""
    return MethodResult(run.schedule, note=note, trace=run.trace)


def _run_log(attempts: Sequence[LimitAttempt]) -> list[dict[str, object]]:
    """Return one row for each distinct run of a search, at the limit of its first use."""
    rows, seen = [], set()
    for attempt in attempts:
        trial = attempt.trial
        if id(trial) in seen:
            continue
        seen.add(id(trial))
        row: dict[str, object] = {"theta": attempt.limit}
        if attempt.kappa is not None:
            row["kappa"] = attempt.kappa
        row["makespan"] = trial.makespan if trial.feasible else None
        row["load"] = trial.load if trial.feasible else None
        rows.append(row | {"filtered": trial.filtered})
    return rows


def incumbent_reporter(instance: RingInstance, call: RunContext) -> OnBetter:
    """Return a callback that reports the schedule of a better attempt as an incumbent."""

    def report(attempt: LimitAttempt) -> None:
        schedule = trial_schedule(instance, attempt.trial)
        call.progress.incumbent(schedule, schedule.makespan)

    return report
