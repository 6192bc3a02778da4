"""LBSGF (Algorithm 3): the least loaded GPUs on the least loaded servers."""

import numpy as np

from schedgap.models.ring.dispatch import ClusterState, Ints


def lbsgf(
    job: int, cluster: ClusterState, *, by_server: bool = False, spread_factor: float | None = None
) -> Ints | None:
    """Choose the least loaded idle GPUs on the least loaded servers (Algorithm 3).

    `job`: index of the job in list order. `cluster`: state of the GPUs, and the limit on their
    loads. `by_server`: take GPUs server by server instead of the least loaded ones of all servers
    (E22). `spread_factor`: lambda_j, >= 1; by default the job's own.

    The result has the global indices of G_j GPUs, or is None to wait for some job to exit.

    Notes
    -----
    Source: Algorithm 3; E20-E22.
    """
    table = cluster.table  # A3 L1
    size = table.size[job]
    factor = table.instance.jobs[job].spread_factor if spread_factor is None else spread_factor
    mean = np.array(cluster.server_load) / table.server_gpus
    ranked = np.argsort(mean, kind="stable")
    covered = np.cumsum(np.array(table.server_gpus)[ranked])
    number = int(np.searchsorted(covered, factor * size)) + 1  # A3 L2; else all, E21
    selected = ranked[:number]
    if int(cluster.idle_on[selected].sum()) < size:
        return None  # A3 L11-L13
    rank = np.full(len(ranked), -1)  # A3 L3
    rank[selected] = np.arange(len(selected))  # A3 L4
    idle = np.flatnonzero(cluster.idle & (rank >= 0)[cluster.server])
    gpus = cluster.within(job, idle)  # A3 L5
    if len(gpus) < size:  # A3 L6
        return None  # A3 L11-L13
    load, server_rank = cluster.load[gpus], rank[cluster.server[gpus]]
    keys = (load, server_rank) if by_server else (server_rank, load)  # the last key is primary
    return gpus[np.lexsort(keys)[:size]]  # A3 L7, E22
