"""LBSGF (Algorithm 3): the least loaded GPUs on the least loaded servers."""

import numpy as np

from schedgap.models.ring.dispatch import Cluster, Ints


def lbsgf(job: int, cluster: Cluster, *, by_server: bool = False) -> Ints | None:
    """Choose the least loaded idle GPUs on the least loaded servers (Algorithm 3).

    Parameters
    ----------
    job : int
        Its index in list order.
    cluster : Cluster
        Which GPUs are idle, their loads, and the limit.
    by_server : bool
        Server after server instead of the least loaded GPUs of all of them (E22).

    Returns
    -------
    array of int or None
        Global indices of as many GPUs as the job asks for; None to wait for some job to exit.

    Notes
    -----
    Source: Algorithm 3; E20-E22.
    """
    table = cluster.table  # A3 L1
    size, wanted = table.size[job], cluster.table.instance.jobs[job].spread_factor
    mean = np.array(cluster.server_load) / table.room
    ranked = np.argsort(mean, kind="stable")
    room = np.cumsum(np.array(table.room)[ranked])
    number = int(np.searchsorted(room, wanted * size)) + 1  # A3 L2; all where never reached, E21
    selected = ranked[:number]
    if int(cluster.idle_on[selected].sum()) < size:
        return None  # A3 L11-L13
    rank = np.full(len(ranked), -1)  # A3 L3
    rank[selected] = np.arange(len(selected))  # A3 L4
    idle = np.flatnonzero(cluster.idle & (rank >= 0)[cluster.server])
    gpus = cluster.within(job, idle)  # A3 L5
    if len(gpus) < size:  # A3 L6
        return None  # A3 L11-L13
    load, place = cluster.load[gpus], rank[cluster.server[gpus]]
    keys = (load, place) if by_server else (place, load)  # the last key counts first
    return gpus[np.lexsort(keys)[:size]]  # A3 L7, E22
