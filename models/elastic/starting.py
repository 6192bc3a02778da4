"""A first schedule for the exact methods and bounds: jobs one by one, each where it ends first."""

import math
from collections.abc import Sequence

import numpy as np

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule
from schedgap.models.bracket import Bracket
from schedgap.models.elastic import pooled
from schedgap.models.elastic.columns import Run, fits_together, run_of, runs_from, schedule_of
from schedgap.models.elastic.modes import Cluster, Mode, cluster, modes
from schedgap.models.elastic.placement import Floats
from schedgap.models.elastic.pricing import Market
from schedgap.models.elastic.windows import no_schedule, shortest, value_step
from schedgap.models.method import Call

MOST_CELLS = 200_000  # servers x resources x slots of a market; a minute for 100 jobs on more


def volume(view: Cluster, mode: Mode) -> float:
    """Return demand x duration of a mode, each resource as a share of the whole cluster's."""
    total = view.capacity.sum(axis=0)
    demand = mode.workers * view.worker_units[mode.worker_type]
    if mode.ps_type is not None:
        demand = demand + view.ps_units[mode.ps_type]
    return float((demand[total > 0] / total[total > 0]).sum()) * mode.duration


def starting_schedule(instance: ElasticInstance) -> ElasticSchedule | None:
    """Return a feasible schedule; None where the horizon is closed and no list finds one."""
    if no_schedule(instance) is not None:
        return None
    view = cluster(instance)
    jobs = [j for j in range(len(instance.jobs)) if modes(instance, j)]
    weight = [job.weight for job in instance.jobs]
    least = {j: min(volume(view, mode) for mode in modes(instance, j)) for j in jobs}
    orders = [
        sorted(jobs, key=lambda j: (least[j] / weight[j], j)),
        sorted(jobs, key=lambda j: (instance.jobs[j].arrival, least[j] / weight[j], j)),
    ]
    found = [dispatch(instance, order) for order in orders]
    known = [schedule_of(instance, runs) for runs in found if runs is not None]
    sign = -1.0 if instance.is_batch else 1.0
    return min(known, key=lambda schedule: sign * schedule.value(instance), default=None)


def first_bracket(instance: ElasticInstance, call: Call) -> Bracket:
    """Return the bracket of a first schedule and of every job alone.

    Values are those of the minimisation: of a batch problem minus the weight.
    """
    sign, step = -1.0 if instance.is_batch else 1.0, value_step(instance)

    def up(bound: float) -> float:
        """Round up to the step of all values, an engine's tolerance granted."""
        return bound if step is None else math.ceil(bound / step - 1e-6) * step

    found = Bracket(
        call,
        lambda schedule: sign * schedule.value(instance),
        real=lambda value: sign * value,
        up=up,
        keep=lambda s: s if fits_together(instance, runs_from(instance, s)) else None,
    )
    found.bound(sign * pooled.no_contention(instance))
    start = starting_schedule(instance)
    if start is not None:
        found.offer(start)
    return found


def dispatch(
    instance: ElasticInstance, order: Sequence[int], prices: Floats | None = None
) -> list[Run] | None:
    """Return runs of the jobs, in the given order each the cheapest that still fits.

    Parameters
    ----------
    prices : array [t, h, r] or None
        Price of a unit for a slot, added to the weighted completion time; without them a job ends
        as early as it can, with the least volume.

    Returns
    -------
    list of Run or None
        In a batch problem without the jobs that do not fit any more; None when one must fit and
        does not, or when the horizon is too long to be searched slot by slot.
    """
    view = cluster(instance)
    slots = horizon(instance)
    if instance.last_end is None and slots * view.capacity.size > MOST_CELLS:
        return _one_by_one(instance, order)
    if slots * view.capacity.size > MOST_CELLS:
        return [] if instance.is_batch else None
    market = Market.empty(view, slots)
    priced = np.zeros((slots, *view.capacity.shape))
    if prices is not None:
        priced[: len(prices)] = prices[:slots]
        market = Market(
            view, priced, np.broadcast_to(view.capacity, priced.shape).copy(), longest=slots
        )
    runs = []
    for j in order:
        options, job = modes(instance, j), instance.jobs[j]
        volumes = None if prices is not None else [volume(view, mode) for mode in options]
        end = instance.last_end or slots + 1
        offer = market.cheapest(options, job.arrival, end, weight=job.weight, volumes=volumes)
        if offer is None:
            if instance.is_batch:
                continue
            return None
        run = run_of(j, offer)
        runs.append(run)
        for h, amount in run.held(view).items():
            span = slice(run.start - 1, run.end - 1)
            free = market.free[span, [h]] - amount
            market.change(run.start, run.end - 1, np.array([h]), market.price[span, [h]], free)
    return runs


def horizon(instance: ElasticInstance) -> int:
    """Return a number of slots in which all jobs fit one after another, each at its quickest."""
    if instance.last_end is not None:
        return instance.last_end - 1
    total = sum(shortest(instance, j) or 0 for j in range(len(instance.jobs)))
    return max(job.arrival for job in instance.jobs) + total


def _one_by_one(instance: ElasticInstance, order: Sequence[int]) -> list[Run]:
    """Run one job after another in its quickest mode."""
    view, start, runs = cluster(instance), 1, []
    for j in order:
        mode = min(modes(instance, j), key=lambda mode: mode.duration)
        offer = Market.empty(view, 1).offer(mode, 1)
        assert offer is not None
        start = max(start, instance.jobs[j].arrival)
        runs.append(run_of(j, offer)._replace(start=start))
        start += mode.duration
    return runs
