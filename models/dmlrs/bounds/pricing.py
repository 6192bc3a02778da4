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
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedgap.instances.dmlrs import DmlrsInstance, arrays
from schedgap.instances.dmlrs.compiled import Floats, Ints
from schedgap.models.dmlrs.throughput import bundles, first_completions, mode_limits

REQUIRED_WORK = 1 - 1e-8  # D, just below the fraction of the work that completes a job
AT_ONCE = 16  # completions that are priced at once
MAX_SIZE = 200_000  # largest number of steps for all of them
TIE = 1e-9  # relative: reduced costs that differ by less are equal
_EPS = float(np.finfo(np.float64).eps)

Window = tuple[int, int]  # first and last slot of a completion; T + 1 stands for a rejection


@lru_cache(maxsize=4096)
def bundle_options(instance: DmlrsInstance, i: int) -> tuple[Floats, Floats]:
    """Return progress [k] and demand [k, r] of the bundles of job i on the empty cluster.

    They are the corners of the upper hull of the pairs (m(n), n) in each mode. The others are never
    cheaper. For n workers and m PSs, cost - mu progress is linear in n and m. Where it is negative,
    it falls with n and rises with m. So it is least at a corner, whatever the prices and mu are.
    """
    job_bundles, needed = bundles(instance, i), arrays(instance).needed[i]
    advance, demand = [], []
    for mode, width in enumerate(mode_limits(instance, i)):
        count = int(np.searchsorted(job_bundles.workers, width, side="right"))
        corners = _corners(np.stack([job_bundles.ps, job_bundles.workers], axis=1)[:count].tolist())
        advance.append(job_bundles.workers[corners] / needed[mode])
        demand.append(job_bundles.demand[corners])
    return np.concatenate(advance), np.concatenate(demand)


def _corners(points: Iterable[Sequence[int]]) -> list[int]:
    """Return the places of the corners of the upper hull of (0, 0) and points that ascend."""
    corners = [(-1, 0, 0)]
    for k, (x, y) in enumerate(points):
        while len(corners) > 1:
            (_, a, b), (_, c, d) = corners[-2:]
            if c < x and (d - b) * (x - c) > (y - d) * (c - a):
                break
            corners.pop()
        corners.append((k, x, y))
    return [k for k, _, _ in corners[1:]]


def priced_bound(
    instance: DmlrsInstance, prices: Floats, windows: Mapping[int, Window] | None = None
) -> float:
    """Return the bound that prices prove.

    `prices` [t, r]: p of slots 1..T; a negative one counts as 0. `windows`: windows of the
    completions of some jobs, by index.

    It is an upper bound on the value of every schedule within the windows, with all rounding
    allowed for; -inf if there is none.

    Notes
    -----
    Source: (10), (11) at full capacity. Time: O(I T^2 log T) at worst.
    """
    return evaluate(instance, prices, windows).bound


class PricedJobs(NamedTuple):
    """What prices prove, and each job's payoff and best completion, T + 1 for a rejection."""

    bound: float
    payoffs: dict[int, float]
    completions: dict[int, int]


def evaluate(
    instance: DmlrsInstance, prices: Floats, windows: Mapping[int, Window] | None = None
) -> PricedJobs:
    """Return the bound that prices prove, and what the jobs do at these prices.

    `prices`, `windows`: as of `priced_bound`.
    """
    prices = np.maximum(np.where(np.isfinite(prices), prices, 0.0), 0.0)
    best = {
        i: best_completion(instance, i, prices, (windows or {}).get(i))
        for i in range(len(instance.jobs))
    }
    payoffs = {i: value for i, (value, _) in best.items()}
    bound = total(instance, prices, payoffs.values())
    return PricedJobs(bound, payoffs, {i: completion for i, (_, completion) in best.items()})


def total(instance: DmlrsInstance, prices: Floats, payoffs: Iterable[float]) -> float:
    """Return the value of all capacity plus the payoffs of the jobs, no less for rounding.

    `prices` [t, r]: prices >= 0 of slots 1..T.
    """
    capacity = arrays(instance).capacity_milli.sum(axis=0) / 1000
    terms = [*(prices * capacity).ravel().tolist(), *payoffs]
    if -math.inf in terms:
        return -math.inf
    return math.fsum(terms) + 8 * _EPS * math.fsum(map(abs, terms))


def best_completion(
    instance: DmlrsInstance, i: int, prices: Floats, window: Window | None = None
) -> tuple[float, int]:
    """Return an upper bound on the payoff of job i, and the f that has it; T + 1 is a rejection.

    The payoff is lambda_i = max(0, max_f [u_i(f - a_i) - cost_i(f)]), (11). `prices` [t, r]: prices
    >= 0 of slots 1..T. `window`: the first and the last f that is allowed; the last one is T + 1
    where the job may be rejected. Without any completion the payoff is -inf.
    """
    view, never = arrays(instance), instance.horizon + 1
    earliest, latest = window or (1, never)
    first, arrival = max(earliest, first_completions(instance)[i]), int(view.arrival[i])
    best, at = (0.0 if latest == never else -math.inf), never
    latest = min(latest, instance.horizon)
    if first > latest:
        return best, at
    advance, demand = bundle_options(instance, i)
    costs = prices[arrival - 1 : latest] @ demand.T  # [t - arrival, k]
    steps = _hull_steps(advance, costs)
    at_once = max(1, min(AT_ONCE, MAX_SIZE // max(1, steps.size)))
    for f in range(first, latest + 1, at_once):
        slots = np.arange(f - arrival + 1, min(f + at_once, latest + 1) - arrival + 1)
        utility = view.utility[i, slots - 1]
        if utility[0] <= best:
            break  # utilities only fall
        gains = utility - least_costs(advance, costs, steps, slots)
        if gains.max() > best:
            best, at = float(gains.max()), f + int(gains.argmax())
    return best, at


def cheapest_demand(instance: DmlrsInstance, i: int, prices: Floats, completion: int) -> Floats:
    """Return the demand [t, r] of a cheapest plan of job i with fractional bundles.

    `prices` [t, r]: prices >= 0 of slots 1..T. `completion`: a possible slot f.
    """
    arrival = int(arrays(instance).arrival[i])
    advance, demand = bundle_options(instance, i)
    costs = prices[arrival - 1 : completion] @ demand.T
    present = np.ones((1, len(costs)), dtype=bool)
    slope = float(_slopes(_hull_steps(advance, costs), present)[0])
    # each slot has a bundle of least reduced cost; the slots of the last step choose between two
    progress, units = np.append(0.0, advance), np.vstack([np.zeros(demand.shape[1]), demand])
    reduced = np.hstack([np.zeros((len(costs), 1)), costs - slope * advance])
    least = reduced <= reduced.min(axis=1, keepdims=True) + TIE * slope * advance.max()
    low = np.where(least, progress, np.inf).argmin(axis=1)
    high = np.where(least, progress, -1.0).argmax(axis=1)
    width = progress[high] - progress[low]
    missing = REQUIRED_WORK - progress[low].sum() - (np.cumsum(width) - width)
    share = np.clip(missing / np.where(width > 0, width, 1.0), 0.0, 1.0)[:, None]
    found = np.zeros(prices.shape)
    found[arrival - 1 : completion] = (1 - share) * units[low] + share * units[high]
    return found


def least_costs(advance: Floats, costs: Floats, steps: Floats, slots: Ints) -> Floats:
    """Return lower bounds on the cost of `REQUIRED_WORK` in the first slots; inf if they are few.

    `advance` [k]: progress of the bundles. `costs` [t, k]: costs of the bundles in each slot.
    `steps` [t, s]: slope and width of each step of the slot's lower hull; they affect the quality
    of the bounds, not their validity. `slots` [f]: numbers of slots, ascending.
    """
    if len(advance) == 0:
        return np.full(len(slots), np.inf)
    most = float(advance.max())
    costs, steps = costs[: slots[-1]], steps[: slots[-1]]
    present = np.arange(len(costs)) < slots[:, None]  # [f, t]
    slope = _slopes(steps, present)
    # mu D + sum_t min(0, min_k [cost - mu progress]), mu = slope, less what rounding may add
    reduced = (costs - slope[:, None, None] * advance).min(axis=2)
    gains = np.where(present, np.minimum(0.0, reduced), 0.0).sum(axis=1)
    size = slope * (REQUIRED_WORK + 2 * slots * most)
    allowance = 4 * _EPS * (slots * len(advance) + 64) * size
    found = np.maximum(0.0, slope * REQUIRED_WORK + gains - allowance)
    return np.where(slots * most < REQUIRED_WORK - 1e-9, np.inf, found)


def _slopes(steps: Floats, present: NDArray[np.bool_]) -> Floats:
    """Return mu [f]: the slope of the step [t, s] at which the fractional knapsack is full.

    `present` [f, t]: the slots of each knapsack.
    """
    slopes, widths = steps[..., 0].ravel(), steps[..., 1].ravel()
    order = np.argsort(slopes, kind="stable")
    inside = present[:, order // steps.shape[1]]
    full = np.cumsum(np.where(inside, widths[order], 0.0), axis=1) >= REQUIRED_WORK
    last = len(order) - 1 - inside[:, ::-1].argmax(axis=1)
    place = np.where(full.any(axis=1), full.argmax(axis=1), last)
    found: Floats = slopes[order[place]]
    return found


def _hull_steps(advance: Floats, costs: Floats) -> Floats:
    """Return the steps [t, s] of each slot's lower convex hull of (0, 0) and (advance, cost).

    A step is a slope and a width. It ends at the largest progress; slopes ascend. Slots with fewer
    steps have some of slope and width 0.
    """
    x, y, rows = np.zeros(len(costs)), np.zeros(len(costs)), np.arange(len(costs))
    steps = []
    while (beyond := advance > x[:, None]).any():
        ahead = np.where(beyond, advance - x[:, None], 1.0)
        slopes = np.where(beyond, costs - y[:, None], np.inf) / ahead
        least = slopes.min(axis=1)
        farthest = np.where(slopes == least[:, None], advance, -1.0).argmax(axis=1)
        open_ = np.isfinite(least)
        steps.append(np.where(open_, (least, advance[farthest] - x), 0.0))
        x = np.where(open_, advance[farthest], x)
        y = np.where(open_, costs[rows, farthest], y)
    return np.array(steps).reshape(-1, 2, len(costs)).transpose(2, 0, 1)
