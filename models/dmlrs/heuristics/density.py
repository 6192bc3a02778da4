"""Jobs by density, offline (ours): utility for the part of the cluster that the work takes."""

import numpy as np

from schedgap.instances.dmlrs import EXTERNAL, INTERNAL, DmlrsInstance, arrays
from schedgap.instances.dmlrs.compiled import Floats
from schedgap.models.dmlrs.heuristics.partial_schedule import Board
from schedgap.models.dmlrs.throughput import external_width, first_completions
from schedgap.models.method import MethodResult, RunContext
from schedgap.solvers.children.clock import Clock


def densities(instance: DmlrsInstance) -> Floats:
    """Return u(f0 - a) / (N sum_r (alpha + beta / gamma) / C) of each job [i].

    C is that of all machines; N is for work across machines, if the job can do so. 0 for a job that
    nothing completes.
    """
    view = arrays(instance)
    total = np.maximum(view.capacity.sum(axis=0), 1e-3)
    found = np.zeros(len(instance.jobs))
    for i, first in enumerate(first_completions(instance)):
        if first <= instance.horizon:
            mode = EXTERNAL if external_width(instance, i) else INTERNAL
            each = view.worker_demand[i] + view.ps_demand[i] / view.ratio[i]
            takes = float(view.needed[i, mode] * (each / total).sum())
            found[i] = view.utility[i, first - view.arrival[i]] / takes
    return found


def fill(board: Board, prices: Floats, *, clock: Clock) -> None:
    """Put the jobs that are off a board on it, the densest first, each if it pays at prices [t, r].

    Notes
    -----
    Guarantee: none. Ties: file order.
    """
    for i in np.argsort(-densities(board.instance), kind="stable").tolist():
        if i not in board.plans and not clock.expired():
            board.insert(i, prices)


def density(instance: DmlrsInstance, call: RunContext) -> MethodResult:
    """Put all jobs on an empty board, at no prices: each where it completes soonest."""
    board = Board(instance)
    fill(board, np.zeros((instance.horizon, len(instance.resources))), clock=call.clock)
    return MethodResult(schedule=board.schedule())
