"""Local search over schedules of whole jobs: lists in Smith's order, then annealing (ours).

`solvers.search.moves` has the moves: a few jobs are removed and inserted again, or a job
shifts in the order of the list and all jobs behind it are placed again.

References
----------
W. E. Smith, "Various optimizers for single-stage production", Naval Research Logistics Quarterly 3
(1956).
"""

import math
from collections.abc import Callable
from itertools import product
from typing import Annotated

import numpy as np
from annotated_types import Ge

from schedgap.errors import ScaleError
from schedgap.instances.hare import HareArrays, HareInstance, HareSchedule, arrays
from schedgap.instances.hare.compiled import lengths_around
from schedgap.models.hare.algorithms.list_wspt import list_wspt, smith_ratio
from schedgap.models.hare.bounds.lagrangian import GpuPrices
from schedgap.models.hare.decode import assign_gpus
from schedgap.models.hare.heuristics.kernel import KERNEL, Plan, Problem, State
from schedgap.models.hare.heuristics.negotiation import NEGOTIATION, cells_of, move_prices
from schedgap.models.hare.integer_time import HareSteps, steps
from schedgap.models.method import MethodResult, RunContext
from schedgap.solvers import Clock
from schedgap.solvers.search.annealing import anneal, insert_all
from schedgap.solvers.search.moves import Terms, total

# Price of a step on a GPU that is the fastest for every task, in mean weights of a job. With 0 a
# batch never waits for a cheaper GPU.
LEVELS = 0.0, 0.1, 0.2, 0.4, 0.8
ARRIVAL_FACTORS = 0.0, 0.5  # factor of the arrival next to work / weight, in the first lists
MAX_REMOVED = 10  # jobs that a move removes
DELAY = 0.5  # longest delay of a batch, relative to the rest of the job, in half of the genes
SHIFTS, MUTATION = 0.5, 0.5  # shares of the moves that shift a job, and that draw another gene
HOT, COLD = 1.5, 0.015  # first and last temperature, relative to the mean value of a job / jobs
SOFT, HARD = 0.1, 3.0  # first and last price beyond the capacity, in the largest price
RISE = 14.0  # rise of the price of a cell that is always short of GPUs, in the largest price
SWEEPS = 200  # sweeps over all jobs in a negotiation without time limit
MOVES_WITHOUT_LIMIT = 2000  # moves of `local-search`, if neither moves nor a time limit are given
ANY = 2**40  # moves until the time is up

OnImprovement = Callable[[HareSchedule, float], None]  # with its value, in the instance's units


def problem_of(instance: HareInstance) -> tuple[Problem, list[tuple[int, ...]], tuple[int, int]]:
    """Return the arrays of the kernel, the tasks [p] of each batch, and the length of a step.

    With whole steps, gaps of exactly the right length are found. Without a common step of the
    times, rounding may miss them, which only costs quality.
    """
    view, unit = arrays(instance), (1, 1)
    given: HareArrays | HareSteps = view
    try:
        given = steps(instance)
        unit = given.step.as_integer_ratio()
    except ScaleError:
        pass
    arrival, weight = given.arrival.astype(float), given.weight.astype(float)
    train, duration = given.train.astype(float), given.duration.astype(float)
    fastest = duration.min(axis=1)
    batches = sorted(view.alike, key=lambda tasks: (view.task_round[tasks[0]], -fastest[tasks[0]]))
    first = np.array([tasks[0] for tasks in batches])
    rounds = view.task_round[first]
    length = np.maximum.reduceat(fastest, view.round_tasks[:-1])  # [q]
    rest = length + lengths_around(length, view.job_rounds)[1]
    smith = smith_ratio(instance)
    problem = Problem(
        alone=weight * (arrival + rest[view.job_rounds[:-1]]),
        keys=np.stack([smith + factor * view.arrival for factor in ARRIVAL_FACTORS]),
        weight=weight,
        arrival=arrival,
        batches=np.searchsorted(rounds, view.job_rounds),
        opens=np.append(True, rounds[1:] != rounds[:-1]),
        rest=rest[rounds],
        tasks=np.array([len(tasks) for tasks in batches]),
        train=train[first],
        duration=duration[first],
        capacity=view.class_size,
    )
    return problem, batches, unit


def empty_state(problem: Problem) -> State:
    """Return a state without jobs."""
    jobs, kinds = len(problem.weight), len(problem.capacity)
    until = np.append(0, np.cumsum(problem.tasks))  # [p] tasks of the batches before
    tasks = int(until[-1])
    plan = Plan(
        start=np.zeros(jobs),
        end=np.zeros(jobs),
        cost=np.zeros(jobs),
        first=until[problem.batches],
        used=np.zeros(jobs, dtype=np.int64),
        slot_batch=np.zeros(tasks, dtype=np.int64),
        slot_class=np.zeros(tasks, dtype=np.int64),
        slot_start=np.zeros(tasks),
        slot_tasks=np.zeros(tasks, dtype=np.int64),
    )
    entries = 2 * tasks + 2  # each task adds at most two
    widest = int(problem.tasks.max()) * kinds
    return State(
        plan=plan,
        times=np.zeros((kinds, entries)),
        busy=np.zeros((kinds, entries), dtype=np.int64),
        size=np.ones(kinds, dtype=np.int64),
        found=np.zeros((4, widest)),
        found_class=np.zeros(widest, dtype=np.int64),
    )


class LocalSearch:
    """The search, which can be continued; never worse than `list_wspt`.

    `seed`: of the moves. `on_improvement`: called with every better schedule and its value, first
    with `list_wspt`'s.
    """

    def __init__(
        self,
        instance: HareInstance,
        seed: int = 0,
        on_improvement: OnImprovement = lambda schedule, value: None,
    ) -> None:
        self.instance, self._seed, self._on_improvement = instance, seed, on_improvement
        self._problem, self._batches, self._unit = problem_of(instance)
        self._state = empty_state(self._problem)
        self._run = KERNEL.entry(instance)
        train, weight = arrays(instance).train, float(self._problem.weight.mean())
        speed = (train.min(axis=1)[:, None] / train).mean(axis=0)  # [k] <= 1
        prices = np.array([level * weight * speed for level in LEVELS])
        only = np.where(np.eye(len(speed)) > 0, 0.0, np.inf)  # one class only
        prices = np.concatenate([prices, only]) if len(speed) > 1 else only
        delays = np.repeat([0.0, DELAY], len(prices))
        self._genes = np.column_stack([np.tile(prices, (2, 1)), delays])
        self._lists = list(product(self._problem.keys, range(len(LEVELS) if len(speed) > 1 else 1)))
        self._terms: Terms | None = None
        self.incumbent, self.value = list_wspt(instance), math.inf
        self._offer(self.incumbent)

    def _offer(self, schedule: HareSchedule) -> None:
        """Make a schedule the incumbent if it is better."""
        value = schedule.value(self.instance)
        if value < self.value:
            self.incumbent, self.value = schedule, value
            self._on_improvement(schedule, value)

    def _schedule(self, plan: Plan) -> HareSchedule:
        """Return the schedule of a plan; the tasks of a batch start in order of their numbers."""
        view, (numerator, denominator) = arrays(self.instance), self._unit
        spans = zip(plan.first, plan.used, strict=False)
        slots = np.concatenate([np.arange(s, s + used) for s, used in spans])
        slots = slots[np.lexsort((plan.slot_start[slots], plan.slot_batch[slots]))]
        number, kinds = plan.slot_tasks[slots], plan.slot_class[slots]
        tasks = np.concatenate(self._batches)
        start, train = np.empty(view.tasks), np.empty(view.tasks)
        kind = np.empty(view.tasks, dtype=np.int64)
        start[tasks] = np.repeat(plan.slot_start[slots], number)
        kind[tasks] = np.repeat(kinds, number)
        train[tasks] = np.repeat(self._problem.train[plan.slot_batch[slots], kinds], number)
        gpu = assign_gpus(self.instance, start, kind, train)
        return HareSchedule(gpu, start * numerator / denominator)

    def _begin(self, clock: Clock) -> None:
        """Take the best list schedule as the state, if there is time for one."""
        best = math.inf
        for key, gene in self._lists:
            if clock.expired():
                break
            order, state = np.argsort(key, kind="stable"), empty_state(self._problem)
            insert_all(self._run, self._problem, state, order, self._genes[gene])
            if (value := total(state.plan.cost)) < best:
                best, self._state = value, state
                used = np.full(len(order), gene)
                self._terms = Terms(order, used, self._genes, MAX_REMOVED, SHIFTS, MUTATION)
        if self._terms is not None:
            self._offer(self._schedule(self._state.plan))

    def negotiate(self, prices: GpuPrices, clock: Clock) -> None:
        """Let the jobs negotiate from prices of GPU time; go on from a better schedule.

        Nothing is done if a round has unlike tasks, or if the kernel is not compiled.
        """
        problem, run = self._problem, NEGOTIATION.compiled(self.instance)
        if run is None or not problem.opens.all():
            return
        unit = self._unit[0] / self._unit[1]
        cells = cells_of(problem, GpuPrices(prices.grid / unit, prices.price))
        jobs, rng = len(problem.weight), np.random.default_rng(self._seed)
        owner = np.repeat(np.arange(jobs), np.diff(problem.batches))
        order, none = np.argsort(problem.keys[0], kind="stable"), np.empty(0, dtype=np.int64)
        best = math.inf if self._terms is None else total(self._state.plan.cost)
        begin, remaining, sweep, spent, before = clock.elapsed(), clock.remaining(), 0, 0.0, 0.0
        while spent < 1.0:
            factor, state = SOFT * (HARD / SOFT) ** spent, empty_state(problem)
            for part in np.array_split(order, jobs):  # looks at the clock after each job
                if clock.expired() or not run(problem, state, cells, part, factor, none, owner):
                    return
            batches = np.argsort(cells.start, kind="stable")
            run(problem, state, cells, none, factor, batches, owner)
            if (value := total(state.plan.cost)) < best:
                best, self._state = value, state
                delay = state.plan.end - problem.arrival - problem.rest[problem.batches[:-1]]
                late, gene = np.argsort(delay, kind="stable"), np.zeros(jobs, dtype=np.int64)
                self._terms = Terms(late, gene, self._genes, MAX_REMOVED, SHIFTS, MUTATION)
                self._offer(self._schedule(state.plan))
            order, sweep = rng.permutation(jobs), sweep + 1
            before, spent = spent, sweep / SWEEPS
            if math.isfinite(remaining):
                spent = (clock.elapsed() - begin) / remaining
            move_prices(problem, cells, RISE * (spent - before))

    def improve(self, clock: Clock, moves: int = ANY) -> None:
        """Search until the clock expires or the moves are made; a later call continues.

        It also ends at the critical-path bound.
        """
        if self._terms is None:
            self._begin(clock)
        if self._terms is None:
            return
        begin, remaining = clock.elapsed(), clock.remaining()
        anneal(
            self._run,
            self._problem,
            self._state,
            self._terms,
            hot=HOT / len(self._problem.weight),
            cold=COLD / len(self._problem.weight),
            moves=moves,
            seed=self._seed,
            target=total(self._problem.alone),
            stop=clock.expired,
            spent=lambda: min(1.0, (clock.elapsed() - begin) / remaining) if remaining else 1.0,
            on_better=lambda plan, value: self._offer(self._schedule(plan)),
        )
        self._seed += 1  # a later call makes other moves


def local_search(
    instance: HareInstance,
    call: RunContext,
    *,
    moves: Annotated[
        int | None, "moves to make (default: 2000; with a time limit, until it expires)", Ge(0)
    ] = None,
) -> MethodResult:
    """Run the local search within the time of a call.

    The same seed and number of moves give the same schedule, unless the clock expires.
    """
    if moves is None:
        moves = MOVES_WITHOUT_LIMIT if call.clock.limit is None else ANY
    call.progress.phase("searching")
    search = LocalSearch(instance, call.seed, call.progress.incumbent)
    search.improve(call.clock, moves)
    return MethodResult(search.incumbent)
