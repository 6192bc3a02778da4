"""Jobs by density, offline (ours): utility for the part of the cluster that the work takes."""

import numpy as np

from schedgap.instances.dmlrs import EXTERNAL, INTERNAL, DmlrsInstance, arrays
from schedgap.instances.dmlrs.compiled import Floats
from schedgap.models.dmlrs.heuristics.partial_schedule import PartialSchedule
from schedgap.models.dmlrs.throughput import first_completions, max_external_workers
from schedgap.models.method import MethodResult, RunContext
from schedgap.solvers.children.clock import Clock


def densities(instance: DmlrsInstance) -> Floats:
    """Return u(f0 - a) / (N sum_r (alpha + beta / gamma) / C) of each job [i].

    C is that of all machines; N is for work across machines, if the job can do so. 0 for a job that
    nothing completes.
    """
    view = arrays(instance)
    capacity = np.maximum(view.capacity.sum(axis=0), 1e-3)
    density = np.zeros(len(instance.jobs))
    for i, first in enumerate(first_completions(instance)):
        if first <= instance.horizon:
            mode = EXTERNAL if max_external_workers(instance, i) else INTERNAL
            unit_demand = view.worker_demand[i] + view.ps_demand[i] / view.ratio[i]
            cluster_share = float(view.needed[i, mode] * (unit_demand / capacity).sum())
            density[i] = view.utility[i, first - view.arrival[i]] / cluster_share
    return density


def insert_by_density(partial: PartialSchedule, prices: Floats, *, clock: Clock) -> None:
    """Put the jobs that are off a board on it, the densest first, each if it pays at prices [t, r].

    Notes
    -----
    Guarantee: none. Ties: file order.
    """
    for i in np.argsort(-densities(partial.instance), kind="stable").tolist():
        if i not in partial.plans and not clock.expired():
            partial.insert(i, prices)


def density(instance: DmlrsInstance, call: RunContext) -> MethodResult:
    """Put all jobs on an empty board, at no prices: each where it completes soonest."""
    partial = PartialSchedule(instance)
    insert_by_density(
        partial, np.zeros((instance.horizon, len(instance.resources))), clock=call.clock
    )
    return MethodResult(schedule=partial.schedule())
