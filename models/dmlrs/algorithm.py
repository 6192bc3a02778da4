"""Algorithms 1 and 2, PD-ORS: admit a job when its utility exceeds what its best schedule costs."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from schedgap.errors import ScaleError
from schedgap.instances.dmlrs import DmlrsInstance, DmlrsSchedule, Plan, arrays
from schedgap.instances.dmlrs.arrays import Floats, Ints
from schedgap.models.arrivals import Arriving
from schedgap.models.dmlrs import dynamic_program, theta
from schedgap.models.dmlrs.dynamic_program import Cheapest, Row, not_dominated
from schedgap.models.dmlrs.prices import Range, declared, of_jobs
from schedgap.models.dmlrs.rounding import Gain, Rounding
from schedgap.models.dmlrs.theta import Arrived, Offer, Slot, arrived
from schedgap.solvers.clock import Clock

POSITIVE = 1e-9  # a payoff is more than this part of its utility: the rest is rounding
MOST_QUANTA = 20_000

Offers = Callable[[Slot], list[Offer]]  # what a job can have in a slot


@dataclass(frozen=True, slots=True)
class Variant:
    """How PD-ORS prices and prepares schedules.

    `across`: offers on several machines by randomized rounding, also of a program with the hull of
    each machine, greedily, or the cheapest ones.
    `prices`: U and L as the instance declares them, of the jobs seen so far (`running`), or of all
    jobs (`oracle`, which no online algorithm knows); None is declared if they are, else running.
    `dp`: the dynamic program, with `grid` parts of the work, or quanta of so many samples.
    """

    across: Literal["round", "round-hull", "greedy", "exact"] = "round"
    prices: Literal["declared", "running", "oracle"] | None = None
    price_floor: float = 0.0
    dp: Literal["exact", "grid", "literal"] = "grid"
    grid: int = 2000
    quantum: int | None = None
    gain: Gain = "one"
    delta: float = 1.0
    rounds: int = 20
    ps_row: bool = True
    literal_13: bool = False


DEFAULT = Variant()


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


@dataclass(eq=False)
class Market:
    """The cluster with its load and prices, as one job after the other finds it."""

    capacity: Ints  # [h, r] thousandths
    load: Ints  # [t - 1, h, r] rho, thousandths
    price: Floats  # [t - 1, h, r]

    def offers(self, job: Arrived, offers: Offers) -> list[Row]:
        """Return the offers of each slot from the arrival on; equal slots are asked once."""
        found: list[Row] = []
        known: dict[tuple[bytes, bytes], Row] = {}
        for t in range(job.arrival - 1, len(self.load)):
            key = self.load[t].tobytes(), self.price[t].tobytes()
            if key not in known:
                slot = Slot(job, self.capacity - self.load[t], self.price[t])
                known[key] = not_dominated(job, offers(slot))
            found.append(known[key])
        return found

    def take(self, job: Arrived, plan: Plan) -> None:
        """Add what a job holds."""
        for slot, counts in plan.items():
            for h, (workers, ps) in counts.items():
                self.load[slot - 1, h] += workers * job.worker + ps * job.ps


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
        "greedy": theta.external_greedy,
        "exact": theta.external_exact,
    }
    across = ways[variant.across]
    own = offers or (lambda slot: [*theta.internal(slot), *across(slot)])  # A4 L12
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


def best_schedule(
    market: Market, job: Arrived, offers: Offers, variant: Variant, volume: int
) -> tuple[float, Plan | None]:
    """Return lambda_i and pi*_i, the schedule with the largest payoff; None where none is positive.

    Notes
    -----
    Source: Algorithm 2, with one pass of Algorithm 3 for all t~. Ties: the earliest completion.
    """
    if job.first > len(market.load) or not job.utility[0] > 0:
        return 0.0, None
    rows = market.offers(job, offers)
    found = _cheapest(job, rows, variant, volume)
    payoff, last = 0.0, None  # A2 L1
    for k, cost in enumerate(found.cost):  # A2 L2-L3 (E27: inf before f0)
        if job.utility[k] - cost > max(payoff, POSITIVE * job.utility[k]):
            payoff, last = float(job.utility[k] - cost), k
    if last is None:
        return 0.0, None
    way = found.ways[last]
    return payoff, {job.arrival + k: offer.counts for k, offer in way.items()}


def _cheapest(job: Arrived, rows: Sequence[Row], variant: Variant, volume: int) -> Cheapest:
    """Return Theta(t~, V) of all t~ by the dynamic program of a variant."""
    if variant.dp == "exact":
        return dynamic_program.exact(job, rows)
    if variant.dp == "grid":
        return dynamic_program.on_grid(job, rows, variant.grid)
    quantum = variant.quantum or math.ceil(volume / 2000)
    if volume / quantum > MOST_QUANTA:
        raise ScaleError(
            f"a job of {volume} samples in quanta of {quantum}: at most {MOST_QUANTA} quanta"
        )
    return dynamic_program.in_quanta(job, rows, volume, quantum)
