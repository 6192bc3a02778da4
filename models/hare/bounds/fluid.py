"""The bound of full scale, `fluid-lp`: a linear program over jobs, GPU classes and cells of time.

Time is cut into cells [g_q, g_{q+1}) and a tail [g_Q, infinity). A column `f[b, k, q]` is the
number of tasks of block b (a job's tasks that share their times and the size of their round)
trained on GPU class k in cell q; a task cut by a grid point counts in proportion. Every schedule is
a point of the program, so its value is a lower bound; so is any evaluation of its duals.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from schedgap.instances.hare import HareArrays, HareInstance, arrays
from schedgap.solvers.programs.arrays import LinearProgram
from schedgap.solvers.programs.rows import Rows

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class TaskBlocks:
    """Tasks of one job with equal times on every GPU and equally many tasks in their round.

    Index letters: b block (a job's blocks are consecutive), k class of GPUs, i task.
    """

    job: Ints  # [b]
    size: Floats  # [b] number of tasks
    width: Floats  # [b] K_r, tasks in the round of such a task
    train: Floats  # [b, k] T^c
    sync: Floats  # [b, k] T^s
    task_block: Ints  # [i]

    @property
    def share(self) -> Floats:
        """[b] v = dmin / K_r: the part of its round's least length that one task stands for."""
        return np.asarray((self.train + self.sync).min(axis=1) / self.width)


@dataclass(frozen=True, slots=True, eq=False)
class FluidProgram:
    """The linear program and where its columns lie: f[b, k, q] first, then C_n by job."""

    program: LinearProgram
    task_blocks: TaskBlocks
    grid: Floats  # [q] g_0 = 0 < ... < g_Q; cell Q is the tail
    block: Ints  # [j] of each f column
    kind: Ints  # [j] GPU class k
    cell: Ints  # [j] q


def task_blocks(view: HareArrays) -> TaskBlocks:
    """Return the blocks of all jobs."""
    width = np.diff(view.round_tasks)[view.task_round]
    key = np.column_stack([view.task_job, width, view.train, view.sync])
    rows, inverse, size = np.unique(key, axis=0, return_inverse=True, return_counts=True)
    classes = view.train.shape[1]
    return TaskBlocks(
        job=rows[:, 0].astype(np.int64),
        size=size.astype(float),
        width=rows[:, 1],
        train=rows[:, 2 : 2 + classes],
        sync=rows[:, 2 + classes :],
        task_block=inverse.ravel().astype(np.int64),
    )


def horizon(view: HareArrays) -> float:
    """Return a time by which some optimal schedule is over: all tasks in a row, at their worst."""
    return float(view.arrival.max() + view.duration.max(axis=1).sum())


def entry_count(view: HareArrays, cells: int, *, sync_rows: bool = False) -> float:
    """Return about how many entries the rows of the program have on a grid of so many times."""
    columns = float(len(task_blocks(view).job) * len(view.class_gpus) * cells)
    rows = 2.0 * view.jobs * cells
    return rows + columns * (5 + (cells / 2 if sync_rows else 0))


def build(instance: HareInstance, grid: Floats, *, sync_rows: bool = False) -> FluidProgram:
    """Return the fluid program on a grid; solves nothing.

    Parameters
    ----------
    instance : HareInstance
        Any instance of the family.
    grid : array, shape (Q + 1,)
        Increasing times from 0, in the instance's time unit. Any grid gives a valid bound; it
        should be fine up to the makespan of a good schedule.
    sync_rows : bool
        Add the rows `cut_sync`; they pay for long synchronization only.

    Returns
    -------
    Fluid
        Rows, in this order: `demand` by block, `capacity` by class and cell, `width` by job and
        cell, `cut_length` by job, `mean_busy` by job, then `cut_sync` by job and cell.

    Notes
    -----
    For a job n: K its largest round, v_i = dmin_i / K_r, W = sum_i v_i <= L_n.

    - `demand`: every task is trained.
    - `capacity`: the GPUs of a class train for at most their number times the cell.
    - `width`: at most K tasks of a job train at once, none before its arrival.
    - `mean_busy`: C_n >= B + W / 2, with B the mean over the job's work, weighted by v, of the left
      ends of the cells (not before a_n). Look back from C_n by a span sigma: each later round needs
      its dmin, hence at least the sum of its v, and the tasks of the open round that are unfinished
      for a fraction theta have weight sum theta v <= max theta dmin <= what is left of the round;
      so at most min(sigma, W) of the weight is undone, and C_n minus the weighted mean busy time is
      at least the integral of 1 - sigma / W from 0 to W.
    - `cut_length`: C_n >= a_n + sum d f / K_r. A round lasts at least its longest d, hence at least
      the mean of its d on the GPUs that its tasks have.
    - `cut_sync`, for cells that end after a_n: rounds that are complete by g_{q+1} lasted at least
      the mean of their d, and the open round has trained a fraction theta of a task only if theta d
      is at most what has elapsed of it plus T^s; so the work done by g_{q+1}, in units of d / K, is
      at most g_{q+1} - a_n plus the job's largest T^s.

    C_n >= a_n + L_n is the column's lower bound; upper bounds (block sizes, the horizon) serve the
    evaluation of duals. The tail has neither `capacity` nor `width`, so that no grid is too short.
    """
    view = arrays(instance)
    block = task_blocks(view)
    grid = np.asarray(grid, dtype=float)
    ends = np.append(grid[1:], np.inf)
    cells, classes, jobs = len(grid), block.train.shape[1], view.jobs
    used = ends[None, :] > view.arrival[block.job][:, None]  # [b, q]
    b, k, q = np.nonzero(np.broadcast_to(used[:, None, :], (len(block.job), classes, cells)))
    n = block.job[b]
    train, duration = block.train[b, k], (block.train + block.sync)[b, k]
    left = np.maximum(grid[q], view.arrival[n])
    columns = len(b)
    widest = np.zeros(jobs)
    np.maximum.at(widest, block.job, block.width)
    weight = np.bincount(block.job, block.size * block.share, jobs)  # W_n

    inner = q < cells - 1
    span = np.diff(grid)  # [q]
    rows = Rows(columns + jobs)
    every, f = np.arange(jobs), np.arange(columns)
    completion = columns + every
    rows.add("demand", (b, f, 1.0), lower=block.size, upper=block.size)
    rows.add(
        "capacity",
        ((k * (cells - 1) + q)[inner], f[inner], train[inner]),
        upper=(view.class_size[:, None] * span).ravel(),
    )
    open_cell = ends[:-1] > view.arrival[:, None]  # [n, q] without the tail
    number = np.cumsum(open_cell.ravel()).reshape(open_cell.shape) - 1
    room = ends[:-1] - np.maximum(grid[:-1], view.arrival[:, None])
    rows.add(
        "width",
        (number[n[inner], q[inner]], f[inner], train[inner]),
        upper=(widest[:, None] * room)[open_cell],
    )
    rows.add(
        "cut_length",
        (n, f, -duration / block.width[b]),
        (every, completion, 1.0),
        lower=view.arrival,
    )
    rows.add(
        "mean_busy",
        (n, f, -block.share[b] * left / weight[n]),
        (every, completion, 1.0),
        lower=weight / 2,
    )
    if sync_rows:  # running sums: a column counts in all later cells too
        longest = np.zeros(jobs)
        np.maximum.at(longest, block.job, block.sync.max(axis=1))
        earlier = [f[q <= cell] for cell in range(cells - 1)]
        rows.add(
            "cut_sync",
            *(
                (number[n[j], cell], j, (duration / block.width[b])[j])
                for cell, j in enumerate(earlier)
            ),
            upper=(ends[:-1] - view.arrival[:, None] + longest[:, None])[open_cell],
        )
    matrix, row_lower, row_upper = rows.arrays()
    program = LinearProgram(
        cost=np.append(np.zeros(columns), view.weight),
        lower=np.append(np.zeros(columns), view.arrival + view.critical),
        upper=np.append(block.size[b], np.full(jobs, horizon(view))),
        matrix=matrix,
        row_lower=row_lower,
        row_upper=row_upper,
        row_names=rows.names(),
        column_names=[
            *(
                f"f[{x},{y},{z}]"
                for x, y, z in zip(b.tolist(), k.tolist(), q.tolist(), strict=True)
            ),
            *(f"C[{job}]" for job in range(jobs)),
        ],
    )
    return FluidProgram(program, block, grid, b, k, q)


def capacity_prices(fluid: FluidProgram, duals: Floats) -> Floats:
    """Return [k, q] what the duals [i] pay for a unit of GPU time of class k in cell q, >= 0."""
    first, cells = len(fluid.task_blocks.job), len(fluid.grid) - 1
    classes = fluid.task_blocks.train.shape[1]
    own = np.nan_to_num(duals[first : first + classes * cells], posinf=0.0, neginf=0.0)
    return np.asarray(np.maximum(0.0, -own).reshape(classes, cells))


def power_grid(end: float, cells: int) -> Floats:
    """Return g_0 .. g_cells from 0 to `end`, finer early, where more jobs of weight are still open.

    A cell costs the bound about half its length for each unit of weight that is busy in it; the
    power 1.5 was the best of 1, 1.5 and 2 at full scale.
    """
    return np.asarray(end * np.linspace(0.0, 1.0, cells + 1) ** 1.5)


def midpoint_value(instance: HareInstance, fluid: FluidProgram, values: Floats) -> float:
    """Return what a point would cost if work lay in the middle of its cells: no bound.

    The difference to the point's own value shows what the cells lose. The tail has no middle.
    """
    view = arrays(instance)
    job, columns = fluid.task_blocks.job[fluid.block], len(fluid.block)
    start, end = _cell_times(view, fluid)
    share = fluid.task_blocks.share[fluid.block] * values[:columns]
    work = np.bincount(job, share, view.jobs)
    busy = np.bincount(job, share * (start + end)[job, fluid.cell] / 2, view.jobs)
    completion = np.maximum(values[columns:], busy / work + work / 2)
    return float(view.weight @ completion)


def start_times(instance: HareInstance, fluid: FluidProgram, values: Floats) -> Floats:
    """Return x_hat [i]: when a job's progress in the program reaches each task's round.

    Progress is the trained share of the job, weighted by v; it is linear within a cell, and all at
    once in the tail. Round r is reached when progress equals the weight of the rounds before it;
    the first round at the first cell with progress.
    """
    view = arrays(instance)
    job, columns = fluid.task_blocks.job[fluid.block], len(fluid.block)
    start, end = _cell_times(view, fluid)
    progress = np.zeros(start.shape)  # [n, q]
    share = fluid.task_blocks.share[fluid.block] * np.maximum(values[:columns], 0.0)
    np.add.at(progress, (job, fluid.cell), share)
    weight = np.bincount(
        view.task_round, fluid.task_blocks.share[fluid.task_blocks.task_block]
    )  # by round
    found = np.empty(view.rounds)
    for n in range(view.jobs):
        done = np.append(0.0, np.cumsum(progress[n]))
        own = slice(view.job_rounds[n], view.job_rounds[n + 1])
        before = np.cumsum(weight[own]) - weight[own]
        first = int(np.argmax(progress[n] > _NOTHING * done[-1]))
        times = np.append(start[n, 0], end[n])
        found[own] = np.interp(before / weight[own].sum() * done[-1], done, times)
        found[view.job_rounds[n]] = start[n, first]
    return np.asarray(found[view.task_round])


_NOTHING = 1e-7  # share of a job's work below which a cell counts as empty: noise of the engine


def _cell_times(view: HareArrays, fluid: FluidProgram) -> tuple[Floats, Floats]:
    """[n, q] start and end of each cell for each job, not before its arrival; the tail is g_Q."""
    ends = np.append(fluid.grid[1:], fluid.grid[-1])
    arrival = view.arrival[:, None]
    return np.maximum(fluid.grid, arrival), np.maximum(ends, arrival)
