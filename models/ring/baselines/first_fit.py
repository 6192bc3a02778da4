"""First-Fit (FF), Section 7, 2): the first idle GPUs, server by server."""

from schedgap.instances.ring import RingInstance
from schedgap.models.method import MethodResult, RunContext
from schedgap.models.ring.baselines.within_limit import Order, run_within_limit
from schedgap.models.ring.dispatch import ClusterState, Ints


def first_fit(job: int, cluster: ClusterState) -> Ints | None:
    """Choose the first idle GPUs within the limit, server by server.

    `job`: index of the job in list order. `cluster`: state of the GPUs, and the limit on their
    loads.
    """
    gpus = cluster.available(job)
    return None if gpus is None else gpus[: cluster.table.size[job]]


def run_first_fit(
    instance: RingInstance, call: RunContext, *, order: Order = "list"
) -> MethodResult:
    """Run method `first-fit`."""
    return run_within_limit(instance, call, first_fit, order)
