"""Offered load of family `elastic`."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping

from schedgap.instances.elastic.capacity import configurations, room_of
from schedgap.instances.elastic.instance import ElasticInstance

MACHINES = "servers"  # setting with the number of machines

Demands = list[tuple[float, dict[str, float]]]  # slots, and demand in each by resource


def work(instance: ElasticInstance) -> float:
    """Return the slots in which the capacity of the busiest resource suffices for all jobs.

    A job counts with the worker type, PS type and placement (on one server, or spread) of least
    dominant share. This share is the largest part of the capacity of any resource that the job
    occupies, times the slots that it runs. It runs with as many workers as fit, and slots are not
    rounded.
    """
    total = {
        r: math.fsum(server.capacity.get(r, 0.0) for server in instance.servers)
        for r in instance.resources
    }
    shares = [_least(found, total) for found in _configurations(instance)]
    return max(math.fsum(share[r] for share in shares) for r in instance.resources)


def span(instance: ElasticInstance) -> float:
    """Return the number of slots from the first to the last arrival.

    If all jobs arrive in one slot, the number is the slots that the longest job needs in its
    fastest configuration. In a batch problem it is the slots before the deadline.
    """
    if instance.deadline is not None:
        return instance.deadline - 1
    arrivals = [job.arrival for job in instance.jobs]
    if len(set(arrivals)) > 1:
        return max(arrivals) - min(arrivals) + 1
    return max(
        min((slots for slots, _ in found), default=1.0) for found in _configurations(instance)
    )


def _least(found: Demands, total: Mapping[str, float]) -> dict[str, float]:
    """Return the shares of the capacity, times slots, of the configuration of least dominance."""
    least = dict.fromkeys(total, math.inf)
    for slots, demand in found:
        if all(total[r] > 0 or not amount for r, amount in demand.items()):
            share = {r: slots * demand[r] / total[r] if total[r] else 0.0 for r in total}
            least = min(least, share, key=lambda shares: max(shares.values()))
    return least


def _configurations(instance: ElasticInstance) -> Iterator[Demands]:
    """Yield, for each job, the slots that it runs and its demand in each, in all configurations.

    They have as many workers as fit.
    """
    data, name = instance.to_data(), instance.bandwidth_resource
    sizes = Counter(
        tuple((r, server.capacity.get(r, 0.0)) for r in instance.resources)
        for server in instance.servers
    )
    types = data["worker_types"], data.get("ps_types", [])
    room = room_of(sizes, *types)
    for job in data["jobs"]:
        largest = {  # the last one of a ring has the most workers
            (found.worker["id"], found.ps and found.ps["id"], found.central): found
            for found in configurations(job, room, *types, name)
        }
        yield [
            (found.slots / found.workers, found.demand(instance.resources, name))
            for found in largest.values()
        ]
