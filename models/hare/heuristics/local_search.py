"""Iterated local search over the order in which `dispatch` places batches, and their prices (ours).

A priority plan is an order of the batches and, for each batch, the index of the prices of GPU time
that it sees. Plans with whole jobs in Smith's order are the start; a move shifts a job, or part of
it, to another position, or changes its prices.

References
----------
H. R. Lourenço, O. C. Martin, T. Stützle, "Iterated local search", Handbook of Metaheuristics,
Kluwer (2003).
W. E. Smith, "Various optimizers for single-stage production", Naval Research Logistics Quarterly 3
(1956).
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Annotated, Literal

from annotated_types import Ge

from schedgap.instances.hare import HareInstance, HareSchedule
from schedgap.models.hare.algorithms.algorithm_1 import GpuRule
from schedgap.models.hare.algorithms.list_wspt import list_wspt
from schedgap.models.hare.heuristics.dispatch import PartialSchedule, Slot, to_schedule, workload
from schedgap.models.method import Budget, MethodResult, RunContext
from schedgap.solvers import Clock

# Price of time on a GPU that is the fastest for every task, in mean weights of a job. With 0 a
# batch never waits for a cheaper GPU.
LEVELS = (0.0, 0.1, 0.2, 0.4, 0.8)
ARRIVAL_FACTORS = (0.0, 0.5)  # factor of the arrival next to work / weight, in the first orders
SPLIT = 200  # up to this number, every task is a separate batch: more moves, but slower
CHECKPOINTS = 32  # partial schedules stored along a plan; decoding starts from the last common one
STALL = 10  # moves without improvement, per batch of the instance, before a kick
PATIENCE = 100  # kicks in a row without improvement before the search ends
MOVES_WITHOUT_LIMIT = 2000  # moves of `local-search`, if neither moves nor a time limit are given

OnImprovement = Callable[[HareSchedule, float], None]  # with its value, in the instance's units


@dataclass(frozen=True, slots=True)
class PriorityPlan:
    """An order of the batches, with the prices that each sees."""

    order: list[int]  # jobs; the r-th occurrence of n places the r-th position of its batches
    batch_at: list[int]  # [p] batch b at position p
    prices: list[int]  # [b] index of the prices by which the batch chooses its GPUs


@dataclass(frozen=True, slots=True)
class DecodedPlan:
    """The schedule that a plan leads to."""

    plan: PriorityPlan
    value: float  # sum w_n C_n in steps
    completion: list[float]  # [n] C_n in steps
    placed: list[tuple[int, list[Slot]]]  # (b, slots) along the order
    checkpoints: list[PartialSchedule]  # before every `stride`-th entry of the order


class PlanSearch:
    """Decoder and neighbourhood of plans for one instance.

    `gpu_rule`: whether batches prefer slots by their ends or by their starts. `budget`: its clock
    and seed. `on_improvement`: called with every better schedule and its value, first with
    `list_wspt`'s.
    """

    def __init__(
        self,
        instance: HareInstance,
        gpu_rule: GpuRule,
        budget: Budget,
        on_improvement: OnImprovement = lambda schedule, value: None,
    ) -> None:
        self.instance, self.on_improvement = instance, on_improvement
        split = instance.number_of_tasks <= SPLIT
        self.work = work = workload(instance, split=split)
        self.by_end = gpu_rule == "finish"
        self.clock, self.rng = budget.clock, Random(budget.seed)
        self.stride = max(1, len(work.batches) // CHECKPOINTS)
        classes = range(len(work.capacity))
        mean = sum(work.weight) / work.jobs
        levels = LEVELS if self.by_end and len(classes) > 1 else LEVELS[:1]
        self.prices = [[level * mean * speed for speed in work.speed] for level in levels]
        self.levels = range(len(levels))
        if len(levels) > 1:  # or one class only
            self.prices += [[0 if k == only else math.inf for k in classes] for only in classes]
        self.alone = [  # [n] completion of the job alone
            arrival + work.rest[b]
            for arrival, b in zip(work.arrival, work.job_batches[:-1], strict=True)
        ]
        self.incumbent, self.value = list_wspt(instance, gpu_rule), math.inf
        self._report(self.incumbent)
        self._first = self.first_plans()
        self.best: DecodedPlan | None = None
        self.current: DecodedPlan | None = None
        self.stalled, self.kicks, self.patience = 0, 0, PATIENCE

    def _report(self, schedule: HareSchedule) -> None:
        """Make a schedule the incumbent if it is better."""
        value = schedule.value(self.instance)
        if value < self.value:
            self.incumbent, self.value = schedule, value
            self.on_improvement(schedule, value)

    def first_plans(self) -> Iterator[PriorityPlan]:
        """Yield plans with whole jobs in Smith's order, with and without regard to arrivals."""
        work = self.work
        for factor in ARRIVAL_FACTORS:
            key = [
                (x / w if w else math.inf) + factor * a
                for x, w, a in zip(work.work, work.weight, work.arrival, strict=True)
            ]
            order = [
                n
                for n in sorted(range(work.jobs), key=key.__getitem__)
                for _ in range(work.job_batches[n], work.job_batches[n + 1])
            ]
            for level in self.levels:
                yield PriorityPlan(order, [*range(len(order))], [level] * len(order))

    def decode(
        self,
        plan: PriorityPlan,
        limit: float = math.inf,
        before: DecodedPlan | None = None,
        first: int = 0,
    ) -> DecodedPlan | None:
        """Return the schedule of a plan, or None if it exceeds the limit or the clock expires.

        `limit`: largest value of interest, in steps. `before`: a decoded plan that agrees with this
        one before entry `first` of the order; its checkpoints are reused. `first`: see `before`.
        """
        if before is None:
            partial, checkpoints, placed = PartialSchedule(self.work), [], []
        else:
            common = min(first // self.stride, len(before.checkpoints) - 1)
            partial, checkpoints = before.checkpoints[common].copy(), before.checkpoints[:common]
            placed = before.placed[: common * self.stride]
        for place in range(len(placed), len(plan.order)):
            if place % self.stride == 0:
                if self.clock.expired() or partial.lower_bound() > limit:
                    return None
                checkpoints.append(partial.copy())
            n = plan.order[place]
            b = plan.batch_at[partial.next_batch[n]]
            slots = partial.add(n, b, self.prices[plan.prices[b]], by_end=self.by_end)
            placed.append((b, slots))
        value = partial.lower_bound()
        if value > limit:
            return None
        return DecodedPlan(plan, value, partial.ready, placed, checkpoints)

    def neighbor(self, current: DecodedPlan) -> tuple[PriorityPlan, int]:
        """Return a random neighbour, and the first entry of the order that may differ.

        A job that is delayed by others moves forward, or any job backward, as a whole or in part;
        or it changes its prices, or the order of two batches of a round.
        """
        work, rng, plan = self.work, self.rng, current.plan
        delay = [  # [n] weighted
            weight * max(end - alone, 0)
            for weight, end, alone in zip(work.weight, current.completion, self.alone, strict=True)
        ]
        forward = any(delay) and rng.random() < 0.8
        n = rng.choices(range(work.jobs), delay if forward else None)[0]
        start = work.job_batches[n]
        places = [place for place, job in enumerate(plan.order) if job == n]
        first, end = 0, len(places)
        if rng.random() < 0.3:  # part of the job
            first = rng.randrange(end)
            end = rng.randrange(first, end) + 1
        if len(self.prices) > 1 and rng.random() < 0.2:  # other prices
            prices = plan.prices[:]
            batches = slice(start + first, start + end)
            prices[batches] = [rng.randrange(len(self.prices))] * (end - first)
            return PriorityPlan(plan.order, plan.batch_at, prices), places[first]
        if not work.opens[start + first + 1] and rng.random() < 0.2:  # swap two of a round
            batch_at, p = plan.batch_at[:], start + first
            batch_at[p], batch_at[p + 1] = batch_at[p + 1], batch_at[p]
            return PriorityPlan(plan.order, batch_at, plan.prices), places[first]
        moved = set(places[first:end])
        rest = [job for place, job in enumerate(plan.order) if place not in moved]
        distance = 1 + int(rng.random() ** 2 * len(rest))
        here = places[first]
        target = max(0, here - distance) if forward else min(len(rest), here + distance)
        order = rest[:target] + [n] * len(moved) + rest[target:]
        return PriorityPlan(order, plan.batch_at, plan.prices), min(here, target)

    def improve(self, clock: Clock, moves: int | None = None) -> None:
        """Search until the clock expires or the moves are used up; a later call continues.

        `moves`: number of neighbours to try, >= 0, after the first plans; None ends after
        `PATIENCE` kicks without improvement. The search also ends at the critical-path bound.
        """
        self.clock = clock
        for plan in () if clock.expired() else self._first:
            decoded = self.decode(plan, self.best.value if self.best else math.inf)
            if decoded is not None:
                self.best = self.current = decoded
                self._report(to_schedule(self.instance, self.work, decoded.placed))
            if clock.expired():
                return
        if self.best is None or self.current is None:
            return
        path_bound, tried = PartialSchedule(self.work).lower_bound(), 0
        while self.best.value > path_bound and tried != moves and not clock.expired():
            tried += 1
            if self.stalled > STALL * len(self.work.batches):  # kick: a few moves at any cost
                self.current, self.stalled, self.kicks = self.best, 0, self.rng.randint(1, 4)
                self.patience -= 1
                if moves is None and self.patience < 0:
                    break
            plan, first = self.neighbor(self.current)
            limit = math.inf if self.kicks > 0 else self.current.value
            decoded = self.decode(plan, limit, self.current, first)
            self.kicks -= 1
            better = decoded is not None and decoded.value < self.current.value
            self.stalled = 0 if better else self.stalled + 1
            self.current = decoded or self.current
            if self.current.value < self.best.value:
                self.best, self.patience = self.current, PATIENCE
                self._report(to_schedule(self.instance, self.work, self.best.placed))


def local_search(
    instance: HareInstance,
    *,
    budget: Budget,
    moves: int | None = None,
    gpu_rule: GpuRule = "finish",
    on_improvement: OnImprovement = lambda schedule, value: None,
) -> HareSchedule:
    """Return the best schedule found until the clock expires or the moves are used up.

    `budget`: limit of the search, though the schedule of `list_wspt` is always computed (0.3 s for
    24,000 tasks), and its seed. The same seed with an endless clock gives the same schedule.
    `moves`, `gpu_rule`, `on_improvement`: as for `PlanSearch`.

    Notes
    -----
    Ours: iterated local search with first improvement; never worse than `list_wspt`.
    """
    search = PlanSearch(instance, gpu_rule, budget, on_improvement)
    search.improve(budget.clock, moves)
    return search.incumbent


def run_local_search(
    instance: HareInstance,
    call: RunContext,
    *,
    gpu_rule: Annotated[
        Literal["finish", "available"],
        "prefer the GPU that synchronizes the task first, or that is free first",
    ] = "finish",
    moves: Annotated[
        int | None,
        "moves to try (default: 2000; with a time limit, until it expires or a hundred kicks in "
        "a row fail)",
        Ge(0),
    ] = None,
) -> MethodResult:
    """Run the local search within the time of a call."""
    if moves is None and call.clock.limit is None:
        moves = MOVES_WITHOUT_LIMIT
    call.progress.phase("searching")
    schedule = local_search(
        instance,
        budget=call.budget,
        moves=moves,
        gpu_rule=gpu_rule,
        on_improvement=call.progress.incumbent,
    )
    return MethodResult(schedule)
