"""Random `dmlrs` instances, and their optima by trying everything, apart from all models."""

import math
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from hypothesis import strategies as st

from schedgap.instances.dmlrs import DmlrsInstance, DmlrsSchedule

Placed = Mapping[int, tuple[int, int]]  # workers and PSs by index of the machine
Choice = tuple[int, int]  # worker-slots in internal and external mode; (0, 0) is an idle slot
IDLE: Choice = (0, 0)


@st.composite
def dmlrs_instances(
    draw: st.DrawFn,
    max_jobs: int = 3,
    max_machines: int = 2,
    max_slots: int = 4,
    *,
    min_jobs: int = 1,
    max_workers: int = 3,
    exact: bool | None = None,
    whole: bool = False,
    wild: bool = False,
) -> DmlrsInstance:
    """Draw a tiny instance; work is often an integer in worker-slots, just over or just under one.

    `exact`: the rule on PSs, else either. `whole`: ratios, capacities and demands are integers.
    `wild`: utilities from 1e-9 to 1e9 side by side, nearly equal ones, and thirds.
    """
    T = draw(st.integers(1, max_slots))
    resources = ["gpu", "cpu"][: draw(st.integers(1, 2))]
    rooms = [0, 1, 2, 3, 4] if whole else [0, 1, 2, 2.5, 3, 4]
    machines = [
        {"id": f"m{h}", "capacity": {name: draw(st.sampled_from(rooms)) for name in resources}}
        for h in range(1, draw(st.integers(1, max_machines)) + 1)
    ]
    if draw(st.booleans()):
        machines = [{**machine, "capacity": machines[0]["capacity"]} for machine in machines]
    if exact is None:
        exact = draw(st.sampled_from([False, False, True]))
    jobs = [
        _job(draw, n, T, resources, max_workers, whole, wild)
        for n in range(1, draw(st.integers(min_jobs, max_jobs)) + 1)
    ]
    fields: dict[str, Any] = {"ps_rule": "exact"} if exact else {}
    return DmlrsInstance.from_data(
        {
            "family": "dmlrs", "version": 1, "name": "t", "horizon": T, "resources": resources,
            "machines": machines, "jobs": jobs, **fields,
        }
    )  # fmt: skip


def _job(
    draw: st.DrawFn, n: int, T: int, resources: list[str], most: int, whole: bool, wild: bool
) -> dict[str, Any]:
    arrival = draw(st.integers(1, T))
    batch = draw(st.integers(1, most))
    ratios = [1, 1, 2, 3] if whole else [1, 1, 1.5, 2, 2.5, 3, 4 / 3, 1 + 1e-7, 2 + 1e-10]
    ratio = float(draw(st.sampled_from(ratios)))
    samples = draw(st.sampled_from([1, 7, 30]))
    internal = draw(st.integers(2, 4 * most + 2)) / 2  # worker-slots
    internal *= draw(st.sampled_from([1, 1, 1, 1 + 1e-8, 1 - 1e-8, 1 + 3e-7, 1 + 1e-12]))
    stretch = draw(st.sampled_from([1.0, 1.0, 1.2, 1.5, 2.0, 4 / 3, 1 + 1e-3, None]))
    if stretch is None:
        stretch = 1 + 10.0 ** -draw(st.integers(1, 12))
    share = draw(st.sampled_from([0.25, 0.5]))  # the internal exchange in the time of a sample
    exchange = share * internal / samples
    more = exchange + (stretch - 1) * internal / samples
    if wild:
        sizes = [0.0, 1e-9, 1e-3, 1 / 3, 2 / 3, 1.0, 1 + 1e-7, 1 + 1e-10, 3.0, 1e4, 1e9]
        drawn = draw(st.lists(st.sampled_from(sizes), min_size=T, max_size=T))
        utility: dict[str, Any] = {"type": "table", "values": sorted(drawn, reverse=True)}
    elif draw(st.booleans()):
        values = [draw(st.integers(0, 9))]
        for _ in range(T - 1):
            values.append(max(0, values[-1] - draw(st.integers(0, 4))))
        utility = {"type": "table", "values": values}
    else:
        utility = {
            "type": "sigmoid",
            "priority": float(draw(st.integers(1, 20))),
            "sensitivity": draw(st.sampled_from([0.1, 0.5, 1.0])),
            "target": draw(st.sampled_from([1.0, 2.0])),
        }
    units = [0, 1, 2] if whole else [0, 0.5, 1, 1, 2]
    worker = {name: draw(st.sampled_from(units)) for name in resources}
    ps = {name: draw(st.sampled_from(units[:4])) for name in resources}
    for demand in (worker, ps):
        if not any(demand.values()):
            demand[draw(st.sampled_from(resources))] = 1
    return {
        "id": f"j{n}",
        "arrival": arrival,
        "epochs": 1,
        "samples": samples,
        "batch_size": batch,
        "gradient_size": 1.0,
        "time_per_sample": (1 - share) * internal / samples,
        "worker_ps_ratio": ratio,
        "internal_bandwidth": 2 * ratio / batch / exchange,
        "external_bandwidth": min(2 * ratio / batch / more, 2 * ratio / batch / exchange),
        "worker_demand": worker,
        "ps_demand": ps,
        "utility": utility,
    }


def plain_ps(instance: DmlrsInstance, j: int, workers: int) -> int | None:
    """Return the PSs that n >= 1 workers of job j need, by (2); None where n is not allowed."""
    ratio = instance.jobs[j].worker_ps_ratio
    if instance.ps_rule == "exact":
        k = round(workers / ratio)
        return k if k >= 1 and abs(workers / ratio - k) < 1e-9 else None
    return max(1, math.ceil(workers / ratio - 1e-9))


def plain_work(instance: DmlrsInstance, j: int) -> tuple[float, float]:
    """Return N_int and N_ext of job j, in worker-slots."""
    job = instance.jobs[j]

    def slots(bandwidth: float) -> float:
        exchange = 2 * job.gradient_size / bandwidth
        each = job.time_per_sample + job.worker_ps_ratio / job.batch_size * exchange
        return job.epochs * job.samples * each

    return slots(job.internal_bandwidth), slots(job.external_bandwidth)


def is_done(instance: DmlrsInstance, j: int, total: Choice) -> bool:
    """Whether so many worker-slots in the two modes do the work of job j, by (3)."""
    internal, external = plain_work(instance, j)
    return total[0] / internal + total[1] / external >= 1 - 1e-9


def splits(number: int, parts: int) -> Iterator[tuple[int, ...]]:
    """Yield every way to put so many equal things in so many places."""
    if parts == 1:
        yield (number,)
        return
    for first in range(number + 1):
        for rest in splits(number - first, parts - 1):
            yield first, *rest


def placements(instance: DmlrsInstance, j: int) -> dict[Choice, list[Placed]]:
    """Return every way that job j can run in an empty slot, by what it brings.

    More PSs than needed are left out: they only take room.
    """
    job, H = instance.jobs[j], len(instance.machines)
    found: dict[Choice, list[Placed]] = {}
    for n in range(1, job.batch_size + 1):
        m = plain_ps(instance, j, n)
        if m is None:
            continue
        for workers, ps in product(splits(n, H), splits(m, H)):
            placed = {h: (w, s) for h, (w, s) in enumerate(zip(workers, ps, strict=True)) if w + s}
            if fits(instance, {j: placed}):
                brings = (n, 0) if len(placed) == 1 else (0, n)
                found.setdefault(brings, []).append(placed)
    return found


def fits(instance: DmlrsInstance, running: Mapping[int, Placed]) -> bool:
    """Whether the jobs of one slot stay within every capacity, (5)."""
    loads = [load(instance, j, placed) for j, placed in running.items()]
    return not loads or within(instance, tuple(map(sum, zip(*loads, strict=True))))


Load = tuple[float, ...]  # by machine and resource


def load(instance: DmlrsInstance, j: int, placed: Placed) -> Load:
    """Return what a placement of job j takes."""
    job = instance.jobs[j]
    return tuple(
        workers * job.worker_demand[name] + ps * job.ps_demand[name]
        for workers, ps in (placed.get(h, (0, 0)) for h in range(len(instance.machines)))
        for name in instance.resources
    )


def within(instance: DmlrsInstance, used: Load) -> bool:
    """Whether a load stays within every capacity, (5)."""
    rooms = (m.capacity[name] for m in instance.machines for name in instance.resources)
    return all(amount <= room + 1e-6 for amount, room in zip(used, rooms, strict=True))


def slot_choices(instance: DmlrsInstance) -> dict[tuple[Choice, ...], dict[int, Placed]]:
    """Return what the jobs can bring together in one slot, [j], each with a placement.

    Job by job, all loads that the same numbers can make.
    """
    empty: Load = (0.0,) * (len(instance.machines) * len(instance.resources))
    found: dict[tuple[Choice, ...], dict[Load, dict[int, Placed]]] = {(): {empty: {}}}
    for j in range(len(instance.jobs)):
        ways = {
            brings: {load(instance, j, placed): placed for placed in way}
            for brings, way in placements(instance, j).items()
        }
        after: dict[tuple[Choice, ...], dict[Load, dict[int, Placed]]] = {}
        for chosen, loads in found.items():
            after[*chosen, IDLE] = loads
            for brings, own in ways.items():
                sums = {
                    tuple(map(sum, zip(used, more, strict=True))): {**running, j: placed}
                    for used, running in loads.items()
                    for more, placed in own.items()
                }
                kept = {used: running for used, running in sums.items() if within(instance, used)}
                if kept:
                    after[*chosen, brings] = kept
        found = after
    return {chosen: next(iter(loads.values())) for chosen, loads in found.items()}


def best_schedule(instance: DmlrsInstance) -> tuple[float, DmlrsSchedule]:
    """Return the largest sum of utilities, and a schedule that has it, by trying everything.

    From slot to slot, all that the jobs can have done; of two ways to the same the richer one.
    More workers of one job in the same mode, and nothing else changed, never hurt.
    """
    jobs = range(len(instance.jobs))
    choices = slot_choices(instance)
    largest: dict[tuple[bool, ...], list[tuple[Choice, ...]]] = {}  # by who may run
    for may in product((False, True), repeat=len(jobs)):
        some = [c for c in choices if all(may[j] or c[j] == IDLE for j in jobs)]
        largest[may] = [c for c in some if not any(_exceeds(other, c) for other in some)]
    State = tuple[Choice | None, ...]  # worker-slots so far; None once complete
    start: State = tuple(IDLE for _ in jobs)
    best: dict[State, tuple[float, tuple[dict[int, Placed], ...]]] = {start: (0.0, ())}
    for t in range(1, instance.horizon + 1):
        after: dict[State, tuple[float, tuple[dict[int, Placed], ...]]] = {}
        for state, (value, past) in best.items():
            here = tuple(state[j] is not None and t >= instance.jobs[j].arrival for j in jobs)
            for chosen in largest[here]:
                new, worth = list(state), value
                for j in (j for j in jobs if chosen[j] != IDLE):
                    before = state[j] or IDLE
                    total = before[0] + chosen[j][0], before[1] + chosen[j][1]
                    done = is_done(instance, j, total)
                    new[j] = None if done else total
                    if done:
                        worth += utility(instance, j, t - instance.jobs[j].arrival)
                key = tuple(new)
                if key not in after or worth > after[key][0]:
                    after[key] = worth, (*past, choices[chosen])
        best = after
    state, (value, slots) = max(best.items(), key=lambda item: item[1][0])
    plans: dict[int, dict[int, Placed]] = {j: {} for j in jobs if state[j] is None}
    for t, packed in enumerate(slots, 1):
        for j, placed in packed.items():
            if j in plans:
                plans[j][t] = placed
    return value, DmlrsSchedule.of_plans(instance, plans)


def _exceeds(other: tuple[Choice, ...], chosen: tuple[Choice, ...]) -> bool:
    """Whether each job brings at least as much, in the mode it had, and some job more."""
    more = all(a >= b and c >= d for (a, c), (b, d) in zip(other, chosen, strict=True))
    return more and other != chosen


def utility(instance: DmlrsInstance, j: int, delay: int) -> float:
    """Return u_j of a delay in slots."""
    found = instance.jobs[j].utility
    if found.type == "table":
        return float(found.values[delay])
    return found.priority / (1 + math.exp(found.sensitivity * (delay - found.target)))


def optimum(instance: DmlrsInstance) -> float:
    """Return the largest sum of utilities."""
    return best_schedule(instance)[0]
