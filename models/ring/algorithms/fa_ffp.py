"""FA-FFP (Algorithm 2): the least loaded idle GPUs.

Its name and text suggest to pack shared servers first (E19); `packing.pack` does that.
"""

import numpy as np

from schedgap.models.ring.dispatch import ClusterState, Ints


def fa_ffp(job: int, cluster: ClusterState) -> Ints | None:
    """Choose the least loaded idle GPUs within the limit (Algorithm 2).

    Ties go to servers that have already had jobs, then to the smaller global index.

    `job`: index of the job in list order. `cluster`: state of the GPUs, and the limit on their
    loads.

    The result has the global indices of G_j GPUs, or is None to wait for some job to exit.

    Notes
    -----
    Source: Algorithm 2; E19, E20.
    """
    size = cluster.table.size[job]  # A2 L1
    gpus = cluster.available(job)  # A2 L2
    if gpus is None:  # A2 L3
        return None  # A2 L8-L10
    unopened = ~cluster.opened[cluster.server[gpus]]
    return gpus[np.lexsort((unopened, cluster.load[gpus]))[:size]]  # A2 L4, E19
