"""The schemes that the paper compares its algorithms with, completed where it leaves them open.

The paper gives each a sentence or two; the two that preempt are in `preemptive`. All but
`deadline_greedy` are online: a policy is shown the jobs that have arrived and what is free, and
nothing else. Decisions fall on arrivals and ends of runs: between these nothing that a policy looks
at changes. Ties: arrival, then list order.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule, Job, Placement
from schedgap.models.elastic.algorithm import Arrivals
from schedgap.models.elastic.batch import Arrived, Constants, ModesOf, constants
from schedgap.models.elastic.modes import (
    Cluster,
    Mode,
    cluster,
    durations,
    modes,
    most_central,
    most_split,
)
from schedgap.models.elastic.placement import Floats, cheapest
from schedgap.models.elastic.pricing import Market, Offer


def ideal(view: Cluster, fixed: Constants, of: tuple[Mode, ...]) -> Mode:
    """Return the quickest mode; of these the one of least volume, then the first types."""
    volumes = fixed.volumes(view, of).tolist()

    def rank(k: int) -> tuple[float, float, int, int]:
        mode = of[k]
        p = -1 if mode.ps_type is None else mode.ps_type
        return mode.duration, float(f"{volumes[k]:.9g}"), mode.worker_type, p

    return of[min(range(len(of)), key=rank)]


def most_workers(view: Cluster, job: Job, m: int, p: int | None) -> int:
    """Return the most workers, up to the job's chunks, that the empty cluster holds."""
    central = min(job.chunks, most_central(view, m, p))
    return max(central, most_split(view, m, p, job.chunks))


class Held(NamedTuple):
    """Workers and PSs of a job on their servers, by index, and how long a whole run takes."""

    mode: Mode
    workers: Mapping[int, int]
    ps: Mapping[int, int]

    def amounts(self, view: Cluster) -> Floats:
        """[h, r] what it takes, in units."""
        used = np.zeros_like(view.capacity)
        for h, count in self.workers.items():
            used[h] += count * view.worker_units[self.mode.worker_type]
        for h, count in self.ps.items():
            assert self.mode.ps_type is not None
            used[h] += count * view.ps_units[self.mode.ps_type]
        return used

    def placement(self, view: Cluster, start: int, duration: int) -> Placement:
        """Return a run of so many slots."""
        return view.place(
            self.mode._replace(duration=duration), start, dict(self.workers), dict(self.ps)
        )


def first_fit(
    view: Cluster, job: Job, m: int, p: int | None, workers: int, free: Floats
) -> Held | None:
    """Return the first placement in list order: on one server that holds all, else on several.

    Parameters
    ----------
    free : array [h, r]
        What is free from now on, in units.
    """
    position = np.arange(1.0, len(free) + 1)
    for central in (True, False):
        mode = Mode(m, p, workers, central, 0)
        found = cheapest(view.demand(mode), position, position, free, central=central)
        if found is not None:
            d = durations(view, job, m, p, np.array([workers]), central)[0]
            return Held(mode._replace(duration=int(d)), found[1], found[2])
    return None


Starts = list[tuple[Arrived, Held]]
Policy = Callable[[list[Arrived], Floats], Starts]  # waiting by arrival, free [h, r] -> who starts


def simulate(instance: ElasticInstance, policy: Policy) -> ElasticSchedule:
    """Run an online policy without preemption; every job must find a place on the empty cluster."""
    view, arrivals = cluster(instance), Arrivals(instance)
    moments = {job.arrival for job in instance.jobs}
    running: list[tuple[int, Floats]] = []
    waiting: list[Arrived] = []
    placed: dict[str, Placement] = {}
    while moments:
        now = min(moments)  # the slot that begins
        moments.remove(now)
        running = [run for run in running if run[0] > now]
        free = view.capacity - sum(amounts for _, amounts in running)
        waiting += arrivals.until(now)
        for arrived, held in policy(list(waiting), free):
            waiting.remove(arrived)
            end = now + held.mode.duration
            running.append((end, held.amounts(view)))
            moments.add(end)
            placed[arrived.job.id] = held.placement(view, now, held.mode.duration)
    assert not waiting, "a policy left jobs on an empty cluster"
    return ElasticSchedule(placed)


def fifo(instance: ElasticInstance, workers: int = 8) -> ElasticSchedule:
    """Start jobs in order of arrival, all with the same number of workers, never overtaken.

    The paper: in order of arrival, with a fixed number of workers between 1 and 30. Ours: of the
    types of the quickest mode; the number is cut to what the job can use and the cluster can hold.
    """
    view, fixed = cluster(instance), constants(instance)

    def policy(waiting: list[Arrived], free: Floats) -> Starts:
        starts: Starts = []
        for arrived in waiting:
            best = ideal(view, fixed, arrived.modes)
            m, p = best.worker_type, best.ps_type
            number = min(workers, most_workers(view, arrived.job, m, p))
            held = first_fit(view, arrived.job, m, p, number, free)
            if held is None:
                break
            free = free - held.amounts(view)
            starts.append((arrived, held))
        return starts

    return simulate(instance, policy)


def drf(instance: ElasticInstance) -> ElasticSchedule:
    """Give waiting jobs workers one by one, the next to the job of least dominant share.

    The paper: numbers of workers by max-min fair dominant shares. Ours: at each arrival and end the
    waiting jobs fill up with the types of their quickest mode, each until one worker more finds no
    place beside what the others have; those with a worker start and keep what they have.
    """
    view, fixed = cluster(instance), constants(instance)
    total = view.capacity.sum(axis=0)

    def policy(waiting: list[Arrived], free: Floats) -> Starts:
        kinds = [ideal(view, fixed, arrived.modes) for arrived in waiting]
        held: dict[int, Held] = {}
        share = dict.fromkeys(range(len(waiting)), 0.0)  # of the jobs that may still grow
        while share:
            k = min(share, key=lambda k: (share[k], k))
            job, own = waiting[k].job, held.get(k)
            mine = own.amounts(view) if own else np.zeros_like(free)
            number = own.mode.workers + 1 if own else 1
            m, p = kinds[k].worker_type, kinds[k].ps_type
            more = first_fit(view, job, m, p, number, free + mine) if number <= job.chunks else None
            if more is None:
                del share[k]
                continue
            amounts = more.amounts(view)
            free, held[k] = free + mine - amounts, more
            used = amounts.sum(axis=0)
            share[k] = float((used[total > 0] / total[total > 0]).max())
        return [(waiting[k], held[k]) for k in sorted(held)]

    return simulate(instance, policy)


def deadline_greedy(instance: ElasticInstance) -> ElasticSchedule:
    """Serve jobs of a batch by weight over least volume, each as late as it can run.

    The paper: Jain et al., offline with deadlines. Ours: the worker type of the quickest mode;
    of its modes the one of least volume that fits, at the latest start; else the job is rejected.
    """
    assert instance.deadline is not None
    view, fixed, end = cluster(instance), constants(instance), instance.deadline
    volumes = [fixed.volumes(view, modes(instance, j)).tolist() for j in range(len(instance.jobs))]
    able = [j for j, own in enumerate(volumes) if own]
    market, placed = Market.empty(view, end - 1), {}
    for j in sorted(able, key=lambda j: (-instance.jobs[j].weight / min(volumes[j]), j)):
        own = modes(instance, j)
        kind = ideal(view, fixed, own).worker_type
        for k in sorted(range(len(own)), key=lambda k: volumes[j][k]):
            if own[k].worker_type != kind:
                continue
            offer = _latest(market, own[k], end)
            if offer is None:
                continue
            job = instance.jobs[j].id
            placed[job] = view.place(own[k], offer.start, offer.workers, offer.ps)
            amounts = Held(own[k], offer.workers, offer.ps).amounts(view)
            servers = np.flatnonzero(amounts.any(axis=1))
            span = slice(offer.start - 1, offer.end - 1)
            free = market.free[span, servers] - amounts[servers]
            market.change(offer.start, offer.end - 1, servers, np.zeros_like(free), free)
            break
    return ElasticSchedule(placed)


def _latest(market: Market, mode: Mode, end: int) -> Offer | None:
    """Return the latest start of a mode that ends in time."""
    starts = np.arange(1, end - mode.duration + 1)
    able = starts[np.isfinite(market.costs(mode, starts))] if len(starts) else starts
    return market.offer(mode, int(able[-1])) if len(able) else None


def of_number(workers: int) -> ModesOf:
    """Return the choice of all modes with this number of workers, fewer where it cannot be."""

    def choose(view: Cluster, job: Job) -> tuple[Mode, ...]:
        return tuple(
            Mode(m, p, number, central, int(d))
            for central in (True, False)
            for m, name in enumerate(view.worker_types)
            if name in job.train_time
            for p in _ps_of(view, job)
            for number in [min(workers, most_workers(view, job, m, p))]
            if number >= 1 and number <= _most(view, job, m, p, central)
            for d in durations(view, job, m, p, np.array([number]), central)
        )

    return choose


def _ps_of(view: Cluster, job: Job) -> list[int | None]:
    if not isinstance(job.update_time, Mapping):
        return [None]
    return [p for p, name in enumerate(view.ps_types) if name in job.update_time]


def _most(view: Cluster, job: Job, m: int, p: int | None, central: bool) -> int:
    """Most workers of a mode on the empty cluster; a ring on two servers has two at least."""
    if central:
        return min(job.chunks, most_central(view, m, p))
    return most_split(view, m, p, job.chunks)


def with_one_type(instance: ElasticInstance, worker_type: int) -> ElasticInstance | None:
    """Bar all other worker types (an index); None when a job cannot run on this one."""
    name = instance.worker_types[worker_type].id
    if any(name not in job.train_time for job in instance.jobs):
        return None
    jobs = [
        {**job, "train_time": {name: job["train_time"][name]}} for job in instance.to_data()["jobs"]
    ]
    return ElasticInstance.from_data({**instance.to_data(), "jobs": jobs})
