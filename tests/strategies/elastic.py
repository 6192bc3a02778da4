"""Random `elastic` instances, and their optima by enumeration, apart from all models."""

import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import Any

from hypothesis import strategies as st

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule, Job, Placement

RESOURCES = ("gpu", "cpu", "bandwidth")
TOLERANCE = 1e-6


def instance_of(jobs: list[dict[str, Any]], **fields: Any) -> ElasticInstance:
    """Return an instance; servers, types and horizon are as in the toy unless given.

    A job's `id` is j1, j2, ..., its `arrival` 1, its `weight`, `epochs`, `chunks` and
    `batches_per_chunk` 1, its `gradient_size` 0 unless given.
    """
    plain = {"arrival": 1, "weight": 1, "epochs": 1, "chunks": 1, "batches_per_chunk": 1}
    plain["gradient_size"] = 0
    data: dict[str, Any] = {
        "family": "elastic",
        "version": 1,
        "name": "test",
        "architecture": "parameter_server",
        "horizon": 10,
        "resources": list(RESOURCES),
        "bandwidth_resource": "bandwidth",
        "servers": [
            {"id": name, "capacity": {"gpu": 2, "cpu": 8, "bandwidth": 6}} for name in ("s1", "s2")
        ],
        "worker_types": [{"id": "w1", "demand": {"gpu": 1, "cpu": 2, "bandwidth": 1}}],
        "ps_types": [{"id": "p1", "demand": {"cpu": 2, "bandwidth": 3}}],
        "jobs": [{"id": f"j{n}", **plain, **job} for n, job in enumerate(jobs, 1)],
    }
    if fields.get("architecture") == "ring_allreduce":
        del data["ps_types"]
    return ElasticInstance.from_data(data | fields)


@st.composite
def elastic_instances(
    draw: st.DrawFn,
    max_jobs: int = 3,
    max_servers: int = 2,
    max_types: int = 2,
    *,
    max_chunks: int = 3,
    architecture: str | None = None,
    objective: str | None = None,
    policy: str | None = None,
    placeable: bool = False,
    integer: bool = True,
    nasty: bool = False,
    arrivals: bool = True,
) -> ElasticInstance:
    """Draw a tiny instance; `None` draws architecture, objective or horizon policy as well.

    `placeable`: every job can run on the first server with the first types, unless a deadline or a
    closed horizon forbids it. `integer=False`: capacities, demands and weights are tenths, now and
    then with parts of a millionth more or less. `nasty`: also thirds, numbers that differ by
    10^-1 to 10^-9, and weights of 1e-9 to 1e9 side by side. `arrivals=False`: all 1, as in a batch
    problem.
    """
    architecture = architecture or draw(st.sampled_from(["parameter_server", "ring_allreduce"]))
    objective = objective or draw(st.sampled_from(["weighted_completion", "scheduled_weight"]))
    policy = policy or draw(st.sampled_from(["open", "open", "open", "closed"]))
    ring, batch = architecture == "ring_allreduce", objective == "scheduled_weight"
    signs = st.sampled_from([-1, 1])

    def amount(least: int, most: int) -> float | int:
        if nasty:
            whole = draw(st.integers(least, most))
            near = whole * (1 + draw(signs) * 10.0 ** -draw(st.integers(1, 9)))
            return draw(st.sampled_from([whole, whole, near, whole / 3 or least]))
        if integer:
            return draw(st.integers(least, most))
        tenths = draw(st.integers(10 * least, 10 * most)) / 10
        nudge = draw(st.sampled_from([0.0, 0.0, 0.0, 4e-7, -4e-7, 3e-6, 0.0333333]))
        return round(max(least, tenths + nudge), 7)

    def weight() -> float | int:
        scale = draw(st.sampled_from([1, 1, 1, 1e-9, 1e-3, 1e4, 1e9])) if nasty else 1
        return max(1e-9, amount(1, 5) * scale)

    def demand(gpus: tuple[int, int]) -> dict[str, float | int]:
        found = {"gpu": amount(*gpus), "cpu": amount(0, 2), "bandwidth": amount(1, 2)}
        return {name: value for name, value in found.items() if value or name == "bandwidth"}

    def times(prefix: str, count: int, values: st.SearchStrategy[float]) -> dict[str, float]:
        names = [f"{prefix}{k + 1}" for k in range(count)]
        kept = [
            name for k, name in enumerate(names) if (placeable and k == 0) or draw(st.booleans())
        ]
        return {name: draw(values) for name in kept or [draw(st.sampled_from(names))]}

    workers = draw(st.integers(1, max_types))
    servers = 0 if ring else draw(st.integers(1, max_types))
    worker_types = [{"id": f"w{k + 1}", "demand": demand((0, 1))} for k in range(workers)]
    ps_types = [{"id": f"p{k + 1}", "demand": demand((0, 0))} for k in range(servers)]
    capacities = [
        {"gpu": amount(1, 3), "cpu": amount(1, 6), "bandwidth": amount(3, 8)}
        for _ in range(draw(st.integers(1, max_servers)))
    ]
    if placeable:
        for name in RESOURCES:
            first = [kinds[0]["demand"] for kinds in (worker_types, ps_types) if kinds]
            least = math.fsum(each.get(name, 0) for each in first)
            capacities[0][name] = max(capacities[0][name], least)
    parts = st.sampled_from([3, 4]) if nasty else st.just(4)
    quarters = st.tuples(st.integers(0, 4), parts).map(lambda pair: pair[0] / pair[1])
    jobs = [
        {
            "id": f"j{n + 1}",
            "arrival": draw(st.integers(1, 4)) if arrivals and not batch else 1,
            "weight": weight(),
            "epochs": draw(st.integers(1, 2)),
            "chunks": draw(st.integers(1, max_chunks)),
            "batches_per_chunk": draw(st.integers(1, 2)),
            "gradient_size": draw(quarters),
            "train_time": times("w", workers, quarters),
            "update_time": draw(quarters) if ring else times("p", servers, quarters),
        }
        for n in range(draw(st.integers(1, max_jobs)))
    ]
    fields = {"deadline": draw(st.integers(3, 9))} if batch else {}
    return instance_of(
        jobs,
        architecture=architecture,
        objective=objective,
        horizon=draw(st.integers(6, 14)),
        horizon_policy=policy,
        servers=[{"id": f"s{h + 1}", "capacity": each} for h, each in enumerate(capacities)],
        worker_types=worker_types,
        ps_types=ps_types,
        **fields,
    )


# --- enumeration ---------------------------------------------------------------------------------


def placements(instance: ElasticInstance, job: Job) -> tuple[Placement, ...]:
    """Return every way to run a job on the empty cluster, each as short as it can be, start 1.

    All worker types, all counts on all servers, all PS types and counts up to as many PSs on a
    server as the job could ever need there.
    """
    found = []
    servers = instance.servers
    for worker in instance.worker_types:
        if worker.id not in job.train_time:
            continue
        b = worker.demand[instance.bandwidth_resource]
        most = [_fit(server.capacity, worker.demand, job.chunks) for server in servers]
        for y in product(*(range(count + 1) for count in most)):
            total = sum(y)
            if not 1 <= total <= job.chunks:
                continue
            if instance.is_ring:
                central = sum(map(bool, y)) == 1
                batch = job.train_time[worker.id] + job.update_time * (total - 1) / total
                if not central:
                    batch += 2 * job.gradient_size * (total - 1) / (total * b)
                found.append(_placement(instance, job, batch, worker.id, None, y, ()))
                continue
            for ps in instance.ps_types:
                if ps.id not in job.update_time:
                    continue
                B = ps.demand[instance.bandwidth_resource]
                need = math.ceil(job.chunks * b / B) + 1
                room = [_fit(server.capacity, ps.demand, need) for server in servers]
                for s in product(*(range(count + 1) for count in room)):
                    if not any(s) or not all(
                        not s[h] or b * (total - y[h]) <= B * s[h] + TOLERANCE
                        for h in range(len(servers))
                    ):
                        continue
                    central = sum(bool(y[h] or s[h]) for h in range(len(servers))) == 1
                    batch = job.train_time[worker.id] + job.update_time[ps.id]
                    if not central:
                        batch += 2 * job.gradient_size / b
                    run = _placement(instance, job, batch, worker.id, ps.id, y, s)
                    if _fits(instance, usage(instance, run)):
                        found.append(run)
    return tuple(found)


def brute_force(instance: ElasticInstance) -> float:
    """Return the optimum by enumeration; inf when there is no schedule."""
    return best_schedule(instance)[0]


def best_schedule(instance: ElasticInstance) -> tuple[float, ElasticSchedule | None]:
    """Return the optimum by enumeration and a schedule of that value; (inf, None) if none exists.

    All left-shifted schedules are built job by job in the order of their starts: once the jobs that
    start before are placed, what is free only grows, so a job starts at the first slot in which it
    fits, and it then fits to its end. A placement is left out if it uses no less than another
    one everywhere and is not shorter, and a branch if it cannot become better than the best found.
    """
    jobs = instance.jobs
    last = instance.deadline if instance.is_batch else None
    if not instance.is_batch and instance.horizon_policy == "closed":
        last = instance.horizon + 1
    choices = [_undominated(instance, job) for job in jobs]
    least = [min((run.duration for run, _ in each), default=math.inf) for each in choices]
    best = 0.0 if instance.is_batch else math.inf
    found: list[tuple[int, Placement]] | None = [] if instance.is_batch else None

    def first_fit(running: list[tuple[int, tuple[float, ...]]], use: Any, start: int) -> int:
        for slot in sorted({start, *(end for end, _ in running if end > start)}):
            held = [other for end, other in running if end > slot]
            if _fits(instance, [math.fsum(column) for column in zip(use, *held, strict=True)]):
                return slot
        raise AssertionError("every placement fits on the empty cluster")

    def extend(waiting: frozenset[int], placed: list[Any], last_start: int, value: float) -> None:
        nonlocal best, found
        if instance.is_batch:
            if value > best:
                best, found = value, placed
            if value + sum(jobs[n].weight for n in waiting) <= best:
                return
        else:
            rest = (jobs[n].weight * (max(jobs[n].arrival, last_start) + least[n]) for n in waiting)
            if value + sum(rest) >= best:
                return
            if not waiting:
                best, found = value, placed
        running = [(run.end, use) for _, run, use in placed]
        for n in sorted(waiting):
            for run, use in choices[n]:
                start = first_fit(running, use, max(jobs[n].arrival, last_start))
                moved = replace(run, start=start)
                if last is not None and moved.end > last:
                    continue
                objective_coefficient = jobs[n].weight * (1 if instance.is_batch else moved.end)
                extend(
                    waiting - {n}, [*placed, (n, moved, use)], start, value + objective_coefficient
                )

    extend(frozenset(range(len(jobs))), [], 1, 0.0)
    if found is None:
        return math.inf, None
    return best, ElasticSchedule({jobs[n].id: run for n, run, _ in found})


def usage(instance: ElasticInstance, run: Placement) -> tuple[float, ...]:
    """Return what a run holds of each resource on each server, server by server."""
    worker = next(kind for kind in instance.worker_types if kind.id == run.worker_type)
    ps: Mapping[str, float] = next(
        (kind.demand for kind in instance.ps_types if kind.id == run.ps_type), {}
    )
    return tuple(
        worker.demand.get(r, 0) * run.workers.get(server.id, 0)
        + ps.get(r, 0) * run.ps.get(server.id, 0)
        for server in instance.servers
        for r in instance.resources
    )


def _placement(
    instance: ElasticInstance,
    job: Job,
    batch: float,
    worker: str,
    ps: str | None,
    y: tuple[int, ...],
    s: tuple[int, ...],
) -> Placement:
    """Return a run of the least duration that the tolerance of 1e-6 worker-slots allows."""
    slots = job.epochs * job.chunks * job.batches_per_chunk * batch
    duration = max(1, math.ceil((slots - TOLERANCE) / sum(y)))
    names = [server.id for server in instance.servers]
    counts = [{h: k for h, k in zip(names, each, strict=False) if k} for each in (y, s)]
    return Placement(1, duration, worker, ps, *counts)


def _fit(capacity: Mapping[str, float], demand: Mapping[str, float], most: int) -> int:
    count = 0
    while count < most and all(
        (count + 1) * need <= capacity.get(r, 0) + TOLERANCE for r, need in demand.items()
    ):
        count += 1
    return count


def _fits(instance: ElasticInstance, used: Any) -> bool:
    whole = (s.capacity.get(r, 0) for s in instance.servers for r in instance.resources)
    return all(part <= most + TOLERANCE for part, most in zip(used, whole, strict=True))


def _undominated(instance: ElasticInstance, job: Job) -> list[tuple[Placement, tuple[float, ...]]]:
    found = [(run, usage(instance, run)) for run in placements(instance, job)]
    kept: list[tuple[Placement, tuple[float, ...]]] = []
    for run, use in sorted(found, key=lambda item: (item[0].duration, item[1])):
        if not any(all(a <= b for a, b in zip(other, use, strict=True)) for _, other in kept):
            kept.append((run, use))
    return kept
