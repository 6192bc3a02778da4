"""A first schedule for the exact methods and bounds: jobs one by one, each where it ends first."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from schedgap.errors import ScaleError
from schedgap.instances.elastic import ElasticInstance, ElasticSchedule
from schedgap.models.elastic.algorithms.pricing import PricedCluster
from schedgap.models.elastic.bounds.job_alone import job_alone
from schedgap.models.elastic.bounds.volume import mean_busy_time_bound
from schedgap.models.elastic.heuristics.list_schedules import Stop, wspt_order
from schedgap.models.elastic.modes import cluster, modes, volume
from schedgap.models.elastic.placement import Floats
from schedgap.models.elastic.programs.columns import (
    ElasticRun,
    fits_together,
    run_of,
    runs_from,
    schedule_of,
)
from schedgap.models.elastic.programs.weights import VALUE_TOLERANCE, value_step
from schedgap.models.elastic.time_windows import JobWindows, no_schedule, shortest, windows
from schedgap.models.method import RunContext
from schedgap.models.search_state import SearchState

SHARE = 0.2  # of the time for a first schedule; after it, one job after another


def starting_schedule(
    instance: ElasticInstance, stop: Stop = lambda: False
) -> ElasticSchedule | None:
    """Return a feasible schedule; None where the horizon is closed and no list finds one.

    The best of `starting_schedules`.
    """
    sign = -1.0 if instance.is_batch else 1.0
    return min(
        starting_schedules(instance, stop),
        key=lambda schedule: sign * schedule.value(instance),
        default=None,
    )


def starting_schedules(
    instance: ElasticInstance, stop: Stop = lambda: False
) -> Iterator[ElasticSchedule]:
    """Yield feasible schedules of two lists: by least volume / weight, and by arrival.

    The first is found also when there is no time left.
    """
    if no_schedule(instance) is not None:
        return
    ranked = [j for j in wspt_order(instance) if modes(instance, j)]
    found = False
    for order in ranked, sorted(ranked, key=lambda j: instance.jobs[j].arrival):
        runs = None if found and stop() else priced_list_schedule(instance, order, stop=stop)
        if runs is not None:
            found = True
            yield schedule_of(instance, runs)


def known_windows(instance: ElasticInstance) -> JobWindows:
    """Return the windows of a first schedule; without one, a closed horizon or a deadline."""
    start = starting_schedule(instance)
    span = windows(instance, None if start is None else start.value(instance))
    if span is None:  # open, and some job fits nowhere: no row can be met
        first = tuple(job.arrival for job in instance.jobs)
        return JobWindows(first, first)
    return span


def initial_state(instance: ElasticInstance, call: RunContext) -> SearchState:
    """Return the bracket of first schedules, of every job alone, and of volumes.

    Values are those of the minimisation: of a batch problem minus the weight. Without a step of all
    values, what differs by less than `NEAR` is one value.
    """
    sign, step = -1.0 if instance.is_batch else 1.0, value_step(instance)

    def up(bound: float) -> float:
        """Round up to the step of all values, an engine's tolerance granted."""
        return bound if step is None else math.ceil(bound / step - 1e-6) * step

    found = SearchState(
        call,
        lambda schedule: sign * schedule.value(instance),
        to_objective=lambda value: sign * value,
        round_bound=up,
        normalise=lambda s: s if fits_together(instance, runs_from(instance, s)) else None,
        tolerance=1e-9 if step is not None else 2 * VALUE_TOLERANCE,
    )
    alone = sign * job_alone(instance)
    found.bound(alone, {"kind": "no-contention"})
    for r, name in enumerate(() if instance.is_batch else instance.resources):
        if (value := mean_busy_time_bound(instance, r)) is not None:
            found.bound(value, {"kind": "volume", "resource": name})
    for schedule in starting_schedules(instance, call.clock.share(SHARE).expired):
        found.offer(schedule)
        if found.closed:
            break
    return found


def priced_list_schedule(
    instance: ElasticInstance,
    order: Sequence[int],
    price: Floats | None = None,
    stop: Stop = lambda: False,
) -> list[ElasticRun] | None:
    """Return runs of the jobs, in the given order each the cheapest that still fits.

    Parameters
    ----------
    price : array [t, h, r], optional
        Of a unit of demand as given in the file for a slot, >= 0; after its last slot 0.

    Returns
    -------
    list of Run or None
        In a batch problem without the jobs that do not fit any more; None when one must fit and
        does not. Where it takes too long, or too much memory, one job runs after another; a
        horizon that ends is then given up.
    """
    try:
        table = _PricedPartialSchedule(instance, price)
        for j in order:
            if stop():
                break
            if not table.insert(j) and not instance.is_batch:
                return None
        else:
            return list(table.runs.values())
    except ScaleError:
        pass
    if instance.last_end is None:
        return _one_by_one(instance, order)
    return [] if instance.is_batch else None


class _PricedPartialSchedule:
    """Runs that fit together, and the market, with prices by server, on which the next job buys.

    Runs end by slot `slots`; without a closed horizon that grows when a job finds no place.
    """

    def __init__(self, instance: ElasticInstance, price: Floats | None = None) -> None:
        self.instance, self.view = instance, cluster(instance)
        self._price = np.zeros((0, *self.view.capacity.shape)) if price is None else price
        self.runs: dict[int, ElasticRun] = {}
        longest = max(shortest(instance, j) or 0 for j in range(len(instance.jobs)))
        self.slots = max(job.arrival for job in instance.jobs) + 2 * longest
        self.slots = max(self.slots, len(self._price) + longest)
        if instance.last_end is not None:
            self.slots = instance.last_end - 1
        self._open_market()

    def _open_market(self) -> None:
        shape = self.slots, *self.view.capacity.shape
        price = np.zeros(shape)
        price[: len(self._price)] = self._price[: self.slots]
        free = np.broadcast_to(self.view.capacity, shape).copy()
        self.market = PricedCluster(self.view, price, free, longest=self.slots)
        for run in self.runs.values():
            self._hold(run)

    def insert(self, job: int) -> bool:
        """Run a job where weight x (start + duration) + price is least; False where none fits."""
        given, options = self.instance.jobs[job], modes(self.instance, job)
        volumes = [volume(self.view, mode) for mode in options]
        while True:
            offer = self.market.cheapest(
                options, given.arrival, self.slots + 1, weight=given.weight, volumes=volumes
            )
            if offer is not None:
                break
            if self.instance.last_end is not None:
                return False
            self.slots *= 2
            self._open_market()
        self.runs[job] = run_of(job, offer)
        self._hold(self.runs[job])
        return True

    def _hold(self, run: ElasticRun) -> None:
        span = slice(run.start - 1, run.end - 1)
        held = run.held(self.view)
        servers = np.array(list(held))
        free = self.market.free[span, servers] - np.array(list(held.values()))
        self.market.change(run.start, run.end - 1, servers, self.market.price[span, servers], free)


def _one_by_one(instance: ElasticInstance, order: Sequence[int]) -> list[ElasticRun]:
    """Run one job after another in its quickest mode."""
    view, start, runs = cluster(instance), 1, []
    for j in order:
        mode = min(modes(instance, j), key=lambda mode: mode.duration)
        offer = PricedCluster.empty(view, 1).cheapest_at(mode, 1)
        assert offer is not None
        start = max(start, instance.jobs[j].arrival)
        runs.append(run_of(j, offer)._replace(start=start))
        start += mode.duration
    return runs
