"""The critical-path bound `job-alone`: every job alone on the fastest GPUs.

Elementary: without other jobs, a round lasts at least as long as the longest of its tasks, each on
its fastest GPU. By (7), rounds follow each other.
"""

from schedgap.instances.hare import HareInstance
from schedgap.models.hare.bounds.certificates import critical_certificate
from schedgap.models.method import MethodResult, RunContext


def job_alone(instance: HareInstance, call: RunContext) -> MethodResult:
    """Return sum w_n (a_n + L_n), a bound by (4), (6) and (7)."""
    bound, certificate = critical_certificate(instance)
    return MethodResult(bound=bound, certificate=certificate)
