"""The bound that prices of the resources prove: the dual (10)-(11) with all machines merged.

Any prices p >= 0 by slot and resource bound every schedule's sum of utilities by

    sum p C + sum_i max(0, max_f [u_i(f - a_i) - cost_i(f)]),

where cost_i(f) is at most what job i pays to complete in slot f. Here it is the value of a
fractional multiple-choice knapsack over bundles, with at most one bundle in each slot a..f. A
bundle is n workers on a machine or across machines with their m(n) PSs. For any multiplier mu >= 0
that value is at least

    mu D + sum_t min(0, min_bundle [cost - mu progress]),

so the bound depends on no ordering and no tolerance; the lower convex hull of each slot's bundles
gives the mu for which this is the value of the knapsack.

References
----------
A. M. Geoffrion, "Lagrangean relaxation for integer programming", Mathematical Programming Study 2
(1974).
P. Sinha, A. A. Zoltners, "The multiple-choice knapsack problem", Operations Research 27 (1979): the
linear relaxation by lower convex hulls.
"""

import math
from itertools import pairwise

import numpy as np

from schedgap.instances.dmlrs import DmlrsInstance, arrays
from schedgap.instances.dmlrs.compiled import Floats
from schedgap.models.dmlrs.throughput import bundles, first_completions, mode_limits

REQUIRED_WORK = 1 - 1e-8  # D, just below the fraction of the work that completes a job
_EPS = float(np.finfo(np.float64).eps)


def bundle_options(instance: DmlrsInstance, i: int) -> tuple[Floats, Floats]:
    """Return progress [k] and demand [k, r] of the bundles of job i on the empty cluster."""
    job_bundles, needed = bundles(instance, i), arrays(instance).needed[i]
    advance, demand = [], []
    for mode, width in enumerate(mode_limits(instance, i)):
        fits = job_bundles.workers <= width
        advance.append(job_bundles.workers[fits] / needed[mode])
        demand.append(job_bundles.demand[fits])
    return np.concatenate(advance), np.concatenate(demand)


def priced_bound(instance: DmlrsInstance, prices: Floats) -> float:
    """Return the bound that prices prove.

    `prices` [t, r]: p of slots 1..T; a negative one counts as 0.

    It is an upper bound on the optimum, with all rounding allowed for.

    Notes
    -----
    Source: (10), (11) at full capacity. Time: O(I T^2 F log(T F)) at worst.
    """
    prices = np.maximum(np.where(np.isfinite(prices), prices, 0.0), 0.0)
    capacity = arrays(instance).capacity_milli.sum(axis=0) / 1000
    terms = (prices * capacity).ravel().tolist()
    terms += [payoff(instance, i, prices) for i in range(len(instance.jobs))]
    return math.fsum(terms) * (1 + 8 * _EPS)


def payoff(instance: DmlrsInstance, i: int, prices: Floats) -> float:
    """Return an upper bound on lambda_i = max(0, max_f [u_i(f - a_i) - cost_i(f)]), (11).

    `prices` [t, r]: prices >= 0 of slots 1..T.
    """
    view, best = arrays(instance), 0.0
    first, arrival = first_completions(instance)[i], int(view.arrival[i])
    if first > instance.horizon:
        return best
    advance, demand = bundle_options(instance, i)
    costs = prices[arrival - 1 :] @ demand.T  # [t - arrival, k]
    steps = [_hull_steps(advance, cost) for cost in costs]
    for f in range(first, instance.horizon + 1):
        utility = float(view.utility[i, f - arrival])
        if utility <= best:
            break  # utilities only fall
        slots = f - arrival + 1
        best = max(best, utility - least_cost(advance, costs[:slots], steps[:slots]))
    return best


def least_cost(advance: Floats, costs: Floats, steps: list[Floats]) -> float:
    """Return a lower bound on the cost of `REQUIRED_WORK`; inf if the slots cannot hold it.

    `advance` [k]: progress of the bundles. `costs` [t, k]: costs of the bundles in each slot.
    `steps` [t]: slope and width of each step of the slot's lower hull; they affect the quality of
    the bound, not its validity.
    """
    if len(advance) == 0 or len(costs) * float(advance.max()) < REQUIRED_WORK - 1e-9:
        return math.inf
    # mu: the slope of the step at which the fractional knapsack is full
    ascending = np.concatenate(steps)
    ascending = ascending[np.argsort(ascending[:, 0], kind="stable")]
    filled = int(np.searchsorted(np.cumsum(ascending[:, 1]), REQUIRED_WORK))
    slope = float(ascending[min(filled, len(ascending) - 1), 0])
    # mu D + sum_t min(0, min_k [cost - mu progress]), mu = slope, less what rounding may add
    gains = np.minimum(0.0, (costs - slope * advance).min(axis=1))
    size = slope * (REQUIRED_WORK + 2 * len(costs) * float(advance.max()))
    allowance = 4 * _EPS * (costs.size + 64) * size
    return max(0.0, slope * REQUIRED_WORK + math.fsum(gains.tolist()) - allowance)


def _hull_steps(advance: Floats, cost: Floats) -> Floats:
    """Return the steps [slope, width] of the lower convex hull of (0, 0) and (advance, cost).

    It ends at the largest progress; slopes ascend.
    """
    order = np.lexsort((cost, advance))
    corners = [(0.0, 0.0)]
    for x, y in zip(advance[order].tolist(), cost[order].tolist(), strict=True):
        if x <= corners[-1][0]:
            continue  # no more progress at no less cost
        while len(corners) > 1 and _slope(corners[-2], corners[-1]) >= _slope(corners[-1], (x, y)):
            corners.pop()
        corners.append((x, y))
    steps: Floats = np.array([(_slope(a, b), b[0] - a[0]) for a, b in pairwise(corners)])
    return steps.reshape(-1, 2)


def _slope(a: tuple[float, float], b: tuple[float, float]) -> float:
    """Return the slope of the line through two points."""
    return (b[1] - a[1]) / (b[0] - a[0])
