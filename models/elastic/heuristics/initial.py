"""First schedules and the search state with which exact methods and bounds start.

It joins the list schedules, the bounds of every job alone and of volumes, and the time windows that
follow from a schedule. In a list, each job takes the cheapest run that still fits: the serial
schedule generation scheme.

References
----------
R. Kolisch, "Serial and parallel resource-constrained project scheduling methods revisited: theory
and computation", European Journal of Operational Research 90 (1996).
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from schedgap.errors import ScaleError
from schedgap.instances.elastic import ElasticInstance, ElasticSchedule
from schedgap.models.elastic.algorithms.pricing import PricedRun, PricedServers
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
from schedgap.models.elastic.time_windows import ElasticWindows, no_schedule, shortest, windows
from schedgap.models.method import RunContext
from schedgap.models.search_state import SearchState

SHARE = 0.2  # of the time, for the first schedules


def starting_schedule(
    instance: ElasticInstance, stop: Stop = lambda: False
) -> ElasticSchedule | None:
    """Return the best of `starting_schedules`; None where no list ends within a closed horizon.

    `stop`: returns True when time is up.
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

    The first one does not depend on the time limit.

    `stop`: returns True when time is up.
    """
    if no_schedule(instance) is not None:
        return
    ranked = [j for j in wspt_order(instance) if modes(instance, j)]
    yielded = False
    for order in ranked, sorted(ranked, key=lambda j: instance.jobs[j].arrival):
        runs = None if yielded and stop() else priced_list_schedule(instance, order, stop=stop)
        if runs is not None:
            yielded = True
            yield schedule_of(instance, runs)


def known_windows(instance: ElasticInstance) -> ElasticWindows:
    """Return the time windows given by a first schedule, a closed horizon or a deadline."""
    start = starting_schedule(instance)
    span = windows(instance, None if start is None else start.value(instance))
    if span is None:  # an open horizon, and some job has no placement: infeasible
        first = tuple(job.arrival for job in instance.jobs)
        return ElasticWindows(first, first)
    return span


def initial_state(instance: ElasticInstance, call: RunContext) -> SearchState:
    """Return the search state with the first schedules, and bounds by jobs alone and by volumes.

    Values are minimised: in a batch problem they are minus the weight. Where the values have no
    common step, values that differ by less than `VALUE_TOLERANCE` count as equal.
    """
    sign, step = -1.0 if instance.is_batch else 1.0, value_step(instance)

    def round_up(bound: float) -> float:
        """Round a bound up to the step of all values, less round-off and an engine's tolerance."""
        if step is None:
            return bound
        return math.ceil(bound / step - max(1e-6, 1e-9 * abs(bound / step))) * step

    state = SearchState(
        call,
        lambda schedule: sign * schedule.value(instance),
        to_objective=lambda value: sign * value,
        round_bound=round_up,
        normalise=lambda s: s if fits_together(instance, runs_from(instance, s)) else None,
        tolerance=1e-13 if step is not None else 2 * VALUE_TOLERANCE,
    )
    alone = sign * job_alone(instance)
    state.bound(alone, {"kind": "no-contention"})
    for r, name in enumerate(() if instance.is_batch else instance.resources):
        if (value := mean_busy_time_bound(instance, r)) is not None:
            state.bound(value, {"kind": "volume", "resource": name})
    for schedule in starting_schedules(instance, call.clock.share(SHARE).expired):
        state.incumbent(schedule)
        if state.closed:
            break
    return state


def priced_list_schedule(
    instance: ElasticInstance,
    order: Sequence[int],
    price: Floats | None = None,
    stop: Stop = lambda: False,
) -> list[ElasticRun] | None:
    """Schedule the jobs in a given order, each at the least weight x (start + duration) + price.

    `order`: jobs that have modes. `price` [t, h, r]: price >= 0 of a unit of demand as given in the
    file for a slot; 0 after the last slot. `stop`: returns True when time is up.

    Returns
    -------
    list of ElasticRun or None
        In a batch problem without the jobs that do not fit; otherwise None when some job does not
        fit. Where it takes too much time or memory, the jobs run one after another; None if the
        horizon is closed.
    """
    try:
        partial = _PricedPartialSchedule(instance, price)
        for j in order:
            if stop():
                break
            if not partial.insert(j) and not instance.is_batch:
                return None
        else:
            return [run_of(j, run) for j, run in partial.runs.items()]
    except ScaleError:
        pass
    if instance.last_end is None:
        return _one_by_one(instance, order)
    return [] if instance.is_batch else None


class _PricedPartialSchedule:
    """A partial schedule with prices by server; each job takes the cheapest run that still fits.

    Runs end by slot `slots`; with an open horizon it grows when a job does not fit.
    """

    def __init__(self, instance: ElasticInstance, price: Floats | None = None) -> None:
        self.instance, self.view = instance, cluster(instance)
        self._price = np.zeros((0, *self.view.capacity.shape)) if price is None else price
        self.runs: dict[int, PricedRun] = {}
        longest = max(shortest(instance, j) or 0 for j in range(len(instance.jobs)))
        self.slots = max(job.arrival for job in instance.jobs) + 2 * longest
        self.slots = max(self.slots, len(self._price) + longest)
        if instance.last_end is not None:
            self.slots = instance.last_end - 1
        self._build_tables()

    def _build_tables(self) -> None:
        shape = self.slots, *self.view.capacity.shape
        price = np.zeros(shape)
        price[: len(self._price)] = self._price[: self.slots]
        free = np.broadcast_to(self.view.capacity, shape).copy()
        self.priced = PricedServers(self.view, price, free, longest=self.slots)
        for run in self.runs.values():
            self.priced.occupy(run)

    def insert(self, job: int) -> bool:
        """Insert a job at the least weight x (start + duration) + price; False if it cannot fit."""
        given, options = self.instance.jobs[job], modes(self.instance, job)
        volumes = [volume(self.view, mode) for mode in options]
        while True:
            run = self.priced.cheapest(
                options, given.arrival, self.slots + 1, weight=given.weight, volumes=volumes
            )
            if run is not None:
                break
            if self.instance.last_end is not None:
                return False
            self.slots *= 2
            self._build_tables()
        self.runs[job] = run
        self.priced.occupy(run)
        return True


def _one_by_one(instance: ElasticInstance, order: Sequence[int]) -> list[ElasticRun]:
    """Return runs of the jobs one after another, each in its fastest mode."""
    view, start, runs = cluster(instance), 1, []
    for j in order:
        mode = min(modes(instance, j), key=lambda mode: mode.duration)
        run = PricedServers.empty(view, 1).cheapest_at(mode, 1)
        assert run is not None
        start = max(start, instance.jobs[j].arrival)
        runs.append(run_of(j, run)._replace(start=start))
        start += mode.duration
    return runs
