"""Offered load of family `dmlrs`."""

import math

from schedgap.instances.dmlrs.instance import DmlrsInstance, Job

MACHINES = "machines"  # setting with the number of machines


def work(instance: DmlrsInstance) -> float:
    """Return the slots in which the capacity of the busiest resource suffices for all jobs.

    A job needs N_i = E K (tau + gamma / F 2 g / b^(i)) worker-slots inside one machine. Of
    parameter servers it needs N_i / gamma.
    """
    slots = []
    for name in instance.resources:
        capacity = math.fsum(machine.capacity[name] for machine in instance.machines)
        needed = math.fsum(_worker_slots(job) * _demand(job, name) for job in instance.jobs)
        slots.append(needed / capacity if capacity else math.inf if needed else 0.0)
    return max(slots)


def span(instance: DmlrsInstance) -> float:
    """Return the number of slots from the first to the last arrival.

    If all jobs arrive in one slot, it is the slots that the longest job needs with F workers. No
    job has to be complete at its end.
    """
    arrivals = {job.arrival for job in instance.jobs}
    if len(arrivals) == 1:
        return max(_worker_slots(job) / job.batch_size for job in instance.jobs)
    return max(arrivals, default=1) - min(arrivals, default=1) + 1


def _worker_slots(job: Job) -> float:
    """Return N_i, the worker-slots of a job inside one machine."""
    exchange = job.worker_ps_ratio / job.batch_size * 2 * job.gradient_size / job.internal_bandwidth
    return job.epochs * job.samples * (job.time_per_sample + exchange)


def _demand(job: Job, name: str) -> float:
    """Return the demand for a resource of one worker and its part of a parameter server."""
    return job.worker_demand[name] + job.ps_demand[name] / job.worker_ps_ratio
