"""The methods `cg-bound`, from a list schedule, and `type-bound`, with compiled pricing.

Both solve the relaxation of (4) by column generation.
"""

import math
from typing import Annotated

from annotated_types import Ge

from schedgap.instances.edge import EdgeInstance
from schedgap.models.edge.bounds import column_generation, worker_types
from schedgap.models.edge.bounds.job_alone import job_bound
from schedgap.models.edge.bounds.solve_relaxations import proved
from schedgap.models.edge.decisions import CompiledInstance, compiled, sense
from schedgap.models.edge.heuristics.initial import best_list_schedule
from schedgap.models.edge.heuristics.kernel import compiled_price
from schedgap.models.edge.programs.dual import to_data
from schedgap.models.method import MethodResult, RunContext


def cg_bound(instance: EdgeInstance, call: RunContext) -> MethodResult:
    """Solve the linear relaxation of (4) by column generation."""
    view, sign = compiled(instance), sense(instance)
    alone = job_bound(view)
    call.progress.bound(float(sign * alone), {"kind": "job-bound"})
    slots = _priced_slots(instance, view)
    if reason := column_generation.too_large(view, slots):
        return MethodResult(note=reason)
    call.progress.phase("generating columns")
    relaxation = column_generation.solve_bound(
        view,
        slots=slots,
        budget=call.budget,
        on_bound=column_generation.reporter(
            view, lambda bound, proof: call.progress.bound(sign * bound, proof), alone
        ),
    )
    if relaxation.infeasible:
        return MethodResult(infeasible=True, note="the relaxation exceeds every schedule in time")
    if relaxation.prices is None:
        return MethodResult(note="stopped before the first bound")
    master, value = relaxation.result.objective, relaxation.bound
    return proved(
        instance,
        {"kind": "batch-dual" if instance.is_batch else "cg-bound", **to_data(relaxation.prices)},
        master=None if master is None else sign * master,
        relaxation=None if value is None else sign * value,
        rounds=relaxation.result.rounds,
        columns=len(relaxation.result.tags),
        slots=slots,
    )


def type_bound(
    instance: EdgeInstance,
    call: RunContext,
    *,
    block: Annotated[
        int, "number of slots that share a price at first", Ge(1)
    ] = worker_types.BLOCK,
) -> MethodResult:
    """Run `type-bound`: relaxations by worker type with merged servers."""
    view = compiled(instance)
    call.progress.bound(float(job_bound(view)), {"kind": "job-bound"})
    call.progress.phase("generating columns by worker type")
    bounds = worker_types.solve_types(
        view,
        budget=call.budget.share(0.9),
        block=block,
        price=compiled_price(instance),
        on_better=lambda bounds: call.progress.bound(
            worker_types.whole_bound(view, bounds), worker_types.certificate(instance, bounds)
        ),
    )
    masters = [each.master for each in bounds]
    return proved(
        instance,
        worker_types.certificate(instance, bounds),
        by_type={instance.worker_types[each.worker_type]: each.bound for each in bounds},
        master=None if None in masters else math.fsum(m for m in masters if m is not None),
        rounds=sum(each.rounds for each in bounds),
    )


def _priced_slots(instance: EdgeInstance, view: CompiledInstance) -> int:
    """Return the number of slots that an optimal schedule can use, from a list schedule if any."""
    if instance.is_batch:
        return view.slots
    start = best_list_schedule(instance)
    if start is None:
        return view.slots
    return last_slot(view, start.value(instance) + 1) - view.first + 1


def last_slot(view: CompiledInstance, upper: int) -> int:
    """Return the last slot that a schedule with an objective below `upper` can use.

    A job that ends x slots later than alone adds x to the objective, and all others cost at least
    what they cost alone.
    """
    alone = [task.alone or 0 for task in view.tasks]
    slack = upper - 1 - sum(alone)
    ends = [task.arrival + flow + slack for task, flow in zip(view.tasks, alone, strict=True)]
    return max(view.first, min(view.last, max(ends, default=view.last)))
