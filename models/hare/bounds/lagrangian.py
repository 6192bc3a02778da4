"""Lagrangian relaxation of the GPU capacities, whose prices give the bound `lagrangian` (ours).

The capacities of the GPU classes are the only rows that link the jobs. Let p >= 0 be prices of a
unit of GPU time by class and time cell, 0 beyond the grid. Then every schedule costs at least

    sum over the jobs of min (w C + price of the GPU time used) - price of all available GPU time,

and each minimum is a shortest path over the rounds of one job. Unlike the fluid program, it keeps
the fact that a round lasts as long as its slowest task. The best prices are found by column
generation over the plans of the jobs.

References
----------
M. L. Fisher, "The Lagrangian relaxation method for solving integer programming problems",
Management Science 27 (1981).
R. E. Marsten, W. W. Hogan, J. W. Blankenship, "The boxstep method for large-scale optimization",
Operations Research 23 (1975).
J. M. van den Akker, C. A. J. Hurkens, M. W. P. Savelsbergh, "Time-indexed formulations for machine
scheduling problems: column generation", INFORMS Journal on Computing 12 (2000): the decomposition
by job of a time-indexed program. New here: prices by cells of an arbitrary grid, and a safe path
bound for real starts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedgap.instances.hare import HareArrays, HareInstance, arrays
from schedgap.models.hare.bounds.fluid import TaskBlocks, task_blocks
from schedgap.models.hare.bounds.kernel import LARGE, PLANS, Jobs, Plans
from schedgap.models.mechanisms.restricted_master import Priced, RestrictedMaster, prices_at_most
from schedgap.solvers.loops.column_generation import Columns
from schedgap.solvers.programs.arrays import Floats
from schedgap.solvers.search.compiled import Function

Ints = NDArray[np.int64]
MAX_STEPS = 200_000  # time steps of a job whose rounds consist of identical tasks
MAX_WINDOW_STEPS = 400  # same, if a round has unlike tasks; tables are quadratic in it
_BOX, _WIDE = 3.0, 0.1  # duals are at most this times the first price, plus this of the largest
_MIN_USE = 1e-8  # least GPU time in a cell; HiGHS refuses smaller coefficients
_FINER, _TRIED = 3, 99  # numbers of steps that are tried: relative to the least, and at most
_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True, slots=True, eq=False)
class GpuPrices:
    """Prices of a unit of GPU time, >= 0, in objective units by class k and cell q of a grid."""

    grid: Floats  # [q] g_0 = 0 < ... < g_Q
    price: Floats  # [k, q], Q cells

    def cumulative(self) -> Floats:
        """Return [k, q] the price of one GPU of class k from 0 to g_q."""
        total = np.cumsum(self.price * np.diff(self.grid), axis=1)
        return np.hstack([np.zeros((len(total), 1)), total])

    def on(self, grid: Floats) -> "GpuPrices":
        """Return the prices on another grid, linear between the middles of the cells."""
        middles, own = ((times[1:] + times[:-1]) / 2 for times in (grid, self.grid))
        return GpuPrices(grid, np.array([np.interp(middles, own, row) for row in self.price]))

    def rounded(self) -> "GpuPrices":
        """Return the prices with the 12 digits that a certificate holds."""
        rows = [[float(f"{price:.12g}") for price in row] for row in self.price.tolist()]
        return GpuPrices(self.grid, np.array(rows))


@dataclass(frozen=True, slots=True, eq=False)
class JobPlan:
    """Cheapest schedule of a job at given prices."""

    value: float  # lower bound on w_n C_n + price of GPU time
    completion: float
    use: Floats  # [k, q] GPU time


@dataclass(frozen=True, slots=True, eq=False)
class _PricedTasks:
    """Identical tasks of a round, priced on the time steps t_j of their job."""

    count: float  # number of tasks
    train: Floats  # [k]
    duration: Floats  # [k]
    steps: Ints  # [k] steps that surely pass before such a task is synchronized
    cost: Floats  # [k, j] minimum price of all of them if they start in [t_j, t_{j+1}]


def job_plan(
    view: HareArrays,
    block: TaskBlocks,
    n: int,
    prices: GpuPrices,
    *,
    steps: int,
    longest: float = np.inf,
) -> JobPlan:
    """Return the cheapest schedule of job n alone, at a resolution of time steps.

    `block`: `task_blocks(view)`. `prices`: prices of GPU time. `steps`: time steps within the
    shortest task of the job, >= 1; fewer if the limits above require it. `longest`: longest time
    step; it makes the number of steps larger, by a factor that suits the lengths of the tasks.

    Its `value` is at most w_n C_n + price of the GPU time, for every schedule of the job.

    Notes
    -----
    A start u in [t_j, t_{j+1}) is represented by step j, at the minimum price in that interval.
    Since floor(x + y) >= floor(x) + floor(y), a start after a task of length d is at least
    floor(d / delta) steps later. So every schedule is a path of no higher cost. Beyond the grid GPU
    time is free, so no path needs more steps than L_n plus one longest task. Identical tasks of a
    round all take the cheapest class and step, because only the end of the round links them; in a
    last round of identical tasks, price and completion are traded off for every start.
    Time: O(R k T) for T steps, plus O(T^2) for each round with unlike tasks.
    """
    blocks_of_rounds = block.rounds[view.job_rounds[n] : view.job_rounds[n + 1]]
    grid, arrival = prices.grid, float(view.arrival[n])
    delta, slack, count = _time_steps(view, block, n, float(grid[-1]), steps, longest)
    times: Floats = arrival + delta * np.arange(count, dtype=np.float64)  # t_j
    step = delta / (1 - slack)  # an upper bound on the distance of consecutive times

    @cache
    def priced(b: int, tasks: int) -> _PricedTasks:
        train, duration = block.train[b], block.train[b] + block.sync[b]
        cost = tasks * _min_prices(train, prices, times)
        surely = np.floor(duration / step).astype(np.int64)
        return _PricedTasks(float(tasks), train, duration, surely, cost)

    rounds = [[priced(b, tasks) for b, tasks in row] for row in blocks_of_rounds]

    # Forward: ready[r][j] is the minimum price of r rounds if the next one starts at step j or
    # later.
    ready = [np.zeros(len(times) - 1)]
    for row in rounds:
        ready.append(_next_ready(ready[-1], row))
    last, weight = rounds[-1], float(view.weight[n])
    if len(last) == 1:
        # Identical tasks: minimise ready + count * price(start) + w (start + d) over k and start;
        # `final` contains the price plus (w / count) * start.
        (task,) = last
        final = _min_prices(task.train, prices, times, slope=weight / task.count)
        total = ready[-2] + task.count * final + weight * task.duration[:, None]  # [k, j]
        k, j = (int(at) for at in np.unravel_index(np.argmin(total), total.shape))
        value, completion = float(total[k, j]), float(times[j] + task.duration[k])
        starts = [[(k, j)]]
    else:
        ends = np.maximum(times[:-1], arrival + view.critical[n])
        total = ready[-1] + weight * ends
        j = int(np.argmin(total))
        value, completion = float(total[j]), float(ends[j])
        j, chosen = _predecessor(ready[-2], ready[-1], last, j)
        starts = [chosen]
    # Backward: recover class and start step of the tasks of each round, then the GPU time used.
    for before, after, row in zip(ready[-3::-1], ready[-2:0:-1], rounds[-2::-1], strict=True):
        j, chosen = _predecessor(before, after, row, j)
        starts.append(chosen)
    runs = [
        (k, task.count, times[j], times[j] + task.train[k])
        for row, chosen in zip(reversed(rounds), starts, strict=True)
        for task, (k, j) in zip(row, chosen, strict=True)
    ]
    kind, number, begin, end = np.array(runs).T[..., None]
    use = np.zeros(prices.price.shape)
    inside = np.diff(np.clip(grid, begin, end), axis=1)  # time of each run in each cell
    np.add.at(use, kind[:, 0].astype(np.int64), number * inside)
    return JobPlan(value, completion, use)


def _time_steps(
    view: HareArrays, block: TaskBlocks, n: int, end: float, steps: int, longest: float
) -> tuple[float, float, int]:
    """Return the time step of a job, its relative error, and the number of steps.

    A step is much longer than the spacing of doubles at the end of the job, and slightly shorter
    than a fraction of the shortest task, so an integer number of steps surely fits in that task. A
    task of another length loses the rest of its last step in each round, so with `longest` the
    number is chosen by the sum of these losses.
    """
    rounds = block.rounds[view.job_rounds[n] : view.job_rounds[n + 1]]
    blocks = sorted({b for row in rounds for b, _ in row})
    duration = (block.train + block.sync)[blocks]
    alike = all(len(row) == 1 for row in rounds)
    arrival, shortest = float(view.arrival[n]), float(duration.min())
    span = max(0.0, end - arrival) + float(view.critical[n] + duration.max())
    most = MAX_STEPS if alike else MAX_WINDOW_STEPS
    if longest < np.inf:
        least = max(steps, min(most, int(np.ceil(shortest / longest))))
        number = np.arange(least, least + min(_FINER * least, _TRIED) + 1)
        lost = (duration.ravel() / shortest * number[:, None]) % 1.0
        steps = int(number[np.argmin(lost.sum(axis=1) / number)])
    spacing = float(np.spacing(arrival + 2 * span))  # between doubles
    delta = max(shortest / steps, span / most, 2.0**20 * spacing)
    slack = 1e-12 + 8 * spacing / delta
    delta *= 1 - 2 * slack
    return delta, slack, int(np.ceil(span / delta)) + 3


def _min_prices(
    train: Floats, prices: GpuPrices, times: Floats, slope: float | np.float64 = 0.0
) -> Floats:
    """Return [k, j] the minimum of price + slope * start of one task over [t_j, t_{j+1}]."""
    grid, paid = prices.grid, prices.cumulative()
    cost = np.empty((len(train), len(times) - 1))

    def paid_until(k: int, time: Floats) -> Any:
        """Return [j] the price of a GPU from 0 to each time."""
        cell = np.searchsorted(grid[1:-1], time, side="right")
        return paid[k][cell] + prices.price[k][cell] * (np.minimum(time, grid[-1]) - grid[cell])

    for k, length in enumerate(train):
        # The price is piecewise linear in the start, with kinks where start or end meet the grid.
        kinks = np.concatenate([grid, grid - length])
        kinks = kinks[(kinks >= times[0]) & (kinks < times[-1])]
        step = np.searchsorted(times, kinks, side="right") - 1
        start = np.concatenate([times, kinks])
        price = paid_until(k, start + length) - paid_until(k, start) + slope * start
        ends, inside = np.split(price, [len(times)])
        cost[k] = np.minimum(ends[:-1], ends[1:])
        np.minimum.at(cost[k], step, inside)
    return cost


def _next_ready(ready: Floats, row: Sequence[_PricedTasks]) -> Floats:
    """Return [j] the minimum price with one more round, if the next starts at step j or later."""
    if len(row) > 1:
        return np.asarray((ready[:, None] + _windows(row)).min(axis=0))
    (task,) = row
    following = np.full(len(ready), np.inf)
    for k, step in enumerate(task.steps):
        reached = max(0, len(ready) - step)
        cost = ready[:reached] + task.cost[k, :reached]
        np.minimum(following[step:], cost, out=following[step:])
    return np.asarray(np.minimum.accumulate(following))


def _predecessor(
    before: Floats, after: Floats, row: Sequence[_PricedTasks], j: int
) -> tuple[int, list[tuple[int, int]]]:
    """Return the step from which a round leads to step j, and class and start step of its tasks."""
    if len(row) > 1:
        start = int(np.argmin(before + _windows(row)[:, j]))
        return start, [_cheapest(task, start, j) for task in row]
    (task,) = row
    first = int(np.searchsorted(-after, -after[j]))  # `after` decreases; the round ends here
    costs = [
        before[first - step] + task.cost[k, first - step] if step <= first else np.inf
        for k, step in enumerate(task.steps)
    ]
    k = int(np.argmin(costs))
    start = first - int(task.steps[k])
    return start, [(k, start)]


def _windows(row: Sequence[_PricedTasks]) -> Floats:
    """Return [j, e] the minimum price of a round of unlike tasks between the steps j and e."""
    count = row[0].cost.shape[1]
    j = np.arange(count)
    total = np.zeros((count, count))
    for task in row:
        least = np.full((count, count), np.inf)
        for k, step in enumerate(task.steps):
            started = np.where(j >= j[:, None], task.cost[k], np.inf)  # [j, start]
            reached = max(0, count - step)
            np.minimum(
                least[:, step:],
                np.minimum.accumulate(started, axis=1)[:, :reached],
                out=least[:, step:],
            )
        total += least
    return total


def _cheapest(task: _PricedTasks, start: int, end: int) -> tuple[int, int]:
    """Return class and start step of the cheapest task between the steps start and end."""
    options = [
        (float(part.min()), k, start + int(np.argmin(part)))
        for k, step in enumerate(task.steps)
        if len(part := task.cost[k, start : max(start, end - step + 1)])
    ]
    _, k, at = min(options)
    return k, at


def bound(
    instance: HareInstance, prices: GpuPrices, *, steps: int, longest: float = np.inf
) -> float:
    """Return the lower bound that any prices prove, less an allowance for rounding.

    `prices`: any prices >= 0. `steps`, `longest`: as in `job_plan`; more and shorter steps give a
    higher bound, in proportional time.
    """
    view = arrays(instance)
    return total(view, prices, _plans(view, prices, steps, longest))


def _plans(view: HareArrays, prices: GpuPrices, steps: int, longest: float) -> list[JobPlan]:
    """Return the cheapest plan of each job."""
    block = task_blocks(view)
    return [
        job_plan(view, block, n, prices, steps=steps, longest=longest) for n in range(view.jobs)
    ]


def job_plans(view: HareArrays, prices: GpuPrices, steps: int, longest: float) -> list[JobPlan]:
    """Return the cheapest plan of each job, by the kernel if it is compiled and has these jobs."""
    if view.tasks >= LARGE and PLANS.fast is not PLANS.plain:
        jobs = kernel_jobs(view, float(prices.grid[-1]), steps, longest)
        if jobs is not None:
            return run_kernel(PLANS.fast, jobs, prices)
    return _plans(view, prices, steps, longest)


@lru_cache(maxsize=2)
def kernel_jobs(view: HareArrays, end: float, steps: int, longest: float) -> Jobs | None:
    """Return the jobs as the kernel has them; None if a round has unlike tasks."""
    block = task_blocks(view)
    if any(len(row) != 1 for row in block.rounds):
        return None
    own, tasks = zip(*(row[0] for row in block.rounds), strict=True)
    found = [_time_steps(view, block, n, end, steps, longest) for n in range(view.jobs)]
    delta, slack, count = (np.array(column) for column in zip(*found, strict=True))
    return Jobs(
        weight=np.array(view.weight, dtype=float),
        arrival=np.array(view.arrival, dtype=float),
        delta=delta,
        step=delta / (1 - slack),
        size=count - 1,
        rounds=np.array(view.job_rounds, dtype=np.int64),
        block=np.array(own),
        tasks=np.array(tasks, dtype=float),
        train=np.array(block.train, order="C"),
        duration=np.array(block.train + block.sync, order="C"),
    )


def run_kernel(run: Function, jobs: Jobs, prices: GpuPrices) -> list[JobPlan]:
    """Return the cheapest plan of each job, as `job_plan` does.

    `run`: entry of the kernel, compiled or not.
    """
    number, most = len(jobs.weight), int(jobs.size.max())
    plans = Plans(
        value=np.empty(number),
        completion=np.empty(number),
        use=np.empty((number, *prices.price.shape)),
        ready=np.empty((int(np.diff(jobs.rounds).max()), most)),
        cost=np.empty((len(prices.price) + 1, most)),
    )
    grid, price, paid = prices.grid, prices.price, prices.cumulative()
    run(jobs, plans, *(np.array(each, dtype=float, order="C") for each in (grid, price, paid)))
    values = zip(plans.value.tolist(), plans.completion.tolist(), plans.use, strict=True)
    return [JobPlan(*each) for each in values]


def total(view: HareArrays, prices: GpuPrices, plans: Sequence[JobPlan]) -> float:
    """Return the sum of the plans' values less the price of all GPU time, rounded down safely."""
    values, paid = [plan.value for plan in plans], prices.cumulative()
    all_time = float(view.class_size @ paid[:, -1])
    size = sum(map(abs, values)) + all_time
    # Sums of at most cells, rounds or jobs terms; each task's price is a difference of two sums.
    terms = len(prices.grid) + view.rounds + view.jobs + 16
    allowance = 4 * _EPS * terms * (size + view.tasks * float(paid.max(initial=0.0)))
    return sum(values) - all_time - allowance


class PlanMaster:
    """Restricted master over plans of the jobs; its duals are prices of GPU time.

    Rows: the shares of each job's plans sum to 1; the GPU time used in each class and cell is at
    most the capacity. It starts with the plans at given prices, and with columns that buy capacity
    at somewhat more than these prices. They keep the duals in a box around the prices (boxstep), so
    the value of the master may be less than that over all plans.

    `start`: prices of the first plans; the master has the same grid. `steps`, `longest`: as in
    `job_plan`.
    """

    def __init__(
        self, instance: HareInstance, start: GpuPrices, *, steps: int, longest: float = np.inf
    ) -> None:
        self._view, self._grid = arrays(instance), start.grid
        self._steps, self._longest = steps, longest
        view, master = self._view, RestrictedMaster[int]()
        self._one_plan = master.rows("plan", view.jobs, lower=1.0, upper=1.0)
        capacity = view.class_size[:, None] * np.diff(start.grid)
        self._capacity = master.rows("capacity", start.price.shape, upper=capacity)
        self.master = master
        self._start = start.rounded()
        self._first = self._priced(self._start)
        assert self._first.columns is not None
        master.begin(self._first.columns)
        most = float(start.price.max(initial=0.0)) or float(view.weight.max())
        dear = (_BOX * start.price + _WIDE * most).ravel()
        extra = [{row: -1.0} for row in self._capacity.positions.ravel().tolist()]
        master.begin(master.columns(dear, extra))

    def prices(self, duals: Floats) -> GpuPrices:
        """Return the prices in duals of the master, rounded as in a certificate.

        `duals` [i]: duals of all rows.
        """
        return GpuPrices(self._grid, prices_at_most(self._capacity, duals)).rounded()

    def duals(self, prices: GpuPrices) -> Floats:
        """Return duals [i] of the master that contain given prices, and 0 for the jobs.

        `prices`: prices on the grid of the master.
        """
        return self.master.duals({self._capacity: -prices.price})

    def pricing(self, duals: Floats) -> Priced:
        """Return a plan of each job, cheapest at the prices in the duals, and the Lagrangian bound.

        `duals` [i]: duals of all rows.
        """
        prices = self.prices(duals)
        if np.array_equal(prices.price, self._start.price):
            return self._first
        return self._priced(prices)

    def _priced(self, prices: GpuPrices) -> Priced:
        """Return the cheapest plan of each job, and the bound."""
        plans = job_plans(self._view, prices, self._steps, self._longest)
        return Priced(self._columns(plans), total(self._view, prices, plans))

    def _columns(self, plans: Sequence[JobPlan]) -> Columns:
        """Return one plan of each job as columns."""
        entries: list[list[tuple[Ints, Floats | float]]] = []
        for n, plan in enumerate(plans):
            used = plan.use > _MIN_USE
            rows = self._capacity.positions[used]
            entries.append([(self._one_plan.at(n), 1.0), (rows, plan.use[used])])
        cost = self._view.weight * np.array([plan.completion for plan in plans])
        return self.master.columns(cost, entries, range(len(plans)))
