"""Bounds as methods: each solves a relaxation and returns the bound of its certificate."""

from collections.abc import Mapping

from schedgap.instances.edge import EdgeInstance
from schedgap.models.edge.bounds.certificates import check_certificate
from schedgap.models.method import MethodResult, RunContext


def proved(
    instance: EdgeInstance, certificate: Mapping[str, object], **trace: object
) -> MethodResult:
    """Return the bound that a certificate proves, evaluated as a verifier does.

    `certificate`: plain JSON data. `**trace`: trace of the result.
    """
    bound = check_certificate(instance, certificate)
    return MethodResult(bound=bound, trace=trace, certificate={**certificate, "value": bound})


def job_alone(instance: EdgeInstance, call: RunContext) -> MethodResult:
    """Run `job-alone`: each job alone on the network."""
    return proved(instance, {"kind": "job-bound"})
