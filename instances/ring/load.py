"""Offered load of family `ring`."""

import math

from schedgap.instances.ring.instance import Job, RingInstance

MACHINES = "servers"  # setting with the number of machines


def work(instance: RingInstance) -> float:
    """Return the slots in which all GPUs together do the work of all jobs.

    A job occupies G_j GPUs for the time of its iterations inside one server, not rounded to whole
    slots.
    """
    gpu_slots = math.fsum(job.gpus * _inside(instance, job) for job in instance.jobs)
    return gpu_slots / instance.gpus


def span(instance: RingInstance) -> float:
    """Return the slots of the longest job, because all jobs are available at the start."""
    return max(_inside(instance, job) for job in instance.jobs)


def _inside(instance: RingInstance, job: Job) -> float:
    """Return the slots of all iterations of a job whose GPUs are on one server."""
    exchange = 2 * job.chunk / instance.bandwidth_within + job.chunk / instance.compute_speed
    compute = job.forward_time_per_sample * job.batch_size + job.backward_time
    return job.iterations * (exchange + instance.overhead_per_server + compute)
