"""The fluid program: a linear relaxation over jobs, GPU classes and time cells, for full scale.

Time is divided into cells [g_q, g_{q+1}) and a tail [g_Q, infinity). A block b has the tasks of a
job with equal times and equally large rounds. A column `f[b, k, q]` is the number of them that are
trained on GPU class k in cell q; a task across a grid point counts in proportion. Every schedule is
a point of the program, so its optimum is a lower bound, and so is the value of any duals. The rows
`mean_busy` bound completion times by mean busy times, on the coarse grid of an interval-indexed
program.

References
----------
M. X. Goemans, M. Queyranne, A. S. Schulz, M. Skutella, Y. Wang, "Single machine scheduling with
release dates", SIAM Journal on Discrete Mathematics 15 (2002): mean busy times.
A. S. Schulz, M. Skutella, "Scheduling unrelated machines by randomized rounding", SIAM Journal on
Discrete Mathematics 15 (2002): programs over machines and time intervals.
New here: jobs of synchronised rounds; `build` shows why each row is valid.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from schedgap.instances.hare import HareArrays, HareInstance, arrays
from schedgap.models.hare.programs.relaxation import start_limit
from schedgap.solvers.programs.arrays import LinearProgram
from schedgap.solvers.programs.builder import ProgramBuilder

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_MIN_PROGRESS = 1e-7  # share of a job's work in a cell; less is noise of the engine


@dataclass(frozen=True, slots=True, eq=False)
class TaskBlocks:
    """Blocks: tasks of one job with equal times on every GPU and equally large rounds.

    Index letters: b block (the blocks of a job are consecutive), k class of GPUs, i task.
    """

    job: Ints  # [b]
    size: Floats  # [b] number of tasks
    width: Floats  # [b] K_r, number of tasks in the round of such a task
    train: Floats  # [b, k] T^c
    sync: Floats  # [b, k] T^s
    task_block: Ints  # [i]
    rounds: list[list[tuple[int, int]]]  # [q] blocks of a round, each with its number of tasks

    @property
    def share(self) -> Floats:
        """[b] v = dmin / K_r, the part of the length of a round that one task represents."""
        return np.asarray((self.train + self.sync).min(axis=1) / self.width)


@dataclass(frozen=True, slots=True, eq=False)
class FluidProgram:
    """The linear program with the indices of its columns: f[b, k, q] first, then C_n by job."""

    program: LinearProgram
    task_blocks: TaskBlocks
    grid: Floats  # [q] g_0 = 0 < ... < g_Q; cell Q is the tail
    block: Ints  # [j] of each f column
    kind: Ints  # [j] GPU class k
    cell: Ints  # [j] q


@lru_cache(maxsize=8)
def task_blocks(view: HareArrays) -> TaskBlocks:
    """Return the blocks of all jobs; they are computed once per instance."""
    width = np.diff(view.round_tasks)[view.task_round]
    key = np.column_stack([view.task_job, width, view.train, view.sync])
    rows, inverse, size = np.unique(key, axis=0, return_inverse=True, return_counts=True)
    classes = view.train.shape[1]
    rounds: list[list[tuple[int, int]]] = [[] for _ in range(view.rounds)]
    pairs = np.column_stack([view.task_round, inverse.ravel()])
    members, number = np.unique(pairs, axis=0, return_counts=True)
    for (q, b), tasks in zip(members.tolist(), number.tolist(), strict=True):
        rounds[q].append((b, tasks))
    return TaskBlocks(
        job=rows[:, 0].astype(np.int64),
        size=size.astype(float),
        width=rows[:, 1],
        train=rows[:, 2 : 2 + classes],
        sync=rows[:, 2 + classes :],
        task_block=inverse.ravel().astype(np.int64),
        rounds=rounds,
    )


def build(instance: HareInstance, grid: Floats) -> FluidProgram:
    """Build the fluid program on a grid.

    `grid`: increasing times from 0, in the instance's time unit. Any grid gives a valid bound; it
    should be fine up to the makespan of a good schedule.

    The rows are, in this order: `demand` by block, `capacity` by class and cell, `width` by job and
    cell, `cut_length` by job, `mean_busy` by job.

    Notes
    -----
    For a job n let K be the size of its largest round, v_i = dmin_i / K_r and
    W = sum_i v_i <= L_n.

    - `demand`: every task is trained.
    - `capacity`: the GPUs of a class train for at most their number times the length of the cell.
    - `width`: at most K tasks of a job train at once, none before its arrival.
    - `mean_busy`: C_n >= B + W / 2. Here B is the mean of the left ends of the cells (not before
      a_n) over the work of the job, weighted by v. Consider the time C_n - sigma. Each later round
      still needs its dmin, hence at least the sum of its v. Of the tasks of the open round, let a
      fraction theta be not trained yet. Their weight is sum theta v <= max theta dmin, which is at
      most the remaining length of the round. So at most min(sigma, W) of the weight is not done
      yet. Hence C_n minus the weighted mean busy time is at least the integral of 1 - sigma / W
      over sigma from 0 to W. The integral is W / 2.
    - `cut_length`: C_n >= a_n + sum d f / K_r. A round lasts at least as long as the mean of the d
      of its tasks on their GPUs.

    C_n >= a_n + L_n is a bound of the column. Upper bounds (block sizes, the horizon) are there for
    the evaluation of duals. The tail has neither `capacity` nor `width`, so no grid is too short.
    """
    view = arrays(instance)
    block = task_blocks(view)
    grid = np.asarray(grid, dtype=float)
    ends = np.append(grid[1:], np.inf)
    cells, classes, jobs = len(grid), block.train.shape[1], view.jobs
    # Columns f exist for the cells that end after the arrival; b, k, q and n hold their indices.
    used = ends[None, :] > view.arrival[block.job][:, None]  # [b, q]
    b, k, q = np.nonzero(np.broadcast_to(used[:, None, :], (len(block.job), classes, cells)))
    n = block.job[b]
    train, duration = block.train[b, k], (block.train + block.sync)[b, k]
    left = np.maximum(grid[q], view.arrival[n])  # left end of the cell, not before a_n
    widest = np.zeros(jobs)  # [n] K
    np.maximum.at(widest, block.job, block.width)
    weight = np.bincount(block.job, block.size * block.share, jobs)  # [n] W

    builder = ProgramBuilder()
    f = builder.columns("f", len(b), upper=block.size[b]).positions
    completion = builder.columns(
        "C",
        jobs,
        cost=view.weight,
        lower=view.arrival + view.critical,
        upper=start_limit(instance, horizon_cap=True),
    ).positions
    every = np.arange(jobs)
    # sum_{k, q} f[b, k, q] = size of block b
    builder.rows("demand", len(block.job), (b, f, 1.0), lower=block.size, upper=block.size)
    inner = q < cells - 1  # not in the tail
    span = np.diff(grid)  # [q]
    # sum_b T^c f <= GPUs of class k times the length of cell q
    builder.rows(
        "capacity",
        classes * (cells - 1),
        ((k * (cells - 1) + q)[inner], f[inner], train[inner]),
        upper=(view.class_size[:, None] * span).ravel(),
    )
    # sum_{b of n, k} T^c f <= K times the part of cell q after the arrival
    open_cell = ends[:-1] > view.arrival[:, None]  # [n, q] without the tail
    number = np.cumsum(open_cell.ravel()).reshape(open_cell.shape) - 1  # [n, q] row
    length = ends[:-1] - np.maximum(grid[:-1], view.arrival[:, None])
    builder.rows(
        "width",
        int(open_cell.sum()),
        (number[n[inner], q[inner]], f[inner], train[inner]),
        upper=(widest[:, None] * length)[open_cell],
    )
    # C_n - sum d f / K_r >= a_n
    builder.rows(
        "cut_length",
        jobs,
        (n, f, -duration / block.width[b]),
        (every, completion, 1.0),
        lower=view.arrival,
    )
    # C_n - sum v f left / W >= W / 2
    builder.rows(
        "mean_busy",
        jobs,
        (n, f, -block.share[b] * left / weight[n]),
        (every, completion, 1.0),
        lower=weight / 2,
    )
    column_names = [
        *(f"f[{x},{y},{z}]" for x, y, z in zip(b.tolist(), k.tolist(), q.tolist(), strict=True)),
        *(f"C[{job}]" for job in range(jobs)),
    ]
    program = replace(builder.program(names=True), column_names=column_names)
    return FluidProgram(program, block, grid, b, k, q)


def capacity_prices(fluid: FluidProgram, duals: Floats) -> Floats:
    """Return [k, q] the price >= 0 of a unit of GPU time of class k in cell q.

    `duals` [i]: duals of its rows; entries that are not finite count as 0.
    """
    first, cells = len(fluid.task_blocks.job), len(fluid.grid) - 1
    classes = fluid.task_blocks.train.shape[1]
    capacity = np.nan_to_num(duals[first : first + classes * cells], posinf=0.0, neginf=0.0)
    return np.asarray(np.maximum(0.0, -capacity).reshape(classes, cells))


def power_grid(end: float, cells: int) -> Floats:
    """Return the grid g_q = end (q / cells)^1.5: finer early, while more weight is unfinished.

    A cell weakens the bound by about half its length per unit of weight that is busy in it. The
    power 1.5 was the best of 1, 1.5 and 2 at full scale.

    `end`: last time of the grid, > 0. `cells`: number of cells, >= 1.
    """
    return np.asarray(end * np.linspace(0.0, 1.0, cells + 1) ** 1.5)


def start_times(instance: HareInstance, fluid: FluidProgram, values: Floats) -> Floats:
    """Return [i] x_hat, the time at which the progress of the job reaches the round of each task.

    Progress is the trained share of the job, weighted by v. It is linear within a cell and a jump
    in the tail. It reaches round r when it equals the weight of the earlier rounds, and the first
    round in the first cell with any progress.

    `values` [j]: a point of it.
    """
    view = arrays(instance)
    job, columns = fluid.task_blocks.job[fluid.block], len(fluid.block)
    # [n, q] start and end of each cell, not before the arrival; the tail has length 0
    start = np.maximum(fluid.grid, view.arrival[:, None])
    end = np.maximum(np.append(fluid.grid[1:], fluid.grid[-1]), view.arrival[:, None])
    progress = np.zeros(start.shape)  # [n, q]
    share = fluid.task_blocks.share[fluid.block] * np.maximum(values[:columns], 0.0)
    np.add.at(progress, (job, fluid.cell), share)
    weight = np.bincount(view.task_round, fluid.task_blocks.share[fluid.task_blocks.task_block])
    reached = np.empty(view.rounds)  # [q]
    for n in range(view.jobs):
        done = np.append(0.0, np.cumsum(progress[n]))
        rounds = slice(view.job_rounds[n], view.job_rounds[n + 1])
        before = np.cumsum(weight[rounds]) - weight[rounds]
        first = int(np.argmax(progress[n] > _MIN_PROGRESS * done[-1]))
        times = np.append(start[n, 0], end[n])
        reached[rounds] = np.interp(before / weight[rounds].sum() * done[-1], done, times)
        reached[view.job_rounds[n]] = start[n, first]
    return np.asarray(reached[view.task_round])
