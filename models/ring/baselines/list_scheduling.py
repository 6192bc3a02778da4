"""List-Scheduling (LS), Section 7, 2): the least loaded idle GPUs of the cluster."""

import numpy as np

from schedgap.instances.ring import RingInstance
from schedgap.models.method import MethodResult, RunContext
from schedgap.models.ring.baselines.within_limit import allowed_gpus, run_search
from schedgap.models.ring.dispatch import Cluster, Ints


def list_scheduling(job: int, cluster: Cluster) -> Ints | None:
    """Choose the least loaded idle GPUs within the limit; ties go to the smaller global index.

    Parameters
    ----------
    job : int
        Index of the job in list order.
    cluster : Cluster
        State of the GPUs, and the limit on their loads.
    """
    gpus = allowed_gpus(job, cluster)
    if gpus is None:
        return None
    return gpus[np.argsort(cluster.load[gpus], kind="stable")[: cluster.table.size[job]]]


def run_list_scheduling(instance: RingInstance, call: RunContext) -> MethodResult:
    """Run method `list-scheduling`: LS with the limit found as in Algorithm 1."""
    return run_search(instance, call, list_scheduling)
