"""The bound `lagrangian` (ours): GPU time has a price, and every job is scheduled alone against it.

The capacities of the GPU classes are the only rows that join the jobs. With prices p >= 0 for a
unit of GPU time by class and cell of time (0 beyond the grid), any schedule costs at least the sum
over the jobs of min (w C + price of the GPU time used), less the price of all GPU time there is.
A job alone is a shortest path over its rounds, which keeps what the fluid program blurs: a round
lasts as long as the slowest task in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from schedgap.instances.hare import HareArrays, HareInstance, arrays
from schedgap.models.hare.bounds.fluid import TaskBlocks, task_blocks
from schedgap.solvers.loops.column_generation import Columns, Priced, Pricing
from schedgap.solvers.programs.arrays import Floats, LinearProgram

Ints = NDArray[np.int64]
MOST_STEPS = 200_000  # steps of time for a job whose rounds hold alike tasks
MOST_WINDOW_STEPS = 400  # and for one with unlike tasks in a round, which needs their square
_NOTHING = 1e-8  # GPU time in a cell: HiGHS refuses such small entries
_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True, slots=True, eq=False)
class GpuPrices:
    """Prices of a unit of GPU time, >= 0, in objective units by class k and cell q of a grid."""

    grid: Floats  # [q] g_0 = 0 < ... < g_Q
    price: Floats  # [k, q], Q cells

    def paid(self) -> Floats:
        """[k, q] price of a GPU of class k from 0 to g_q."""
        total = np.cumsum(self.price * np.diff(self.grid), axis=1)
        return np.hstack([np.zeros((len(total), 1)), total])

    def rounded(self) -> "GpuPrices":
        """Return the prices with the 12 digits that a certificate holds."""
        rows = [[float(f"{price:.12g}") for price in row] for row in self.price.tolist()]
        return GpuPrices(self.grid, np.array(rows))


@dataclass(frozen=True, slots=True, eq=False)
class JobPlan:
    """A job's cheapest schedule: its value, at most the true one, and what it uses."""

    value: float
    completion: float
    use: Floats  # [k, q] GPU time


@dataclass(frozen=True, slots=True, eq=False)
class _PricedTasks:
    """Some alike tasks of a round against the prices, on the steps t_j of their job."""

    count: float
    train: Floats  # [k]
    duration: Floats  # [k]
    steps: Ints  # [k] steps that surely pass before such a task is synchronized
    cost: Floats  # [k, j] least price of one task that starts in [t_j, t_{j+1}]


def job_plan(
    view: HareArrays, block: TaskBlocks, n: int, prices: GpuPrices, *, steps: int
) -> JobPlan:
    """Return the cheapest schedule of job n alone, to within steps of time.

    Parameters
    ----------
    block : Blocks
        `fluid.blocks(view)`.
    steps : int
        Steps of time in the shortest task of the job, >= 1; fewer where the limits above ask.

    Returns
    -------
    Plan
        `value` <= w_n C_n + price of GPU time of every schedule of the job.

    Notes
    -----
    A real start u in [t_j, t_{j+1}) becomes step j, at the least price in that interval; as
    floor(x + y) >= floor(x) + floor(y), a start after a task of length d is at least floor(d /
    delta) steps later. So every schedule is a path of no higher cost. Beyond the grid all is free,
    hence no path needs more steps than L_n and one task of the longest d. Alike tasks of a round
    all take the cheapest class and step, since nothing but the round's end joins them; in a last
    round of alike tasks price and completion are weighed start by start.
    Time: O(R k T) with T steps, O(T^2) for each round with unlike tasks.
    """
    rounds = _rounds(view, block, n)
    grid, paid, arrival = prices.grid, prices.paid(), float(view.arrival[n])
    delta, slack, count = _scale(view, block, n, rounds, float(grid[-1]), steps)
    times: Floats = arrival + delta * np.arange(count, dtype=np.float64)  # t_j
    known: dict[int, _PricedTasks] = {}
    loads = [[_load(block, b, number, prices, paid, times, delta / (1 - slack), known)
              for b, number in row] for row in rounds]  # fmt: skip

    ready = [np.zeros(len(times) - 1)]  # [r][j] least cost of r rounds, the next from step j on
    for row in loads:
        ready.append(_after(ready[-1], row))
    last, weight = loads[-1], float(view.weight[n])
    if len(last) == 1:
        (task,) = last
        final = _least_prices(task.train, grid, paid, times, slope=weight / task.count)
        total = ready[-2] + task.count * final + weight * task.duration[:, None]  # [k, j]
        k, j = (int(at) for at in np.unravel_index(np.argmin(total), total.shape))
        value, completion = float(total[k, j]), float(times[j] + task.duration[k])
        starts = [[(k, j)]]
    else:
        ends = np.maximum(times[:-1], arrival + view.critical[n])
        total = ready[-1] + weight * ends
        j = int(np.argmin(total))
        value, completion = float(total[j]), float(ends[j])
        j, chosen = _choice(ready[-2], ready[-1], last, j)
        starts = [chosen]
    for before, after, row in zip(ready[-3::-1], ready[-2:0:-1], loads[-2::-1], strict=True):
        j, chosen = _choice(before, after, row, j)
        starts.append(chosen)
    use = np.zeros(prices.price.shape)
    for row, chosen in zip(reversed(loads), starts, strict=True):
        for task, (k, j) in zip(row, chosen, strict=True):
            inside = np.clip([times[j], times[j] + task.train[k]], grid[:-1, None], grid[1:, None])
            use[k] += task.count * np.diff(inside, axis=1)[:, 0]
    return JobPlan(value, completion, use)


def _scale(
    view: HareArrays,
    block: TaskBlocks,
    n: int,
    rounds: Sequence[Sequence[tuple[int, int]]],
    end: float,
    steps: int,
) -> tuple[float, float, int]:
    """Return a job's step of time, by what part of it times may be wrong, and how many there are.

    Steps are far longer than the distance of doubles at the job's end, and a little shorter than a
    part of the shortest task, so that `steps` of them fit in it for sure.
    """
    duration = np.vstack([block.train[b] + block.sync[b] for loads in rounds for b, _ in loads])
    alike = all(len(loads) == 1 for loads in rounds)
    arrival = float(view.arrival[n])
    span = max(0.0, end - arrival) + float(view.critical[n] + duration.max())
    most = MOST_STEPS if alike else MOST_WINDOW_STEPS
    apart = float(np.spacing(arrival + 2 * span))  # of doubles
    delta = max(float(duration.min()) / steps, span / most, 2.0**20 * apart)
    slack = 1e-12 + 8 * apart / delta
    delta *= 1 - 2 * slack
    return delta, slack, int(np.ceil(span / delta)) + 3


def evaluation_size(view: HareArrays, end: float, cells: int, steps: int) -> float:
    """Return about how many numbers `bound` computes for prices on a grid of cells up to `end`."""
    block, total = task_blocks(view), float(view.class_size.size * cells)
    for n in range(view.jobs):
        rounds = _rounds(view, block, n)
        *_, count = _scale(view, block, n, rounds, end, steps)
        priced = len({each for loads in rounds for each in loads})
        total += view.class_size.size * (
            priced * (count + 2.0 * cells)
            + sum(count if len(loads) == 1 else len(loads) * count**2 for loads in rounds)
        )
    return total


def _rounds(view: HareArrays, block: TaskBlocks, n: int) -> list[list[tuple[int, int]]]:
    """Blocks of each round of job n, with their numbers of tasks."""
    found = []
    for q in range(view.job_rounds[n], view.job_rounds[n + 1]):
        own = block.task_block[view.round_tasks[q] : view.round_tasks[q + 1]]
        numbers, counts = np.unique(own, return_counts=True)
        found.append(list(zip(numbers.tolist(), counts.tolist(), strict=True)))
    return found


def _load(
    block: TaskBlocks,
    b: int,
    count: int,
    prices: GpuPrices,
    paid: Floats,
    times: Floats,
    step: float,
    known: dict[int, _PricedTasks],
) -> _PricedTasks:
    """Price `count` tasks of block b; `known` keeps what other rounds of the job priced.

    `step`: no two times that are so many steps apart are nearer than that.
    """
    if b in known and known[b].count == count:
        return known[b]
    train, duration = block.train[b], block.train[b] + block.sync[b]
    cost = _least_prices(train, prices.grid, paid, times)
    steps = np.floor(duration / step).astype(np.int64)
    known[b] = _PricedTasks(float(count), train, duration, steps, cost)
    return known[b]


def _least_prices(
    train: Floats, grid: Floats, paid: Floats, times: Floats, slope: float = 0.0
) -> Floats:
    """[k, j] least price of one task, plus slope times its start, over starts in [t_j, t_{j+1}]."""
    cost = np.empty((len(train), len(times) - 1))
    for k, length in enumerate(train):
        # Linear in the start but where the start or the end meets the grid.
        kinks = np.concatenate([grid, grid - length])
        kinks = kinks[(kinks >= times[0]) & (kinks < times[-1])]
        step = np.searchsorted(times, kinks, side="right") - 1
        start = np.concatenate([times, kinks])
        price = np.interp(start + length, grid, paid[k]) - np.interp(start, grid, paid[k])
        price += slope * start
        ends, inside = np.split(price, [len(times)])
        cost[k] = np.minimum(ends[:-1], ends[1:])
        np.minimum.at(cost[k], np.minimum(step, len(times) - 2), inside)
    return cost


def _after(ready: Floats, row: Sequence[_PricedTasks]) -> Floats:
    """[j] least cost with one more round done, the next from step j on."""
    if len(row) > 1:
        return np.asarray((ready[:, None] + _windows(row)).min(axis=0))
    (task,) = row
    found = np.full(len(ready), np.inf)
    for k, step in enumerate(task.steps):
        reached = max(0, len(ready) - step)
        cost = ready[:reached] + task.count * task.cost[k, :reached]
        np.minimum(found[step:], cost, out=found[step:])
    return np.asarray(np.minimum.accumulate(found))


def _choice(
    before: Floats, after: Floats, row: Sequence[_PricedTasks], j: int
) -> tuple[int, list[tuple[int, int]]]:
    """Return from which step a round came to step j, and class and start step of its loads."""
    if len(row) > 1:
        start = int(np.argmin(before + _windows(row)[:, j]))
        return start, [_cheapest(task, start, j) for task in row]
    (task,) = row
    first = int(np.searchsorted(-after, -after[j]))  # `after` falls; the round ended here
    costs = [
        before[first - step] + task.count * task.cost[k, first - step] if step <= first else np.inf
        for k, step in enumerate(task.steps)
    ]
    k = int(np.argmin(costs))
    start = first - int(task.steps[k])
    return start, [(k, start)]


def _windows(row: Sequence[_PricedTasks]) -> Floats:
    """[j, e] least cost of a round of unlike tasks that starts at step j or later and ends by e."""
    count = row[0].cost.shape[1]
    j = np.arange(count)
    total = np.zeros((count, count))
    for task in row:
        least = np.full((count, count), np.inf)
        for k, step in enumerate(task.steps):
            started = np.where(j >= j[:, None], task.cost[k], np.inf)  # [j, u]
            reached = max(0, count - step)
            np.minimum(
                least[:, step:],
                np.minimum.accumulate(started, axis=1)[:, :reached],
                out=least[:, step:],
            )
        total += task.count * least
    return total


def _cheapest(task: _PricedTasks, start: int, end: int) -> tuple[int, int]:
    """Class and start step of the cheapest task within steps start to end."""
    options = [
        (float(part.min()), k, start + int(np.argmin(part)))
        for k, step in enumerate(task.steps)
        if len(part := task.cost[k, start : max(start, end - step + 1)])
    ]
    _, k, at = min(options)
    return k, at


def bound(instance: HareInstance, prices: GpuPrices, *, steps: int) -> float:
    """Return the lower bound that prices prove, whatever they are, less all rounding.

    Parameters
    ----------
    steps : int
        See `plan`; more steps give a higher bound, in proportional time.
    """
    view = arrays(instance)
    block = task_blocks(view)
    values = [job_plan(view, block, n, prices, steps=steps).value for n in range(view.jobs)]
    return _total(view, prices, values)


def _total(view: HareArrays, prices: GpuPrices, values: Sequence[float]) -> float:
    """Sum of the jobs' values less the price of all GPU time, less an allowance for rounding."""
    paid = prices.paid()
    all_time = float(view.class_size @ paid[:, -1])
    size = sum(map(abs, values)) + all_time
    # Sums of at most cells, rounds or jobs terms; each task's price is a difference of two sums.
    terms = len(prices.grid) + view.rounds + view.jobs + 16
    allowance = 4 * _EPS * terms * (size + view.tasks * float(paid.max(initial=0.0)))
    return sum(values) - all_time - allowance


# --- the best prices --------------------------------------------------------------------------


def restricted_master(instance: HareInstance, prices: GpuPrices, *, steps: int) -> LinearProgram:
    """Return the first restricted master: a mean of plans for each job, within the capacities.

    Rows: one for each job (its plans sum to 1), then capacity by class and cell. It starts with
    the plans at the given prices, and with GPU time to be bought at more than any of them.
    """
    view = arrays(instance)
    columns = _columns(view, [job_plan(view, task_blocks(view), n, prices, steps=steps)
                              for n in range(view.jobs)])  # fmt: skip
    count = prices.price.size
    bought = sparse.vstack([sparse.csr_array((view.jobs, count)), -sparse.eye_array(count)])
    dear = 2 * float(prices.price.max(initial=0.0)) + float(view.weight.max())
    ones, free = np.ones(view.jobs), np.full(count, -np.inf)
    capacity = (view.class_size[:, None] * np.diff(prices.grid)).ravel()
    return LinearProgram.nonnegative(
        np.append(columns.cost, np.full(count, dear)),
        sparse.hstack([columns.matrix, bought], format="csr"),
        row_lower=np.append(ones, free),
        row_upper=np.append(ones, capacity),
    )


def prices_from_duals(view: HareArrays, grid: Floats, duals: Floats) -> GpuPrices:
    """Return the prices in the duals [i] of the master, with the digits that a file holds."""
    price = np.maximum(0.0, -duals[view.jobs :]).reshape(len(view.class_gpus), -1)
    return GpuPrices(grid, price).rounded()


def duals_from_prices(view: HareArrays, prices: GpuPrices) -> Floats:
    """Return duals [i] of the master that hold the prices; those of the jobs' rows are 0."""
    return np.append(np.zeros(view.jobs), -prices.price.ravel())


def pricing(instance: HareInstance, grid: Floats, *, steps: int) -> Pricing:
    """Return the pricing of the master's columns: one plan for each job, and the bound."""
    view = arrays(instance)
    block = task_blocks(view)

    def price(duals: Floats) -> Priced:
        prices = prices_from_duals(view, grid, duals)
        plans = [job_plan(view, block, n, prices, steps=steps) for n in range(view.jobs)]
        return Priced(_columns(view, plans), _total(view, prices, [own.value for own in plans]))

    return price


def _columns(view: HareArrays, plans: Sequence[JobPlan]) -> Columns:
    """Return a plan of each job as columns of the master."""
    use = np.array([own.use.ravel() for own in plans]).T
    use = sparse.csc_array(np.where(use > _NOTHING, use, 0.0))
    return Columns(
        cost=view.weight * np.array([own.completion for own in plans]),
        matrix=sparse.vstack([sparse.eye_array(view.jobs), use], format="csc"),
        tags=range(view.jobs),
    )
