"""The method `cg-bound`: the relaxation of (4) by column generation, from a list schedule."""

import math

from schedgap.instances.edge import EdgeInstance
from schedgap.models.edge.bounds.column_generation import solve_bound, too_large
from schedgap.models.edge.bounds.job_alone import job_bound
from schedgap.models.edge.bounds.solve_relaxations import proved
from schedgap.models.edge.decisions import CompiledInstance, compiled, sense
from schedgap.models.edge.heuristics.lists import best_list
from schedgap.models.edge.programs.dual import CapacityPrices, to_data
from schedgap.models.method import MethodResult, RunContext


def cg_bound(instance: EdgeInstance, call: RunContext) -> MethodResult:
    """Solve the linear relaxation of (4) by column generation."""
    view, sign = compiled(instance), sense(instance)
    kind = "batch-dual" if instance.is_batch else "cg-bound"
    best = job_bound(view)
    call.progress.bound(float(sign * best), {"kind": "job-bound"})

    def report(bound: float, prices: CapacityPrices) -> None:
        """Report an integer that is larger than all before, with its certificate."""
        nonlocal best
        if math.ceil(bound) > best:
            best = math.ceil(bound)
            call.progress.bound(float(sign * best), {"kind": kind, **to_data(prices)})

    slots = _priced_slots(instance, view)
    if reason := too_large(view, slots):
        return MethodResult(note=reason)
    call.progress.phase("generating columns")
    relaxation = solve_bound(view, slots=slots, budget=call.budget, on_bound=report)
    if relaxation.infeasible:
        return MethodResult(infeasible=True, note="the relaxation exceeds every schedule in time")
    if relaxation.prices is None:
        return MethodResult(note="stopped before the first bound")
    master, value = relaxation.result.objective, relaxation.bound
    return proved(
        instance,
        {"kind": kind, **to_data(relaxation.prices)},
        master=None if master is None else sign * master,
        relaxation=None if value is None else sign * value,
        rounds=relaxation.result.rounds,
        columns=len(relaxation.result.tags),
        slots=slots,
    )


def _priced_slots(instance: EdgeInstance, view: CompiledInstance) -> int:
    """Return the number of slots that an optimal schedule can use, from a list schedule if any."""
    if instance.is_batch:
        return view.slots
    _, partial = best_list(instance)
    if not partial.complete:
        return view.slots
    return last_slot(view, int(partial.value) + 1) - view.first + 1


def last_slot(view: CompiledInstance, upper: int) -> int:
    """Return the last slot that a schedule with an objective below `upper` can use.

    A job that ends x slots later than alone adds x to the objective, and all others cost at least
    what they cost alone.
    """
    alone = [task.alone or 0 for task in view.tasks]
    slack = upper - 1 - sum(alone)
    ends = [task.arrival + flow + slack for task, flow in zip(view.tasks, alone, strict=True)]
    return max(view.first, min(view.last, max(ends, default=view.last)))
