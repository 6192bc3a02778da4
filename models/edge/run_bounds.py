"""The bounds: each joins one relaxation to the engine that solves it, with a certificate."""

import math
from typing import Any

import numpy as np

from schedgap.instances.edge import EdgeInstance
from schedgap.models.edge import program_mode
from schedgap.models.edge.bounds import column_bound, job_bounds, mode_arrays, type_bound
from schedgap.models.edge.bounds.prices import Prices, to_data
from schedgap.models.edge.certificates import check_certificate, duals_certificate, too_large
from schedgap.models.edge.exact.fixing import last_slot
from schedgap.models.edge.heuristics.starting import job_bound, starting_schedule
from schedgap.models.edge.problem import Problem, no_batches, no_schedule, only_batches, problem
from schedgap.models.method import Call, Method, Option, Outcome
from schedgap.solvers import solve
from schedgap.solvers.linear import LinearProgram


def _proved(instance: EdgeInstance, certificate: dict[str, Any], **trace: Any) -> Outcome:
    """Return what a certificate proves: evaluated as it stands in the file."""
    bound = check_certificate(instance, certificate)
    return Outcome(bound=bound, trace=trace, certificate=certificate | {"value": bound})


def column(instance: EdgeInstance, call: Call) -> Outcome:
    """Solve the linear relaxation of (4) by column generation."""
    if reason := no_schedule(instance):
        return Outcome(infeasible=True, note=reason)
    view = problem(instance)
    least = job_bound(view)
    sign = -1 if instance.is_batch else 1
    call.progress.bound(float(sign * least), {"kind": "job-bound"})
    slots = _slots(instance, view)
    if reason := column_bound.too_large(view, slots):
        return Outcome(note=reason)
    call.progress.phase("generating columns")
    kind, told = "batch-dual" if instance.is_batch else "cg-bound", float(least)

    def better(bound: float, prices: Prices) -> None:
        nonlocal told
        if math.ceil(bound) > told:
            told = float(math.ceil(bound))
            call.progress.bound(sign * told, {"kind": kind, **to_data(prices)})

    found = column_bound.solve_bound(
        view,
        slots=slots,
        clock=call.clock,
        seed=call.seed,
        threads=call.threads,
        on_bound=better,
    )
    if found.infeasible:
        return Outcome(infeasible=True, note="the relaxation exceeds every schedule in time")
    if found.prices is None or found.result is None:
        return Outcome(note="stopped before the first bound")
    master, value = found.result.objective, found.bound
    return _proved(
        instance,
        {"kind": kind, **to_data(found.prices)},
        master=None if master is None else sign * master,
        relaxation=None if value is None else sign * value,
        rounds=found.result.rounds,
        columns=len(found.result.tags),
        slots=slots,
    )


def _slots(instance: EdgeInstance, view: Problem) -> int:
    """Return how many slots an optimal schedule can reach into, from a list where there is one."""
    if instance.is_batch:
        return view.slots
    start = starting_schedule(instance)
    if start is None:
        return view.slots
    return last_slot(view, start.value(instance) + 1) - view.first + 1


def by_type(instance: EdgeInstance, call: Call) -> Outcome:
    """Bound the jobs of each worker type with all edge servers, and all clouds, as one."""
    if reason := no_schedule(instance):
        return Outcome(infeasible=True, note=reason)
    view = problem(instance)
    call.progress.bound(float(job_bound(view)), {"kind": "job-bound"})
    call.progress.phase("generating columns by worker type")
    found = type_bound.solve_types(
        view,
        clock=call.clock.share(0.9),
        block=call.options["block"],
        seed=call.seed,
        threads=call.threads,
        on_better=lambda found: call.progress.bound(
            type_bound.bound_of(view, found), type_bound.certificate(instance, found)
        ),
    )
    masters = [each.master for each in found]
    return _proved(
        instance,
        type_bound.certificate(instance, found),
        by_type={instance.worker_types[each.worker_type]: each.bound for each in found},
        master=None if None in masters else math.fsum(m for m in masters if m is not None),
        rounds=sum(each.rounds for each in found),
    )


def lp_mode(instance: EdgeInstance, call: Call) -> Outcome:
    """Solve the linear relaxation of the program over starts and modes as it is."""
    if reason := no_schedule(instance):
        return Outcome(infeasible=True, note=reason)
    view = problem(instance)
    columns, most = program_mode.columns(instance), call.options["max_columns"]
    if columns > most:
        return Outcome(note=f"too large: {columns} columns > max_columns={most}")
    if reason := too_large(instance):
        return Outcome(note=reason)
    program = mode_arrays.build(view, list(view.groups()), orders=False).program
    relaxed = LinearProgram(
        program.cost,
        program.lower,
        program.upper,
        program.matrix,
        program.row_lower,
        program.row_upper,
    )
    result = solve(relaxed, "highs", clock=call.clock, threads=call.threads, seed=call.seed)
    if result.status == "infeasible":
        return Outcome(infeasible=True, note="the relaxation has no solution")
    if result.duals is None:
        return Outcome(note=f"the program was not solved ({result.status})")
    certificate = duals_certificate(np.asarray(result.duals))
    return _proved(instance, certificate, relaxation=result.objective, columns=len(program.cost))


def alone(instance: EdgeInstance, call: Call) -> Outcome:
    """Run every job alone."""
    if reason := no_schedule(instance):
        return Outcome(infeasible=True, note=reason)
    return _proved(instance, {"kind": "job-bound"})


def srpt(instance: EdgeInstance, call: Call) -> Outcome:
    """Take the workers of each type for one preemptive machine."""
    if reason := no_schedule(instance):
        return Outcome(infeasible=True, note=reason)
    return _proved(instance, {"kind": "srpt-bound"}, job_bound=job_bounds.alone(instance))


METHODS: tuple[Method, ...] = (
    Method(
        "cg-bound",
        "bound",
        column,
        "linear relaxation over all runs of all jobs, prices by server and slot",
        "(4), (5), (9)",
        ours=True,
        engines=("highs",),
        refuses=no_batches,
    ),
    Method(
        "type-bound",
        "bound",
        by_type,
        "the same with all edge servers and all clouds merged, without PSs; for full scale",
        "(4), (5), (9)",
        ours=True,
        engines=("highs",),
        options=(Option("block", "int", type_bound.BLOCK, "slots that share a price", least=1),),
        refuses=no_batches,
    ),
    Method(
        "lp-mode",
        "bound",
        lp_mode,
        "linear relaxation of milp-mode as it is; small instances",
        "(2)",
        ours=True,
        engines=("highs",),
        options=(Option("max_columns", "int", 100_000, "give up when there are more", least=1),),
        refuses=no_batches,
    ),
    Method(
        "job-bound",
        "bound",
        alone,
        "every job alone at its soonest",
        "(2e), (2i)",
        ours=True,
        refuses=no_batches,
    ),
    Method(
        "srpt-bound",
        "bound",
        srpt,
        "all workers of a type as one preemptive machine",
        "mean busy times",
        ours=True,
        refuses=no_batches,
    ),
    Method(
        "batch-dual",
        "bound",
        column,
        "the dual (5) of the batch problem by column generation",
        "(5), (6), (9)",
        engines=("highs",),
        refuses=only_batches,
    ),
)
