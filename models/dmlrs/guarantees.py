"""What can be said of PD-ORS on an instance: a bound from its prices, and a ratio with conditions.

The notes on the paper hold no theorem. With (15) solved exactly, the argument of online primal-dual
methods gives OPT <= 2 alpha PD-ORS, alpha = max_r max(1, ln(U^r / L)), if the range of the prices
covers all jobs, prices hardly change with one job, and the first dual value T L sum C is at most
OPT / 2. On small instances the last two fail, and the ratio with them: it is no guarantee of a run.
"""

import math
from typing import Any

import numpy as np

from schedgap.instances.dmlrs import DmlrsInstance, arrays
from schedgap.instances.dmlrs.arrays import Floats
from schedgap.models.dmlrs import dynamic_program, theta
from schedgap.models.dmlrs.algorithm import Market, OnlineRun
from schedgap.models.dmlrs.theta import Offer, Slot, arrived
from schedgap.solvers.clock import Clock

_EXACT_CELLS = 20_000  # F^2 times machines, up to which slots are priced exactly
_ALLOWANCE = 1e-12  # relative; sums of some thousand terms >= 0 round by less


def dual_bound(
    instance: DmlrsInstance, price: Floats, *, grid: int = 2000, clock: Clock | None = None
) -> float | None:
    """Return an upper bound on the optimum that prices prove, or None when time is up.

    Parameters
    ----------
    price : array [t - 1, h, r]
        Any prices >= 0, such as those at the end of a run.
    grid : int
        Progress is rounded up to parts of the work.

    Notes
    -----
    Source: (10), (11), with the cheapest schedules on all machines at full capacity (E9): those of
    a run itself see only what was left, and their payoffs prove nothing. Slots cost what they must,
    or less where an exact price would take long.
    """
    if not instance.jobs:
        return 0.0
    capacity = arrays(instance).capacity_milli
    market = Market(capacity, np.zeros(price.shape, dtype=np.int64), price)
    terms = (price * arrays(instance).capacity).ravel().tolist()
    for j in range(len(instance.jobs)):
        if clock is not None and clock.expired():
            return None
        job = arrived(instance, j)
        if job.first > instance.horizon:
            continue
        rows = market.offers(job, _at_least)
        cost = dynamic_program.on_grid_up(job, rows, grid).cost
        terms.append(max(0.0, float((job.utility - cost).max())))
    return math.fsum(terms) * (1 + _ALLOWANCE)


def _at_least(slot: Slot) -> list[Offer]:
    exact = slot.job.batch**2 * len(slot.room) <= _EXACT_CELLS
    across = theta.external_exact if exact else theta.external_floor
    return [*theta.internal(slot), *across(slot)]


def conditions(instance: DmlrsInstance, run: OnlineRun) -> dict[str, Any]:
    """Return 2 alpha and what its argument needs, as far as a run shows it.

    Returns
    -------
    dict
        `two_alpha`; `largest_step`, the most that one job took of a machine's resource in a slot,
        as a part of it, which must be far below 1; `first_dual`, T L sum C, which must be at most
        half of the optimum.
    """
    view = arrays(instance)
    place = {machine.id: h for h, machine in enumerate(instance.machines)}
    jobs = {job.id: j for j, job in enumerate(instance.jobs)}
    step = 0.0
    for row in run.schedule.allocations:
        h, j = place[row.machine], jobs[row.job]
        taken = row.workers * view.worker_milli[j] + row.ps * view.ps_milli[j]
        used = taken > 0
        step = max(step, float((taken[used] / view.capacity_milli[h][used]).max()))
    total = float(view.capacity.sum())
    return {
        "two_alpha": 2 * run.range.alpha,
        "largest_step": step,
        "first_dual": instance.horizon * run.range.least * total,
    }
