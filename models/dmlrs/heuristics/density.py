"""Greedy offline schedule (ours): jobs by utility per share of the cluster that their work takes.

References
----------
Y. Toyoda, "A simplified algorithm for obtaining approximate solutions to zero-one programming
problems", Management Science 21 (1975): greedy by value over a weighted sum of resources.
"""

import numpy as np

from schedgap.instances.dmlrs import EXTERNAL, INTERNAL, DmlrsInstance, arrays
from schedgap.instances.dmlrs.compiled import Floats
from schedgap.models.dmlrs.heuristics.partial_schedule import PartialSchedule
from schedgap.models.dmlrs.throughput import first_completions, max_external_workers
from schedgap.models.method import MethodResult, RunContext
from schedgap.solvers.children.clock import Clock


def densities(instance: DmlrsInstance) -> Floats:
    """Return u(f0 - a) / (N sum_r (alpha + beta / gamma) / C) of each job [i].

    C is the capacity of all machines; N is for work across machines, if the job can run so. 0 for a
    job that no schedule completes.
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
    """Insert the unscheduled jobs, densest first, each if its payoff is positive.

    `partial`: gets the jobs. `prices` [t, r]: prices of the resources in the payoffs.

    Notes
    -----
    Guarantee: none. Ties: file order.
    """
    for i in np.argsort(-densities(partial.instance), kind="stable").tolist():
        if i not in partial.plans and not clock.expired():
            partial.insert(i, prices)


def density(instance: DmlrsInstance, call: RunContext) -> MethodResult:
    """Insert all jobs into an empty schedule at prices 0: each where it completes earliest."""
    partial = PartialSchedule(instance)
    insert_by_density(
        partial, np.zeros((instance.horizon, len(instance.resources))), clock=call.clock
    )
    return MethodResult(schedule=partial.schedule())
