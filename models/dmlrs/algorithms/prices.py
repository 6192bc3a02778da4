"""Prices that grow exponentially with the load, (12), and their parameters, (13) and (14)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from schedgap.instances.dmlrs import EXTERNAL, INTERNAL, STEP, DmlrsInstance, arrays
from schedgap.instances.dmlrs.compiled import Floats, Ints
from schedgap.models.dmlrs.offers import Arrived
from schedgap.models.dmlrs.throughput import FULL
from schedgap.models.method import AlgorithmRun

Known = Literal["declared", "running", "oracle"]  # whose U and L; None: declared, else running

LEAST = 1e-12  # of L, as a part of the least U^r
WITHOUT = 1e-6  # the same, where no job has a utility at T


@dataclass(frozen=True, slots=True, eq=False)
class Range:
    """What the prices range between: U^r of a full machine, L of an empty one."""

    largest: Floats  # U [r]
    least: float  # L

    @property
    def alpha(self) -> float:
        """max_r max(1, ln(U^r / L)), of which the competitive ratio is made; 1 without prices."""
        if self.least <= 0:
            return 1.0
        return max(1.0, math.log(float(self.largest.max()) / self.least))

    def price(self, load: Ints, capacity: Ints) -> Floats:
        """Return Q(rho) = L (U / L)^(rho / C), (12), of loads [..., h, r]; 0 where C = 0."""
        if self.least <= 0:
            return np.zeros(load.shape)
        share = load / np.maximum(capacity, 1)
        found: Floats = self.least * (self.largest / self.least) ** share
        return np.where(capacity > 0, found, 0.0)


def declared(instance: DmlrsInstance, floor: float = 0.0) -> Range | None:
    """Return the range that an instance declares, or None."""
    given = instance.price_parameters
    if given is None:
        return None
    largest = np.array([given.max_unit_utility[name] for name in instance.resources])
    return _kept(largest, given.min_unit_utility, floor)


def of_jobs(
    jobs: Sequence[Arrived],
    horizon: int,
    capacity: Ints,
    *,
    floor: float = 0.0,
    literal: bool = False,
) -> Range:
    """Return the range that some jobs give, (13) and (14).

    Parameters
    ----------
    jobs : sequence of Arrived
        Those that can be completed at all.
    capacity : array [h, r]
        In thousandths.
    floor : float
        L is at least this.
    literal : bool
        In (13) the duration less the arrival, as printed, in place of the least delay.

    Notes
    -----
    1 / mu takes its largest value, min_i ceil(N_ext) sum_r (alpha + beta) / (T sum C). A job
    without utility at T is left out of (14).
    """
    resources = capacity.shape[1]
    if not jobs:
        return Range(np.zeros(resources), 0.0)
    largest = np.zeros(resources)
    takes, ends = [], []  # ceil(N_ext) sum_r (alpha + beta), u(T - a)
    for job in jobs:
        duration = math.ceil(float(job.needed[INTERNAL]) / job.batch * FULL)
        delay = duration - job.arrival if literal else duration - 1
        worth = float(job.utility[min(max(0, delay), len(job.utility) - 1)])
        unit = (job.worker + job.ps) / STEP
        used = unit > 0
        largest[used] = np.maximum(largest[used], worth / unit[used])
        takes.append(math.ceil(float(job.needed[EXTERNAL]) * FULL) * float(unit.sum()))
        ends.append(float(job.utility[-1]))
    total = float(capacity.sum()) / STEP
    lowest = [end / take for end, take in zip(ends, takes, strict=True) if end > 0]
    least = min(takes) / (horizon * total) * min(lowest) / 2 if lowest and total else 0.0
    return _kept(largest, least, floor)


def final_range(instance: DmlrsInstance, run: AlgorithmRun) -> Range:
    """Return the range of the prices at the end of a run of PD-ORS, from its trace."""
    largest = np.array([run.trace["max_unit_utility"][name] for name in instance.resources])
    return Range(largest, run.trace["min_unit_utility"])


def final_load(instance: DmlrsInstance, run: AlgorithmRun) -> Ints:
    """Return rho [t - 1, h, r] at the end of a run, in thousandths."""
    view = arrays(instance)
    load = np.zeros((instance.horizon, *view.capacity_milli.shape), dtype=np.int64)
    for j, plan in run.schedule.plans(instance).items():
        for slot, counts in plan.items():
            for h, (workers, ps) in counts.items():
                load[slot - 1, h] += workers * view.worker_milli[j] + ps * view.ps_milli[j]
    return load


def final_prices(instance: DmlrsInstance, run: AlgorithmRun) -> Floats:
    """Return the prices (12) [t - 1, h, r] at the end of a run of PD-ORS."""
    load = final_load(instance, run)
    return final_range(instance, run).price(load, arrays(instance).capacity_milli)


def _kept(largest: Floats, least: float, floor: float) -> Range:
    """Return a range with U^r > 0 where any is, and L above 0 and at most U."""
    if not largest.any():
        return Range(largest, 0.0)
    largest = np.where(largest > 0, largest, largest.max())
    top = float(largest.min())
    least = least or WITHOUT * top
    return Range(largest, min(max(least, floor, LEAST * top), top))
