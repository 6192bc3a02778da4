"""Reduced costs of runs under prices, and the enumeration of all runs of small reduced cost.

References
----------
R. Baldacci, N. Christofides, A. Mingozzi, "An exact algorithm for the vehicle routing problem based
on the set partitioning formulation with additional cuts", Mathematical Programming 115 (2008).
F. Margot, "Symmetry in integer linear programming", 50 Years of Integer Programming 1958-2008,
Springer (2010): sorting equal servers.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.algorithms.pricing import PricedServers
from schedgap.models.elastic.bounds.schedule_lp import RunPricer, SlotPrices, pools
from schedgap.models.elastic.modes import Mode, cluster, modes
from schedgap.models.elastic.placement import Floats, Ints
from schedgap.models.elastic.programs.columns import ElasticRun, placements
from schedgap.models.elastic.time_windows import ElasticWindows
from schedgap.solvers import Clock

MAX_ENTRIES = 10_000_000  # runs x servers x resources x slots
MAX_STARTS = 10_000_000  # modes x starts of a job that are priced
CHUNK = 20_000  # starts of a mode that are priced at once


@dataclass(frozen=True, slots=True, eq=False)
class EnumeratedRuns:
    """Runs of reduced cost within a limit, and the reduced cost of leaving a job out."""

    runs: list[ElasticRun]
    reduced: list[float]  # [i]
    absent: list[float]  # [j]; infinite where a job must run
    complete: bool  # False when there were too many, or the clock expired


@dataclass(frozen=True, slots=True, eq=False)
class ReducedCosts:
    """Prices with the least cost of each job, and the bound L that follows."""

    instance: ElasticInstance
    prices: SlotPrices
    pricer: RunPricer = field(init=False)
    least: Floats = field(init=False)  # [j]
    value: float = field(init=False)  # L as computed
    proved: float = field(init=False)  # L less all rounding errors
    margin: float = field(init=False)  # upper limit on the error of reduced costs

    def __post_init__(self) -> None:
        pricer = RunPricer(self.instance, self.prices.pool)
        least = pricer.values(self.prices)[0]
        paid = float((self.prices.price.sum(axis=2) * pricer.capacity).sum())
        value = float(least.sum()) - paid
        proved = pricer.bound(self.prices, least)
        for name, number in (
            ("pricer", pricer),
            ("least", least),
            ("value", value),
            ("proved", proved),
            ("margin", 1e-6 + 2 * (value - proved)),
        ):
            object.__setattr__(self, name, number)

    def _starts(
        self, priced: PricedServers, job: int, limit: float, span: ElasticWindows
    ) -> Iterator[tuple[Mode, Ints, Floats]]:
        """Yield modes with starts that may be cheap enough, and their objective coefficients.

        Starts are excluded by lower bounds on their prices; after the last priced slot, by the
        objective.
        """
        given, options = self.instance.jobs[job], modes(self.instance, job)
        max_cost = limit + float(self.least[job])
        max_cost += 1e-9 * (1 + abs(max_cost))
        end, weight = span.end[job], given.weight
        if self.instance.is_batch:
            max_cost, weight = max_cost + given.weight, 0.0
        else:
            end = min(end, math.floor(max(0.0, min(max_cost / weight, 2.0**60))))
        for k, _, rows, bounds in priced.by_lower_bound(options, span.first[job], end, weight):
            mode = options[k]
            promising = rows[bounds <= max_cost + 1e-9 * (1 + abs(max_cost))] + 1
            chunks = (promising[i : i + CHUNK] for i in range(0, len(promising), CHUNK))
            late = int(rows[-1]) + 2
            for starts in chain(chunks, _chunks(late, end - mode.duration + 1)):
                if self.instance.is_batch:
                    yield mode, starts, np.full(len(starts), -given.weight)
                else:
                    yield mode, starts, weight * (starts + mode.duration).astype(float)

    def enumerate_runs(
        self, limit: float, span: ElasticWindows, clock: Clock, most: int
    ) -> EnumeratedRuns:
        """Return the runs in the windows whose reduced cost is at most `limit`.

        `limit`: largest reduced cost. `span`: when each job may run. `most`: largest number of
        runs; with more the result is incomplete.
        """
        instance = self.instance
        view, priced = cluster(instance), self.pricer.priced_cluster(self.prices)
        price = self.prices.per_demand(instance)  # [t, h, r]
        paid = np.concatenate([np.zeros((1, *price.shape[1:])), np.cumsum(price, axis=0)])
        runs: list[ElasticRun] = []
        reduced: list[float] = []
        entries, complete = 0, True
        for j in self.pricer.jobs:
            least, number = float(self.least[j]), 0
            for mode, starts, base in self._starts(priced, j, limit, span):
                number += len(starts)
                if number > MAX_STARTS or clock.expired():
                    return EnumeratedRuns(runs, reduced, [], False)
                # Placements are enumerated only where the cheapest one is within the budget.
                budget = limit + least - base
                budget += 1e-9 * (1 + np.abs(budget))
                for i in np.flatnonzero(priced.costs(mode, starts) <= budget).tolist():
                    start = int(starts[i])
                    a, b = (min(t, len(price)) for t in (start - 1, start - 1 + mode.duration))
                    window = np.maximum(0.0, paid[b] - paid[a])  # [h, r]
                    omega = window @ view.worker_demand[mode.worker_type]
                    zeta = None if mode.ps_type is None else window @ view.ps_demand[mode.ps_type]
                    placement_budget = float(budget[i])
                    for workers, ps, cost in placements(view, mode, omega, zeta, placement_budget):
                        runs.append(ElasticRun(j, mode, start, workers, ps))
                        reduced.append(max(0.0, cost + float(base[i]) - least))
                        entries += mode.duration * len(workers) * len(view.scale)
                        if len(runs) > most or entries > MAX_ENTRIES:
                            return EnumeratedRuns(runs, reduced, [], False)
                    if clock.expired():
                        return EnumeratedRuns(runs, reduced, [], False)
        absent = [-value if instance.is_batch else math.inf for value in self.least.tolist()]
        return EnumeratedRuns(runs, reduced, absent, complete)


def _chunks(first: int, end: int) -> Iterator[Ints]:
    """Yield the start slots from `first` to `end` - 1 in chunks."""
    for start in range(first, end, CHUNK):
        yield np.arange(start, min(start + CHUNK, end))


def without_symmetry(
    instance: ElasticInstance, enumerated: EnumeratedRuns, priced: Ints
) -> tuple[list[ElasticRun], list[float]]:
    """Return the runs without those that equal another one after a permutation of equal servers.

    A permutation of equal servers can be chosen such that the run of one job is sorted, with no
    smaller usage before a larger one; but only for one job, the one with the most runs.

    `enumerated`: all runs. `priced` [h]: servers of one number have the same prices, so permuting
    them changes no reduced cost.

    Returns
    -------
    (list of ElasticRun, list of float)
        Runs and their reduced costs.
    """
    keys = zip(pools(instance, pooled=True).tolist(), priced.tolist(), strict=True)
    seen: dict[tuple[int, int], int] = {}
    pool = [seen.setdefault(pair, len(seen)) for pair in keys]
    if len(set(pool)) == len(pool):
        return enumerated.runs, enumerated.reduced
    counts = np.bincount([run.job for run in enumerated.runs], minlength=len(instance.jobs))
    chosen = int(counts.argmax())

    def is_sorted(run: ElasticRun) -> bool:
        usage = dict.fromkeys(range(len(pool)), (0, 0))
        last: dict[int, tuple[int, int]] = {}  # by pool
        for h, count in run.workers:
            usage[h] = (count, usage[h][1])
        for h, count in run.ps:
            usage[h] = (usage[h][0], count)
        for h, counts_on in usage.items():
            if last.get(pool[h], counts_on) < counts_on:
                return False
            last[pool[h]] = counts_on
        return True

    kept = [i for i, run in enumerate(enumerated.runs) if run.job != chosen or is_sorted(run)]
    return [enumerated.runs[i] for i in kept], [enumerated.reduced[i] for i in kept]
