"""Prices that grow exponentially with the load, (12), and their range, (13) and (14)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Le

from schedgap.instances.dmlrs import EXTERNAL, INTERNAL, STEP, DmlrsInstance, arrays
from schedgap.instances.dmlrs.compiled import Floats, Ints
from schedgap.models.dmlrs.slot_options import JobAtArrival
from schedgap.models.dmlrs.throughput import FULL
from schedgap.models.method import AlgorithmRun

PriceSource = Annotated[
    Literal["declared", "running", "oracle"] | None,
    "U and L declared in the file, from the jobs seen so far, or from all jobs (not online); "
    "default: declared if the file has them, otherwise running",
]
PriceFloor = Annotated[float, "lower limit on L", Ge(0), Le(1e12)]

MIN_RATIO = 1e-12  # lower limit on L / min_r U^r
DEFAULT_RATIO = 1e-6  # L / min_r U^r if no job has a utility at T


@dataclass(frozen=True, slots=True, eq=False)
class PriceRange:
    """The limits of the prices: U^r on a full machine, L on an empty one."""

    largest: Floats  # U [r]
    smallest: float  # L

    @property
    def alpha(self) -> float:
        """max_r max(1, ln(U^r / L)), a factor of the competitive ratio; 1 without prices."""
        if self.smallest <= 0:
            return 1.0
        return max(1.0, math.log(float(self.largest.max()) / self.smallest))

    def price(self, load: Ints, capacity: Ints) -> Floats:
        """Return Q(rho) = L (U / L)^(rho / C), (12); 0 where C = 0.

        `load`, `capacity` [..., h, r]: rho and C in thousandths.
        """
        if self.smallest <= 0:
            return np.zeros(load.shape)
        share = load / np.maximum(capacity, 1)
        price: Floats = self.smallest * (self.largest / self.smallest) ** share
        return np.where(capacity > 0, price, 0.0)


def declared(instance: DmlrsInstance, floor: float = 0.0) -> PriceRange | None:
    """Return the range that an instance declares, or None.

    `floor`: lower limit on L, >= 0.
    """
    given = instance.price_parameters
    if given is None:
        return None
    largest = np.array([given.max_unit_utility[name] for name in instance.resources])
    return _valid_range(largest, given.min_unit_utility, floor)


def of_jobs(
    jobs: Sequence[JobAtArrival],
    horizon: int,
    capacity: Ints,
    *,
    floor: float = 0.0,
    literal: bool = False,
) -> PriceRange:
    """Return the range that some jobs give, (13) and (14).

    `jobs`: jobs that can be completed. `horizon`: T. `capacity` [h, r]: in thousandths. `floor`:
    lower limit on L, >= 0. `literal`: whether (13) has the duration minus the arrival, as printed,
    instead of the least delay.

    Notes
    -----
    1 / mu takes its largest value, min_i ceil(N_ext) sum_r (alpha + beta) / (T sum C). A job
    without utility at T is left out of (14).
    """
    resources = capacity.shape[1]
    if not jobs:
        return PriceRange(np.zeros(resources), 0.0)
    largest = np.zeros(resources)
    demands, end_utilities = [], []  # ceil(N_ext) sum_r (alpha + beta), u(T - a)
    for job in jobs:
        # (13): U^r = max_i u(d - 1) / (alpha + beta), d = ceil(N_int / F) the least duration
        duration = math.ceil(float(job.needed[INTERNAL]) / job.batch * FULL)
        delay = duration - job.arrival if literal else duration - 1
        utility = float(job.utility[min(max(0, delay), len(job.utility) - 1)])
        unit = (job.worker + job.ps) / STEP
        used = unit > 0
        largest[used] = np.maximum(largest[used], utility / unit[used])
        demands.append(math.ceil(float(job.needed[EXTERNAL]) * FULL) * float(unit.sum()))
        end_utilities.append(float(job.utility[-1]))
    # (14): L = min_i u(T - a_i) / (ceil(N_ext) sum_r (alpha + beta)) / (2 mu), mu as in the Notes
    total_capacity = float(capacity.sum()) / STEP
    unit_utilities = [
        last / demand for last, demand in zip(end_utilities, demands, strict=True) if last > 0
    ]
    smallest = (
        min(demands) / (horizon * total_capacity) * min(unit_utilities) / 2
        if unit_utilities and total_capacity
        else 0.0
    )
    return _valid_range(largest, smallest, floor)


def final_range(instance: DmlrsInstance, run: AlgorithmRun) -> PriceRange:
    """Return the range of the prices at the end of a run of PD-ORS, from its trace.

    `run`: a run of `pd_ors` on the instance.
    """
    largest = np.array([run.trace["max_unit_utility"][name] for name in instance.resources])
    return PriceRange(largest, run.trace["min_unit_utility"])


def final_load(instance: DmlrsInstance, run: AlgorithmRun) -> Ints:
    """Return rho [t - 1, h, r] at the end of a run, in thousandths.

    `run`: a run of `pd_ors` on the instance.
    """
    view = arrays(instance)
    load = np.zeros((instance.horizon, *view.capacity_milli.shape), dtype=np.int64)
    for j, plan in run.schedule.plans(instance).items():
        for slot, counts in plan.items():
            for h, (workers, ps) in counts.items():
                load[slot - 1, h] += workers * view.worker_milli[j] + ps * view.ps_milli[j]
    return load


def final_prices(instance: DmlrsInstance, run: AlgorithmRun) -> Floats:
    """Return the prices (12) [t - 1, h, r] at the end of a run of PD-ORS.

    Parameters
    ----------
    run : AlgorithmRun
        A run of `pd_ors` on the instance.
    """
    load = final_load(instance, run)
    return final_range(instance, run).price(load, arrays(instance).capacity_milli)


def _valid_range(largest: Floats, smallest: float, floor: float) -> PriceRange:
    """Return a range with all U^r > 0 if any is, and 0 < L <= min_r U^r."""
    if not largest.any():
        return PriceRange(largest, 0.0)
    largest = np.where(largest > 0, largest, largest.max())
    top = float(largest.min())
    smallest = smallest or DEFAULT_RATIO * top
    return PriceRange(largest, min(max(smallest, floor, MIN_RATIO * top), top))
