"""Search for the order in which rounds are best placed, one after another, by `dispatch` (ours).

A plan is an order of the batches and for each one what GPU time is worth to it. Whole jobs in
Smith's order are good first plans; a move takes a job, or a part of it, to another place in the
order, or changes which GPUs it prefers.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from schedgap.instances.hare import HareInstance, HareSchedule
from schedgap.models.hare.algorithms.algorithm_1 import GpuRule
from schedgap.models.hare.algorithms.list_wspt import list_wspt
from schedgap.models.hare.heuristics.dispatch import PartialSchedule, Slot, to_schedule, workload
from schedgap.models.method import MethodResult, RunContext
from schedgap.solvers.children.clock import Clock

# What time on a GPU that is the fastest for every task costs, in mean weights of a job. With 0 a
# batch never waits for a cheaper GPU.
LEVELS = (0.0, 0.1, 0.2, 0.4, 0.8)
HURRIES = (0.0, 0.5)  # how much an arrival counts beside work / weight in the first orders
SPLIT = 200  # up to so many tasks each is placed on its own: more moves, and slower
CHECKPOINTS = (
    32  # partial schedules kept along a plan; a changed plan starts from the last in common
)
STALL = 10  # moves in vain, for each batch of the instance, before a kick
PATIENCE = 100  # kicks in a row that led to nothing better, before the search ends by itself

MOVES_WITHOUT_LIMIT = 2000  # of `local-search`, where neither moves nor a time limit were given

OnImprovement = Callable[[HareSchedule, float], None]  # with its value, in the instance's units


@dataclass(frozen=True, slots=True)
class PriorityPlan:
    """An order of the batches and their choices."""

    order: list[int]  # jobs; where n occurs for the r-th time, its r-th turn is placed
    turn: list[int]  # [p] the batch b that is placed in turn p
    choice: list[int]  # [b] index of the prices by which the batch chooses its GPUs


@dataclass(frozen=True, slots=True)
class DecodedPlan:
    """What a plan leads to."""

    plan: PriorityPlan
    value: float  # sum w_n C_n in steps
    completion: list[float]  # [n] C_n in steps
    placed: list[tuple[int, list[Slot]]]  # (b, slots) along the order
    checkpoints: list[
        PartialSchedule
    ]  # what was placed before every `stride`-th place of the order


class PlanSearch:
    """An instance, its prices, and how plans are followed and changed."""

    def __init__(self, instance: HareInstance, gpu_rule: GpuRule, clock: Clock, seed: int) -> None:
        split = instance.number_of_tasks <= SPLIT
        self.work = work = workload(instance, split=split)
        self.by_end = gpu_rule == "finish"
        self.clock, self.rng = clock, Random(seed)
        self.stride = max(1, len(work.batches) // CHECKPOINTS)
        classes = range(len(work.capacity))
        mean = sum(work.weight) / work.jobs
        levels = LEVELS if self.by_end and len(classes) > 1 else LEVELS[:1]
        self.prices = [[level * mean * speed for speed in work.speed] for level in levels]
        self.levels = range(len(levels))
        if len(levels) > 1:  # or one class only
            self.prices += [[0 if k == only else math.inf for k in classes] for only in classes]
        self.alone = [
            arrival + work.rest[b]
            for arrival, b in zip(work.arrival, work.job_batches[:-1], strict=True)
        ]

    def first_plans(self) -> Iterator[PriorityPlan]:
        """Yield whole jobs in Smith's order, with and without regard to arrivals."""
        work = self.work
        for hurry in HURRIES:
            key = [
                (x / w if w else math.inf) + hurry * a
                for x, w, a in zip(work.work, work.weight, work.arrival, strict=True)
            ]
            order = [
                n
                for n in sorted(range(work.jobs), key=key.__getitem__)
                for _ in range(work.job_batches[n], work.job_batches[n + 1])
            ]
            for level in self.levels:
                yield PriorityPlan(order, [*range(len(order))], [level] * len(order))

    def follow(
        self,
        plan: PriorityPlan,
        limit: float = math.inf,
        before: DecodedPlan | None = None,
        first: int = 0,
    ) -> DecodedPlan | None:
        """Return the course of a plan; None when it goes beyond the limit or the clock expires.

        `before` is the course of a plan that agrees with this one before place `first`.
        """
        if before is None:
            partial, checkpoints, placed = PartialSchedule(self.work), [], []
        else:
            common = min(first // self.stride, len(before.checkpoints) - 1)
            partial, checkpoints = before.checkpoints[common].copy(), before.checkpoints[:common]
            placed = before.placed[: common * self.stride]
        for place in range(len(placed), len(plan.order)):
            if place % self.stride == 0:
                if self.clock.expired() or partial.least() > limit:
                    return None
                checkpoints.append(partial.copy())
            n = plan.order[place]
            b = plan.turn[partial.following[n]]
            slots = partial.add(n, b, self.prices[plan.choice[b]], by_end=self.by_end)
            placed.append((b, slots))
        value = partial.least()
        return (
            DecodedPlan(plan, value, partial.ready, placed, checkpoints) if value <= limit else None
        )

    def neighbor(self, course: DecodedPlan) -> tuple[PriorityPlan, int]:
        """Return a plan one move away, and the first place at which it differs.

        A job that loses time to others moves up, or any job down, whole or in part; or it changes
        how it chooses its GPUs.
        """
        work, rng, plan = self.work, self.rng, course.plan
        loss = [
            weight * max(end - alone, 0)
            for weight, end, alone in zip(work.weight, course.completion, self.alone, strict=True)
        ]
        up = any(loss) and rng.random() < 0.8
        n = rng.choices(range(work.jobs), loss if up else None)[0]
        start = work.job_batches[n]
        places = [place for place, job in enumerate(plan.order) if job == n]
        first, end = 0, len(places)
        if rng.random() < 0.3:
            first = rng.randrange(end)
            end = rng.randrange(first, end) + 1
        if len(self.prices) > 1 and rng.random() < 0.2:
            choice = plan.choice[:]
            own = slice(start + first, start + end)
            choice[own] = [rng.randrange(len(self.prices))] * (end - first)
            return PriorityPlan(plan.order, plan.turn, choice), places[first]
        if not work.opens[start + first + 1] and rng.random() < 0.2:
            turn, p = plan.turn[:], start + first
            turn[p], turn[p + 1] = turn[p + 1], turn[p]
            return PriorityPlan(plan.order, turn, plan.choice), places[first]
        moved = set(places[first:end])
        rest = [job for place, job in enumerate(plan.order) if place not in moved]
        distance = 1 + int(rng.random() ** 2 * len(rest))
        here = places[first]
        target = max(0, here - distance) if up else min(len(rest), here + distance)
        order = rest[:target] + [n] * len(moved) + rest[target:]
        return PriorityPlan(order, plan.turn, plan.choice), min(here, target)


def local_search(
    instance: HareInstance,
    *,
    clock: Clock,
    seed: int = 0,
    moves: int | None = None,
    gpu_rule: GpuRule = "finish",
    on_improvement: OnImprovement = lambda schedule, value: None,
) -> HareSchedule:
    """Return the best schedule found until the clock expires or the moves are used up.

    Parameters
    ----------
    clock : Clock
        The schedule of `list_wspt` is returned in any case (0.3 s for 24,000 tasks).
    moves : int or None
        Changed plans to try, >= 0; None ends after `PATIENCE` kicks in vain. A seed and an endless
        clock repeat the answer.
    gpu_rule : "finish" or "available"
        Whether tasks prefer slots where they are synchronized first, or that start first.
    on_improvement : function
        Called with every better schedule and its value, first with the one of `list_wspt`.

    Notes
    -----
    Ours: iterated local search by first improvement, never worse than `list_wspt`. It ends early
    at the critical-path bound, below which no schedule goes.
    """
    search = PlanSearch(instance, gpu_rule, clock, seed)
    work, rng = search.work, search.rng
    shown = list_wspt(instance, gpu_rule)
    value = shown.value(instance)
    on_improvement(shown, value)

    def show(course: DecodedPlan) -> None:
        nonlocal shown, value
        schedule = to_schedule(instance, work, course.placed)
        if schedule.value(instance) < value:
            shown, value = schedule, schedule.value(instance)
            on_improvement(shown, value)

    best: DecodedPlan | None = None
    for plan in search.first_plans():
        best = search.follow(plan, best.value if best else math.inf) or best
    if best is None:
        return shown
    show(best)
    current, tried, vain, kicks, patience = best, 0, 0, 0, PATIENCE
    while best.value > PartialSchedule(work).least() and tried != moves and not clock.expired():
        tried += 1
        if vain > STALL * len(work.batches):  # some moves from the best, whatever they cost
            current, vain, kicks = best, 0, rng.randint(1, 4)
            patience -= 1
            if moves is None and patience < 0:
                break
        plan, first = search.neighbor(current)
        course = search.follow(plan, math.inf if kicks > 0 else current.value, current, first)
        kicks -= 1
        vain = 0 if course and course.value < current.value else vain + 1
        current = course or current
        if current.value < best.value:
            best, patience = current, PATIENCE
            show(best)
    return shown


def run_local_search(instance: HareInstance, call: RunContext) -> MethodResult:
    """Run `local-search`."""
    moves = call.options["moves"]
    if moves is None and call.clock.limit is None:
        moves = MOVES_WITHOUT_LIMIT
    call.progress.phase("searching")
    schedule = local_search(
        instance,
        clock=call.clock,
        seed=call.seed,
        moves=moves,
        gpu_rule=call.options["gpu_rule"],
        on_improvement=call.progress.incumbent,
    )
    return MethodResult(schedule)
