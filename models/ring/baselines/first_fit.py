"""First-Fit (FF), Section 7, 2): the first idle GPUs, server by server."""

from schedgap.instances.ring import RingInstance
from schedgap.models.method import MethodResult, RunContext
from schedgap.models.ring.baselines.within_limit import allowed_gpus, run_search
from schedgap.models.ring.dispatch import Cluster, Ints


def first_fit(job: int, cluster: Cluster) -> Ints | None:
    """Choose the first idle GPUs within the limit, server by server.

    Parameters
    ----------
    job : int
        Index of the job in list order.
    cluster : Cluster
        State of the GPUs, and the limit on their loads.
    """
    gpus = allowed_gpus(job, cluster)
    return None if gpus is None else gpus[: cluster.table.size[job]]


def run_first_fit(instance: RingInstance, call: RunContext) -> MethodResult:
    """Run method `first-fit`: FF with the limit found as in Algorithm 1."""
    return run_search(instance, call, first_fit)
