"""What PD-ORS decides on: a job as it arrives, a slot as the job finds it, an offer of that slot.

Rooms and demands are whole thousandths.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from schedgap.instances.dmlrs import EXTERNAL, INTERNAL, STEP, Counts, DmlrsInstance, arrays
from schedgap.instances.dmlrs.compiled import Floats, Ints
from schedgap.models.dmlrs.throughput import FULL, Bundles, bundles, first_completions, ps_needed


class Offer(NamedTuple):
    """A placement of one slot: its price, its workers, whether one machine holds it all."""

    cost: float
    workers: int
    internal: bool
    counts: Counts


@dataclass(frozen=True, eq=False)
class Arrived:
    """A job as it is known from its arrival on: its own data, and what follows from them."""

    place: int  # in the list of jobs
    arrival: int
    batch: int  # F
    ratio: float  # gamma
    needed: Floats  # [mode] N_int, N_ext
    worker: Ints  # [r] alpha, thousandths
    ps: Ints  # [r] beta, thousandths
    bundles: Bundles
    utility: Floats  # [d] u of a delay of d = 0..T - a slots
    exact_ps: bool  # just n / gamma PSs, not at least
    first: int  # f0, no schedule completes it earlier; T + 1 if none can

    def useful(self, mode: int) -> int:
        """Return how many of the bundles matter in a mode: one that does all the work ends them."""
        done = self.bundles.workers / self.needed[mode] >= FULL
        return int(np.argmax(done)) + 1 if done.any() else len(done)

    def progress(self, offer: Offer) -> float:
        """Return the part of the work that an offer does."""
        return offer.workers / float(self.needed[INTERNAL if offer.internal else EXTERNAL])


def arrived(instance: DmlrsInstance, j: int) -> Arrived:
    """Return the job with index j; nothing of the other jobs goes in."""
    view = arrays(instance)
    return Arrived(
        j,
        int(view.arrival[j]),
        int(view.batch[j]),
        float(view.ratio[j]),
        view.needed[j],
        view.worker_milli[j],
        view.ps_milli[j],
        bundles(instance, j),
        view.utility[j, : instance.horizon - int(view.arrival[j]) + 1],
        instance.ps_rule == "exact",
        first_completions(instance)[j],
    )


@dataclass(frozen=True, eq=False)
class Slot:
    """One slot as a job finds it."""

    job: Arrived
    room: Ints  # [h, r] C - rho, thousandths
    price: Floats  # [h, r] of the resource's own unit

    @cached_property
    def worker_price(self) -> Floats:
        """p^w [h] of one worker."""
        found: Floats = self.price @ (self.job.worker / STEP)
        return found

    @cached_property
    def ps_price(self) -> Floats:
        """p^s [h] of one PS."""
        found: Floats = self.price @ (self.job.ps / STEP)
        return found

    @cached_property
    def most(self) -> tuple[Ints, Ints]:
        """Workers alone and PSs alone that fit on each machine [h]; at most F and m(F)."""
        job = self.job
        limits = job.batch, ps_needed(job.ratio, job.batch)
        workers, ps = (
            np.minimum(limit, (self.room[:, used] // unit[used]).min(axis=1))
            for limit, unit, used in zip(
                limits, (job.worker, job.ps), (job.worker > 0, job.ps > 0), strict=True
            )
        )
        return workers, ps

    def offer(self, counts: Counts) -> Offer:
        """Return a placement with its price and its mode."""
        held = {h: pair for h, pair in counts.items() if any(pair)}
        cost = sum(w * self.worker_price[h] + s * self.ps_price[h] for h, (w, s) in held.items())
        return Offer(float(cost), sum(w for w, _ in held.values()), len(held) == 1, held)
