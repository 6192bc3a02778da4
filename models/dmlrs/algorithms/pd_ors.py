"""Algorithm 1, PD-ORS: admit a job when its utility exceeds what its best schedule costs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from schedgap.instances.dmlrs import DmlrsInstance, DmlrsSchedule, Plan, arrays
from schedgap.instances.dmlrs.arrays import Floats, Ints
from schedgap.models.dmlrs.algorithms import slot_placements
from schedgap.models.dmlrs.algorithms.best_schedule import Market, Offers, best_schedule
from schedgap.models.dmlrs.algorithms.prices import Range, declared, of_jobs
from schedgap.models.dmlrs.algorithms.rounding import Rounding
from schedgap.models.dmlrs.algorithms.variant import DEFAULT, Variant
from schedgap.models.dmlrs.offers import Arrived, arrived
from schedgap.models.online import Arriving
from schedgap.solvers.children.clock import Clock


class Decision(NamedTuple):
    """What becomes of one job."""

    job: int
    payoff: float  # lambda_i, 0 if rejected
    completion: int | None  # t~_i, None if rejected


@dataclass(frozen=True, slots=True, eq=False)
class OnlineRun:
    """What PD-ORS leaves: schedule, decisions in order, load and range of the prices at the end."""

    schedule: DmlrsSchedule
    decisions: tuple[Decision, ...]
    load: Ints  # [t - 1, h, r] rho, thousandths
    range: Range
    counts: dict[str, int]  # of the randomized rounding

    def price(self, instance: DmlrsInstance) -> Floats:
        """Return the prices at the end [t - 1, h, r]."""
        return self.range.price(self.load, arrays(instance).capacity_milli)

    def note(self, instance: DmlrsInstance) -> str:
        """Return how many jobs a stopped run has not looked at, in words; '' if none."""
        left, jobs = len(instance.jobs) - len(self.decisions), len(instance.jobs)
        return f"stopped: {left} of {jobs} jobs not looked at" if left else ""

    def trace(self, instance: DmlrsInstance) -> dict[str, Any]:
        """Return decisions, range of the prices and counts as plain data."""
        names = [job.id for job in instance.jobs]
        return {
            "payoffs": {names[each.job]: each.payoff for each in self.decisions},
            "max_unit_utility": dict(
                zip(instance.resources, self.range.largest.tolist(), strict=True)
            ),
            "min_unit_utility": self.range.least,
            **({"rounding": dict(self.counts)} if self.counts else {}),
        }


class Arrivals(Arriving[Arrived]):
    """The jobs of an instance, one by one; a job of arrival a is known before slot a."""

    def __init__(self, instance: DmlrsInstance) -> None:
        """Sort the jobs by arrival, then by place in the list."""
        super().__init__([job.arrival - 1 for job in instance.jobs], lambda j: arrived(instance, j))


def pd_ors(
    instance: DmlrsInstance,
    variant: Variant = DEFAULT,
    *,
    seed: int = 0,
    clock: Clock | None = None,
    offers: Offers | None = None,
) -> OnlineRun:
    """Admit or reject the jobs one by one, each with its best schedule under the prices so far.

    Parameters
    ----------
    clock : Clock, optional
        When its time is up, the jobs to come are not looked at any more.
    offers : Callable, optional
        What a job can have in a slot; by default Algorithm 4, inside a machine or across.

    Notes
    -----
    Source: Algorithm 1. Guarantee: none that holds without its assumptions (see `guarantees`).
    Ties: jobs by arrival, then list; the earliest completion.
    """
    view, T = arrays(instance), instance.horizon
    capacity = view.capacity_milli
    load = np.zeros((T, *capacity.shape), dtype=np.int64)  # A1 L1
    market = Market(capacity, load, np.zeros(load.shape))
    ranges = _Ranges(instance, variant)
    rounding = Rounding(
        np.random.default_rng(seed),
        variant.gain,
        variant.delta,
        variant.rounds,
        variant.ps_row,
        hull=variant.across == "round-hull",
    )
    ways: dict[str, Offers] = {
        "round": rounding,
        "round-hull": rounding,
        "greedy": slot_placements.external_greedy,
        "exact": slot_placements.external_exact,
    }
    across = ways[variant.across]
    own = offers or (lambda slot: [*slot_placements.internal(slot), *across(slot)])  # A4 L12
    arrivals = Arrivals(instance)
    plans: dict[int, Plan] = {}
    decisions = []
    for now in range(T):
        for job in arrivals.until(now):  # A1 L2
            if clock is not None and clock.expired():
                break
            market.price = ranges.seen(job).price(market.load, capacity)  # A1 L3 (E26)
            volume = instance.jobs[job.place].volume
            payoff, plan = best_schedule(market, job, own, variant, volume)
            if plan is None:  # A1 L4
                decisions.append(Decision(job.place, 0.0, None))
                continue
            arrivals.may_start(min(plan))
            plans[job.place] = plan  # A1 L3
            market.take(job, plan)
            decisions.append(Decision(job.place, payoff, max(plan)))
    schedule = DmlrsSchedule.of_plans(instance, plans)
    counts = rounding.counts if across is rounding else {}
    return OnlineRun(schedule, tuple(decisions), market.load, ranges.now, counts)


class _Ranges:
    """U and L, as they are known when a job arrives."""

    def __init__(self, instance: DmlrsInstance, variant: Variant) -> None:
        self._instance, self._variant = instance, variant
        self._capacity = arrays(instance).capacity_milli
        self._seen: list[Arrived] = []
        given = None
        if variant.prices in (None, "declared"):
            given = declared(instance, variant.price_floor)
        elif variant.prices == "oracle":
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
        T, variant = self._instance.horizon, self._variant
        able = [job for job in jobs if job.first <= T]
        return of_jobs(
            able, T, self._capacity, floor=variant.price_floor, literal=variant.literal_13
        )
