"""Reduced costs of runs under prices, and all runs of which they are small."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.algorithms.pricing import PricedCluster
from schedgap.models.elastic.bounds.schedule_lp import RunPricer, SlotPrices, pools
from schedgap.models.elastic.modes import Mode, cluster, modes
from schedgap.models.elastic.placement import Floats, Ints
from schedgap.models.elastic.programs.columns import ElasticRun, placements
from schedgap.models.elastic.time_windows import JobWindows
from schedgap.solvers import Clock

MAX_ENTRIES = 10_000_000  # runs x servers x resources x slots
MAX_STARTS = 10_000_000  # modes x starts of a job that may be cheap enough
CHUNK = 20_000  # starts of a mode that are priced at once


@dataclass(frozen=True, slots=True, eq=False)
class EnumeratedRuns:
    """Runs of reduced cost within a limit, and what it costs to leave a job out."""

    runs: list[ElasticRun]
    reduced: list[float]  # [i]
    absent: list[float]  # [j]; infinite where a job must run
    complete: bool  # False when there were too many, or no time


@dataclass(frozen=True, slots=True, eq=False)
class ReducedCosts:
    """Prices with the least cost of each job, and the two values that follow."""

    instance: ElasticInstance
    prices: SlotPrices
    pricer: RunPricer = field(init=False)
    least: Floats = field(init=False)  # [j]
    value: float = field(init=False)  # L as computed
    proved: float = field(init=False)  # L less all rounding
    margin: float = field(init=False)  # what reduced costs may be off by, and a bit more

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
        self, market: PricedCluster, job: int, limit: float, span: JobWindows
    ) -> Iterator[tuple[Mode, Ints, Floats]]:
        """Yield modes with starts, and what each adds to the objective, that may be cheap enough.

        By lower bounds on their prices; after the last slot with prices, by the objective alone.
        """
        given, options = self.instance.jobs[job], modes(self.instance, job)
        most = limit + float(self.least[job])
        most += 1e-9 * (1 + abs(most))
        end, weight = span.end[job], given.weight
        if self.instance.is_batch:
            most, weight = most + given.weight, 0.0
        else:
            end = min(end, math.floor(max(0.0, min(most / weight, 2.0**60))))
        for k, _, rows, floors in market.by_lower_bound(options, span.first[job], end, weight):
            mode = options[k]
            near = rows[floors <= most + 1e-9 * (1 + abs(most))] + 1
            parts = (near[i : i + CHUNK] for i in range(0, len(near), CHUNK))
            late = int(rows[-1]) + 2
            for starts in chain(parts, _chunks(late, end - mode.duration + 1)):
                if self.instance.is_batch:
                    yield mode, starts, np.full(len(starts), -given.weight)
                else:
                    yield mode, starts, weight * (starts + mode.duration).astype(float)

    def cheap(self, limit: float, span: JobWindows, clock: Clock, most: int) -> EnumeratedRuns:
        """Return the runs in the windows whose reduced cost is at most `limit`, if there are few.

        `complete` is False when there are more than `most`, or no time.
        """
        instance = self.instance
        view, market = cluster(instance), self.pricer.market(self.prices)
        price = self.prices.per_demand(instance)  # [t, h, r]
        paid = np.concatenate([np.zeros((1, *price.shape[1:])), np.cumsum(price, axis=0)])
        runs: list[ElasticRun] = []
        reduced: list[float] = []
        entries, complete = 0, True
        for j in self.pricer.jobs:
            least, number = float(self.least[j]), 0
            for mode, starts, base in self._starts(market, j, limit, span):
                number += len(starts)
                if number > MAX_STARTS or clock.expired():
                    return EnumeratedRuns(runs, reduced, [], False)
                # Only where the cheapest placement is cheap enough are all looked at.
                budget = limit + least - base
                budget += 1e-9 * (1 + np.abs(budget))
                for i in np.flatnonzero(market.costs(mode, starts) <= budget).tolist():
                    start = int(starts[i])
                    a, b = (min(t, len(price)) for t in (start - 1, start - 1 + mode.duration))
                    window = np.maximum(0.0, paid[b] - paid[a])  # [h, r]
                    omega = window @ view.worker_demand[mode.worker_type]
                    zeta = None if mode.ps_type is None else window @ view.ps_demand[mode.ps_type]
                    room = float(budget[i])
                    for workers, ps, cost in placements(view, mode, omega, zeta, room):
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
    """Yield the start slots from `first` to before `end`, some at a time."""
    for start in range(first, end, CHUNK):
        yield np.arange(start, min(start + CHUNK, end))


def without_symmetry(
    instance: ElasticInstance, cheap: EnumeratedRuns, priced: Ints
) -> tuple[list[ElasticRun], list[float]]:
    """Return the runs, those of one job only where equal servers hold no less than the next one.

    One permutation of equal servers sorts one job, not several: the job with the most runs.
    `priced` [h]: servers of one number have the same prices, so that it changes no reduced cost.
    """
    numbers = zip(pools(instance, pooled=True).tolist(), priced.tolist(), strict=True)
    seen: dict[tuple[int, int], int] = {}
    pool = [seen.setdefault(pair, len(seen)) for pair in numbers]
    if len(set(pool)) == len(pool):
        return cheap.runs, cheap.reduced
    counts = np.bincount([run.job for run in cheap.runs], minlength=len(instance.jobs))
    chosen = int(counts.argmax())

    def is_sorted(run: ElasticRun) -> bool:
        held = dict.fromkeys(range(len(pool)), (0, 0))
        last: dict[int, tuple[int, int]] = {}  # by pool
        for h, count in run.workers:
            held[h] = (count, held[h][1])
        for h, count in run.ps:
            held[h] = (held[h][0], count)
        for h, own in held.items():
            if last.get(pool[h], own) < own:
                return False
            last[pool[h]] = own
        return True

    kept = [i for i, run in enumerate(cheap.runs) if run.job != chosen or is_sorted(run)]
    return [cheap.runs[i] for i in kept], [cheap.reduced[i] for i in kept]
