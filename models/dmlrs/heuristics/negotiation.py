"""Starts of the local search by negotiation: jobs plan in turn at prices that rise in short supply.

All machines are merged, and bundles are fractional. Each job takes the plan that pays best, as in
the bound of `completion_branches`, while the plans of the other jobs are known. Resources may be
used beyond their capacity, at a price. This price rises for good with each sweep that leaves a slot
beyond its capacity. So jobs give way that lose little by it. In the end the jobs are inserted on
the machines in the order of their planned completions.

References
----------
L. McMurchie, C. Ebeling, "PathFinder: a negotiation-based performance-driven router for FPGAs",
International Symposium on Field-Programmable Gate Arrays (1995). The use for jobs is new.
"""

import numpy as np

from schedgap.instances.dmlrs import DmlrsInstance, arrays
from schedgap.instances.dmlrs.compiled import Floats, Ints
from schedgap.models.dmlrs.bounds.kernel import PRICING, job_bundles
from schedgap.models.dmlrs.heuristics.partial_schedule import PartialSchedule
from schedgap.solvers import Clock

SWEEPS, FIRST_PLACED, PLACED_EVERY = 40, 8, 3  # sweeps over all jobs, and which ones are placed
PLACED_SHARES = 0.0, 0.3, 1.0  # shares of the prices at which planned jobs are inserted
WITHIN = 0.3  # share of the price within the capacity
BEYOND = 0.5  # share of the price that is added beyond it at first
LEAST_BEYOND = 0.15  # least first price beyond the capacity, relative to the mean price
RISE = 10.0  # how fast the price beyond the capacity rises, relative to the mean price


def negotiate(
    instance: DmlrsInstance, prices: Floats, *, room: float, seed: int, clock: Clock
) -> PartialSchedule | None:
    """Return the best schedule that was placed, None if time was up before the first one.

    `prices` [t, r]: good prices of the resources. `room`: share of the capacity that is planned,
    because whole bundles do not fill the machines.
    """
    run, jobs, rng = PRICING.entry(instance), job_bundles(instance), np.random.default_rng(seed)
    capacity = np.maximum(room * arrays(instance).capacity_milli.sum(axis=0) / 1000, 1e-3)
    mean = (prices * capacity).mean() / capacity
    beyond = np.maximum(BEYOND * prices, LEAST_BEYOND * mean)
    largest = np.maximum(np.maximum.reduceat(jobs.demand, jobs.first[:-1]), 1e-9)
    number, horizon = len(jobs.job), instance.horizon
    value, completion = np.zeros(number), np.full(number, horizon)
    demand, used = np.zeros((number, *prices.shape)), np.zeros(prices.shape)
    window, best = np.array([[0, horizon]]), None
    for sweep in range(SWEEPS):
        for j in rng.permutation(number).tolist():
            if clock.expired():
                return best
            one = slice(j, j + 1)
            own = jobs._replace(
                job=jobs.job[one],
                arrival=jobs.arrival[one],
                earliest=jobs.earliest[one],
                utility=jobs.utility[one],
                first=jobs.first[j : j + 2],
            )
            used -= demand[j]
            demand[j] = 0.0  # stays 0 if the job is rejected
            shortage = np.clip((used + largest[j] - capacity) / largest[j], 0.0, 1.0)
            at = WITHIN * prices + beyond * shortage
            run(own, at, window, (value[one], completion[one], demand[one]))
            used += demand[j]
        beyond += RISE * mean * np.maximum(used / capacity - 1, 0.0)
        if sweep >= FIRST_PLACED and sweep % PLACED_EVERY == 0:
            planned = jobs.job[np.argsort(completion, kind="stable")[: sum(completion < horizon)]]
            for share in PLACED_SHARES:
                placed = _placed(instance, prices, planned, share, clock)
                best = placed if best is None or placed.value > best.value else best
    return best


def _placed(
    instance: DmlrsInstance, prices: Floats, planned: Ints, share: float, clock: Clock
) -> PartialSchedule:
    """Return the schedule of the planned jobs [x] in order, then of the others that still fit."""
    partial = PartialSchedule(instance, prices)
    partial.insert(planned.tolist(), share, clock)
    partial.insert_by_density(0.0, clock)
    return partial
