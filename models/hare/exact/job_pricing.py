"""The cheapest schedule of one job when GPU time has prices: what the exact method decomposes into.

Barriers make a job a path: round r lies between the barriers s and e, each of its tasks takes its
cheapest start and kind in between, and a shortest path over barriers joins the rounds. Forward and
backward passes give the least cost of a schedule through every barrier and every start.

Index letters: j task of the job, r its round, k kind, t step after the job's arrival.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from schedgap.instances.hare import HareInstance, arrays
from schedgap.models.hare.integer_time import Ints, steps

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class JobWindows:
    """What a node of the search leaves open to one job: 0 where allowed, inf where not."""

    barrier: tuple[Floats, ...]  # [r][t]
    start: tuple[Floats, ...]  # [j][k, t]; alike tasks with equal masks share one array


@dataclass(frozen=True, slots=True, eq=False)
class JobData:
    """One job in whole steps."""

    arrival: int
    weight: int
    first: int  # index i of its first task
    rounds: tuple[tuple[int, ...], ...]  # [r] tasks j
    train: Ints  # [j, k]
    duration: Ints  # [j, k]
    alike: tuple[tuple[int, ...], ...]  # [j] the tasks of its round that are like it, with itself
    span: int  # t <= span
    root: JobWindows


@dataclass(frozen=True, slots=True)
class ScheduleColumn:
    """One schedule of a job."""

    barrier: tuple[int, ...]  # [r] t by which the round is synchronized
    kind: tuple[int, ...]  # [j]
    start: tuple[int, ...]  # [j]


def job_data(instance: HareInstance, n: int, latest_completions: int) -> JobData:
    """Return a job and all its schedules that end by `latest` (steps)."""
    view, whole = arrays(instance), steps(instance)
    own = range(view.job_rounds[n], view.job_rounds[n + 1])
    first, last = int(view.round_tasks[own.start]), int(view.round_tasks[own.stop])
    arrival = int(whole.arrival[n])
    duration = whole.duration[first:last]
    head = whole.head[first:last] - arrival
    end = latest_completions - arrival - whole.tail[first:last]
    time = np.arange(latest_completions - arrival + 1)
    rounds = tuple(
        tuple(range(int(view.round_tasks[q]) - first, int(view.round_tasks[q + 1]) - first))
        for q in own
    )
    barrier = tuple(
        _mask((time >= max(head[j] + duration[j].min() for j in tasks)) & (time <= end[tasks[0]]))
        for tasks in rounds
    )
    start: list[Floats] = [barrier[0]] * (last - first)
    alike: list[tuple[int, ...]] = [()] * (last - first)
    for group in view.alike:
        if first <= group[0] < last:
            tasks = tuple(i - first for i in group)
            j = tasks[0]
            mask = _mask((time >= head[j]) & (time + duration[j][:, None] <= end[j]))
            for j in tasks:
                start[j], alike[j] = mask, tasks
    return JobData(
        arrival=arrival,
        weight=int(whole.weight[n]),
        first=first,
        rounds=rounds,
        train=whole.train[first:last],
        duration=duration,
        alike=tuple(alike),
        span=latest_completions - arrival,
        root=JobWindows(barrier, tuple(start)),
    )


def _mask(allowed: NDArray[np.bool_]) -> Floats:
    return np.where(allowed, 0.0, np.inf)


@dataclass(frozen=True, slots=True, eq=False)
class _PricedGroup:
    """Tasks of a round with equal times and masks."""

    tasks: tuple[int, ...]
    cost: list[Floats | None]  # [k][start - first_start]; None when no start fits
    cheapest: Floats  # [s, e]


@dataclass(frozen=True, slots=True, eq=False)
class _PricedRound:
    """One round: barriers before it `first_start + s`, barriers after it `first_end + e`."""

    first_start: int
    first_end: int
    before: Floats  # [s] least cost of all earlier rounds
    after: Floats  # [e] with this round
    groups: tuple[_PricedGroup, ...]
    total: Floats  # [s, e]


@dataclass(frozen=True, slots=True, eq=False)
class PricedJob:
    """A job's forward pass. `cost` is the least w_n C_n plus the prices of the GPU time used."""

    cost: float
    by_end: Floats  # [e] of the last round
    layers: tuple[_PricedRound, ...]


class JobPricer:
    """Prices schedules of jobs whose spans do not exceed a given one."""

    def __init__(self, span: int) -> None:
        time = np.arange(span + 2)
        self._early = np.where(time[None, :] < time[:, None], np.inf, 0.0)  # [s, t], t < s

    def price(self, job: JobData, allowed: JobWindows, prefix: Floats) -> PricedJob | None:
        """Return the cheapest schedules of a job, or None when it has none.

        Parameters
        ----------
        prefix : array [k, t]
            Price of one GPU of kind k from time 0 to t, t in steps from time 0.
        """
        prefix = prefix[:, job.arrival :]
        before, first_start = np.zeros(1), 0
        layers = []
        for r, tasks in enumerate(job.rounds):
            open_ends = np.flatnonzero(allowed.barrier[r] == 0)
            if not len(open_ends):
                return None
            first_end, last_end = int(open_ends[0]), int(open_ends[-1])
            shape = len(before), last_end - first_end + 1
            groups = tuple(
                self._group(job, same, allowed, prefix, first_start, first_end, shape)
                for same in _same_masks(tasks, allowed)
            )
            total = np.sum([len(group.tasks) * group.cheapest for group in groups], axis=0)
            after = (before[:, None] + total).min(axis=0)
            after += allowed.barrier[r][first_end : last_end + 1]
            layers.append(_PricedRound(first_start, first_end, before, after, groups, total))
            before, first_start = after, first_end
        ends = job.arrival + first_start + np.arange(len(before))
        by_end = before + job.weight * ends
        cost = float(by_end.min())
        return PricedJob(cost, by_end, tuple(layers)) if np.isfinite(cost) else None

    def _group(
        self,
        job: JobData,
        tasks: tuple[int, ...],
        allowed: JobWindows,
        prefix: Floats,
        first_start: int,
        first_end: int,
        shape: tuple[int, int],
    ) -> _PricedGroup:
        """Return the cheapest start of a task between each two barriers."""
        j = tasks[0]
        cheapest = np.full(shape, np.inf)
        cost: list[Floats | None] = []
        for k in range(len(prefix)):
            train, duration = int(job.train[j, k]), int(job.duration[j, k])
            stop = first_end + shape[1] - duration  # starts first_start .. stop - 1 fit
            length = stop - first_start
            if length <= 0:
                cost.append(None)
                continue
            own = (
                prefix[k, first_start + train : stop + train]
                - prefix[k, first_start:stop]
                + allowed.start[j][k, first_start:stop]
            )
            cost.append(own)
            upto = own + self._early[: shape[0], :length]
            np.minimum.accumulate(upto, axis=1, out=upto)
            column = length - shape[1]  # of the last start that fits the first end
            target = cheapest[:, max(0, -column) :]
            np.minimum(target, upto[:, max(0, column) :], out=target)
        return _PricedGroup(tasks, cost, cheapest)

    def reduce(
        self, job: JobData, priced: PricedJob, allowed: JobWindows, slack: float
    ) -> JobWindows:
        """Return what schedules use that cost at most `slack` more than the cheapest one."""
        barrier, start = list(allowed.barrier), list(allowed.start)
        layer = priced.layers[-1]
        # least cost from a barrier to the end of the job
        rest = job.weight * (
            job.arrival + layer.first_end + np.arange(len(layer.after), dtype=float)
        )
        limit = priced.cost + slack
        for r in reversed(range(len(job.rounds))):
            layer = priced.layers[r]
            rest[~np.isfinite(layer.after)] = np.inf
            through = layer.after + rest
            barrier[r] = np.full(job.span + 1, np.inf)
            barrier[r][layer.first_end : layer.first_end + len(rest)] = _mask(through <= limit)
            for group in layer.groups:
                mask = self._reduce_group(job, layer, group, rest, limit)
                for j in group.tasks:
                    start[j] = mask
            rest = (layer.total + rest).min(axis=1)
        return JobWindows(tuple(barrier), tuple(start))

    def _reduce_group(
        self, job: JobData, layer: _PricedRound, group: _PricedGroup, rest: Floats, limit: float
    ) -> Floats:
        others = layer.before[:, None] + rest
        for other in layer.groups:
            count = len(other.tasks) - (other is group)
            if count:
                others = others + count * other.cheapest
        # least over barriers at or before a start, and at or after its end
        np.minimum.accumulate(others, axis=0, out=others)
        others = np.minimum.accumulate(others[:, ::-1], axis=1)[:, ::-1]
        kinds = len(group.cost)
        mask = np.full((kinds, job.span + 1), np.inf)
        for k, cost in enumerate(group.cost):
            if cost is None:
                continue
            t = np.arange(len(cost))
            s = np.minimum(t, len(layer.before) - 1)
            shift = layer.first_start + int(job.duration[group.tasks[0], k]) - layer.first_end
            e = np.maximum(t + shift, 0)
            mask[k, layer.first_start : layer.first_start + len(cost)] = _mask(
                others[s, e] + cost <= limit
            )
        return mask


def column(job: JobData, priced: PricedJob, end: int | None = None) -> ScheduleColumn:
    """Return the cheapest schedule, or the cheapest whose last barrier is number `end`."""
    e = int(priced.by_end.argmin()) if end is None else end
    barrier = [0] * len(job.rounds)
    kind, start = [0] * len(job.train), [0] * len(job.train)
    for r in reversed(range(len(job.rounds))):
        layer = priced.layers[r]
        barrier[r] = layer.first_end + e
        s = int((layer.before + layer.total[:, e]).argmin())
        for group in layer.groups:
            best, place = np.inf, (0, 0)
            for k, cost in enumerate(group.cost):
                last = barrier[r] - int(job.duration[group.tasks[0], k]) - layer.first_start
                if cost is not None and last >= s:
                    t = s + int(cost[s : last + 1].argmin())
                    if cost[t] < best:
                        best, place = cost[t], (k, layer.first_start + t)
            for j in group.tasks:
                kind[j], start[j] = place
        e = s
    return ScheduleColumn(tuple(barrier), tuple(kind), tuple(start))


def _same_masks(tasks: tuple[int, ...], allowed: JobWindows) -> list[tuple[int, ...]]:
    """Group tasks of a round whose masks are one array; only alike tasks share one."""
    groups: dict[int, list[int]] = {}
    for j in tasks:
        groups.setdefault(id(allowed.start[j]), []).append(j)
    return [tuple(group) for group in groups.values()]
