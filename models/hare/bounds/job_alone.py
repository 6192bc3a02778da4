"""The bound `job-alone`: every job by itself on the fastest GPUs."""

from schedgap.instances.hare import HareInstance
from schedgap.models.hare.bounds.certificates import critical_certificate
from schedgap.models.method import MethodResult, RunContext


def job_alone(instance: HareInstance, call: RunContext) -> MethodResult:
    """Return sum w_n (a_n + L_n): every job alone on the fastest GPUs, by (4), (6) and (7)."""
    bound, certificate = critical_certificate(instance)
    return MethodResult(bound=bound, certificate=certificate)
