"""FIFO: jobs in order of arrival, all with the same number of workers."""

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule
from schedgap.models.elastic.baselines.a_online_fixed import Workers
from schedgap.models.elastic.baselines.simulation import ActiveJob, Assignment, simulate
from schedgap.models.elastic.modes import cluster, max_workers
from schedgap.models.elastic.placement import Floats


def fifo(instance: ElasticInstance, workers: Workers = 8) -> ElasticSchedule:
    """Start jobs in order of arrival, all with the same number of workers; no job overtakes.

    Notes
    -----
    The paper: in order of arrival, with a fixed number of workers between 1 and 30. Ours: the types
    of the fastest mode.
    """
    view = cluster(instance)

    def policy(waiting: list[ActiveJob], free: Floats) -> Assignment:
        starts = Assignment()
        for k, each in enumerate(waiting):
            number = min(workers, max_workers(view, each.job, *each.mode[:2]))
            placement = each.placed(free, number)
            if placement is None:
                break
            starts[k], free = placement, free - placement.amounts(view)
        return starts

    return simulate(instance, policy)
