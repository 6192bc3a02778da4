"""BatchSche: the batch scheme of the paper's sister paper on elastic jobs.

Completed by us. It sees a job from its arrival on; a job that cannot end by T is left over and does
not hold up others. Ties: arrival, then list order.
"""

from schedgap.instances.edge import EdgeInstance, EdgeSchedule, Placement
from schedgap.models.edge.algorithms.a_maxsche import Arrived, Network, Variant, serve_round
from schedgap.models.edge.algorithms.a_online import Arrivals
from schedgap.models.edge.modes import Mode


def _fewest_then_earliest(cost: float, mode: object, start: int) -> tuple[float, ...]:
    """Order by cost; among equal costs fewest workers, earliest start, then the single server."""
    assert isinstance(mode, Mode)
    return cost, mode.workers, start, not mode.together


BATCH_SCHE = Variant(ready="start", key=_fewest_then_earliest)


def batch_sche(instance: EdgeInstance, alpha: int = 4) -> EdgeSchedule:
    """Serve batches in alpha windows of their round's length, each filled at rising prices.

    At tau = 1, 2, 4, ... the jobs that have arrived by then and have no place are a batch. It gets
    the windows alpha tau + (k - 1) tau + 1..alpha tau + k tau, k = 1..alpha; in each of them jobs
    run whose cheapest schedule costs less than 1, with prices as in A_maxsche that start anew.
    Nothing runs before slot alpha + 1, and every batch waits alpha times as long as it gathered.
    """
    network, arrivals = Network.of(instance, BATCH_SCHE), Arrivals(instance)
    T = instance.horizon
    waiting: list[Arrived] = []
    placed: dict[str, Placement] = {}
    tau = 1
    while alpha * tau < T:
        waiting += arrivals.until(tau)
        for k in range(1, alpha + 1):
            first = alpha * tau + (k - 1) * tau
            if first < T and waiting:
                last = min(first + tau, T)
                able = [each for each in waiting if each.ready.min() <= last]
                served, _ = serve_round(network, able, first, BATCH_SCHE, last=last)
                placed |= served.placements
                waiting = [each for each in waiting if each.job.id not in placed]
        if not waiting and arrivals.all_here():
            break
        tau *= 2
    return EdgeSchedule(placed)
