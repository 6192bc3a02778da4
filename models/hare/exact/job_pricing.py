"""Pricing problem of branch and price: cheapest schedule of one job at given prices of GPU time.

The barriers of a job make it a path. Round r lies between the barriers s and e, and each of its
tasks takes its cheapest start and kind of GPU in between. A shortest path over the barriers links
the rounds. A forward and a backward pass give the minimum cost of a schedule through every barrier
and through every start. Reduced-cost fixing needs these.

Index letters: j task of the job, r its round, k kind of GPU, t step after the job's arrival.

References
----------
J. M. van den Akker, C. A. J. Hurkens, M. W. P. Savelsbergh, "Time-indexed formulations for machine
scheduling problems: column generation", INFORMS Journal on Computing 12 (2000).
S. Irnich, G. Desaulniers, J. Desrosiers, A. Hadjar, "Path-reduced costs for eliminating arcs in
routing and scheduling", INFORMS Journal on Computing 22 (2010): fixing by a forward and a backward
pass.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from schedgap.instances.hare import HareInstance, arrays
from schedgap.instances.hare.compiled import grouped
from schedgap.models.hare.integer_time import Ints, steps

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class JobWindows:
    """Barriers and starts that a node of the search leaves open to a job: 0 if open, else inf."""

    barrier: tuple[Floats, ...]  # [r][t]
    start: tuple[Floats, ...]  # [j][k, t]; identical tasks with equal masks share one array


@dataclass(frozen=True, slots=True, eq=False)
class JobData:
    """One job in whole steps."""

    arrival: int
    weight: int
    first: int  # index i of its first task
    rounds: tuple[tuple[int, ...], ...]  # [r] tasks j
    train: Ints  # [j, k]
    duration: Ints  # [j, k]
    alike: tuple[tuple[int, ...], ...]  # [j] identical tasks of its round, itself included
    span: int  # latest t
    root: JobWindows


@dataclass(frozen=True, slots=True)
class ScheduleColumn:
    """One schedule of a job."""

    barrier: tuple[int, ...]  # [r] t by which the round is synchronized
    kind: tuple[int, ...]  # [j]
    start: tuple[int, ...]  # [j]


def job_data(instance: HareInstance, n: int, latest: int) -> JobData:
    """Return a job with the windows of all its schedules that end by a given time.

    `latest`: latest completion, in steps from time 0.
    """
    view, whole = arrays(instance), steps(instance)
    own = range(view.job_rounds[n], view.job_rounds[n + 1])
    first, last = int(view.round_tasks[own.start]), int(view.round_tasks[own.stop])
    arrival = int(whole.arrival[n])
    duration = whole.duration[first:last]
    head = whole.head[first:last] - arrival
    end = latest - arrival - whole.tail[first:last]
    time = np.arange(latest - arrival + 1)
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
        span=latest - arrival,
        root=JobWindows(barrier, tuple(start)),
    )


def _mask(allowed: NDArray[np.bool_]) -> Floats:
    """Return 0 where allowed, else inf."""
    return np.where(allowed, 0.0, np.inf)


@dataclass(frozen=True, slots=True, eq=False)
class _PricedGroup:
    """Tasks of a round with equal times and masks."""

    tasks: tuple[int, ...]
    cost: list[Floats | None]  # [k][start - first_start]; None if no start fits
    cheapest: Floats  # [s, e] minimum price of one task between the barriers s and e


@dataclass(frozen=True, slots=True, eq=False)
class _PricedRound:
    """One round: barriers before it at `first_start + s`, barriers after it at `first_end + e`."""

    first_start: int
    first_end: int
    before: Floats  # [s] minimum price of all earlier rounds
    after: Floats  # [e] the same, this round included
    groups: tuple[_PricedGroup, ...]
    total: Floats  # [s, e] minimum price of the round


@dataclass(frozen=True, slots=True, eq=False)
class PricedJob:
    """Forward pass of a job; `cost` is the minimum of w_n C_n plus the price of the GPU time."""

    cost: float
    by_end: Floats  # [e] the same for each last barrier
    rounds: tuple[_PricedRound, ...]


class JobPricer:
    """Shortest paths of jobs, and reduced-cost fixing by them.

    `span`: largest span of a job to be priced, in steps.
    """

    def __init__(self, span: int) -> None:
        time = np.arange(span + 2)
        self._early = np.where(time[None, :] < time[:, None], np.inf, 0.0)  # [s, t] inf for t < s

    def price(self, job: JobData, windows: JobWindows, prefix: Floats) -> PricedJob | None:
        """Return the cheapest schedules of a job, or None if its windows admit none.

        `prefix` [k, t]: price of one GPU of kind k from time 0 to t, t in steps from time 0.

        Notes
        -----
        Forward pass: after[e] = min_s before[s] + sum over the tasks of the round of the cheapest
        price between the barriers s and e.
        """
        prefix = prefix[:, job.arrival :]
        before, first_start = np.zeros(1), 0
        rounds = []
        for r, tasks in enumerate(job.rounds):
            open_ends = np.flatnonzero(windows.barrier[r] == 0)
            if not len(open_ends):
                return None
            first_end, last_end = int(open_ends[0]), int(open_ends[-1])
            shape = len(before), last_end - first_end + 1
            groups = tuple(
                self._group(job, same, windows, prefix, first_start, first_end, shape)
                for same in _same_masks(tasks, windows)
            )
            total = np.sum([len(group.tasks) * group.cheapest for group in groups], axis=0)
            after = (before[:, None] + total).min(axis=0)
            after += windows.barrier[r][first_end : last_end + 1]
            rounds.append(_PricedRound(first_start, first_end, before, after, groups, total))
            before, first_start = after, first_end
        ends = job.arrival + first_start + np.arange(len(before))
        by_end = before + job.weight * ends
        cost = float(by_end.min())
        return PricedJob(cost, by_end, tuple(rounds)) if np.isfinite(cost) else None

    def _group(
        self,
        job: JobData,
        tasks: tuple[int, ...],
        windows: JobWindows,
        prefix: Floats,
        first_start: int,
        first_end: int,
        shape: tuple[int, int],
    ) -> _PricedGroup:
        """Return the cheapest start of a task between every two barriers."""
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
            # price of a start: prefix at its end of training less prefix at its start
            of_kind = (
                prefix[k, first_start + train : stop + train]
                - prefix[k, first_start:stop]
                + windows.start[j][k, first_start:stop]
            )
            cost.append(of_kind)
            # [s, t] minimum over the starts from s to t
            up_to = of_kind + self._early[: shape[0], :length]
            np.minimum.accumulate(up_to, axis=1, out=up_to)
            column = length - shape[1]  # the last start that ends by the first barrier
            target = cheapest[:, max(0, -column) :]
            np.minimum(target, up_to[:, max(0, column) :], out=target)
        return _PricedGroup(tasks, cost, cheapest)

    def reduce(
        self, job: JobData, priced: PricedJob, windows: JobWindows, slack: float
    ) -> JobWindows:
        """Return the windows without what no schedule of cost up to `priced.cost + slack` uses.

        `priced`: result of `price` for these windows. `slack`: >= 0, in grid steps.

        Notes
        -----
        Backward pass: rest[e] is the minimum cost from barrier e to the completion, so the cheapest
        schedule through barrier e costs after[e] + rest[e]. A start costs its own price plus a
        minimum over all barriers s and e around it: of before[s] + the other tasks between s and e
        + rest[e].
        """
        barrier, start = list(windows.barrier), list(windows.start)
        current = priced.rounds[-1]
        rest = job.weight * (
            job.arrival + current.first_end + np.arange(len(current.after), dtype=float)
        )
        limit = priced.cost + slack
        for r in reversed(range(len(job.rounds))):
            current = priced.rounds[r]
            rest[~np.isfinite(current.after)] = np.inf
            through = current.after + rest
            barrier[r] = np.full(job.span + 1, np.inf)
            barrier[r][current.first_end : current.first_end + len(rest)] = _mask(through <= limit)
            for group in current.groups:
                mask = self._open_starts(job, current, group, rest, limit)
                for j in group.tasks:
                    start[j] = mask
            rest = (current.total + rest).min(axis=1)
        return JobWindows(tuple(barrier), tuple(start))

    def _open_starts(
        self, job: JobData, current: _PricedRound, group: _PricedGroup, rest: Floats, limit: float
    ) -> Floats:
        """Return [k, t] the mask of the starts through which a schedule costs at most `limit`."""
        others = current.before[:, None] + rest  # [s, e] cost of all but one task of the group
        for other in current.groups:
            count = len(other.tasks) - (other is group)
            if count:
                others = others + count * other.cheapest
        # minimum over the barriers at or before a start, and at or after its end
        np.minimum.accumulate(others, axis=0, out=others)
        others = np.minimum.accumulate(others[:, ::-1], axis=1)[:, ::-1]
        kinds = len(group.cost)
        mask = np.full((kinds, job.span + 1), np.inf)
        for k, cost in enumerate(group.cost):
            if cost is None:
                continue
            t = np.arange(len(cost))
            s = np.minimum(t, len(current.before) - 1)
            shift = current.first_start + int(job.duration[group.tasks[0], k]) - current.first_end
            e = np.maximum(t + shift, 0)
            mask[k, current.first_start : current.first_start + len(cost)] = _mask(
                others[s, e] + cost <= limit
            )
        return mask


def column(job: JobData, priced: PricedJob) -> ScheduleColumn:
    """Return the cheapest schedule of a job."""
    e = int(priced.by_end.argmin())
    barrier = [0] * len(job.rounds)
    kind, start = [0] * len(job.train), [0] * len(job.train)
    for r in reversed(range(len(job.rounds))):
        current = priced.rounds[r]
        barrier[r] = current.first_end + e
        s = int((current.before + current.total[:, e]).argmin())
        for group in current.groups:
            best, choice = np.inf, (0, 0)
            for k, cost in enumerate(group.cost):
                last = barrier[r] - int(job.duration[group.tasks[0], k]) - current.first_start
                if cost is not None and last >= s:
                    t = s + int(cost[s : last + 1].argmin())
                    if cost[t] < best:
                        best, choice = cost[t], (k, current.first_start + t)
            for j in group.tasks:
                kind[j], start[j] = choice
        e = s
    return ScheduleColumn(tuple(barrier), tuple(kind), tuple(start))


def _same_masks(tasks: tuple[int, ...], windows: JobWindows) -> list[tuple[int, ...]]:
    """Group the tasks of a round that share one mask; only identical tasks do."""
    groups = grouped(id(windows.start[j]) for j in tasks)
    return [tuple(tasks[place] for place in group) for group in groups]
