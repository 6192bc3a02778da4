"""The bounds as methods: each joins a relaxation to its engine, and returns a certificate."""

import math
from typing import Any

import numpy as np

from schedgap.instances.edge import EdgeInstance
from schedgap.models.edge.bounds import linear_relaxation, worker_types
from schedgap.models.edge.bounds.certificates import check_certificate
from schedgap.models.edge.bounds.job_alone import alone, job_bound
from schedgap.models.edge.decisions import no_schedule, problem
from schedgap.models.edge.programs import time_indexed, time_indexed_arrays
from schedgap.models.method import MethodResult, RunContext
from schedgap.solvers import solve
from schedgap.solvers.programs.arrays import LinearProgram


def proved(instance: EdgeInstance, certificate: dict[str, Any], **trace: Any) -> MethodResult:
    """Return what a certificate proves: evaluated as it stands in the file."""
    bound = check_certificate(instance, certificate)
    return MethodResult(bound=bound, trace=trace, certificate=certificate | {"value": bound})


def type_bound(instance: EdgeInstance, call: RunContext) -> MethodResult:
    """Bound the jobs of each worker type with all edge servers, and all clouds, as one."""
    if reason := no_schedule(instance):
        return MethodResult(infeasible=True, note=reason)
    view = problem(instance)
    call.progress.bound(float(job_bound(view)), {"kind": "job-bound"})
    call.progress.phase("generating columns by worker type")
    found = worker_types.solve_types(
        view,
        clock=call.clock.share(0.9),
        block=call.options["block"],
        seed=call.seed,
        threads=call.threads,
        on_better=lambda found: call.progress.bound(
            worker_types.bound_of(view, found), worker_types.certificate(instance, found)
        ),
    )
    masters = [each.master for each in found]
    return proved(
        instance,
        worker_types.certificate(instance, found),
        by_type={instance.worker_types[each.worker_type]: each.bound for each in found},
        master=None if None in masters else math.fsum(m for m in masters if m is not None),
        rounds=sum(each.rounds for each in found),
    )


def lp_mode(instance: EdgeInstance, call: RunContext) -> MethodResult:
    """Solve the linear relaxation of the program over starts and modes as it is."""
    if reason := no_schedule(instance):
        return MethodResult(infeasible=True, note=reason)
    view = problem(instance)
    columns, most = time_indexed.size(instance), call.options["max_columns"]
    if columns > most:
        return MethodResult(note=f"too large: {columns} columns > max_columns={most}")
    if reason := linear_relaxation.too_large(instance):
        return MethodResult(note=reason)
    program = time_indexed_arrays.build(view, list(view.groups()), orders=False).program
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
        return MethodResult(infeasible=True, note="the relaxation has no solution")
    if result.duals is None:
        return MethodResult(note=f"the program was not solved ({result.status})")
    certificate = linear_relaxation.certificate(np.asarray(result.duals))
    return proved(instance, certificate, relaxation=result.objective, columns=len(program.cost))


def job_alone(instance: EdgeInstance, call: RunContext) -> MethodResult:
    """Run every job alone."""
    if reason := no_schedule(instance):
        return MethodResult(infeasible=True, note=reason)
    return proved(instance, {"kind": "job-bound"})


def srpt_bound(instance: EdgeInstance, call: RunContext) -> MethodResult:
    """Take the workers of each type for one preemptive machine."""
    if reason := no_schedule(instance):
        return MethodResult(infeasible=True, note=reason)
    return proved(instance, {"kind": "srpt-bound"}, job_bound=alone(instance))
