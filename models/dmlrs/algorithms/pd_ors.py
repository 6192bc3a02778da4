"""Algorithm 1, PD-ORS: admit a job when its utility exceeds what its best schedule costs."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from schedgap.instances.dmlrs import DmlrsInstance, DmlrsSchedule, Plan, arrays
from schedgap.models.dmlrs.algorithms import slot_placements
from schedgap.models.dmlrs.algorithms.best_schedule import (
    DynamicProgram,
    Market,
    Offers,
    best_schedule,
)
from schedgap.models.dmlrs.algorithms.events import EventLog
from schedgap.models.dmlrs.algorithms.prices import Known, Range, declared, of_jobs
from schedgap.models.dmlrs.algorithms.rounding import Gain, Rounding
from schedgap.models.dmlrs.offers import Arrived, arrived
from schedgap.models.method import AlgorithmRun
from schedgap.models.online import Arriving
from schedgap.solvers.children.clock import Clock

Across = Literal["round", "round-hull", "greedy", "exact"]


class Arrivals(Arriving[Arrived]):
    """The jobs of an instance, one by one; a job of arrival a is known before slot a."""

    def __init__(self, instance: DmlrsInstance) -> None:
        """Sort the jobs by arrival, then by place in the list."""
        super().__init__([job.arrival - 1 for job in instance.jobs], lambda j: arrived(instance, j))


def pd_ors(
    instance: DmlrsInstance,
    *,
    events: bool = False,
    prices: Known | None = None,
    price_floor: float = 0.0,
    dp: DynamicProgram = "grid",
    quantum: int | None = None,
    grid: int = 2000,
    literal_13: bool = False,
    gain: Gain = "one",
    delta: float = 1.0,
    rounds: int = 20,
    ps_row: bool = True,
    across: Across = "round",
    offers: Offers | None = None,
    seed: int = 0,
    clock: Clock | None = None,
) -> AlgorithmRun:
    """Admit or reject the jobs one by one, each with its best schedule under the prices so far.

    Parameters
    ----------
    events : bool
        Whether to tell what was done step by step, as in `algorithms.events`.
    prices : str, optional
        U and L as the instance declares them, of the jobs seen so far (`running`), or of all jobs
        (`oracle`, which no online algorithm knows); None is declared if they are, else running.
    price_floor : float
        L is at least this.
    dp : str
        Algorithm 3: exact, with `grid` parts of the work, or literally, in quanta of samples.
    quantum : int, optional
        Samples, with dp=literal; by default V / 2000.
    literal_13 : bool
        (13) as printed: the duration less the arrival.
    gain, delta, rounds, ps_row
        Of the randomized rounding, as in `Rounding`.
    across : str
        Offers on several machines by randomized rounding, also of a program with the hull of each
        machine, greedily, or the cheapest ones. Only the first is the paper's.
    offers : Callable, optional
        What a job can have in a slot; by default Algorithm 4, inside a machine or across.
    seed : int
        Of the rounding.
    clock : Clock, optional
        When its time is up, the jobs to come are not looked at any more.

    Returns
    -------
    AlgorithmRun
        In its trace `payoffs`, lambda_i of each job that was looked at, in order, 0 if rejected;
        `max_unit_utility` and `min_unit_utility`, U and L at the end; `rounding`, its counts.

    Notes
    -----
    Source: Algorithm 1. Guarantee: none that holds without its assumptions (see `guarantees`).
    Ties: jobs by arrival, then list; the earliest completion.
    """
    view, T = arrays(instance), instance.horizon
    capacity = view.capacity_milli
    load = np.zeros((T, *capacity.shape), dtype=np.int64)  # A1 L1
    market = Market(capacity, load, np.zeros(load.shape))
    ranges = _Ranges(instance, prices, price_floor, literal=literal_13)
    rounding = Rounding(
        np.random.default_rng(seed), gain, delta, rounds, ps_row, hull=across == "round-hull"
    )
    ways: dict[str, Offers] = {
        "round": rounding,
        "round-hull": rounding,
        "greedy": slot_placements.external_greedy,
        "exact": slot_placements.external_exact,
    }
    external = ways[across]
    own = offers or (lambda slot: [*slot_placements.internal(slot), *external(slot)])  # A4 L12
    counts = rounding.counts if external is rounding else {}
    arrivals = Arrivals(instance)
    plans: dict[int, Plan] = {}
    payoffs: dict[str, float] = {}
    log = EventLog(instance) if events else None
    if log is not None:
        log.prices_range(1, ranges.now)
    for now in range(T):
        for job in arrivals.until(now):  # A1 L2
            if clock is not None and clock.expired():
                break
            market.price = ranges.seen(job).price(market.load, capacity)  # A1 L3 (E26)
            data = instance.jobs[job.place]
            if log is not None:
                log.arrives(job, ranges.now)
            best = best_schedule(market, job, own, data.volume, dp=dp, quantum=quantum, grid=grid)
            payoffs[data.id] = best.payoff
            if log is not None:
                log.looked(job, best, counts)
            if best.plan is None:  # A1 L4
                if log is not None:
                    log.rejects(job, best)
                continue
            arrivals.may_start(min(best.plan))
            plans[job.place] = best.plan  # A1 L3
            market.take(job, best.plan)
            if log is not None:
                after = ranges.now.price(market.load, capacity)
                log.admits(job, best.payoff, best.plan, market.price, after)
    if log is not None and len(payoffs) < len(instance.jobs):
        log.stops([job for job in instance.jobs if job.id not in payoffs])
    return AlgorithmRun(
        DmlrsSchedule.of_plans(instance, plans),
        tuple(log.events) if log is not None else (),
        _trace(instance, payoffs, ranges.now, counts),
    )


def stop_note(instance: DmlrsInstance, run: AlgorithmRun) -> str:
    """Return how many jobs a stopped run has not looked at, in words; '' if none."""
    jobs = len(instance.jobs)
    left = jobs - len(run.trace["payoffs"])
    return f"stopped: {left} of {jobs} jobs not looked at" if left else ""


def _trace(
    instance: DmlrsInstance,
    payoffs: Mapping[str, float],
    last: Range,
    counts: Mapping[str, int],
) -> dict[str, Any]:
    """Return payoffs, range of the prices and counts of the rounding as plain data."""
    return {
        "payoffs": payoffs,
        "max_unit_utility": dict(zip(instance.resources, last.largest.tolist(), strict=True)),
        "min_unit_utility": last.least,
        **({"rounding": dict(counts)} if counts else {}),
    }


class _Ranges:
    """U and L, as they are known when a job arrives."""

    def __init__(
        self, instance: DmlrsInstance, prices: Known | None, floor: float, *, literal: bool
    ) -> None:
        self._instance, self._floor, self._literal = instance, floor, literal
        self._capacity = arrays(instance).capacity_milli
        self._seen: list[Arrived] = []
        given = None
        if prices in (None, "declared"):
            given = declared(instance, floor)
        elif prices == "oracle":
            given = self._of([arrived(instance, j) for j in range(len(instance.jobs))])
        self._fixed = given is not None
        self.now = given if given is not None else self._of([])

    def seen(self, job: Arrived) -> Range:
        """Return the range that holds for a job that has just arrived."""
        if not self._fixed:
            self._seen.append(job)
            self.now = self._of(self._seen)
        return self.now

    def _of(self, jobs: Sequence[Arrived]) -> Range:
        T = self._instance.horizon
        able = [job for job in jobs if job.first <= T]
        return of_jobs(able, T, self._capacity, floor=self._floor, literal=self._literal)
