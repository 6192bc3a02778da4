"""Random `ring` instances and plans, and a reference simulation and enumeration for them."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from hypothesis import reject
from hypothesis import strategies as st

from schedgap.instances.ring import RingInstance
from strategies.ring_examples import instance_of

STEPS = 300_000  # decisions on one job in the enumeration; some seconds
Counts = Mapping[int, int]  # workers by index of the server


@st.composite
def ring_instances(
    draw: st.DrawFn,
    max_jobs: int = 4,
    max_servers: int = 3,
    *,
    max_slots: int = 6,
    placeable: bool = False,
    horizon: int | None = None,
) -> RingInstance:
    """Draw a tiny instance with a few iterations per slot and jobs of up to `max_slots` slots.

    `placeable`: no job asks for more GPUs than there are. Now and then a literal (7), a finer
    scale, a power for f, an estimate far off, a spread that stops a job; times of nanoseconds or
    thirds of milliseconds, with up to 10^13 units of progress for a job; jobs that differ by parts
    in a million, or in a thousand million.
    """
    servers = draw(st.lists(st.integers(1, 4), min_size=1, max_size=max_servers))
    largest = min(6, sum(servers)) if placeable else 6
    literal = draw(st.sampled_from([False, False, False, True]))
    kind = draw(st.sampled_from(["linear", "linear", "power"]))
    alpha = draw(st.sampled_from([0.0, 0.2, 0.5, 1.0, 1.5]))
    factor = draw(st.sampled_from([0.25, 0.5, 0.7, 1.0]))
    if literal and kind == "linear" and factor * (1 + alpha) <= alpha:
        alpha = 0.2
    scale = draw(st.sampled_from([1, 1, 1, 3, 1000, 10_000]))
    unit = draw(st.sampled_from([1.0, 1.0, 1.0, 1e-3 / 3, 1e-7]))  # unit of times, in slots
    near = draw(st.sampled_from([0.0, 0.0, 1e-3, 1e-6, 1e-9]))
    between = draw(st.sampled_from([2.0, 10.0, 20.0, 40.0]))
    alone = max(1.0, factor) if not literal else factor
    f_1 = alone + alpha * (alone - 1) if kind == "linear" else alone ** (1 + alpha)
    jobs = []
    for n in range(draw(st.integers(1, max_jobs))):
        # slots per iteration, without the exchange
        tau = draw(st.integers(8, 40)) / 200 * unit * (1 + near * draw(st.integers(0, 2)))
        job: dict[str, Any] = {
            "id": f"j{n + 1}",
            "gpus": draw(st.integers(1, largest)),
            "iterations": min(10**9, max(1, int(draw(st.integers(1, max_slots)) / tau))),
            "gradient_size": draw(st.sampled_from([0.0, 0.5, 1.0, 4 / 3, 2.0])) * unit,
            "batch_size": draw(st.sampled_from([1, 4])),
            "forward_time_per_sample": tau / 8,
            "backward_time": tau / 2,
        }
        if draw(st.integers(0, 3)) == 0:
            job["estimated_slots"] = draw(st.sampled_from([0.5, 2.0, 7.25, 40.0]))
        if draw(st.integers(0, 3)) == 0:
            job["spread_factor"] = draw(st.sampled_from([1.5, 2.0, 4.0]))
        jobs.append(job)
    return instance_of(
        jobs,
        servers,
        horizon=horizon or draw(st.sampled_from([12, 40, 40, 60])),
        bandwidth_between=between,
        bandwidth_within=max(100.0, between / f_1),
        contention_factor=factor,
        overhead_per_server=draw(st.sampled_from([0.0, 0.01, 0.03])) * unit,
        degradation={"kind": kind, "alpha": alpha},
        clamp_contention=not literal,
        rate_scale=scale,
    )


@st.composite
def ring_plans(
    draw: st.DrawFn, instance: RingInstance, latest: int = 12
) -> tuple[list[int], list[Counts]]:
    """Draw starts and placements [j]; each job fits the empty cluster, all together may not."""
    starts, placements = [], []
    for job in instance.jobs:
        starts.append(draw(st.integers(1, latest)))
        placements.append(draw(st.sampled_from(list(placements_of(instance, job.gpus)))))
    return starts, placements


def placements_of(instance: RingInstance, gpus: int) -> Iterator[Counts]:
    """Yield every placement of so many workers on the servers."""
    rooms = [range(min(gpus, server.gpus) + 1) for server in instance.servers]
    for counts in product(*rooms):
        if sum(counts) == gpus:
            yield {s: count for s, count in enumerate(counts) if count}


def plain_rate(instance: RingInstance, j: int, n: int, p: int) -> int:
    """Return phi of job j on n servers with p rings on the worst, by (7) and (8) in plain Python.

    Beyond what the job needs it is cut off: the job is complete in that slot either way.
    """
    job = instance.jobs[j]
    if n == 1:
        bandwidth = instance.bandwidth_within
    else:
        k = instance.contention_factor * p
        if instance.clamp_contention:
            k = max(1, k)
        alpha = instance.degradation.alpha
        f = k + alpha * (k - 1) if instance.degradation.kind == "linear" else k ** (1 + alpha)
        bandwidth = instance.bandwidth_between / f
    chunk = job.gradient_size / job.gpus * (job.gpus - 1)
    tau = 2 * chunk / bandwidth + chunk / instance.compute_speed
    tau = tau + instance.overhead_per_server * n
    tau = tau + job.forward_time_per_sample * job.batch_size
    tau = tau + job.backward_time
    need = job.iterations * instance.rate_scale
    return math.floor(min(instance.rate_scale / tau + 1e-9, need))


def slot_by_slot(
    instance: RingInstance, starts: Sequence[int], placements: Sequence[Counts], slots: int
) -> tuple[list[int | None], bool]:
    """Return the last slot of each job, or None, and whether no server ever held too many.

    Every slot is looked at, 1..`slots`; all jobs of a slot see the same neighbors.
    """
    left = [job.iterations * instance.rate_scale for job in instance.jobs]
    ends: list[int | None] = [None] * len(left)
    within = True
    for t in range(1, slots + 1):
        active = [j for j in range(len(left)) if starts[j] <= t and ends[j] is None]
        for s, server in enumerate(instance.servers):
            within &= sum(placements[j].get(s, 0) for j in active) <= server.gpus
        done = []
        for j in active:
            p = 0
            if len(placements[j]) > 1:
                p = max(
                    sum(s in placements[i] and len(placements[i]) > 1 for i in active)
                    for s in placements[j]
                )
            left[j] -= plain_rate(instance, j, len(placements[j]), p)
            if left[j] <= 0:
                done.append(j)
        for j in done:
            ends[j] = t
        if None not in ends:
            break
    return ends, within


def optimum(instance: RingInstance) -> int | None:
    """Return the least makespan of all schedules, by trying every start and placement; or None.

    From slot to slot: any set of waiting jobs starts in any way that fits, then the slot passes.
    Nothing is pruned but what cannot end before the best schedule known, and what was there before.
    A drawn instance that takes more than `STEPS` is rejected: a few would take all the time.
    """
    rooms = [server.gpus for server in instance.servers]
    ways = [list(placements_of(instance, job.gpus)) for job in instance.jobs]
    needs = [job.iterations * instance.rate_scale for job in instance.jobs]
    alone = [
        min((-(-needs[j] // rate) for placed in ways[j] if (rate := _alone(instance, j, placed))),
            default=None)
        for j in range(len(needs))
    ]  # fmt: skip
    if None in alone:
        return None
    best = min(instance.horizon, sum(length for length in alone if length is not None)) + 1
    steps = 0
    seen = set()  # (slot, what runs on with its place and what is left, what waits)

    def choose(
        t: int,
        j: int,
        free: tuple[int, ...],
        running: dict[int, tuple[Counts, int]],
        rest: list[int],
    ) -> None:
        """Decide on the waiting jobs from j on, in slot t, then let it pass."""
        nonlocal steps
        steps += 1
        if steps > STEPS:
            reject()
        if j == len(rest):
            pass_slot(t, running, rest)
            return
        for placed in ways[rest[j]]:
            if all(free[s] >= count for s, count in placed.items()):
                left = tuple(room - placed.get(s, 0) for s, room in enumerate(free))
                more = running | {rest[j]: (placed, needs[rest[j]])}
                choose(t, j, left, more, rest[:j] + rest[j + 1 :])
        choose(t, j + 1, free, running, rest)  # waiting comes last: a first schedule is soon found

    def pass_slot(t: int, running: dict[int, tuple[Counts, int]], rest: list[int]) -> None:
        nonlocal best
        after = {}
        for j, (placed, left) in running.items():
            contentions = [
                sum(s in other and len(other) > 1 for other, _ in running.values()) for s in placed
            ]
            p = max(contentions) if len(placed) > 1 else 0
            left -= plain_rate(instance, j, len(placed), p)
            if left > 0:
                after[j] = placed, left
        if not after and not rest:
            best = min(best, t)
            return
        running = sorted((j, *placed.items(), left) for j, (placed, left) in after.items())
        state = t, tuple(running), tuple(rest)
        if t + max((alone[j] or 0 for j in rest), default=1) < best and state not in seen:
            seen.add(state)
            free = list(rooms)
            for placed, _ in after.values():
                for s, count in placed.items():
                    free[s] -= count
            choose(t + 1, 0, tuple(free), after, rest)

    choose(1, 0, tuple(rooms), {}, list(range(len(needs))))
    return best if best <= instance.horizon else None


def _alone(instance: RingInstance, j: int, placed: Counts) -> int:
    return plain_rate(instance, j, len(placed), 0 if len(placed) == 1 else 1)
