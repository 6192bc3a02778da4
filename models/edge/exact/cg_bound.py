"""The method `cg-bound`: the relaxation of (4) by column generation, from a list schedule."""

from schedgap.instances.edge import EdgeInstance
from schedgap.models.edge.bounds import column_generation
from schedgap.models.edge.bounds.job_alone import job_bound
from schedgap.models.edge.bounds.solve_relaxations import proved
from schedgap.models.edge.decisions import CompiledInstance, compiled, sense
from schedgap.models.edge.heuristics.lists import best_list
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
