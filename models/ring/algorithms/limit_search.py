"""The search for the least limit on the loads of GPUs: lines 4-23 of Algorithm 1.

The baselines are given their limit by the same search.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from schedgap.instances.ring import RingInstance
from schedgap.models.method import AlgorithmRun, MethodResult, RunContext
from schedgap.models.ring.algorithms.events import Journal
from schedgap.models.ring.dispatch import NO_PLACE, Choose, Clock, Trial, dispatch, schedule
from schedgap.models.ring.rates import RateTable
from schedgap.models.ring.simulator import measures

Bisection = Literal["improvement", "feasibility", "scan"]


@dataclass(frozen=True, slots=True)
class Attempt:
    """One trial of the search: its limit, its threshold, and what came of it."""

    limit: int  # theta_u
    kappa: int | None  # None where the policy has no threshold
    trial: Trial


@dataclass(frozen=True, slots=True)
class Search:
    """What a search over limits found: the best attempt or None, and all of them in order."""

    best: Attempt | None
    attempts: tuple[Attempt, ...]


OnBetter = Callable[[Attempt], None]


class Trials:
    """Runs of the dispatcher by threshold and limit; a run that would be the same is not repeated.

    Loads start from 0 in each (E30).
    """

    def __init__(
        self,
        table: RateTable,
        order: list[int],
        policy: Callable[[int | None], Choose],
        clock: Clock = "actual",
        journal: Journal | None = None,
    ) -> None:
        self._table, self._order, self._policy, self._clock = table, order, policy, clock
        self._journal = journal
        self._known: dict[int | None, list[Trial]] = {}

    def __call__(self, limit: int, kappa: int | None) -> Trial:
        """Return the run with this limit and this threshold."""
        known, journal = self._known.setdefault(kappa, []), self._journal
        for trial in reversed(known):
            if trial.holds_for(limit):
                if journal is not None:
                    journal.repeat(limit, kappa, trial)
                return trial
        if journal is not None:
            journal.run(limit, kappa)
        new = dispatch(
            self._table,
            self._order,
            self._policy(kappa),
            limit=limit,
            clock=self._clock,
            watch=journal,
        )
        if journal is not None:
            journal.result(new)
        known.append(new)
        return new


def search_limit(
    horizon: int,
    trials: Callable[[int, int | None], Trial],
    kappas: Iterable[int | None],
    bisection: Bisection = "improvement",
    *,
    stop: Callable[[], bool] = lambda: False,
    on_better: OnBetter = lambda attempt: None,
    journal: Journal | None = None,
) -> Search:
    """Search the limit theta_u, with all thresholds at each (Algorithm 1, lines 4-23).

    Parameters
    ----------
    horizon : int
        T.
    trials : callable
        (theta_u, kappa) -> run.
    kappas : iterable
        Thresholds in the order in which they are tried; of equal makespans the first is kept.
    bisection : "improvement", "feasibility" or "scan"
        The limit falls when the best makespan has improved (as printed, E17), or when some run is
        feasible; or every limit is tried.
    stop : callable
        Asked between two runs whether time is up.
    on_better : callable
        Called with every attempt that is better than all before it.
    journal : Journal, optional
        Told of every step.

    Returns
    -------
    Search
        The best of the runs, and all of them.

    Notes
    -----
    A run that found no schedule counts for nothing (E13), and a makespan of T is accepted (E14).
    """
    thresholds = list(kappas)
    best: Attempt | None = None  # A1 L4, E14
    attempts: list[Attempt] = []
    left, right = 1, horizon  # A1 L4
    while left <= right:  # A1 L5
        theta = left if bisection == "scan" else (left + right) // 2  # A1 L6, E18
        if journal is not None:
            journal.limit(theta, left, right)
        here: Attempt | None = None  # A1 L6 m_theta, y_theta
        for kappa in thresholds:  # A1 L7
            if stop():
                last, best = best, _better(best, here)
                if journal is not None:
                    _note_better(journal, best, last)
                    journal.stop(theta, kappa)
                return Search(best, tuple(attempts))
            attempt = Attempt(theta, kappa, trials(theta, kappa))  # A1 L8-L16
            attempts.append(attempt)
            here = _better(here, attempt)  # A1 L17-L18, E13, E15
            if here is attempt and _better(best, attempt) is attempt:
                on_better(attempt)
        last, best = best, _better(best, here)  # A1 L19-L20
        if journal is not None:
            _note_better(journal, best, last)
        falls = best is not last if bisection == "improvement" else here is not None
        if falls and bisection != "scan":
            right = theta - 1  # A1 L21
            if journal is not None:
                journal.lower(right)
        else:  # A1 L22
            left = theta + 1  # A1 L23
            if journal is not None:
                journal.higher(left)
    return Search(best, tuple(attempts))


def _better(known: Attempt | None, new: Attempt | None) -> Attempt | None:
    """Return the known attempt unless the new one has a schedule, and a shorter one."""
    if new is None or not new.trial.feasible:
        return known
    if known is None or new.trial.makespan < known.trial.makespan:
        return new
    return known


def _note_better(journal: Journal, best: Attempt | None, last: Attempt | None) -> None:
    if best is not None and best is not last:
        old = None if last is None else last.trial
        journal.improve(best.limit, best.kappa, best.trial, old)


def best_run(
    instance: RingInstance,
    found: Search,
    trace: Mapping[str, Any],
    events: Iterable[Mapping[str, Any]] = (),
) -> AlgorithmRun:
    """Return the schedule of the best run of a search over limits, its measures, and its log.

    `trace` goes before the log, `events` are what the search did.
    """
    trace = {**trace, "runs": log(found.attempts)}
    if found.best is None:
        return AlgorithmRun(None, tuple(events), trace)
    best = found.best
    facts: dict[str, Any] = {"theta": best.limit}
    if best.kappa is not None:
        facts["kappa"] = best.kappa
    made = schedule(instance, best.trial, **facts)
    return AlgorithmRun(made, tuple(events), measures(instance, made) | trace)


def result_of(run: AlgorithmRun) -> MethodResult:
    """Return a run as what a method found."""
    note = NO_PLACE if run.schedule is None else ""
    return MethodResult(run.schedule, note=note, trace=run.trace)


def log(attempts: Sequence[Attempt]) -> list[dict[str, Any]]:
    """Return the runs of a search, each once, at the limit where it was made."""
    rows, seen = [], set()
    for attempt in attempts:
        trial = attempt.trial
        if id(trial) in seen:
            continue
        seen.add(id(trial))
        row: dict[str, Any] = {"theta": attempt.limit}
        if attempt.kappa is not None:
            row["kappa"] = attempt.kappa
        row["makespan"] = trial.makespan if trial.feasible else None
        row["load"] = trial.load if trial.feasible else None
        rows.append(row | {"filtered": trial.filtered})
    return rows


def reporter(instance: RingInstance, call: RunContext) -> Callable[[Attempt], None]:
    """Return what tells the caller of a better attempt."""

    def report(attempt: Attempt) -> None:
        made = schedule(instance, attempt.trial)
        call.progress.incumbent(made, made.makespan)

    return report
