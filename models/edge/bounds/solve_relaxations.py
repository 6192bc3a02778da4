"""Bounds as methods: each solves a relaxation and returns the bound of its certificate."""

import math
from collections.abc import Mapping
from typing import Annotated

from annotated_types import Ge

from schedgap.instances.edge import EdgeInstance
from schedgap.models.edge.bounds import worker_types
from schedgap.models.edge.bounds.certificates import check_certificate
from schedgap.models.edge.bounds.job_alone import job_bound
from schedgap.models.edge.bounds.kernel import PRICING
from schedgap.models.edge.decisions import compiled
from schedgap.models.method import MethodResult, RunContext


def proved(
    instance: EdgeInstance, certificate: Mapping[str, object], **trace: object
) -> MethodResult:
    """Return the bound that a certificate proves, evaluated as a verifier does.

    `certificate`: plain JSON data. `**trace`: trace of the result.
    """
    bound = check_certificate(instance, certificate)
    return MethodResult(bound=bound, trace=trace, certificate={**certificate, "value": bound})


def type_bound(
    instance: EdgeInstance,
    call: RunContext,
    *,
    block: Annotated[int, "number of slots that share a price at first", Ge(1)] = 32,
) -> MethodResult:
    """Run `type-bound`: relaxations by worker type with merged servers."""
    view = compiled(instance)
    call.progress.bound(float(job_bound(view)), {"kind": "job-bound"})
    call.progress.phase("generating columns by worker type")
    bounds = worker_types.solve_types(
        view,
        budget=call.budget.share(0.9),
        block=block,
        price=PRICING.compiled(instance),
        on_better=lambda bounds: call.progress.bound(
            worker_types.whole_bound(view, bounds), worker_types.certificate(instance, bounds)
        ),
    )
    masters = [bound.master for bound in bounds]
    return proved(
        instance,
        worker_types.certificate(instance, bounds),
        by_type={instance.worker_types[bound.worker_type]: bound.bound for bound in bounds},
        master=None if None in masters else math.fsum(m for m in masters if m is not None),
        rounds=sum(bound.rounds for bound in bounds),
    )


def job_alone(instance: EdgeInstance, call: RunContext) -> MethodResult:
    """Run `job-alone`: each job alone on the network."""
    return proved(instance, {"kind": "job-bound"})
