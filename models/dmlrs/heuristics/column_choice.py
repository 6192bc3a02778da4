"""A schedule from columns (ours): an integer program over some columns, then placement on machines.

References
----------
C. Joncour, S. Michel, R. Sadykov, D. Sverdlov, F. Vanderbeck, "Column generation based primal
heuristics", Electronic Notes in Discrete Mathematics 36 (2010): the restricted master heuristic.
"""

from collections.abc import Sequence

import numpy as np

from schedgap.instances.dmlrs import EXTERNAL, INTERNAL, DmlrsInstance, arrays
from schedgap.instances.dmlrs.compiled import Floats
from schedgap.models.dmlrs.bounds.column_generation import JobColumn
from schedgap.models.dmlrs.heuristics.density import insert_by_density
from schedgap.models.dmlrs.heuristics.partial_schedule import BASE_PRICE, PartialSchedule
from schedgap.models.dmlrs.heuristics.placing import place
from schedgap.models.dmlrs.throughput import FULL, bundles, mode_limits, progress
from schedgap.models.method import Budget
from schedgap.solvers import solve
from schedgap.solvers.programs.arrays import LinearProgram
from schedgap.solvers.programs.builder import ProgramBuilder


def with_full_work(instance: DmlrsInstance, column: JobColumn) -> JobColumn | None:
    """Return a column with enough workers for all the work; None if its slots cannot hold them.

    Pricing rounds progress up, so a column may lack some work.
    """
    i, workers = column.job, bundles(instance, column.job).workers
    limits = mode_limits(instance, i)
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
    """Return (8), (9) over some columns in integers, all machines merged.

    `columns`: columns [j] of the program. `share`: share of the capacity that they may use, in (0,
    1].
    """
    view, builder = arrays(instance), ProgramBuilder()
    utilities = [view.utility[c.job, c.completion - view.arrival[c.job]] for c in columns]
    x = builder.columns("x", len(columns), cost=-np.array(utilities), upper=1, integer=True)
    total = view.capacity.sum(axis=0)
    capacity = builder.rows("capacity", (instance.horizon, len(total)), upper=share * total)
    once = builder.rows("once", len(instance.jobs), upper=1)
    for j, column in enumerate(columns):
        own = bundles(instance, column.job)
        for slot, option in column.options.items():
            demand = own.demand[np.searchsorted(own.workers, option.workers)]
            builder.add(capacity.positions[slot - 1], x.at(j), demand)
        builder.add(once.at(column.job), x.at(j), 1)
    return builder.program()


def schedule_from_columns(
    instance: DmlrsInstance,
    columns: Sequence[JobColumn],
    prices: Floats,
    share: float,
    *,
    budget: Budget,
) -> PartialSchedule:
    """Return the partial schedule of the best columns found, completed greedily.

    The columns of largest utility are placed first. A job whose column does not fit is inserted
    into the remaining capacity, like those that were not chosen.

    `columns`: columns with full work. `prices` [t, r]: prices of the resources, for placing and
    inserting. `share`: share of the capacity that the columns may use, in (0, 1].
    """
    program = restricted_master(instance, columns, share)
    result = solve(program, "highs", clock=budget.clock, seed=budget.seed, threads=budget.threads)
    partial = PartialSchedule(instance)
    if result.values is not None:
        chosen = np.flatnonzero(result.values > 0.5)
        for k in chosen[np.argsort(program.cost[chosen], kind="stable")].tolist():
            _place_column(partial, columns[k], prices)
    insert_by_density(partial, prices, clock=budget.clock)
    return partial


def _place_column(partial: PartialSchedule, column: JobColumn, prices: Floats) -> None:
    """Add a column to the partial schedule if its bundles fit."""
    plan = {}
    for slot, option in column.options.items():
        free, value = partial.free[slot - 1], prices[slot - 1] + BASE_PRICE
        mode = INTERNAL if option.internal else EXTERNAL
        counts = place(partial.instance, column.job, free, option.workers, mode, value)
        if counts is None:
            return
        plan[slot] = counts
    partial.add(column.job, plan)
