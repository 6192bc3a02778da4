"""What PD-ORS decides on: a job at its arrival, the state of a slot, and the options of the slot.

Capacities and demands are whole thousandths: sums are exact.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from schedgap.instances.dmlrs import EXTERNAL, INTERNAL, STEP, Counts, DmlrsInstance, arrays
from schedgap.instances.dmlrs.compiled import Floats, Ints
from schedgap.models.dmlrs.throughput import (
    FULL,
    Bundles,
    bundles,
    first_completions,
    ps_needed,
    units_that_fit,
)


class SlotOption(NamedTuple):
    """One way to run a job in one slot: its cost, its workers, and where they run."""

    cost: float
    workers: int
    internal: bool
    counts: Counts


@dataclass(frozen=True, eq=False)
class JobAtArrival:
    """A job as it is known on arrival: its own data and what follows from them."""

    index: int  # position in the list of jobs
    arrival: int
    batch: int  # F
    ratio: float  # gamma
    needed: Floats  # [mode] N_int, N_ext
    worker: Ints  # [r] alpha, thousandths
    ps: Ints  # [r] beta, thousandths
    bundles: Bundles
    utility: Floats  # [d] u of a delay of d = 0..T - a slots
    exact_ps: bool  # exactly n / gamma PSs; otherwise at least as many
    first: int  # f0, the earliest possible completion; T + 1 if there is none

    def useful_bundles(self, mode: int) -> int:
        """Return how many of the bundles are useful in a mode.

        The first bundle that does the whole job in one slot is the last useful one.

        `mode`: `INTERNAL` (0) or `EXTERNAL` (1).
        """
        completes = self.bundles.workers / self.needed[mode] >= FULL
        return int(np.argmax(completes)) + 1 if completes.any() else len(completes)

    def progress(self, option: SlotOption) -> float:
        """Return the fraction of the work that an option does.

        `option`: workers and mode; its cost and placement are not read.
        """
        return option.workers / float(self.needed[INTERNAL if option.internal else EXTERNAL])


def job_at_arrival(instance: DmlrsInstance, j: int) -> JobAtArrival:
    """Return job j as PD-ORS sees it; no data of the other jobs enter.

    Parameters
    ----------
    j : int
        Index in the list of jobs, 0..I-1.
    """
    view = arrays(instance)
    return JobAtArrival(
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


def candidates(instance: DmlrsInstance) -> list[JobAtArrival]:
    """Return the jobs that can be completed, by arrival."""
    jobs = [job_at_arrival(instance, j) for j in range(len(instance.jobs))]
    possible = (job for job in jobs if job.first <= instance.horizon)
    return sorted(possible, key=lambda job: job.arrival)


@dataclass(frozen=True, eq=False)
class SlotState:
    """A slot with its free capacity and its prices, from the point of view of one job."""

    job: JobAtArrival
    free: Ints  # [h, r] free capacity C - rho, thousandths
    price: Floats  # [h, r] for one unit of the resource

    @cached_property
    def worker_price(self) -> Floats:
        """Price p^w [h] of one worker on each machine."""
        price: Floats = self.price @ (self.job.worker / STEP)
        return price

    @cached_property
    def ps_price(self) -> Floats:
        """Price p^s [h] of one PS on each machine."""
        price: Floats = self.price @ (self.job.ps / STEP)
        return price

    @cached_property
    def max_units(self) -> tuple[Ints, Ints]:
        """Most workers alone, up to F, and most PSs alone, up to m(F), on each machine [h]."""
        job = self.job
        max_ps = ps_needed(job.ratio, job.batch)
        workers = units_that_fit(self.free, job.worker, job.batch)
        return workers, units_that_fit(self.free, job.ps, max_ps)

    def option(self, counts: Counts) -> SlotOption:
        """Return a placement with its price and its mode.

        `counts`: workers and PSs by index of the machine.
        """
        held = {h: pair for h, pair in counts.items() if any(pair)}
        cost = sum(w * self.worker_price[h] + s * self.ps_price[h] for h, (w, s) in held.items())
        return SlotOption(float(cost), sum(w for w, _ in held.values()), len(held) == 1, held)
