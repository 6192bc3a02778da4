"""What a proof of optimality for a hare instance is about: windows of barriers, starts and kinds.

Written from the paper's constraints and the instance alone, like `rules.py`; it shares no code
with the searches.

All times are integers: steps, counted from the first arrival. Lemmas:

Root. Moving every task to the left as far as (4), (7) and (8) allow gives a schedule of no higher
value whose times are whole. Tasks of one round with equal times may exchange their names, so they
start in the order of their numbers. No job completes earlier than it can alone. So if job n
completes at C_n, the value is at least `least` + w_n (C_n - earliest_n). Hence a schedule of value
<= goal has C_n <= earliest_n + (goal - least) / w_n.

Excess. Prices p >= 0 of a GPU of each kind in each step, 0 after the last one named. Take the sum
over the jobs of the least w_n C_n + price of the GPU time used, and subtract the price of all GPU
time. No more GPUs run at one time than there are, so no schedule has a lower value than this. A
job alone is a shortest path over its barriers: between two barriers each task takes its cheapest
start and kind. GPUs with equal times for every task are of one kind.

Reduce. Let a barrier or start raise the least cost of its job by more than goal - bound. Then it is
in no schedule of value <= goal.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import ceil, gcd, lcm
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedgap.instances.hare.instance import Gpu, HareInstance, Task
from schedgap.solvers.proofs.checker import RefusedError, whole

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

LARGEST = 2**52  # sums stay below it; int64 holds a few of them
NEVER = 2**55  # the cost of what is not allowed; eight of them fit int64
MAX_BITS = 30  # prices are multiples of 2^-q, q <= 30
_KEPT_CELLS = 20_000_000  # prices that are cached


class JobSteps(NamedTuple):
    """One job in steps; t counts from its arrival."""

    arrival: int  # after the first one
    weight: int
    rounds: list[list[int]]  # [r] tasks j
    train: list[list[int]]  # [j][k]
    duration: list[list[int]]  # [j][k] training and synchronization
    span: int = 0  # t <= span in every schedule of value <= goal

    @property
    def alone(self) -> int:
        """Steps that the job takes at least."""
        return sum(max(min(self.duration[j]) for j in tasks) for tasks in self.rounds)


class Windows(NamedTuple):
    """What is open to one job."""

    barrier: tuple[Bools, ...]  # [r][t]
    start: tuple[Bools, ...]  # [j][k, t]


Region = tuple[Windows, ...]


def steps(instance: HareInstance) -> tuple[Fraction, Fraction]:
    """Return the largest steps of which all times, and all weights, are multiples.

    Times and weights count as the decimal numbers that the file shows.
    """
    times = {Fraction(repr(job.arrival)) for job in instance.jobs}
    for job in instance.jobs:
        for _, task, _ in job.times():
            for gpu in instance.gpus:
                times |= {*_times(task, gpu)}
    return _step(times), _step({Fraction(repr(job.weight)) for job in instance.jobs})


def _step(numbers: set[Fraction]) -> Fraction:
    whole = lcm(*(number.denominator for number in numbers))
    step = gcd(*(int(number * whole) for number in numbers))
    return Fraction(step, whole) if step else Fraction(1)


def goal(instance: HareInstance, objective: float | None) -> int:
    """Return the largest value that a proof of optimality excludes, in time times weight steps.

    `objective`: of the schedule that is claimed to be optimal.

    Raises
    ------
    RefusedError
        For None, as there always is a schedule; and for values that doubles do not tell apart.
    """
    if objective is None:
        raise RefusedError("/goal", "there always is a schedule")
    time, weight = steps(instance)
    value = Fraction(objective) / (time * weight)
    round_off = abs(value) * _roundings(instance.number_of_tasks) / 2**53
    if round_off > Fraction(1, 4):
        raise RefusedError("/goal", "objectives of this size are too large to be told apart")
    nearest = round(value)
    # A schedule that waits has another value; the next whole value below it is better.
    return (nearest if abs(value - nearest) <= round_off else ceil(value)) - 1


def excluded(instance: HareInstance, goal: int) -> tuple[str, Fraction]:
    """Return which objectives a goal excludes: "<=" or ">=", and a value."""
    time, weight = steps(instance)
    return "<=", goal * time * weight


def _roundings(tasks: int) -> int:
    """Return how many roundings of doubles, each by a part of 2^-53, are in an objective."""
    return 4 * (2 + tasks)


def space(instance: HareInstance, goal: int, proof: Mapping[str, Any]) -> "HareSpace":
    """Return what a proof is about: the schedules of value <= goal.

    `proof`: it may hold no cuts.
    """
    if proof.get("cuts") != []:
        raise RefusedError("/cuts", "needs an empty list")
    return HareSpace(instance, goal)


class HareSpace:
    """The schedules of an instance with a value of `goal` or less, as windows of its jobs.

    A vector is `{"q": bits, "p": [[k, t, price], ...]}`: prices in units of 2^-q by kind and step
    from time 0. Prices before the first arrival are left out. A branch is `["barrier", n, r, at]`
    or `["start", n, j, at]`: up to `at`, or later. Or it is `["kind", n, j, k]`: on kind k, or not.
    n is the job, r its round, j its task, all from 0.
    """

    def __init__(self, instance: HareInstance, goal: int) -> None:
        self.count, self.first, jobs = _in_steps(instance)
        horizon = max(job.arrival for job in jobs) + sum(
            max(row) for job in jobs for row in job.duration
        )
        weights = sum(job.weight for job in jobs)
        # The rules add times in doubles: round-off of every task stays below half a step.
        most = max(1, weights) * (self.first + horizon)
        if _roundings(instance.number_of_tasks) * most >= LARGEST:
            raise RefusedError("/goal", "times and weights are too large to be summed exactly")
        self.goal = goal - weights * self.first
        spare = max(0, self.goal - sum(job.weight * (job.arrival + job.alone) for job in jobs))
        self.jobs = []
        for job in jobs:
            end = horizon - job.arrival
            if job.weight:
                end = min(end, job.alone + spare // job.weight)
            self.jobs.append(job._replace(span=end))
        self.end = max(job.arrival + job.span for job in self.jobs)
        self._prices: dict[int, tuple[Mapping[str, Any], Ints, int, int]] = {}

    def root(self) -> Region:
        """Return the windows in which every schedule of value <= goal lies."""
        kinds = len(self.count)
        return tuple(
            Windows(
                tuple(np.ones(job.span + 1, bool) for _ in job.rounds),
                tuple(np.ones((kinds, job.span + 1), bool) for _ in job.train),
            )
            for job in self.jobs
        )

    def split(self, region: Region, branch: Sequence[Any]) -> tuple[Region, Region]:
        """Return the windows of both sides of a branch.

        `region`: windows of each job. `branch`: as in a proof file.
        """
        by, n, what, at = branch if len(branch) == 4 else (None, 0, 0, 0)
        if by not in ("barrier", "start", "kind"):
            raise RefusedError("/b/0", "a branch is on a barrier, a start or a kind")
        if not 0 <= whole(n, "/b/1") < len(self.jobs):
            raise RefusedError("/b/1", f"there is no job {n}")
        job, old, parts = self.jobs[n], region[n], []
        if not 0 <= whole(what, "/b/2") < len(job.rounds if by == "barrier" else job.train):
            raise RefusedError("/b/2", f"job {n} has no {by} {what}")
        times = np.arange(job.span + 1) <= min(whole(at, "/b/3"), job.span)
        for first in (True, False):
            barrier, start = list(old.barrier), list(old.start)
            side = times if first else ~times
            if by == "barrier":
                barrier[what] = barrier[what] & side
            elif by == "start":  # alike tasks start in the order of their numbers
                for j in self._alike(job, what):
                    if j <= what if first else j >= what:
                        start[j] = start[j] & side
            else:
                own = np.arange(len(self.count)) == at
                start[what] = start[what] & (own if first else ~own)[:, None]
            new = list(region)
            new[n] = Windows(tuple(barrier), tuple(start))
            parts.append(tuple(new))
        return parts[0], parts[1]

    def excess(self, region: Region, vector: Mapping[str, Any]) -> int | None:
        """Return the bound of prices less the goal, times 2^q; None if a job has no schedule.

        `region`: windows of each job. `vector`: prices, as in a proof file; without any they are 0.
        """
        paid, total, bits = self._paid(vector)
        values = [self._price(job, own, paid, bits)[0]
                  for job, own in zip(self.jobs, region, strict=True)]  # fmt: skip
        if max(values) >= NEVER:
            return None
        return sum(values) - total - (self.goal << bits)

    def reduce(self, region: Region, vector: Mapping[str, Any]) -> Region:
        """Return the windows without what no schedule of value <= goal uses.

        `region`: windows of each job. `vector`: prices, as in a proof file.
        """
        paid, total, bits = self._paid(vector)
        priced = [
            self._price(job, own, paid, bits) for job, own in zip(self.jobs, region, strict=True)
        ]
        slack = (self.goal << bits) + total - sum(value for value, _ in priced)
        if max(value for value, _ in priced) >= NEVER or slack < 0:  # nothing is in it
            shut = tuple(np.zeros_like(mask) for mask in region[0].barrier)
            return (region[0]._replace(barrier=shut), *region[1:])
        return tuple(
            self._within(job, own, value + slack, layers, bits)
            for job, own, (value, layers) in zip(self.jobs, region, priced, strict=True)
        )

    def _alike(self, job: JobSteps, j: int) -> list[int]:
        """Return the tasks of the round of j with equal times."""
        own = next(tasks for tasks in job.rounds if j in tasks)
        shape = job.train[j], job.duration[j]
        return [i for i in own if (job.train[i], job.duration[i]) == shape]

    def _paid(self, vector: Mapping[str, Any]) -> tuple[Ints, int, int]:
        """Return the price of a GPU from 0 to t [k, t], the price of all GPU time, and the bits."""
        key = id(vector)
        if key in self._prices:
            return self._prices[key][1:]
        bits = whole(vector.get("q", 0), "/q")
        cells = vector.get("p", [])
        if not 0 <= bits <= MAX_BITS or not isinstance(cells, list):
            raise RefusedError("/q", f"needs bits from 0 to {MAX_BITS} and a list of prices")
        price = [dict[int, int]() for _ in self.count]
        for cell in cells:
            if not isinstance(cell, list) or len(cell) != 3:
                raise RefusedError("/p", "needs [kind, step, price]")
            k, t, p = (whole(number, "/p") for number in cell)
            if not (0 <= k < len(self.count) and t >= 0 and p >= 0) or t - self.first in price[k]:
                raise RefusedError("/p", f"no price for kind {k} and step {t}, or a second one")
            if 0 <= t - self.first < self.end:  # no job runs before or after: it would only be paid
                price[k][t - self.first] = p
        sums = [sum(own.values()) for own in price]
        tasks = sum(len(job.train) for job in self.jobs)
        total = sum(count * paid for count, paid in zip(self.count, sums, strict=True))
        costs = sum(job.weight * (job.arrival + job.span) for job in self.jobs) << bits
        if costs + total + tasks * max(sums) >= LARGEST or abs(self.goal) << bits >= LARGEST:
            raise RefusedError("/p", "prices are too large to be summed exactly")
        steps = np.zeros((len(self.count), self.end + 1), dtype=np.int64)
        for k, own in enumerate(price):
            for t, p in own.items():
                steps[k, t + 1] = p
        paid = np.cumsum(steps, axis=1)
        if len(self._prices) * paid.size > _KEPT_CELLS:
            self._prices.clear()
        self._prices[key] = vector, paid, total, bits
        return paid, total, bits

    def _price(
        self, job: JobSteps, windows: Windows, paid: Ints, bits: int
    ) -> tuple[int, list["_Layer"]]:
        """Return the least cost of a job in its windows, NEVER if none, and its rounds."""
        reach, before = np.zeros(1, dtype=np.int64), range(1)
        layers: list[_Layer] = []
        for r, tasks in enumerate(job.rounds):
            ends = np.flatnonzero(windows.barrier[r])
            if not len(ends):
                return NEVER, []
            after = range(int(ends[0]), int(ends[-1]) + 1)
            groups: dict[tuple[Any, ...], list[int]] = {}
            for j in tasks:
                key = (*job.train[j], *job.duration[j], windows.start[j].tobytes())
                groups.setdefault(key, []).append(j)
            made = [
                _group(job, own, windows.start[own[0]], paid, before, after)
                for own in groups.values()
            ]
            total = np.zeros((len(before), len(after)), dtype=np.int64)
            for group in made:
                shut = group.between >= NEVER
                total += np.where(shut, 0, len(group.tasks) * group.between)
                total[shut] = NEVER
                np.minimum(total, NEVER, out=total)
            least = np.minimum((reach[:, None] + total).min(axis=0), NEVER)
            least[~windows.barrier[r][after.start : after.stop]] = NEVER
            layers.append(_Layer(before, after, reach, least, total, made))
            reach, before = least, after
        ends = (job.weight * (job.arrival + np.array(before))) << bits
        return int(np.minimum(reach + ends, NEVER).min()), layers

    def _within(
        self, job: JobSteps, windows: Windows, limit: int, layers: list["_Layer"], bits: int
    ) -> Windows:
        """Return the barriers and starts of schedules of the job that cost `limit` at most."""
        rest = (job.weight * (job.arrival + np.array(layers[-1].ends))) << bits
        barrier, start = list(windows.barrier), list(windows.start)
        for r in reversed(range(len(job.rounds))):
            layer = layers[r]
            first, final = layer.begins[0], layer.ends[-1]
            rest = np.where(layer.after < NEVER, rest, NEVER)
            barrier[r] = np.zeros_like(windows.barrier[r])
            barrier[r][layer.ends[0] : final + 1] = layer.after + rest <= limit
            for group in layer.groups:
                # All of the round but one task of this group, and the rest of the job.
                others = np.where(
                    layer.total < NEVER,
                    layer.total - np.minimum(group.between, layer.total),
                    NEVER,
                )
                through = np.minimum(layer.before[:, None] + others, NEVER) + rest[None, :]
                # The best over all barriers at or before a start, and at or after its end.
                through = np.minimum.accumulate(through, axis=0)
                through = np.minimum.accumulate(through[:, ::-1], axis=1)[:, ::-1]
                for j in group.tasks:
                    allowed = np.zeros_like(windows.start[j])
                    for k, duration in enumerate(job.duration[j]):
                        t = np.arange(first, final + 1 - duration)
                        s = np.minimum(t, layer.begins[-1]) - first
                        e = np.maximum(t + duration, layer.ends[0]) - layer.ends[0]
                        allowed[k, t] = windows.start[j][k, t] & (
                            through[s, e] + group.start[k] <= limit
                        )
                    start[j] = allowed
            rest = np.minimum((layer.total + rest[None, :]).min(axis=1), NEVER)
        return Windows(tuple(barrier), tuple(start))


class _Group(NamedTuple):
    """Alike tasks of a round with equal windows."""

    tasks: list[int]
    start: list[Ints]  # [k][t] price of one task, by start from the first barrier before it on
    between: Ints  # [s, e] least price between barriers s and e


class _Layer(NamedTuple):
    """One round: least costs at the barriers before and after it, and of the round between them."""

    begins: range  # from the first open barrier before it to the last
    ends: range  # the same after it
    before: Ints  # [s]
    after: Ints  # [e]
    total: Ints  # [s, e]
    groups: list[_Group]


def _group(
    job: JobSteps, tasks: list[int], allowed: Bools, paid: Ints, before: range, after: range
) -> _Group:
    """Return what one task of some alike ones costs, by start and between barriers."""
    j = tasks[0]
    between = np.full((len(before), len(after)), NEVER, dtype=np.int64)
    starts = []
    for k, (train, duration) in enumerate(zip(job.train[j], job.duration[j], strict=True)):
        t = np.arange(before[0], after[-1] + 1 - duration)  # starts that fit
        used = paid[k, job.arrival + t + train] - paid[k, job.arrival + t]
        cost = np.where(allowed[k, t], used, NEVER)
        later = np.array(before)[:, None] <= t
        cheapest = np.minimum.accumulate(np.where(later, cost, NEVER), axis=1)
        last = np.array(after) - duration - before[0]  # the last start that ends by a barrier
        fits = last >= 0
        between[:, fits] = np.minimum(between[:, fits], cheapest[:, last[fits]])
        starts.append(cost)
    return _Group(tasks, starts, between)


def _in_steps(instance: HareInstance) -> tuple[list[int], int, list[JobSteps]]:
    """Return how many GPUs there are of each kind, the first arrival, and the jobs in steps."""
    time, weight = steps(instance)
    tasks = [
        [task for r in range(job.number_of_rounds) for task in job.tasks_of(r)]
        for job in instance.jobs
    ]
    distinct = {id(task): task for own in tasks for task in own}
    kinds: dict[tuple[tuple[Fraction, Fraction], ...], list[Gpu]] = {}
    for gpu in instance.gpus:
        kinds.setdefault(tuple(_times(task, gpu) for task in distinct.values()), []).append(gpu)
    one = [gpus[0] for gpus in kinds.values()]
    first = min(Fraction(repr(job.arrival)) for job in instance.jobs)
    jobs = []
    for job, own in zip(instance.jobs, tasks, strict=True):
        numbers = iter(range(len(own)))
        rounds = [[next(numbers) for _ in job.tasks_of(r)] for r in range(job.number_of_rounds)]
        pairs = [[_times(task, gpu) for gpu in one] for task in own]
        jobs.append(
            JobSteps(
                int((Fraction(repr(job.arrival)) - first) / time),
                int(Fraction(repr(job.weight)) / weight),
                rounds,
                [[int(train / time) for train, _ in row] for row in pairs],
                [[int((train + sync) / time) for train, sync in row] for row in pairs],
            )
        )
    return [len(gpus) for gpus in kinds.values()], int(first / time), jobs


def _times(task: Task, gpu: Gpu) -> tuple[Fraction, Fraction]:
    """Return T^c and T^s of a task on a GPU, as the file shows them."""
    found = []
    for times in (task.training_time, task.synchronization_time or {}):
        value = times.get(gpu.id, times.get(gpu.kind, 0.0))
        found.append(Fraction(repr(value)))
    return found[0], found[1]
