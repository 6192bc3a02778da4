"""Verifier of `elastic` schedules, written from the paper; it shares no code with the models.

Rules: V0 mode, V1 (2a)/(7a), V2 (2m), V3 (2j), V4 closed horizon and (7b), V5 (2b), V6 (2c),
V7 (2k)(2l), V8 (2e), V9 (2g), V10 (2f) with (1) or (14), V11 (2i), V12 no preemption, V13 (2h).
A run whose own values break V2 or V5-V8 is not checked against the other rules: one fault gives
one message.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any, NamedTuple

from schedgap.instances.elastic.instance import ElasticInstance, Job
from schedgap.instances.records import short
from schedgap.instances.shapes import Shapes, is_whole, require, require_keys, schedule_error
from schedgap.instances.verdict import TOLERANCE, Violation

MODES = ("nonpreemptive", "preemptive")
LATEST = 10**60  # longer than any duration in the largest instance
_KEYS: Shapes = {
    "start": "number",
    "duration": "number",
    "worker_type": "string",
    "workers": "object",
}
_PS_KEYS: Shapes = {"ps_type": "string", "ps": "object"}


class Segment(NamedTuple):
    """One segment of a job, with the values of the file; `name` is used in messages."""

    name: str
    job: Job
    start: Any
    duration: Any
    worker_type: str
    ps_type: str | None
    workers: Mapping[str, Any]
    ps: Mapping[str, Any] | None

    @property
    def end(self) -> int:
        """start + duration, the slot after the last one."""
        return int(self.start + self.duration)

    @property
    def number(self) -> int:
        """N, the number of workers on all servers."""
        return int(sum(self.workers.values()))

    @property
    def is_central(self) -> bool:
        """q_j by (2d): whether all workers and PSs are on one server."""
        return len({*self.workers, *(self.ps or ())}) == 1


class UncheckedSchedule(NamedTuple):
    """A schedule of the right shape, with segments by job id; its values are not checked yet."""

    mode: str
    restart_slots: Any
    jobs: Mapping[str, Sequence[Segment]]
    unknown: Sequence[str]  # ids that no job has
    split: Sequence[str]  # ids of jobs with the key 'segments'


def check(
    instance: ElasticInstance, schedule: Any, options: Mapping[str, Any]
) -> Iterator[Violation]:
    """Yield every violation of a rule by a schedule.

    `schedule`: plain JSON data, not trusted: `{"mode": .., "jobs": {id: {"start", "duration",
    "worker_type", "workers": {server: count}, "ps_type", "ps": {server: count}}}}`, times in slots.
    In mode `preemptive` a job has `segments`, a list of such objects, and the schedule has
    `restart_slots`, which every segment but a job's first loses. `options`: of the solution; no
    rule depends on them.

    Raises
    ------
    InputError
        When a key is missing, unknown, or of the wrong JSON type.

    Notes
    -----
    Source: (2), (7), (13d), (15). Amounts may exceed a capacity by 1e-6, plus two units in the last
    place where doubles are coarser. Time: O(n^2) for n runs on one server.
    """
    return _violations(instance, _read(instance, schedule))


def objective(instance: ElasticInstance, schedule: Any) -> float:
    """Return the objective value of a schedule without violations.

    `schedule`: plain JSON data, as in `check`.

    It is sum w_j (start + duration) of the last segment in (2), and the total weight of the
    scheduled jobs in (7).
    """
    plan = _read(instance, schedule)
    jobs = [job for job in instance.jobs if job.id in plan.jobs]
    if instance.is_batch:
        return math.fsum(job.weight for job in jobs)
    return math.fsum(job.weight * max(run.end for run in plan.jobs[job.id]) for job in jobs)


def metrics(instance: ElasticInstance, schedule: Any) -> dict[str, float]:
    """Return further numbers on a schedule; (2) counts each job one slot late (E1), these do not.

    The true weighted completion time and the mean completion time; of a batch problem, the number
    of scheduled jobs.

    `schedule`: plain JSON data, as in `check`.
    """
    plan = _read(instance, schedule)
    if instance.is_batch:
        return {"scheduled jobs": len(plan.jobs)}
    weights = math.fsum(job.weight for job in instance.jobs)
    ends = [max(run.end for run in plan.jobs[job.id]) - 1 for job in instance.jobs]
    return {
        "true completion": objective(instance, schedule) - weights,
        "mean completion": sum(ends) / len(ends),
    }


def omitted_rules(schedule: Any) -> tuple[str, ...]:
    """Return the rules that a schedule declares it does not follow: V12 if it is preemptive.

    `schedule`: plain JSON data, as in `check`.
    """
    mode = schedule.get("mode") if isinstance(schedule, Mapping) else None
    return ("V12, one uninterrupted run",) if mode == "preemptive" else ()


# --- shape -------------------------------------------------------------------------------------


def _read(instance: ElasticInstance, schedule: Any) -> UncheckedSchedule:
    """Return a schedule of the right shape, or raise InputError."""
    require(schedule, "object")
    mode = schedule.get("mode", "nonpreemptive")
    if mode == "nonpreemptive" and "restart_slots" in schedule:
        raise schedule_error("only with mode preemptive", "restart_slots")
    needed: Shapes = {"jobs": "object", "restart_slots": "number"}
    if mode != "preemptive":
        needed = {"jobs": "object"}
    require_keys(schedule, needed, {"mode": "string", "restart_slots": "number"})
    restart = schedule.get("restart_slots", 0)
    known = {job.id: job for job in instance.jobs}
    jobs: dict[str, list[Segment]] = {}
    unknown, split = [], []
    for name, data in schedule["jobs"].items():
        require(data, "object", "jobs", name)
        parts: list[tuple[str, tuple[str | int, ...], Any]] = [(name, ("jobs", name), data)]
        if mode == "preemptive" or "segments" in data:
            split.append(name)
            require_keys(data, {"segments": "list"}, {}, "jobs", name)
            parts = [
                (f"{name} segment {k + 1}", ("jobs", name, "segments", k), part)
                for k, part in enumerate(data["segments"])
            ]
        job = known.get(name, instance.jobs[0])  # the shape is checked for unknown ids, too
        runs = [_segment(instance, job, label, path, part) for label, path, part in parts]
        if name in known:
            jobs[name] = runs
        else:
            unknown.append(name)
    return UncheckedSchedule(mode, restart, jobs, unknown, split)


def _segment(
    instance: ElasticInstance, job: Job, name: str, path: tuple[str | int, ...], data: Any
) -> Segment:
    require(data, "object", *path)
    if instance.is_ring:
        require_keys(data, _KEYS, _PS_KEYS, *path)
    else:
        require_keys(data, {**_KEYS, **_PS_KEYS}, {}, *path)
    for role in ("workers", "ps"):
        for server, count in data.get(role, {}).items():
            require(count, "number", *path, role, server)
    return Segment(
        name, job, data["start"], data["duration"], data["worker_type"],
        data.get("ps_type"), data["workers"], data.get("ps"),
    )  # fmt: skip


# --- rules -------------------------------------------------------------------------------------


def _violations(instance: ElasticInstance, plan: UncheckedSchedule) -> Iterator[Violation]:
    yield from _known_mode(plan)
    yield from _scheduled_once(instance, plan)
    yield from _one_segment(plan)
    sound: dict[str, list[Segment]] = {}
    for name, runs in plan.jobs.items():
        faults = [fault for run in runs for fault in _own_faults(instance, run)]
        yield from faults
        if not faults:
            sound[name] = list(runs)
    for name, runs in sound.items():
        for run in runs:
            yield from _not_before_arrival(run)
            yield from _at_most_one_worker_per_chunk(run)
            yield from _bandwidth_of_parameter_servers(instance, run)
        yield from _ends_in_time(instance, runs)
        if name not in plan.split:
            yield from _long_enough(instance, runs)
        else:
            yield from _same_types(runs)
            yield from _segments_in_order(runs)
            if is_whole(plan.restart_slots, 0, LATEST):
                yield from _enough_in_all(instance, runs, plan.restart_slots)
    yield from _within_capacity(instance, [run for runs in sound.values() for run in runs])


def _own_faults(instance: ElasticInstance, run: Segment) -> Iterator[Violation]:
    """Yield violations of V2 and V5-V8: without these rules the others make no sense for a run."""
    yield from _whole_slots(run)
    yield from _one_worker_type(instance, run)
    yield from _one_ps_type(instance, run)
    yield from _whole_counts(instance, run)
    yield from _a_parameter_server(instance, run)


def _known_mode(plan: UncheckedSchedule) -> Iterator[Violation]:
    """Rule V0: the mode is one of the two, and restart_slots is an integer >= 0."""
    if plan.mode not in MODES:
        message = f"mode {short(plan.mode)}: must be {' or '.join(MODES)}"
        yield Violation("V0", ("mode",), 1, message)
    if not is_whole(plan.restart_slots, 0, LATEST):
        message = f"restart_slots {short(plan.restart_slots)}: must be an integer >= 0"
        yield Violation("V0", ("restart_slots",), 1, message)


def _scheduled_once(instance: ElasticInstance, plan: UncheckedSchedule) -> Iterator[Violation]:
    """Rule V1: every job is scheduled, (2a), or any of them, (7a), and no other id appears."""
    for job in instance.jobs:
        if job.id not in plan.jobs and not instance.is_batch:
            yield Violation("V1", (job.id,), 1, f"{job.id} is not scheduled")
    for name in plan.unknown:
        yield Violation("V1", (name,), 1, f"no job {short(name)}")


def _whole_slots(run: Segment) -> Iterator[Violation]:
    """Rule V2, (2m): start and duration are integers >= 1."""
    for key, value in (("start", run.start), ("duration", run.duration)):
        if not is_whole(value, 1, LATEST):
            message = f"{run.name}: {key} {short(value)}, must be an integer >= 1"
            yield Violation("V2", (run.name, key), 1, message)


def _not_before_arrival(run: Segment) -> Iterator[Violation]:
    """Rule V3, (2j): no job starts before its arrival."""
    early = run.job.arrival - run.start
    if early > 0:
        message = f"{run.name} starts in slot {run.start}, {early} before it arrives"
        yield Violation("V3", (run.name,), early, message)


def _ends_in_time(instance: ElasticInstance, runs: Sequence[Segment]) -> Iterator[Violation]:
    """Rule V4, (7b): start + duration <= deadline; closed: the last slot is at most the horizon."""
    last = max(runs, key=lambda run: run.end, default=None)
    if last is None or instance.last_end is None or last.end <= instance.last_end:
        return
    what = "deadline" if instance.is_batch else "horizon + 1"
    message = f"{last.name}: start + duration = {last.end}, {what} is {instance.last_end}"
    yield Violation("V4", (last.name,), last.end - instance.last_end, message)


def _one_worker_type(instance: ElasticInstance, run: Segment) -> Iterator[Violation]:
    """Rule V5, (2b): one known worker type that is not barred, and at least one worker.

    That all segments have the same type is checked by `_same_types`.
    """
    fault = _type_fault(
        run.worker_type, [kind.id for kind in instance.worker_types], run.job.train_time
    )
    if fault:
        yield Violation("V5", (run.name,), 1, f"{run.name}: worker type {fault}")
    if not run.workers:
        yield Violation("V5", (run.name,), 1, f"{run.name} has no workers")


def _one_ps_type(instance: ElasticInstance, run: Segment) -> Iterator[Violation]:
    """Rule V6, (2c): one known PS type that is not barred; in the ring no type and no PSs.

    That all segments have the same type is checked by `_same_types`.
    """
    if instance.is_ring:
        if run.ps_type is not None or run.ps is not None:
            message = f"{run.name}: Ring-AllReduce has no 'ps_type' and no 'ps'"
            yield Violation("V6", (run.name,), 1, message)
        return
    times = run.job.update_time
    assert run.ps_type is not None and isinstance(times, dict)
    fault = _type_fault(run.ps_type, [kind.id for kind in instance.ps_types], times)
    if fault:
        yield Violation("V6", (run.name,), 1, f"{run.name}: PS type {fault}")


def _type_fault(name: str, known: Sequence[str], times: Mapping[str, float]) -> str:
    if name not in known:
        return f"{short(name)} does not exist"
    return "" if name in times else f"{short(name)} is barred: the job has no time for it"


def _whole_counts(instance: ElasticInstance, run: Segment) -> Iterator[Violation]:
    """Rule V7, (2k) and (2l): counts are integers >= 1 on known servers."""
    known = {server.id for server in instance.servers}
    for role, counts in (("workers", run.workers), ("ps", run.ps or {})):
        for server, count in counts.items():
            if server not in known:
                message = f"{run.name}: {role} on {short(server)}, which is no server"
                yield Violation("V7", (run.name, server), 1, message)
            elif not is_whole(count, 1, LATEST):
                message = f"{run.name}: {short(count)} {role} on {server}, must be an integer >= 1"
                yield Violation("V7", (run.name, server), 1, message)


def _a_parameter_server(instance: ElasticInstance, run: Segment) -> Iterator[Violation]:
    """Rule V8, (2e): at least one PS."""
    if not instance.is_ring and not run.ps:
        yield Violation("V8", (run.name,), 1, f"{run.name} has no parameter server")


def _at_most_one_worker_per_chunk(run: Segment) -> Iterator[Violation]:
    """Rule V9, (2g): at most D_j workers."""
    most = run.job.chunks
    if run.number > most:
        message = f"{run.name}: {run.number} workers for {most} chunks"
        yield Violation("V9", (run.name,), run.number - most, message)


def _batch_slots(instance: ElasticInstance, run: Segment) -> float:
    """Return 1 / rho, the slots that one worker needs for one mini-batch: (1), or (14) in the ring.

    The exchange between servers takes 2 pi / b, and nothing if everything is on one server.
    """
    job, N = run.job, run.number
    b = _demand(instance.worker_types, run.worker_type)[instance.bandwidth_resource]
    exchange = 0.0 if run.is_central else 2 * job.gradient_size / b
    if isinstance(job.update_time, dict):
        return job.train_time[run.worker_type] + job.update_time[str(run.ps_type)] + exchange
    update = job.update_time * (N - 1) / N
    return job.train_time[run.worker_type] + update + exchange * (N - 1) / N


def _long_enough(instance: ElasticInstance, runs: Sequence[Segment]) -> Iterator[Violation]:
    """Rule V10, (2f): d_j N rho >= E D K, with a tolerance of a millionth of a worker-slot."""
    for run in runs:
        needed = run.job.work * _batch_slots(instance, run)
        least = max(1, math.ceil((needed - TOLERANCE) / run.number))
        if run.duration < least:
            message = f"{run.name} runs {run.duration} slots, needs {least}"
            yield Violation("V10", (run.name,), least - run.duration, message)


def _enough_in_all(
    instance: ElasticInstance, runs: Sequence[Segment], restart_slots: int
) -> Iterator[Violation]:
    """Rule V10 of a preemptive schedule: mini-batches over all segments, less restart slots."""
    if not runs:
        return
    job, done = runs[0].job, 0.0
    for k, run in enumerate(runs):
        slots = max(0, run.duration - (restart_slots if k else 0))
        if slots:
            needed = _batch_slots(instance, run)
            done += slots * run.number / needed if needed > 0 else math.inf
    missing = job.work - done
    if missing > TOLERANCE + 1e-9 * job.work:
        message = f"{job.id} trains {done:.10g} of {job.work} mini-batches"
        yield Violation("V10", (job.id,), missing, message)


def _bandwidth_of_parameter_servers(instance: ElasticInstance, run: Segment) -> Iterator[Violation]:
    """Rule V11, (2i): the PSs on a server have bandwidth for all workers on other servers."""
    if instance.is_ring:
        return
    b = _demand(instance.worker_types, run.worker_type)[instance.bandwidth_resource]
    B = _demand(instance.ps_types, str(run.ps_type))[instance.bandwidth_resource]
    for server, count in (run.ps or {}).items():
        away = run.number - run.workers.get(server, 0)
        excess = b * away - B * count
        if excess > TOLERANCE:
            message = (
                f"{run.name}: the PSs on {server} take {B * count:.10g} of bandwidth, "
                f"{away} workers on other servers need {b * away:.10g}"
            )
            yield Violation("V11", (run.name, server), excess, message)


def _one_segment(plan: UncheckedSchedule) -> Iterator[Violation]:
    """Rule V12: no preemption; if the mode is preemptive, at least one segment."""
    for name in plan.split:
        if plan.mode == "nonpreemptive":
            message = f"{name} has segments, which only a preemptive schedule may have"
            yield Violation("V12", (name,), 1, message)
        elif name in plan.jobs and not plan.jobs[name]:
            yield Violation("V12", (name,), 1, f"{name} has no segments")


def _same_types(runs: Sequence[Segment]) -> Iterator[Violation]:
    """Rules V5 and V6 of a preemptive schedule: all segments have the types of the first."""
    for run in runs[1:]:
        first = runs[0]
        if run.worker_type != first.worker_type:
            message = f"{run.name}: worker type {run.worker_type}, before {first.worker_type}"
            yield Violation("V5", (run.name,), 1, message)
        if run.ps_type != first.ps_type:
            message = f"{run.name}: PS type {run.ps_type}, before {first.ps_type}"
            yield Violation("V6", (run.name,), 1, message)


def _segments_in_order(runs: Sequence[Segment]) -> Iterator[Violation]:
    """Rule V12 of a preemptive schedule: segments are in time order and do not overlap."""
    for first, second in pairwise(runs):
        overlap = first.end - second.start
        if overlap > 0:
            message = (
                f"{second.name} starts in slot {second.start}, {first.name} ends at {first.end - 1}"
            )
            yield Violation("V12", (second.name,), overlap, message)


def _within_capacity(instance: ElasticInstance, runs: Sequence[Segment]) -> Iterator[Violation]:
    """Rule V13, (2h): usage is within the capacity of every server and resource in every slot.

    Usage increases only where a run starts, so only these slots are checked. The message names the
    slot of the largest excess.
    """
    resources = instance.resources
    held: dict[str, list[tuple[int, int, list[float]]]] = {}  # server -> from, until, use [r]
    for run in runs:
        worker = _demand(instance.worker_types, run.worker_type)
        ps = _demand(instance.ps_types, run.ps_type) if run.ps_type is not None else {}
        for name in {**run.workers, **(run.ps or {})}:
            y, s = run.workers.get(name, 0), (run.ps or {}).get(name, 0)
            amounts = [worker.get(r, 0.0) * y + ps.get(r, 0.0) * s for r in resources]
            held.setdefault(name, []).append((run.start, run.end, amounts))
    by_start = itemgetter(0)
    for server in instance.servers:
        if server.id not in held:
            continue
        used: dict[int, list[float]] = {}  # start -> use [r] then
        running: list[tuple[int, int, list[float]]] = []
        for first, starting in groupby(sorted(held[server.id], key=by_start), key=by_start):
            running = [run for run in running if run[1] > first] + list(starting)
            used[first] = [
                math.fsum(column) for column in zip(*(run[2] for run in running), strict=True)
            ]
        for r, resource in enumerate(resources):
            most = server.capacity.get(resource, 0.0)
            amount = {start: amounts[r] for start, amounts in used.items()}
            slot = max(amount, key=amount.__getitem__)
            excess = amount[slot] - most
            if excess > TOLERANCE + 2 * math.ulp(most):
                message = f"{server.id}, slot {slot}: {amount[slot]:.10g} of {most:g} {resource}"
                yield Violation("V13", (server.id, resource, str(slot)), excess, message)


def _demand(types: Sequence[Any], name: str) -> Mapping[str, float]:
    found: Mapping[str, float] = next(kind.demand for kind in types if kind.id == name)
    return found
