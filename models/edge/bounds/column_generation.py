"""The linear relaxation of (4) by column generation (ours): rows (4a)-(4c), pricing (9).

For (2) every job has exactly one column, and the bound is on sum c_j - a_j; for a batch the same
loop solves (5). What is reported is what the prices prove by themselves: see `programs.dual`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from schedgap.instances.edge import EdgeInstance
from schedgap.models.edge.algorithms.cheapest_schedule import Floats
from schedgap.models.edge.decisions import Problem, Task, problem
from schedgap.models.edge.placements import Run
from schedgap.models.edge.programs import dual as priced
from schedgap.models.edge.programs.dual import Pricer, Prices
from schedgap.solvers import Clock
from schedgap.solvers.loops.column_generation import (
    ColumnGenerationResult,
    Columns,
    Priced,
    generate_columns,
)
from schedgap.solvers.programs.arrays import LinearProgram

MOST_CELLS = 2_000_000  # jobs x servers with their workers x slots that are priced one by one
MOST_WORK = 4_000_000_000  # the same times the modes of each job
MOST_COLUMNS = 12  # new ones of each job in a round


def too_large(view: Problem, slots: int) -> str | None:
    """Return why prices by server and slot cannot be had, or None."""
    able = (view.workers > 0).sum(axis=0).tolist()
    cells = sum(able[task.worker_type] for task in view.tasks) * slots
    if cells > MOST_CELLS:
        return f"too large: {cells} jobs x servers x slots, at most {MOST_CELLS}"
    work = sum(able[task.worker_type] * len(task.modes) for task in view.tasks) * slots
    if work > MOST_WORK:
        return f"too large: {work} jobs x modes x servers x slots, at most {MOST_WORK}"
    prices = slots * (view.workers.size + view.ps.size)
    if prices > priced.MOST_CELLS:
        return f"too large: {prices} prices, at most {priced.MOST_CELLS}"
    return None


@dataclass(frozen=True, slots=True, eq=False)
class ColumnBound:
    """Where column generation stopped; of a batch all values are minus the number of jobs.

    `bound` is None when no prices have been found; `infeasible`: the bound exceeds all schedules.
    """

    bound: float | None
    prices: Prices | None
    runs: tuple[tuple[Run, float], ...]  # of the last master, with their shares
    result: ColumnGenerationResult | None
    infeasible: bool = False


def solve_bound(
    view: Problem,
    *,
    slots: int,
    clock: Clock,
    known: Sequence[Run] = (),
    seed: int = 0,
    threads: int = 1,
    gap: float = 1e-6,
    guess: Prices | None = None,
    on_bound: Callable[[float, Prices], None] | None = None,
) -> ColumnBound:
    """Solve the linear relaxation; every bound on the way is valid.

    Parameters
    ----------
    slots : int
        Slots with prices, counted from the window's first; see `Pricer`.
    known : sequence of Run
        First columns, those of a known schedule, say.
    guess : Prices or None
        Good prices to begin with, for as many slots.
    on_bound : callable or None
        Told of every better bound, and of the prices that prove it.
    """
    pricer, layout = Pricer(view, slots), _Layout(view, slots)
    jobs = len(view.tasks)
    first = [run for run in known if run.group.end < view.first + slots]
    ceiling = _ceiling(view)
    # A late column, or a worse one than all schedules, keeps the master feasible.
    spare = np.minimum(pricer.late, ceiling)
    entries = sparse.hstack(
        [layout.columns(first), sparse.eye_array(layout.rows, jobs, format="csc")], format="csc"
    )
    costs = np.concatenate([[layout.cost(run) for run in first], spare])
    master = LinearProgram.nonnegative(
        costs,
        entries,
        row_lower=layout.row_lower,
        row_upper=layout.row_upper,
    )

    at: Prices | None = None

    def pricing(duals: Floats) -> Priced:
        nonlocal at
        at = layout.prices(duals)
        markets, costs = pricer.markets(at), pricer.all_costs(at)
        try:
            bound = pricer.total(pricer.least(costs), at)
        except ValueError:
            bound = -np.inf
        fresh: list[Run] = []
        for k, task in enumerate(view.tasks):
            for m, start in _best(costs[k], float(duals[k]) - 1e-9):
                fresh.append(pricer.run(markets, task, task.modes[m], start)[1])
        if not fresh:
            return Priced(None, bound)
        found = [layout.cost(run) for run in fresh]
        return Priced(Columns(found, layout.columns(fresh), fresh), bound)

    def better(bound: float) -> None:  # comes right after the pricing that has proved it
        if on_bound is not None and at is not None:
            on_bound(bound, at)

    result = generate_columns(
        master,
        pricing,
        clock=clock,
        gap=gap,
        prices=None if guess is None else layout.duals(guess, pricer),
        seed=seed,
        threads=threads,
        on_bound=better,
    )
    runs: list[tuple[Run, float]] = []
    if result.values is not None:
        every = [*first, *([None] * jobs), *result.tags]
        runs = [
            (run, float(share))
            for run, share in zip(every, result.values, strict=True)
            if run is not None and share > 1e-6
        ]
    prices = None if result.prices is None else layout.prices(result.prices)
    infeasible = result.bound is not None and not view.is_batch and result.bound > ceiling - 0.5
    return ColumnBound(result.bound, prices, tuple(runs), result, infeasible)


def _best(costs: list[Floats], limit: float) -> list[tuple[int, int]]:
    """Return (mode, start) of the cheapest starts of modes below a limit."""
    found = []
    for m, cost in enumerate(costs):
        if cost.size and (least := float(cost.min())) < limit:
            found.append((least, m, int(cost.argmin())))
    return [(m, start) for _, m, start in sorted(found)[:MOST_COLUMNS]]


def _ceiling(view: Problem) -> float:
    """Return a value beyond all schedules, which a column of one job may have."""
    if view.is_batch:
        return 0.0
    return 1.0 + sum(view.last - task.arrival for task in view.tasks)


class _Layout:
    """Rows of the master: the jobs, then workers and PSs by server, type and slot."""

    def __init__(self, view: Problem, slots: int) -> None:
        self.view, self.slots = view, slots
        jobs = len(view.tasks)
        demand = np.zeros(view.workers.shape[1])  # at most by all jobs of a type
        seekers = np.zeros(view.ps.shape[1])
        for task in view.tasks:
            demand[task.worker_type] += max((mode.workers for mode in task.modes), default=0)
            seekers[task.ps_type] += 1
        # A pair of server and type that all jobs together cannot fill needs no price.
        self.scarce_workers = np.argwhere((view.workers > 0) & (view.workers < demand))  # [k] s, u
        self.scarce_ps = np.argwhere((view.ps > 0) & (view.ps < seekers))  # [k] s, v
        self.row_of_workers = np.full(view.workers.shape, -1)
        self.row_of_ps = np.full(view.ps.shape, -1)
        count = jobs
        for pairs, rows in (
            (self.scarce_workers, self.row_of_workers),
            (self.scarce_ps, self.row_of_ps),
        ):
            rows[tuple(pairs.T)] = count + slots * np.arange(len(pairs))
            count += slots * len(pairs)
        self.rows = count
        room = np.concatenate(
            [view.workers[tuple(self.scarce_workers.T)], view.ps[tuple(self.scarce_ps.T)]]
        )
        once = np.ones(jobs)
        self.row_upper = np.concatenate([once, np.repeat(room, slots)])
        self.row_lower = np.full(count, -np.inf)
        if not view.is_batch:
            self.row_lower[:jobs] = 1.0
        self.task_of = {task.job: k for k, task in enumerate(view.tasks)}

    def cost(self, run: Run) -> float:
        """Return what a run adds to the objective."""
        if self.view.is_batch:
            return -1.0
        return float(self.view.tasks[self.task_of[run.group.job]].flow(run.group))

    def prices(self, duals: Floats) -> Prices:
        """Return the prices behind duals [i]."""
        workers = np.zeros((*self.view.workers.shape, self.slots))
        ps = np.zeros((*self.view.ps.shape, self.slots))
        jobs = len(self.view.tasks)
        cells = priced.rounded(-duals[jobs:]).reshape(-1, self.slots)
        cut = len(self.scarce_workers)
        workers[tuple(self.scarce_workers.T)] = cells[:cut]
        ps[tuple(self.scarce_ps.T)] = cells[cut:]
        return Prices(workers, ps)

    def duals(self, prices: Prices, pricer: Pricer) -> Floats:
        """Return the duals [i] that stand for prices; a job's is what it costs at least."""
        least = pricer.least(pricer.all_costs(prices))
        cells = [
            prices.workers[tuple(self.scarce_workers.T)].ravel(),
            prices.ps[tuple(self.scarce_ps.T)].ravel(),
        ]
        return np.concatenate([np.minimum(least, _ceiling(self.view)), *(-each for each in cells)])

    def columns(self, runs: Sequence[Run]) -> Any:
        """Return the entries of runs, sparse [i, l]."""
        rows, columns, entries = [], [], []
        for at, run in enumerate(runs):
            k = self.task_of[run.group.job]
            task: Task = self.view.tasks[k]
            start, d = run.group.start - self.view.first, run.group.mode.duration
            rows.append(np.array([k]))
            entries.append(np.ones(1))
            held = [(self.row_of_workers[s, task.worker_type], n) for s, n in run.workers]
            held.append((self.row_of_ps[run.host, task.ps_type], 1))
            count = 1
            for row, amount in held:
                if row >= 0:
                    rows.append(row + np.arange(start, start + d))
                    entries.append(np.full(d, float(amount)))
                    count += d
            columns.append(np.full(count, at))
        if not runs:
            return sparse.csc_array((self.rows, 0))
        index = (np.concatenate(rows), np.concatenate(columns))
        return sparse.csc_array((np.concatenate(entries), index), shape=(self.rows, len(runs)))


def fitting(view: Problem, data: Mapping[str, Any]) -> Prices:
    """Return the prices of a certificate; ValueError where they do not fit, or are too many."""
    if reason := too_large(view, data["slots"]):
        raise ValueError(reason)
    return priced.from_data(view, data)


def certified(instance: EdgeInstance, data: Mapping[str, Any]) -> float:
    """Return the bound that a certificate proves, in the objective's own sense."""
    view = problem(instance)
    prices = fitting(view, data)
    bound = Pricer(view, prices.slots).bound(prices)
    return -bound if view.is_batch else bound
