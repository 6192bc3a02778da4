"""Kernel of the pricing for branches on completions: the cheapest plan of each job.

`pricing.best_completion` and `pricing.cheapest_demand` do the same by arrays, for small instances
and for certificates.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from schedgap.instances.dmlrs import DmlrsInstance, arrays
from schedgap.instances.dmlrs.compiled import Floats, Ints
from schedgap.models.dmlrs.bounds.pricing import (
    REQUIRED_WORK,
    PricedJobs,
    Window,
    bundle_options,
    cheapest_demand,
    evaluate,
    total,
)
from schedgap.models.dmlrs.throughput import first_completions
from schedgap.solvers.search.compiled import Kernel

LARGE = 500  # jobs x machines x slots from which on searches and pricing are compiled
NEAR = 1e-9  # relative to the utility: gains that are closer are compared as bounds
ROUNDING = 4 * float(np.finfo(np.float64).eps)  # relative, for each term of a sum


class JobBundles(NamedTuple):
    """The jobs that can be completed, with their bundles k; slots from 0."""

    job: Ints  # [j] index in the instance
    arrival: Ints  # [j] first slot
    earliest: Ints  # [j] first completion
    utility: Floats  # [j, d] by delay
    first: Ints  # [j + 1] where the bundles of each job begin
    progress: Floats  # [k]
    demand: Floats  # [k, r]


@lru_cache(maxsize=16)
def job_bundles(instance: DmlrsInstance) -> JobBundles:
    """Return the jobs of an instance that can be completed."""
    view, first = arrays(instance), np.array(first_completions(instance), dtype=np.int64)
    job = np.flatnonzero(first <= instance.horizon)
    options = [bundle_options(instance, i) for i in job.tolist()]
    width = len(instance.resources)
    return JobBundles(
        job,
        view.arrival[job] - 1,
        first[job] - 1,
        view.utility[job],
        np.cumsum([0, *(len(progress) for progress, _ in options)]),
        np.concatenate([np.zeros(0), *(progress for progress, _ in options)]),
        np.concatenate([np.zeros((0, width)), *(demand for _, demand in options)]),
    )


def hull(progress: Any, cost: Any, steps: Any, corner: Any) -> int:
    """Write slope and width of each step of the lower hull of (0, 0) and (progress, cost).

    Return the number of steps. `corner`: receives the bundle at the end of each step.
    """
    x, y, number, most = 0.0, 0.0, 0, progress.max()
    while x < most:
        least, at = np.inf, -1
        for k in range(len(progress)):
            if progress[k] > x:
                slope = (cost[k] - y) / (progress[k] - x)
                if slope < least or (slope == least and progress[k] > progress[at]):
                    least, at = slope, k
        steps[number, 0], steps[number, 1], corner[number] = least, progress[at] - x, at
        x, y, number = progress[at], cost[at], number + 1
    return number


def lower_bound(progress: Any, cost: Any, slots: int, slope: float) -> float:
    """Return mu D + sum_t min(0, min_k [cost - mu progress]), less what rounding may add.

    `cost` [t, k]: costs of the bundles. `slope`: mu >= 0.
    """
    total, most = slope * REQUIRED_WORK, 0.0
    for k in range(len(progress)):
        most = max(most, progress[k])
    for t in range(slots):
        least = 0.0
        for k in range(len(progress)):
            least = min(least, cost[t, k] - slope * progress[k])
        total += least
    size = slope * (REQUIRED_WORK + 2 * slots * most)
    return float(max(0.0, total - ROUNDING * (slots * len(progress) + 64) * size))


def price(jobs: Any, prices: Any, windows: Any, found: Any) -> None:
    """Find the completion of each job that pays best, and a plan of it with fractional bundles.

    `prices` [t, r]. `windows` [j, side]: first and last slot of the completion, from 0; slot T
    stands for a rejection. `found`: `value`, `completion` [j] and `demand` [j, t, r], overwritten:
    a bound on the payoff, -inf without a completion; the completion, or T; the demand of the plan.
    """
    (value, completion, demand), horizon = found, len(prices)
    for j in range(len(jobs.job)):
        begin, end = jobs.first[j], jobs.first[j + 1]
        progress, arrival = jobs.progress[begin:end], jobs.arrival[j]
        earliest, latest = max(windows[j, 0], jobs.earliest[j]), windows[j, 1]
        best, at = (0.0 if latest == horizon else -np.inf), horizon
        last = min(latest, horizon - 1)
        cost = np.zeros((horizon, end - begin))
        steps, corner = np.zeros((end - begin, 2)), np.zeros(end - begin, np.int64)
        # The steps of all slots so far, by slope.
        slope, width = np.zeros(horizon * (end - begin)), np.zeros(horizon * (end - begin))
        where = np.zeros((horizon * (end - begin), 2), np.int64)  # slot, bundle at its end
        number, total, used, share = 0, 0.0, 0, 0.0
        for f in range(arrival, last + 1 if earliest <= last else arrival):
            utility = jobs.utility[j, f - arrival]
            if f >= earliest and utility <= best:
                break  # utilities only fall
            for k in range(end - begin):
                for r in range(prices.shape[1]):
                    cost[f - arrival, k] += jobs.demand[begin + k, r] * prices[f, r]
            for s in range(hull(progress, cost[f - arrival], steps, corner)):
                x, number = number, number + 1
                while x > 0 and slope[x - 1] > steps[s, 0]:
                    slope[x], width[x], where[x] = slope[x - 1], width[x - 1], where[x - 1]
                    x -= 1
                slope[x], width[x] = steps[s, 0], steps[s, 1]
                where[x, 0], where[x, 1] = f, corner[s]
                total += steps[s, 1]
            if f < earliest:
                continue
            done, paid, x = 0.0, 0.0, 0
            while x < number - 1 and done + width[x] < REQUIRED_WORK:
                done += width[x]
                paid += slope[x] * width[x]
                x += 1
            paid += slope[x] * (REQUIRED_WORK - done)
            if utility - paid <= best - NEAR * utility:
                continue
            gain = utility - lower_bound(progress, cost, f - arrival + 1, slope[x])
            if gain > best:
                best, at = gain, f
                used, share = x + 1, min(1.0, (REQUIRED_WORK - done) / width[x])
                demand[j] = 0.0
                for y in range(used):
                    t, k = where[y, 0], begin + where[y, 1]
                    for r in range(prices.shape[1]):
                        more = jobs.demand[k, r]
                        if y == used - 1:
                            more = demand[j, t, r] + share * (more - demand[j, t, r])
                        demand[j, t, r] = more
        value[j], completion[j] = best, at


def large(instance: DmlrsInstance) -> bool:
    """Return whether an instance is worth the loading of compiled code."""
    return len(instance.jobs) * len(instance.machines) * instance.horizon >= LARGE


def _sample() -> tuple[Any, ...]:
    """Return arguments of `price`, for the compiler: one job with one bundle in one slot."""
    one, none, ones = np.ones(1, np.int64), np.zeros(1, np.int64), np.ones((1, 1))
    jobs = JobBundles(none, none, none, ones, np.arange(2), np.ones(1), ones)
    return jobs, ones, np.zeros((1, 2), np.int64), (np.zeros(1), one, np.zeros((1, 1, 1)))


PRICING = Kernel("dmlrs-pricing", (hull, lower_bound, price), _sample, large)


def price_jobs(
    instance: DmlrsInstance,
    prices: Floats,
    windows: Mapping[int, Window],
    run: Callable[..., None] | None = None,
) -> tuple[PricedJobs, Callable[[int, int], Floats]]:
    """Return what `pricing.evaluate` returns, and the demand [t, r] of a job's best completion.

    `prices` [t, r]: prices >= 0 of slots 1..T. `windows`: windows of the completions of some jobs.
    `run`: the kernel, by default compiled; small instances are priced by arrays.
    """
    run, T = run or PRICING.compiled(instance), instance.horizon
    if run is None:
        plan = partial(cheapest_demand, instance, prices=prices)
        return evaluate(instance, prices, windows), lambda i, f: plan(i=i, completion=f)
    jobs = job_bundles(instance)
    own = [windows.get(i, (1, T + 1)) for i in jobs.job.tolist()]
    window = np.array(own, dtype=np.int64).reshape(-1, 2) - 1
    value, completion = np.zeros(len(jobs.job)), np.zeros(len(jobs.job), dtype=np.int64)
    demand = np.zeros((len(jobs.job), *prices.shape))
    run(jobs, np.ascontiguousarray(prices), window, (value, completion, demand))
    payoffs = dict(zip(jobs.job.tolist(), value.tolist(), strict=True))
    completions = dict(zip(jobs.job.tolist(), (completion + 1).tolist(), strict=True))
    never = all(last > T for i, (_, last) in windows.items() if i not in payoffs)
    bound = total(instance, prices, value.tolist() if never else [-np.inf])
    row = {i: j for j, i in enumerate(payoffs)}
    return PricedJobs(bound, payoffs, completions), lambda i, f: demand[row[i]]
