"""Capacity of servers: whether containers fit, and what jobs demand of it."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from schedgap.instances.elastic.workload import CLOUD, EC2, Kinds
from schedgap.instances.generate import apportion

Sizes = Mapping[tuple[tuple[str, float], ...], float]  # capacity -> number of such servers
Room = Mapping[tuple[str, str], tuple[int, float]]


def catalogue() -> Sizes:
    """Return the EC2 sizes, as many servers of each as are asked for."""
    return {tuple(zip(CLOUD, size, strict=True)): math.inf for size in EC2.values()}


def scaled(
    servers: Kinds,
    workers: Kinds,
    ps: Kinds,
    jobs: Sequence[Any],
    part: float,
    *,
    sizes: Sizes | None = None,
) -> Kinds:
    """Scale the capacity of servers to a fraction of the total demand of the jobs.

    The demand of a job is its fastest configuration's demand: as many workers as fit in the whole
    cluster, at most its chunks. Then the job takes as few as give the same duration. Ties are
    broken by volume (share of the total capacity times slots), then by list order. The total of
    each resource is the fraction, rounded up; servers keep their shares of it, in integers by
    largest remainders.

    `servers`, `workers`, `ps`: JSON data of the servers, the worker types and the PS types (empty
    for rings). `jobs`: JSON data of the jobs. `part`: total capacity of each resource as a fraction
    of the total demand, > 0. `sizes`: number of servers of each capacity in the cluster of the
    fastest configurations; by default the servers. If given, the total does not depend on the
    servers.
    """
    resources = list(servers[0]["capacity"])
    total = {r: math.fsum(server["capacity"][r] for server in servers) for r in resources}
    if sizes is None:
        sizes = Counter(tuple(server["capacity"].items()) for server in servers)
        typical = total
    else:
        typical = {r: math.fsum(dict(size)[r] for size in sizes) for r in resources}
    asked, room = dict.fromkeys(resources, 0.0), room_of(sizes, workers, ps)
    for job in jobs:
        demand = _quickest(job, room, workers, ps, typical)
        for r in resources:
            asked[r] += demand[r]
    parts = {
        r: apportion(
            math.ceil(part * asked[r] - 1e-9), [server["capacity"][r] for server in servers]
        )
        if total[r]
        else [0] * len(servers)
        for r in resources
    }
    return [
        server | {"capacity": {r: parts[r][h] for r in resources}}
        for h, server in enumerate(servers)
    ]


def room_of(sizes: Sizes, workers: Kinds, ps: Kinds) -> Room:
    """Return for each worker type how many fit on one server and in the whole cluster.

    By ids of a worker type and of the PS type of which one is on the same server; "" for none.
    """
    room = {}
    for worker in workers:
        for name, beside in (("", {}), *((kind["id"], kind["demand"]) for kind in ps)):
            holds = {
                size: containers_that_fit(dict(size), worker["demand"], beside) for size in sizes
            }
            whole = sum(holds[size] * count for size, count in sizes.items() if holds[size] > 0)
            room[worker["id"], name] = max(holds.values()), whole
    return room


class Configuration(NamedTuple):
    """Types of a job, central or split, and a number of workers."""

    worker: Mapping[str, Any]
    ps: Mapping[str, Any] | None  # None for rings
    central: bool
    workers: int
    slots: float  # time of one worker for all mini-batches

    def demand(self, resources: Iterable[str], bandwidth: str) -> dict[str, float]:
        """Return the demand of all containers, with PSs for all workers of a split job.

        `bandwidth`: the resource that limits how many workers a PS serves.
        """
        e, N = self.worker["demand"], self.workers
        z = self.ps["demand"] if self.ps else {}
        count = 1 if self.central else ps_needed(N * e[bandwidth], z.get(bandwidth, 0.0))
        return {r: N * e.get(r, 0) + count * z.get(r, 0) for r in resources}


def configurations(
    job: Mapping[str, Any], room: Room, workers: Kinds, ps: Kinds, bandwidth: str
) -> Iterator[Configuration]:
    """Yield the configurations of a job with as many workers as fit; for rings with fewer, too.

    `job`: JSON data. `room`: from `room_of`. `workers`, `ps`: JSON data of the worker types and the
    PS types. `bandwidth`: name of the resource.
    """
    work = job["epochs"] * job["chunks"] * job["batches_per_chunk"]
    kinds: Sequence[Mapping[str, Any] | None] = ps or [None]
    for worker in workers:
        for kind in kinds:
            times = job["train_time"], job["update_time"] if kind else {"": job["update_time"]}
            if worker["id"] not in times[0] or (name := kind["id"] if kind else "") not in times[1]:
                continue
            exchange = 2 * job["gradient_size"] / worker["demand"][bandwidth]
            for central in (True, False):
                one, whole = room[worker["id"], name if central else ""]
                most = int(min(job["chunks"], one if central else whole))
                least = 1 if central or kind else 2
                for N in range(most if kind else least, most + 1) if most >= least else ():
                    part = 1.0 if kind else (N - 1) / N
                    update = times[1][name] * part
                    batch = times[0][worker["id"]] + update + (0 if central else exchange * part)
                    yield Configuration(worker, kind, central, N, work * batch)


def _quickest(
    job: Mapping[str, Any], room: Room, workers: Kinds, ps: Kinds, total: Mapping[str, float]
) -> dict[str, float]:
    """Return the total demand of the fastest configuration of a job."""
    best: tuple[float, float, dict[str, float]] = (math.inf, math.inf, {})
    for found in configurations(job, room, workers, ps, "bandwidth"):
        d = max(1, math.ceil((found.slots - 1e-6) / found.workers))
        if ps:
            found = found._replace(workers=max(1, math.ceil((found.slots - 1e-6) / d)))
        demand = found.demand(total, "bandwidth")
        volume = d * math.fsum(demand[r] / total[r] for r in total if total[r])
        if (d, volume) < best[:2]:
            best = d, volume, demand
    return best[2] or dict.fromkeys(total, 0.0)


def ps_needed(bandwidth: float, served: float) -> int:
    """Return how many PSs are needed for a bandwidth of remote workers; 0 for rings.

    `served`: bandwidth of a PS; 0 for rings.
    """
    return max(1, math.ceil((bandwidth - 1e-6) / served)) if served else 0


def containers_that_fit(
    capacity: Mapping[str, float], demand: Mapping[str, float], beside: Mapping[str, float]
) -> int:
    """Return how many containers fit on a server with another one; -1 if that does not fit.

    `capacity`, `demand`, `beside`: capacity of the server and demands of the container and of the
    other one, by resource.
    """
    counts = []
    for r, have in capacity.items():
        left = have + 1e-6 - beside.get(r, 0)
        if left < 0:
            return -1
        if demand.get(r, 0) > 0:
            counts.append(math.floor(left / demand[r]))
    return min(counts)


def runs_somewhere(servers: Kinds, workers: Kinds, ps: Kinds) -> bool:
    """Return whether a worker fits with its PS on one server, or with its PSs on another one.

    `servers`, `workers`, `ps`: JSON data of the servers, the worker types and the PS types (empty
    for rings).
    """
    for worker in workers:
        e = worker["demand"]
        alone = [containers_that_fit(server["capacity"], e, {}) >= 1 for server in servers]
        if not ps and any(alone):
            return True
        for kind in ps:
            z, count = kind["demand"], ps_needed(e["bandwidth"], kind["demand"]["bandwidth"])
            if any(containers_that_fit(server["capacity"], e, z) >= 1 for server in servers):
                return True
            holds = [containers_that_fit(server["capacity"], z, {}) >= count for server in servers]
            pairs = ((g, h) for g, here in enumerate(alone) if here for h in range(len(servers)))
            if any(holds[h] and g != h for g, h in pairs):
                return True
    return False
