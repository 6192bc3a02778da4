"""How many slots get prices: those in which capacity is likely to be scarce."""

import math

import numpy as np

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.modes import cluster, mode_table
from schedgap.models.elastic.time_windows import shortest

MAX_SLOTS = 5_000  # largest number of slots with prices by block


def contended_slots(instance: ElasticInstance) -> int:
    """Return an estimate of the number of slots in which capacity is scarce; any number is valid.

    The last arrival, plus 1.5 times the time for which all jobs together occupy the scarcest
    resource, plus the longest job.
    """
    if instance.last_end is not None:
        return min(instance.last_end - 1, MAX_SLOTS)
    total = cluster(instance).capacity.sum(axis=0)
    volumes = np.zeros(len(total))
    for j in range(len(instance.jobs)):
        own = mode_table(instance, j)
        volumes += (own.demand * own.duration[:, None]).min(axis=0)
    share = float((volumes[total > 0] / total[total > 0]).max(initial=0.0))
    longest = max(shortest(instance, j) or 0 for j in range(len(instance.jobs)))
    last = max(job.arrival for job in instance.jobs)
    return int(min(max(1, last + math.ceil(1.5 * share) + longest), MAX_SLOTS))
