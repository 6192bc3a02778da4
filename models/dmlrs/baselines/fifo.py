"""FIFO: jobs in order of arrival, each with as many workers as it can use."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from annotated_types import Ge

from schedgap.instances.dmlrs import DmlrsInstance, DmlrsSchedule, arrays
from schedgap.instances.dmlrs.compiled import Ints
from schedgap.models.dmlrs.baselines.simulation import (
    UNBOUNDED,
    Placements,
    UnfinishedJob,
    simulate,
)
from schedgap.models.dmlrs.throughput import bundles, unit_by_unit


def fifo(
    instance: DmlrsInstance,
    fifo_workers: Annotated[
        int | None, "largest number of workers of a job; default: its batch", Ge(1)
    ] = None,
    *,
    strict: Annotated[bool, "no backfilling: a job without workers blocks all later jobs"] = False,
) -> DmlrsSchedule:
    """Return the schedule that serves jobs in order of arrival.

    A job takes the largest n up to F, `fifo_workers` and what it needs. It runs on the first
    machine that holds n with the PSs, or else across machines. Across machines, each unit is on the
    first machine with enough free capacity, a PS before the worker that requires it.

    Notes
    -----
    Source: Numerical results; completed by us. Time: O(T I (F + H R)).
    """
    view = arrays(instance)

    def decide(slot: int, active: Sequence[UnfinishedJob]) -> Placements:
        free, placed = view.capacity_milli.copy(), Placements()
        for job in active:
            limit = min(int(view.batch[job.job]), fifo_workers or UNBOUNDED)
            counts = _largest(instance, job, limit, free)
            if counts is None and strict:
                break
            if counts is not None:
                placed[job.job] = counts
                for h, (w, s) in counts.items():
                    free[h] -= w * view.worker_milli[job.job] + s * view.ps_milli[job.job]
        return placed

    return simulate(instance, decide)


def _largest(
    instance: DmlrsInstance, job: UnfinishedJob, limit: int, free: Ints
) -> dict[int, tuple[int, int]] | None:
    """Return the placement of the most workers, on one machine if that holds as many."""
    job_bundles = bundles(instance, job.job)
    usable = job_bundles.workers <= min(limit, job.need_internal)
    fits = np.all(job_bundles.demand_milli[usable][:, None, :] <= free, axis=2)  # [k, h]
    fitting = np.flatnonzero(fits.any(axis=1))
    internal = int(job_bundles.workers[fitting[-1]]) if len(fitting) else 0
    if len(instance.machines) > 1:
        counts = spread(instance, job.job, min(limit, job.need_external), free)
        if sum(w for w, _ in counts.values()) > internal:
            return counts
    if not internal:
        return None
    k = fitting[-1]
    return {int(np.argmax(fits[k])): (internal, int(job_bundles.ps[k]))}


def spread(instance: DmlrsInstance, i: int, limit: int, free: Ints) -> dict[int, tuple[int, int]]:
    """Return the largest allowed number of workers, up to `limit`, that can be placed unit by unit.

    `limit`: largest number of workers. `free` [h, r]: free capacity in thousandths; not changed.
    """
    view = arrays(instance)
    largest: dict[int, tuple[int, int]] = {}
    demand = view.worker_milli[i], view.ps_milli[i]
    for counts in unit_by_unit(bundles(instance, i), float(view.ratio[i]), demand, limit, free):
        largest = counts
    return largest
