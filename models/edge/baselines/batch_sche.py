"""BatchSche: the batch scheme of the authors' paper on elastic jobs, completed by us.

A job is known from its arrival on. A job that cannot end by T is left unplaced and does not delay
others. Ties: arrival, then list order.
"""

from typing import Annotated

from annotated_types import Ge

from schedgap.instances.edge import EdgeInstance, EdgeSchedule, Placement
from schedgap.models.edge.algorithms.a_maxsche import Network, RevealedJob, Variant, serve_round
from schedgap.models.edge.algorithms.a_online import JobStream
from schedgap.models.edge.modes import JobMode


def _fewest_then_earliest(cost: float, mode: JobMode, start: int) -> tuple[float, ...]:
    """Return a sort key: cost, then fewest workers, earliest start, colocated before split."""
    return cost, mode.workers, start, not mode.colocated


BATCH_SCHE = Variant(ready="start", key=_fewest_then_earliest)


def batch_sche(
    instance: EdgeInstance,
    alpha: Annotated[int, "number of windows of a batch and factor of its wait", Ge(1)] = 4,
) -> EdgeSchedule:
    """Schedule batches in alpha windows of their round's length, each at prices that start at 0.

    At tau = 1, 2, 4, ... the jobs that have arrived by then and are not placed form a batch. It is
    scheduled in the windows alpha tau + (k - 1) tau + 1..alpha tau + k tau, k = 1..alpha; each
    accepts the jobs whose cheapest schedule costs less than 1, with prices as in A_maxsche. Nothing
    runs before slot alpha + 1.

    """
    network, stream = Network.of(instance, BATCH_SCHE), JobStream(instance)
    T = instance.horizon
    waiting: list[RevealedJob] = []
    placed: dict[str, Placement] = {}
    tau = 1
    while alpha * tau < T:
        waiting += stream.until(tau)
        for k in range(1, alpha + 1):
            first = alpha * tau + (k - 1) * tau
            if first < T and waiting:
                last = min(first + tau, T)
                able = [job for job in waiting if job.ready.min() <= last]
                accepted, _ = serve_round(network, able, first, BATCH_SCHE, last=last)
                placed |= accepted.placements
                waiting = [job for job in waiting if job.data.id not in placed]
        if not waiting and stream.all_here():
            break
        tau *= 2
    return EdgeSchedule(placed)
