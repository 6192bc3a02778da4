"""Reduced costs of runs under prices, and all runs of which they are small."""

import math
from dataclasses import dataclass, field

import numpy as np

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.bounds.schedule_lp import Pricer, Prices, pools
from schedgap.models.elastic.columns import Run, placements
from schedgap.models.elastic.modes import cluster, modes
from schedgap.models.elastic.placement import Floats
from schedgap.models.elastic.windows import Windows
from schedgap.solvers import Clock

MOST_ENTRIES = 10_000_000  # runs x servers x resources x slots


@dataclass(frozen=True, slots=True, eq=False)
class Cheap:
    """Runs of reduced cost within a limit, and what it costs to leave a job out."""

    runs: list[Run]
    reduced: list[float]  # [i]
    absent: list[float]  # [j]; infinite where a job must run
    complete: bool  # False when there were too many, or no time


@dataclass(frozen=True, slots=True, eq=False)
class Reduced:
    """Prices with the least cost of each job, and the two values that follow."""

    instance: ElasticInstance
    prices: Prices
    pricer: Pricer = field(init=False)
    least: Floats = field(init=False)  # [j]
    value: float = field(init=False)  # L as computed
    proved: float = field(init=False)  # L less all rounding
    margin: float = field(init=False)  # what reduced costs may be off by, and a bit more

    def __post_init__(self) -> None:
        pricer = Pricer(self.instance, self.prices.pool)
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

    def cheap(self, limit: float, span: Windows, clock: Clock, most: int) -> Cheap:
        """Return the runs in the windows whose reduced cost is at most `limit`, if there are few.

        `complete` is False when there are more than `most`, or no time.
        """
        instance = self.instance
        view, market = cluster(instance), self.pricer.market(self.prices)
        price = self.prices.per_demand(instance)  # [t, h, r]
        paid = np.concatenate([np.zeros((1, *price.shape[1:])), np.cumsum(price, axis=0)])
        runs: list[Run] = []
        reduced: list[float] = []
        entries, complete = 0, True
        for j in self.pricer.jobs:
            given, least = instance.jobs[j], float(self.least[j])
            for mode in modes(instance, j):
                starts = np.arange(span.first[j], span.end[j] - mode.duration + 1)
                if not len(starts):
                    continue
                if instance.is_batch:
                    base = np.full(len(starts), -given.weight)
                else:
                    base = given.weight * (starts + mode.duration)
                budget = limit + least - base
                near = np.flatnonzero(budget >= 0)
                if not len(near):
                    continue
                # Only where the cheapest placement is cheap enough are all looked at.
                costs = market.costs(mode, starts[near])
                near = near[costs <= budget[near] + 1e-9 * (1 + np.abs(budget[near]))]
                for i in near.tolist():
                    start = int(starts[i])
                    a, b = (min(t, len(price)) for t in (start - 1, start - 1 + mode.duration))
                    window = np.maximum(0.0, paid[b] - paid[a])  # [h, r]
                    omega = window @ view.worker_demand[mode.worker_type]
                    zeta = None if mode.ps_type is None else window @ view.ps_demand[mode.ps_type]
                    room = float(budget[i]) + 1e-9 * (1 + abs(float(budget[i])))
                    for workers, ps, cost in placements(view, mode, omega, zeta, room):
                        runs.append(Run(j, mode, start, workers, ps))
                        reduced.append(max(0.0, cost + float(base[i]) - least))
                        entries += mode.duration * len(workers) * len(view.scale)
                        if len(runs) > most or entries > MOST_ENTRIES:
                            return Cheap(runs, reduced, [], False)
                    if clock.expired():
                        return Cheap(runs, reduced, [], False)
        absent = [-value if instance.is_batch else math.inf for value in self.least.tolist()]
        return Cheap(runs, reduced, absent, complete)


def without_symmetry(instance: ElasticInstance, cheap: Cheap) -> tuple[list[Run], list[float]]:
    """Return the runs, those of one job only where equal servers hold no less than the next one.

    One permutation of equal servers sorts one job, not several: the job with the most runs.
    """
    pool = pools(instance, pooled=True).tolist()
    if len(set(pool)) == len(pool):
        return cheap.runs, cheap.reduced
    numbers = np.bincount([run.job for run in cheap.runs], minlength=len(instance.jobs))
    chosen = int(numbers.argmax())

    def is_sorted(run: Run) -> bool:
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
