"""List-Scheduling (LS), Section 7, 2): the least loaded idle GPUs of the cluster."""

import numpy as np

from schedgap.instances.ring import RingInstance
from schedgap.models.method import MethodResult, RunContext
from schedgap.models.ring.baselines.within_limit import Order, run_within_limit
from schedgap.models.ring.dispatch import ClusterState, Ints


def list_scheduling(job: int, cluster: ClusterState) -> Ints | None:
    """Choose the least loaded idle GPUs within the limit; ties go to the smaller global index.

    `job`: index of the job in list order. `cluster`: state of the GPUs, and the limit on their
    loads.
    """
    gpus = cluster.available(job)
    if gpus is None:
        return None
    return gpus[np.argsort(cluster.load[gpus], kind="stable")[: cluster.table.size[job]]]


def run_list_scheduling(
    instance: RingInstance, call: RunContext, *, order: Order = "list"
) -> MethodResult:
    """Run method `list-scheduling`."""
    return run_within_limit(instance, call, list_scheduling, order)
