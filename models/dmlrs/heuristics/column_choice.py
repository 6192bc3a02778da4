"""A choice of jobs among columns by an integer program, and its place on machines (ours)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from schedgap.instances.dmlrs import EXTERNAL, INTERNAL, DmlrsInstance, arrays
from schedgap.instances.dmlrs.compiled import Floats
from schedgap.models.dmlrs.bounds.column_generation import JobColumn
from schedgap.models.dmlrs.heuristics.density import insert_by_density
from schedgap.models.dmlrs.heuristics.partial_schedule import BASE_PRICE, PartialSchedule
from schedgap.models.dmlrs.heuristics.placing import place
from schedgap.models.dmlrs.throughput import (
    FULL,
    bundles,
    machine_limits,
    max_external_workers,
    progress,
)
from schedgap.solvers import Clock, solve
from schedgap.solvers.programs.arrays import LinearProgram


def with_full_work(instance: DmlrsInstance, column: JobColumn) -> JobColumn | None:
    """Return a column with workers enough for all the work, or None where slots hold no more.

    Pricing rounds progress up, so that columns may miss some of it.
    """
    i, workers = column.job, bundles(instance, column.job).workers
    limits = int(machine_limits(instance).internal[i].max()), max_external_workers(instance, i)
    options, total = dict(column.options), [0, 0]
    for option in options.values():
        total[INTERNAL if option.internal else EXTERNAL] += option.workers
    for slot, option in options.items():
        mode = INTERNAL if option.internal else EXTERNAL
        missing = (FULL - progress(instance, i, *total)) * arrays(instance).needed[i, mode]
        if missing <= 0:
            break
        wider = workers[(workers >= option.workers + missing) & (workers <= limits[mode])]
        n = int(wider[0]) if len(wider) else int(workers[workers <= limits[mode]][-1])
        total[mode] += n - option.workers
        options[slot] = option._replace(workers=n)
    if progress(instance, i, *total) < FULL:
        return None
    return JobColumn(i, column.completion, options)


def restricted_master(
    instance: DmlrsInstance, columns: Sequence[JobColumn], share: float
) -> LinearProgram:
    """Return (8), (9) over some columns: all machines as one, with a share of their capacity."""
    view, T, R = arrays(instance), instance.horizon, len(instance.resources)
    capacity = share * np.tile(view.capacity.sum(axis=0), T)
    row_count = T * R + len(instance.jobs)
    rows: list[int] = []
    entries: list[float] = []
    starts = [0]
    for column in columns:
        job_bundles = bundles(instance, column.job)
        for slot, option in column.options.items():
            demand = (
                job_bundles.demand_milli[np.searchsorted(job_bundles.workers, option.workers)]
                / 1000
            )
            rows += range((slot - 1) * R, slot * R)
            entries += demand.tolist()
        rows.append(T * R + column.job)
        entries.append(1.0)
        starts.append(len(rows))
    matrix: Any = sparse.csc_array((entries, rows, starts), shape=(row_count, len(columns)))
    utilities = [view.utility[c.job, c.completion - view.arrival[c.job]] for c in columns]
    return LinearProgram(
        -np.array(utilities),
        np.zeros(len(columns)),
        np.ones(len(columns)),
        matrix,
        np.full(row_count, -np.inf),
        np.concatenate([capacity, np.ones(len(instance.jobs))]),
        integer=np.ones(len(columns), dtype=bool),
    )


def schedule_from_columns(
    instance: DmlrsInstance,
    columns: Sequence[JobColumn],
    prices: Floats,
    share: float,
    *,
    clock: Clock,
    seed: int,
    threads: int,
) -> PartialSchedule:
    """Return a board with the best choice of columns that was found, and what else fits it.

    The columns of most utility are put on machines first; a job whose column does not fit is
    offered to what the others leave, as those that were not chosen are.
    """
    program = restricted_master(instance, columns, share)
    result = solve(program, "highs", clock=clock, seed=seed, threads=threads)
    partial = PartialSchedule(instance)
    if result.values is not None:
        chosen = np.flatnonzero(result.values > 0.5)
        for k in chosen[np.argsort(program.cost[chosen], kind="stable")].tolist():
            _place_column(partial, columns[k], prices)
    insert_by_density(partial, prices, clock=clock)
    return partial


def _place_column(partial: PartialSchedule, column: JobColumn, prices: Floats) -> None:
    plan = {}
    for slot, option in column.options.items():
        free, value = partial.free[slot - 1], prices[slot - 1] + BASE_PRICE
        mode = INTERNAL if option.internal else EXTERNAL
        counts = place(partial.instance, column.job, free, option.workers, mode, value)
        if counts is None:
            return
        plan[slot] = counts
    partial.add(column.job, plan)
