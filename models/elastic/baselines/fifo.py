"""FIFO: jobs in order of arrival, all with the same number of workers."""

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule
from schedgap.models.elastic.algorithms.a_maxweight import ArrivedJob, constants
from schedgap.models.elastic.baselines.a_online_fixed_number import Workers
from schedgap.models.elastic.baselines.first_fit import fastest_mode, first_fit
from schedgap.models.elastic.baselines.simulation import Starts, simulate
from schedgap.models.elastic.modes import cluster, max_workers
from schedgap.models.elastic.placement import Floats


def fifo(instance: ElasticInstance, workers: Workers = 8) -> ElasticSchedule:
    """Start jobs in order of arrival, all with the same number of workers; no job overtakes.

    Notes
    -----
    The paper: in order of arrival, with a fixed number of workers between 1 and 30. Ours: the types
    of the fastest mode.
    """
    view, const = cluster(instance), constants(instance)

    def policy(waiting: list[ArrivedJob], free: Floats) -> Starts:
        starts: Starts = []
        for arrived_job in waiting:
            best = fastest_mode(view, const, arrived_job.modes)
            m, p = best.worker_type, best.ps_type
            number = min(workers, max_workers(view, arrived_job.job, m, p))
            placed = first_fit(view, arrived_job.job, m, p, number, free)
            if placed is None:
                break
            free = free - placed.amounts(view)
            starts.append((arrived_job, placed))
        return starts

    return simulate(instance, policy)
