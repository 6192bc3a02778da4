"""FA-FFP (Algorithm 2): the least loaded idle GPUs; and as its name says, shared servers first."""

import numpy as np

from schedgap.models.ring.algorithms.packing import pack
from schedgap.models.ring.dispatch import Cluster, Ints


def fa_ffp(job: int, cluster: Cluster) -> Ints | None:
    """Choose the least loaded idle GPUs within the limit (Algorithm 2).

    Ties: servers that have had work before others, then global index.

    Parameters
    ----------
    job : int
        Its index in list order.
    cluster : Cluster
        Which GPUs are idle, their loads, and the limit.

    Returns
    -------
    array of int or None
        Global indices of as many GPUs as the job asks for; None to wait for some job to exit.

    Notes
    -----
    Source: Algorithm 2; E19, E20.
    """
    size = cluster.table.size[job]  # A2 L1
    idle = np.flatnonzero(cluster.idle)
    if len(idle) < size:
        return None  # A2 L8-L10: fewer still within the limit
    gpus = cluster.within(job, idle)  # A2 L2
    if len(gpus) < size:  # A2 L3
        return None  # A2 L8-L10
    unopened = ~cluster.opened[cluster.server[gpus]]
    return gpus[np.lexsort((unopened, cluster.load[gpus]))[:size]]  # A2 L4, E19


def fa_ffp_pack(job: int, cluster: Cluster) -> Ints | None:
    """Choose GPUs as the name and the prose of Algorithm 2 say: shared servers first (ours, E19).

    One server where one can hold the job, one that has had work if possible, then one with the
    fewest GPUs left over; else servers with the most idle GPUs. Ties: list order.
    """
    return pack(job, cluster)
