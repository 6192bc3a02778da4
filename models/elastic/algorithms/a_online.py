"""Algorithms 1 and 2: the online algorithm, and the batches that it hands on to Algorithm 3.

Time t is the end of slot t. At time tau_i = 1, 1, 2, 4, 8, ... the jobs that have arrived and are
not yet served are a batch; it is served in windows of tau_i slots that start alpha tau_i later.
E9-E13 are the paper's errata as numbered in `paper.py`.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule
from schedgap.models.elastic.algorithms.a_maxweight import (
    Arrived,
    Batch,
    Constants,
    ModesOf,
    Order,
    Tie,
    a_maxweight,
    arrived,
    constants,
    gamma,
)
from schedgap.models.elastic.algorithms.closed_horizon import deliver, no_schedule
from schedgap.models.elastic.algorithms.guarantees import alpha_of, lemma_1, windows_needed
from schedgap.models.elastic.algorithms.pricing import Offer
from schedgap.models.elastic.modes import Cluster, cluster
from schedgap.models.elastic.placement import Rule
from schedgap.models.method import MethodResult, RunContext
from schedgap.models.online import Arriving


@dataclass(frozen=True, slots=True, eq=False)
class Settings:
    """What A_online is given beside the jobs: the cluster, constants and rules."""

    view: Cluster
    fixed: Constants
    alpha: int = 4
    rule: Rule = "exact"
    order: Order = "arrival"
    tie: Tie = "order"
    compact: bool = False  # ours: start a batch at once, not alpha tau_i later


class Arrivals(Arriving[Arrived]):
    """The jobs of an instance, one by one; a job of arrival a is known at time a - 1."""

    def __init__(self, instance: ElasticInstance, modes_of: ModesOf | None = None) -> None:
        """Sort the jobs by arrival, then by place in the list."""
        arrival = [job.arrival for job in instance.jobs]
        super().__init__(arrival, lambda j: arrived(instance, j, modes_of))

    def start(self, offer: Offer, shift: int) -> Offer:
        """Return a schedule of a window at its real time; slots up to now are past."""
        return offer._replace(start=self.may_start(shift + offer.start))


class Round(NamedTuple):
    """One round i of A_online that served something."""

    number: int  # i
    tau: int
    base: int  # the first window starts after this slot
    batch: tuple[Arrived, ...]  # J_i
    windows: tuple[Batch, ...]  # iota = 1, 2, ..., as A_maxweight left them


@dataclass(frozen=True, slots=True, eq=False)
class OnlineRun:
    """The schedule of an online run, its rounds, and what it was given."""

    given: Settings
    schedule: ElasticSchedule
    rounds: tuple[Round, ...]

    def trace(self) -> list[dict[str, Any]]:
        """Return the rounds as plain data."""
        return [
            {
                "tau": each.tau,
                "base": each.base,
                "batch": [job.job.id for job in each.batch],
                "windows": [[job.job.id for job, _ in window.served] for window in each.windows],
            }
            for each in self.rounds
        ]


def a_dual(jobs: Sequence[Arrived], tau: int, given: Settings) -> tuple[Batch, ...]:
    """Serve a batch in up to alpha windows of tau slots, each from zero prices on.

    Returns
    -------
    tuple of Batch
        For iota = 1, 2, ... what A_maxweight made of the jobs not served before. It ends when all
        are served, as the paper remarks, or when a window can serve none of the rest.

    Notes
    -----
    Source: Algorithm 2. Guarantee: Lemma 2, which has a gap (E13).
    """
    rest = list(jobs)  # A2 L1: J_i without J_i^s
    windows: list[Batch] = []
    for _ in range(given.alpha):  # A2 L2 iota
        window = a_maxweight(
            given.view,
            rest,
            tau,
            given.fixed,
            rule=given.rule,
            order=given.order,
            tie=given.tie,
        )  # A2 L3
        if not window.served:
            break
        windows.append(window)
        taken = {each.place for each, _ in window.served}
        rest = [each for each in rest if each.place not in taken]
        if not rest:
            break
    return tuple(windows)  # A2 L4


def a_online(arrivals: Arrivals, given: Settings) -> OnlineRun:
    """Schedule jobs in batches, as they arrive.

    Parameters
    ----------
    arrivals : Arrivals
        Every job must have a mode.
    given : Settings
        T, F, kappa and alpha are known beforehand, as in the paper.

    Returns
    -------
    OnlineRun
        With `compact` a round starts as soon as its time has come and the round before has ended,
        which is never later: the same decisions, the same bound on every completion.

    Notes
    -----
    Source: Algorithm 1. Round i occupies slots alpha tau_i + 1 .. 2 alpha tau_i - 1, so rounds do
    not overlap. Guarantee: 4 alpha (Theorem 5), on assumptions that can fail; see `guarantees`.
    It ends: in an empty window the first unserved job has a schedule of cost 0 once tau exceeds its
    duration with a single worker, for which Algorithm 4's own placements do, too.
    """
    placed: dict[str, Any] = {}
    waiting: list[Arrived] = []  # A1 L1: J_i
    rounds: list[Round] = []
    i, end = 0, 0
    while waiting or not arrivals.all_here():
        i += 1  # A1 L2
        tau = 2 ** (i - 1)  # tau_1 = tau_0 = 1: nothing can be served in round 1 (E10)
        waiting += arrivals.until(tau)  # A1 L3-L5 (E9)
        if min((job.shortest() for job in waiting), default=math.inf) >= tau:
            continue  # no job fits: a batch of nothing
        windows = a_dual(waiting, tau, given)  # A1 L6
        base = max(tau, end) if given.compact else given.alpha * tau
        end = base + len(windows) * tau
        for iota, window in enumerate(windows):  # A1 L7
            for each, offer in window.served:
                run = arrivals.start(offer, base + iota * tau)  # A1 L8-L9
                placed[each.job.id] = given.view.place(run.mode, run.start, run.workers, run.ps)
        rounds.append(Round(i, tau, base, tuple(waiting), windows))
        waiting = [job for job in waiting if job.job.id not in placed]  # A1 L10
    return OnlineRun(given, ElasticSchedule(placed), tuple(rounds))  # A1 L11


def run_online(
    instance: ElasticInstance,
    *,
    alpha: int | str = 4,
    F: float | None = None,
    normalise: bool = True,
    rule: Rule = "exact",
    order: Order = "arrival",
    tie: Tie = "order",
    compact: bool = False,
    modes_of: ModesOf | None = None,
) -> OnlineRun:
    """Run A_online on an instance; its a-priori constants are computed from all jobs.

    Parameters
    ----------
    alpha : int, "theory" or "theory-repaired"
        Windows of a round. The theorem's own value is in the hundreds at the paper's scale (E12);
        the repaired one closes a gap in Lemma 2 (E13).
    F, normalise, rule, order, tie
        As in `a_maxweight.constants` and `a_maxweight.a_maxweight`.
    compact : bool
        Start a batch at once, not alpha tau later (ours).
    modes_of : callable, optional
        Which modes a job may take, at least one; all of them by default.
    """
    fixed = constants(instance, F=F, normalise=normalise, modes_of=modes_of)
    windows = alpha_of(alpha, instance, fixed)
    given = Settings(cluster(instance), fixed, windows, rule, order, tie, compact)
    return a_online(Arrivals(instance, modes_of), given)


MostWeight = Callable[[ElasticInstance, Round], float]  # that a window of a round could have served


def solve_a_online(
    instance: ElasticInstance, call: RunContext, most_weight: MostWeight
) -> MethodResult:
    """Run `a-online`, and check by `most_weight`, a bound, whether Lemma 1 holds in each round."""
    return _solve(instance, call, most_weight, compact=call.options["compact"])


def solve_a_online_compact(
    instance: ElasticInstance, call: RunContext, most_weight: MostWeight
) -> MethodResult:
    """Run `a-online-compact`, the same with its rounds moved together."""
    return _solve(instance, call, most_weight, compact=True)


def _solve(
    instance: ElasticInstance, call: RunContext, most_weight: MostWeight, *, compact: bool
) -> MethodResult:
    if proof := no_schedule(instance):
        return proof
    options = call.options
    run = run_online(
        instance,
        alpha=options["alpha"],
        F=options["F"],
        normalise=options["normalise"],
        rule=options["placement"],
        order=options["order"],
        tie=options["tie"],
        compact=compact,
    )
    trace = {
        "alpha": run.given.alpha,
        "kappa": run.given.fixed.kappa,
        "F": run.given.fixed.F,
        "gamma": gamma(run.given.fixed),
        "lemma_1": lemma_1(run.rounds, run.given.alpha, upper=partial(most_weight, instance)),
        "rounds": [
            told | {"alpha_needed": _needed(instance, run, each)}
            for told, each in zip(run.trace(), run.rounds, strict=True)
        ],
    }
    return deliver(instance, run.schedule, trace)


def _needed(instance: ElasticInstance, run: OnlineRun, each: Round) -> int:
    """Return the alpha of a round that the text after Theorem 5 gives: (6) with w(J_i)."""
    total = math.fsum(one.job.weight for one in each.batch)
    least = min(job.weight for job in instance.jobs)
    return windows_needed(total, least, gamma(run.given.fixed))
