"""Algorithm 2: the schedule of the largest payoff that a job finds at the prices of its arrival."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from schedgap.errors import ScaleError
from schedgap.instances.dmlrs import Plan
from schedgap.instances.dmlrs.compiled import Floats, Ints
from schedgap.models.dmlrs.algorithms import dynamic_program
from schedgap.models.dmlrs.algorithms.dynamic_program import Cheapest, Row, not_dominated
from schedgap.models.dmlrs.offers import Arrived, Offer, Slot

POSITIVE = 1e-9  # a payoff is more than this part of its utility: the rest is rounding
MOST_QUANTA = 20_000

Offers = Callable[[Slot], list[Offer]]  # what a job can have in a slot
DynamicProgram = Literal["exact", "grid", "literal"]


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


class Best(NamedTuple):
    """What a job finds: its largest payoff, how, and what other completions would have cost."""

    payoff: float  # lambda_i, 0 where none is positive
    plan: Plan | None  # pi*_i, None where none is positive
    cost: Floats  # [k] Theta(a + k, V), inf where there is none; empty where no end is worth a look


def best_schedule(
    market: Market,
    job: Arrived,
    offers: Offers,
    volume: int,
    *,
    dp: DynamicProgram = "grid",
    quantum: int | None = None,
    grid: int = 2000,
) -> Best:
    """Return the schedule with the largest payoff at the prices of a market.

    Parameters
    ----------
    offers : Callable
        What the job can have in a slot.
    volume : int
        V, its samples.
    dp, quantum, grid
        Algorithm 3, as in `pd_ors`.

    Returns
    -------
    Best
        No plan where no payoff is positive.

    Notes
    -----
    Source: Algorithm 2, with one pass of Algorithm 3 for all t~. Ties: the earliest completion.
    """
    if job.first > len(market.load) or not job.utility[0] > 0:
        return Best(0.0, None, np.zeros(0))
    rows = market.offers(job, offers)
    if dp == "exact":
        found = dynamic_program.exact(job, rows)
    elif dp == "grid":
        found = dynamic_program.on_grid(job, rows, grid)
    else:
        found = _literally(job, rows, volume, quantum or math.ceil(volume / 2000))
    payoff, last = 0.0, None  # A2 L1
    for k, cost in enumerate(found.cost):  # A2 L2-L3 (E27: inf before f0)
        if job.utility[k] - cost > max(payoff, POSITIVE * job.utility[k]):
            payoff, last = float(job.utility[k] - cost), k
    if last is None:
        return Best(0.0, None, found.cost)
    way = found.ways[last]
    plan = {job.arrival + k: offer.counts for k, offer in way.items()}
    return Best(payoff, plan, found.cost)


def _literally(job: Arrived, rows: Sequence[Row], volume: int, quantum: int) -> Cheapest:
    """Return Theta(t~, V) of all t~ in quanta; ScaleError where there are too many."""
    if volume / quantum > MOST_QUANTA:
        raise ScaleError(
            f"a job of {volume} samples in quanta of {quantum}: at most {MOST_QUANTA} quanta"
        )
    return dynamic_program.in_quanta(job, rows, volume, quantum)
