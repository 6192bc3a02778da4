"""Offered load of family `elastic`."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from schedgap.instances.elastic.capacity import containers_that_fit, ps_needed
from schedgap.instances.elastic.instance import ElasticInstance, Job

MACHINES = "servers"  # setting with the number of machines

Amounts = Mapping[str, float]  # key: resource
Room = dict[tuple[str, str, bool], int]  # key: worker type, PS type, whether on one server


def work(instance: ElasticInstance) -> float:
    """Return the slots in which the capacity of the busiest resource suffices for all jobs.

    A job counts with the worker type, PS type and placement (on one server, or spread) of least
    dominant share: the largest part of the capacity of any resource that it occupies, times the
    slots that it runs, with as many workers as fit and without rounding to whole slots.
    """
    total = {
        r: math.fsum(server.capacity.get(r, 0.0) for server in instance.servers)
        for r in instance.resources
    }
    room = _room(instance)
    shares = [_least(_configurations(instance, job, room), total) for job in instance.jobs]
    return max(math.fsum(share[r] for share in shares) for r in instance.resources)


def span(instance: ElasticInstance) -> float:
    """Return the number of slots from the first to the last arrival.

    If all jobs arrive in one slot, it is the slots that the longest job needs in its fastest
    configuration; in a batch problem, the slots before the deadline.
    """
    if instance.deadline is not None:
        return instance.deadline - 1
    arrivals = [job.arrival for job in instance.jobs]
    if len(set(arrivals)) > 1:
        return max(arrivals) - min(arrivals) + 1
    room = _room(instance)
    return max(
        min((slots for slots, _ in _configurations(instance, job, room)), default=1.0)
        for job in instance.jobs
    )


def _least(
    configurations: Iterable[tuple[float, dict[str, float]]], total: Amounts
) -> dict[str, float]:
    """Return the shares of the capacity, times slots, of the configuration of least dominance."""
    least = dict.fromkeys(total, math.inf)
    for slots, demand in configurations:
        if all(total[r] > 0 or not amount for r, amount in demand.items()):
            share = {r: slots * demand[r] / total[r] if total[r] else 0.0 for r in total}
            least = min(least, share, key=lambda capacity: max(capacity.values()))
    return least


def _room(instance: ElasticInstance) -> Room:
    """Return the most workers with one PS on a server, and the most on all servers."""
    sizes = Counter(
        tuple((r, server.capacity.get(r, 0.0)) for r in instance.resources)
        for server in instance.servers
    )
    room: Room = {}
    for worker in instance.worker_types:
        for kind, z in _ps_demands(instance).items():
            beside = [containers_that_fit(dict(size), worker.demand, z) for size in sizes]
            alone = [containers_that_fit(dict(size), worker.demand, {}) for size in sizes]
            spread = sum(number * sizes[size] for size, number in zip(sizes, alone, strict=True))
            room[worker.id, kind, True], room[worker.id, kind, False] = max(beside), spread
    return room


def _ps_demands(instance: ElasticInstance) -> Mapping[str, Amounts]:
    """Return the demands of the PS types; rings have one without a name and a demand."""
    return {kind.id: kind.demand for kind in instance.ps_types} or {"": {}}


def _configurations(
    instance: ElasticInstance, job: Job, room: Room
) -> Iterator[tuple[float, dict[str, float]]]:
    """Yield the slots that a job runs, and its demand in each, in every configuration."""
    update = job.update_time
    times = update if isinstance(update, Mapping) else {"": update}
    demands = _ps_demands(instance)
    for worker in instance.worker_types:
        if worker.id not in job.train_time:
            continue
        e = worker.demand
        for kind, seconds in times.items():
            z = demands[kind]
            for central in (True, False):
                most = min(job.chunks, room[worker.id, kind, central])
                if most < (1 if central or z else 2):
                    continue
                part = 1.0 if z else (most - 1) / most
                each = job.train_time[worker.id] + seconds * part
                if not central:
                    each += 2 * job.gradient_size / e[instance.bandwidth_resource] * part
                count = 1 if central and z else _servers_needed(most, e, z, instance)
                demand = {
                    r: most * e.get(r, 0.0) + count * z.get(r, 0.0) for r in instance.resources
                }
                yield job.work * each / most, demand


def _servers_needed(workers: int, e: Amounts, z: Amounts, instance: ElasticInstance) -> int:
    """Return how many PSs serve remote workers; 0 for rings."""
    name = instance.bandwidth_resource
    return ps_needed(workers * e[name], {"bandwidth": z[name]} if z else {})
