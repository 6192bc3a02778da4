"""FA-FFP (Algorithm 2): the least loaded idle GPUs; and the packing rule that its name suggests."""

import numpy as np

from schedgap.models.ring.algorithms.packing import pack
from schedgap.models.ring.dispatch import Cluster, Ints


def fa_ffp(job: int, cluster: Cluster) -> Ints | None:
    """Choose the least loaded idle GPUs within the limit (Algorithm 2).

    Ties go to servers that have already had jobs, then to the smaller global index.

    Parameters
    ----------
    job : int
        Index of the job in list order.
    cluster : Cluster
        State of the GPUs, and the limit on their loads.

    Returns
    -------
    array of int or None
        Global indices of G_j GPUs; None to wait for some job to exit.

    Notes
    -----
    Source: Algorithm 2; E19, E20.
    """
    size = cluster.table.size[job]  # A2 L1
    idle = np.flatnonzero(cluster.idle)
    if len(idle) < size:
        return None  # A2 L8-L10; the limit only excludes more
    gpus = cluster.within(job, idle)  # A2 L2
    if len(gpus) < size:  # A2 L3
        return None  # A2 L8-L10
    unopened = ~cluster.opened[cluster.server[gpus]]
    return gpus[np.lexsort((unopened, cluster.load[gpus]))[:size]]  # A2 L4, E19


def fa_ffp_pack(job: int, cluster: Cluster) -> Ints | None:
    """Choose GPUs as the name and the text of Algorithm 2 suggest: shared servers first (E19).

    A single server if one can host the job: preferably one that has already had jobs, then the one
    with the fewest idle GPUs. Otherwise the servers with the most idle GPUs. Ties go to list order.

    Parameters
    ----------
    job : int
        Index of the job in list order.
    cluster : Cluster
        State of the GPUs, and the limit on their loads.

    Returns
    -------
    array of int or None
        As for `fa_ffp`.
    """
    return pack(job, cluster)
