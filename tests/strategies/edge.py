"""Random `edge` instances, and their optima by enumeration, apart from all models."""

import math
from dataclasses import replace
from itertools import product
from typing import Any

from hypothesis import strategies as st

from schedgap.instances.edge import EdgeInstance, EdgeSchedule, Job, Placement

TOLERANCE = 1e-6
SERVERS = (
    {"id": "edge-1", "kind": "edge", "workers": {"gpu": 2}, "parameter_servers": {"cpu": 1}},
    {"id": "edge-2", "kind": "edge", "workers": {"gpu": 2}, "parameter_servers": {"cpu": 1}},
    {"id": "cloud", "kind": "cloud", "workers": {"gpu": 4}, "parameter_servers": {"cpu": 2}},
)
DELAYS = {"edge": 1, "cloud": 3}


def instance_of(jobs: list[dict[str, Any]], **fields: Any) -> EdgeInstance:
    """Return an instance; servers, types, slots of an hour and T = 16 are toy-a's unless given.

    A job's `id` is j1, j2, ..., its `arrival`, `epochs`, `chunks` and `minibatches_per_chunk` 1,
    its types the first ones, its `compute_seconds` a slot, without update and gradients, with
    delays of 1 to each edge server and 3 to each cloud unless given.
    """
    data: dict[str, Any] = {
        "family": "edge",
        "version": 1,
        "name": "test",
        "horizon": 16,
        "slot_seconds": 3600,
        "worker_types": ["gpu"],
        "ps_types": ["cpu"],
        "servers": list(SERVERS),
    } | fields
    plain = {
        "arrival": 1,
        "worker_type": data["worker_types"][0],
        "ps_type": data["ps_types"][0],
        "epochs": 1,
        "chunks": 1,
        "minibatches_per_chunk": 1,
        "compute_seconds": data["slot_seconds"],
        "update_seconds": 0.0,
        "gradient_megabytes": 0.0,
        "bandwidth_mbps": 100.0,
        "transfer_delay": {server["id"]: DELAYS[server["kind"]] for server in data["servers"]},
    }
    made = [{"id": f"j{n}"} | plain | job for n, job in enumerate(jobs, 1)]
    return EdgeInstance.from_data(data | {"jobs": made})


@st.composite
def edge_instances(
    draw: st.DrawFn,
    max_jobs: int = 3,
    max_servers: int = 3,
    max_types: int = 2,
    *,
    max_workers: int = 3,
    max_chunks: int = 3,
    horizon: tuple[int, int] = (6, 12),
    batch: bool | None = False,
    placeable: bool = False,
    nasty: bool = False,
) -> EdgeInstance:
    """Draw a tiny instance; `batch` None draws which of the two problems it is as well.

    `placeable`: every type is on the first server, so every job runs if only the horizon is long
    enough. Now and then a job's work is a millionth of a worker-slot away from an integer.
    `nasty`: also near-equal and very small times, thirds, large and small data and bandwidths side
    by side, and servers with a billion workers next to others with one.
    """
    types = draw(st.integers(1, max_types))
    worker_types = [f"w{k + 1}" for k in range(types)]
    ps_types = [f"p{k + 1}" for k in range(draw(st.integers(1, max_types)))]
    T = draw(st.integers(*horizon))
    servers = []
    for s in range(draw(st.integers(1, max_servers))):
        least = 1 if placeable and s == 0 else 0
        workers = {name: draw(st.integers(least, max_workers)) for name in worker_types}
        if nasty and draw(st.integers(0, 3)) == 0:
            workers[worker_types[0]] = draw(st.sampled_from([10**8 + 1, 10**9, 64]))
        ps = {name: draw(st.integers(least, 2)) for name in ps_types}
        kind = "cloud" if s and draw(st.booleans()) else "edge"
        kept = {name: count for name, count in workers.items() if count or draw(st.booleans())}
        servers.append({"id": f"s{s + 1}", "kind": kind, "workers": kept, "parameter_servers": ps})
    jobs = []
    for _ in range(draw(st.integers(1, max_jobs))):
        nudge = draw(st.sampled_from([0.0, 0.0, 0.0, 5e-7, 2e-6, -2e-6]))
        slots = draw(st.sampled_from([0.25, 0.5, 1.0]))
        data = draw(st.sampled_from([0.0, 10.0, 40.0])), draw(st.sampled_from([64.0, 160.0]))
        if nasty:
            nudge = draw(
                st.sampled_from(
                    [0.0, *(sign * 10.0**-k for k in (3, 5, 6, 7, 9) for sign in (1, -1))]
                )
            )
            slots = draw(st.sampled_from([slots, 1 / 3, 2 / 3, 1.0, 1e-10 - nudge]))
            data = draw(
                st.sampled_from([data, (1e-9, 1e-8), (1e9, 1e10), (1e9 / 3, 1e9), (0.0, 1e-9)])
            )
        jobs.append(
            {
                "arrival": draw(st.integers(1, max(1, T // 2))),
                "worker_type": draw(st.sampled_from(worker_types)),
                "ps_type": draw(st.sampled_from(ps_types)),
                "epochs": draw(st.integers(1, 2)),
                "chunks": draw(st.integers(1, max_chunks)),
                "minibatches_per_chunk": draw(st.integers(1, 2)),
                "compute_seconds": max(1e-9, 10 * (slots + nudge)),
                "update_seconds": draw(st.sampled_from([0.0, 0.0, 2.5])),
                "gradient_megabytes": data[0],
                "bandwidth_mbps": data[1],
                "transfer_delay": {
                    server["id"]: draw(st.integers(0, 2 if server["kind"] == "edge" else 4))
                    for server in servers
                },
            }
        )
    fields: dict[str, Any] = {}
    if batch or (batch is None and draw(st.booleans())):
        fields["batch_round"] = draw(st.integers(2, (T - 1).bit_length()))
    return instance_of(
        jobs,
        horizon=T,
        slot_seconds=10,
        worker_types=worker_types,
        ps_types=ps_types,
        servers=servers,
        **fields,
    )


# --- enumeration ---------------------------------------------------------------------------------


def slots_of_work(instance: EdgeInstance, job: Job, colocated: bool) -> float:
    """Return the worker-slots of a job, from (1)."""
    exchange = 0.0 if colocated else 2 * 8 * job.gradient_megabytes / job.bandwidth_mbps
    seconds = job.compute_seconds + job.update_seconds + exchange
    return job.epochs * job.chunks * job.minibatches_per_chunk * seconds / instance.slot_seconds


def placements(instance: EdgeInstance, job: Job) -> tuple[Placement, ...]:
    """Return every way to run a job alone, as early and as short as it can be, in any horizon."""
    found = []
    servers = instance.servers
    most = [min(server.workers.get(job.worker_type, 0), job.chunks) for server in servers]
    for counts in product(*(range(count + 1) for count in most)):
        if not 1 <= sum(counts) <= job.chunks:
            continue
        workers = {server.id: count for server, count in zip(servers, counts, strict=True) if count}
        for host in servers:
            if host.parameter_servers.get(job.ps_type, 0) < 1:
                continue
            colocated = set(workers) == {host.id}
            slots = 1
            while slots * sum(counts) < slots_of_work(instance, job, colocated) - TOLERANCE:
                slots += 1
            start = job.arrival + max(job.transfer_delay[name] for name in {*workers, host.id})
            found.append(Placement(start, start + slots - 1, workers, host.id))
    return tuple(found)


def brute_force(instance: EdgeInstance) -> float:
    """Return the optimum of (2) or (3) by enumeration; inf when (2) has no schedule."""
    return best_schedule(instance)[0]


def best_schedule(instance: EdgeInstance) -> tuple[float, EdgeSchedule | None]:
    """Return the optimum by enumeration and a schedule of that value; (inf, None) if none exists.

    All left-shifted schedules are built job by job in the order of their starts: once the jobs that
    start before are placed, what is free only grows, so a job starts at the first slot in which its
    servers are ready and free, and they stay free to its end. A placement is left out if it uses no
    less than another one everywhere and is neither shorter nor ready earlier, and a branch if it
    cannot become better than the best found.
    """
    jobs, T = instance.jobs, instance.horizon
    servers = {server.id: server for server in instance.servers}
    first, last = 1, T
    able = set(range(len(jobs)))
    if instance.batch_round is not None:
        tau = 2 ** (instance.batch_round - 1)
        first, last = tau + 1, min(2 * tau, T)
        able = {n for n in able if jobs[n].arrival < tau}
    choices = [_undominated(instance, job) for job in jobs]
    least = [
        min((max(run.start, first) + run.slots - 1 for run in runs), default=math.inf) - job.arrival
        for runs, job in zip(choices, jobs, strict=True)
    ]
    best = 0.0 if instance.is_batch else math.inf
    found: dict[int, Placement] | None = {} if instance.is_batch else None

    def fits(placed: dict[int, Placement], n: int, run: Placement, slot: int) -> bool:
        job = jobs[n]
        running = [(jobs[k], each) for k, each in placed.items() if each.completion >= slot]
        for name, count in run.workers.items():
            used = sum(
                each.workers.get(name, 0)
                for other, each in running
                if other.worker_type == job.worker_type
            )
            if count and count + used > servers[name].workers.get(job.worker_type, 0):
                return False
        hosts = sum(
            each.ps_server == run.ps_server
            for other, each in running
            if other.ps_type == job.ps_type
        )
        return hosts + 1 <= servers[run.ps_server].parameter_servers[job.ps_type]

    def extend(waiting: frozenset[int], placed: dict[int, Placement], value: float) -> None:
        nonlocal best, found
        after = max((run.start for run in placed.values()), default=first)
        if instance.is_batch:
            if value > best:
                best, found = value, placed
            if value + len(waiting) <= best:
                return
        else:
            if value + sum(least[n] for n in waiting) >= best:
                return
            if not waiting:
                best, found = value, placed
        for n in sorted(waiting):
            others = sum(least[k] for k in waiting if k != n)
            for run in choices[n]:
                start = max(run.start, after)
                soonest = start + run.slots - 1 - jobs[n].arrival
                if not instance.is_batch and value + soonest + others >= best:
                    continue
                while start + run.slots - 1 <= last and not fits(placed, n, run, start):
                    start += 1
                moved = replace(run, start=start, completion=start + run.slots - 1)
                if moved.completion <= last:
                    gain = 1 if instance.is_batch else moved.completion - jobs[n].arrival
                    extend(waiting - {n}, {**placed, n: moved}, value + gain)

    extend(frozenset(able), {}, 0.0)
    if found is None:
        return math.inf, None
    return best, EdgeSchedule({jobs[n].id: run for n, run in found.items()})


def _undominated(instance: EdgeInstance, job: Job) -> list[Placement]:
    kept: list[Placement] = []
    for run in sorted(
        placements(instance, job), key=lambda run: (run.slots, run.start, run.number)
    ):
        if not any(
            other.slots <= run.slots
            and other.start <= run.start
            and other.ps_server == run.ps_server
            and all(count <= run.workers.get(name, 0) for name, count in other.workers.items())
            for other in kept
        ):
            kept.append(run)
    return kept
