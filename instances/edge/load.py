"""Offered load of family `edge`."""

import math

from schedgap.instances.edge.instance import EdgeInstance, Job

MACHINES = "edge_servers"  # setting with the number of machines; the cloud stays


def work(instance: EdgeInstance) -> float:
    """Return the slots in which all workers of the types that jobs use do the work of all jobs.

    A job needs a parameter server, and E D M (n + H) / (slot length) worker-slots. The workers of
    clouds count; parameter servers and transfer delays do not.
    """
    used = {job.worker_type for job in instance.jobs}
    workers = sum(
        count for server in instance.servers for u, count in server.workers.items() if u in used
    )
    needed = math.fsum(_worker_slots(instance, job) for job in instance.jobs)
    return needed / workers if workers else math.inf


def span(instance: EdgeInstance) -> float:
    """Return the number of slots from the first to the last arrival.

    If all jobs arrive in one slot, it is the slots that the longest job needs with as many workers
    as one server has; in a batch problem, the slots of the round.
    """
    arrivals = [job.arrival for job in instance.jobs]
    first, last = instance.window if instance.is_batch else (min(arrivals), max(arrivals))
    if instance.is_batch or first < last:
        return last - first + 1
    return max(_alone(instance, job) for job in instance.jobs)


def _alone(instance: EdgeInstance, job: Job) -> float:
    """Return the slots of a job with as many workers as it may have on one server."""
    most = max(server.workers.get(job.worker_type, 0) for server in instance.servers)
    return _worker_slots(instance, job) / max(1, min(most, job.chunks))


def _worker_slots(instance: EdgeInstance, job: Job) -> float:
    seconds = job.minibatches * (job.compute_seconds + job.update_seconds)
    return float(seconds / instance.slot_seconds)
