"""What makes an `edge` schedule valid, written from the paper; shares no code with the models.

V1 (2)/(3), V1b (3b), V2 (2j)-(2l), V3 (2a)(2l), V4 (2c)(2d), V5 (2b), V6 (2i), V7 (2f), V8 (2e)
with (1), V9 (2g), V10 (2h). A run whose own values break V2, V3 or V5 is left out of the later
rules, so that one fault gives one message.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from schedgap.instances.edge.instance import EdgeInstance, Job
from schedgap.instances.records import short
from schedgap.instances.shapes import Shapes, is_whole, require, require_keys, schedule_error
from schedgap.instances.verdict import TOLERANCE, Violation

RELAXABLE = ("2c-2d", "2i")  # no preemption; transfer delays
LARGEST = 10**60
_RUN: Shapes = {
    "start": "number", "completion": "number", "workers": "object", "ps_server": "string",
}  # fmt: skip
_SEGMENT: Shapes = {
    "start": "number", "end": "number", "workers": "object", "ps_server": "string",
}  # fmt: skip


class Run(NamedTuple):
    """One run or segment of a job, with the values of the file; `name` is for messages."""

    name: str
    job: Job
    start: Any
    end: Any  # last slot
    workers: Mapping[str, Any]
    ps_server: str
    colocated: bool | None
    overhead: Any

    @property
    def number(self) -> int:
        """Workers on all servers."""
        return sum(self.workers.values())

    @property
    def is_together(self) -> bool:
        """xi by (2f): all workers are on the server of the PS."""
        return set(self.workers) == {self.ps_server}


class Plan(NamedTuple):
    """A schedule of the right shape: runs by job id, in file order; values are not judged yet."""

    relaxed: Sequence[str]
    jobs: Mapping[str, Sequence[Run]]
    unknown: Sequence[str]  # ids that are no jobs
    split: Sequence[str]  # job ids with the key 'segments'


def check(instance: EdgeInstance, schedule: Any, options: Mapping[str, Any]) -> Iterator[Violation]:
    """Yield every broken rule of a schedule.

    Parameters
    ----------
    schedule : Any
        Plain JSON data, not trusted: `{"jobs": {id: {"start", "completion", "workers": {server:
        count}, "ps_server", "colocated"}}}`; both slots are the job's own, `colocated` may be left
        out. With `"relaxed": ["2c-2d"]` a job may have `segments` instead, a list of `{"start",
        "end", "workers", "ps_server", "overhead"}`, of which the first `overhead` slots (0 if left
        out) bring nothing; with `"2i"` transfer delays do not count.
    options : Mapping[str, Any]
        Of the solution; no rule depends on them.

    Raises
    ------
    InputError
        When a key is missing, unknown, or of the wrong JSON type.

    Notes
    -----
    Source: (2) and (3). Time: O(n log n) in the number of servers that all runs use.
    """
    return _violations(instance, _read(instance, schedule))


def objective(instance: EdgeInstance, schedule: Any) -> float:
    """Return the value of a schedule without violations.

    Returns
    -------
    float
        (2): sum of c_j - a_j, c_j the last slot of a job; (3): the number of jobs in the schedule.
    """
    plan = _read(instance, schedule)
    if instance.is_batch:
        return float(len(plan.jobs))
    return float(sum(max(r.end for r in runs) - runs[0].job.arrival for runs in plan.jobs.values()))


def metrics(instance: EdgeInstance, schedule: Any) -> dict[str, float]:
    """Return the true total flow time, and what part of the workers is in use up to the last slot.

    (2) takes the index of a job's last slot for its end (5).
    """
    if instance.is_batch:
        return {}
    runs = [run for own in _read(instance, schedule).jobs.values() for run in own]
    used = sum(run.number * (run.end - run.start + 1) for run in runs)
    workers = sum(sum(server.workers.values()) for server in instance.servers)
    return {
        "flow time": objective(instance, schedule) + len(instance.jobs),
        "worker utilization": used / (workers * max(run.end for run in runs)),
    }


def omitted_rules(schedule: Any) -> tuple[str, ...]:
    """Return the rules of program (2) that a schedule says it leaves out."""
    named = schedule.get("relaxed", ()) if isinstance(schedule, Mapping) else ()
    return tuple(name for name in RELAXABLE if isinstance(named, (list, tuple)) and name in named)


# --- shape -------------------------------------------------------------------------------------


def _read(instance: EdgeInstance, schedule: Any) -> Plan:
    """Return the schedule, or refuse its shape."""
    require(schedule, "object")
    require_keys(schedule, {"jobs": "object"}, {"relaxed": "list"})
    for k, name in enumerate(schedule.get("relaxed", ())):
        if name not in RELAXABLE:
            known = " or ".join(f"'{each}'" for each in RELAXABLE)
            raise schedule_error(f"must be {known}, got {short(name)}", "relaxed", k)
    known_jobs = {job.id: job for job in instance.jobs}
    jobs: dict[str, list[Run]] = {}
    unknown, split = [], []
    for name, data in schedule["jobs"].items():
        require(data, "object", "jobs", name)
        job = known_jobs.get(name, instance.jobs[0])  # an unknown one has a shape, too
        if "segments" in data:
            require_keys(data, {"segments": "list"}, {}, "jobs", name)
            split.append(name)
            runs = [
                _segment(job, f"{name} segment {k + 1}", part, "jobs", name, "segments", k)
                for k, part in enumerate(data["segments"])
            ]
        else:
            require_keys(data, _RUN, {"colocated": "boolean"}, "jobs", name)
            _require_counts(data["workers"], "jobs", name, "workers")
            values = data["start"], data["completion"], data["workers"], data["ps_server"]
            runs = [Run(name, job, *values, data.get("colocated"), 0)]
        if name in known_jobs:
            jobs[name] = runs
        else:
            unknown.append(name)
    return Plan(omitted_rules(schedule), jobs, unknown, split)


def _segment(job: Job, name: str, data: Any, *path: str | int) -> Run:
    require(data, "object", *path)
    require_keys(data, _SEGMENT, {"overhead": "number"}, *path)
    _require_counts(data["workers"], *path, "workers")
    values = data["start"], data["end"], data["workers"], data["ps_server"]
    return Run(name, job, *values, None, data.get("overhead", 0))


def _require_counts(workers: Mapping[str, Any], *path: str | int) -> None:
    for server, count in workers.items():
        require(count, "number", *path, server)


# --- rules -------------------------------------------------------------------------------------


def _violations(instance: EdgeInstance, plan: Plan) -> Iterator[Violation]:
    yield from scheduled_once(instance, plan)
    sound: dict[str, Sequence[Run]] = {}
    for name, runs in plan.jobs.items():
        faults = [fault for run in runs for fault in _own_faults(instance, run)]
        faults += one_constant_run(plan, name)
        yield from faults
        if not faults:
            sound[name] = runs
    for name, runs in sound.items():
        for run in runs:
            yield from within_the_round(instance, run)
            yield from data_is_there(instance, plan, run)
            yield from says_whether_together(run)
        if name in plan.split:
            yield from segments_in_order(runs)
            yield from enough_in_all(instance, runs)
        else:
            yield from long_enough(instance, runs[0])
    everything = [run for runs in sound.values() for run in runs]
    yield from workers_within_capacity(instance, everything)
    yield from parameter_servers_within_capacity(instance, everything)


def _own_faults(instance: EdgeInstance, run: Run) -> Iterator[Violation]:
    """Rules V2, V3 and V5: what the values of a run must be for the other rules to make sense."""
    yield from slots_within_horizon(instance, run)
    yield from whole_workers(instance, run)
    yield from one_parameter_server(instance, run)


def scheduled_once(instance: EdgeInstance, plan: Plan) -> Iterator[Violation]:
    """Rule V1: every job is there in (2), any of them in (3), and no others."""
    for job in instance.jobs:
        if job.id not in plan.jobs and not instance.is_batch:
            yield Violation("V1", (job.id,), 1, f"{job.id} is not scheduled")
    for name in plan.unknown:
        yield Violation("V1", (name,), 1, f"no job {short(name)}")


def slots_within_horizon(instance: EdgeInstance, run: Run) -> Iterator[Violation]:
    """Rule V2, (2j)-(2l): start <= completion, both whole slots in 1..T."""
    T = instance.horizon
    for key, slot in (("start", run.start), ("completion", run.end)):
        if not is_whole(slot, 1, T):
            message = f"{run.name}: {key} {short(slot)}, must be an integer in 1..{T}"
            yield Violation("V2", (run.name, key), 1, message)
            return
    if run.start > run.end:
        message = f"{run.name} starts in slot {run.start}, ends in slot {run.end}"
        yield Violation("V2", (run.name,), run.start - run.end, message)


def whole_workers(instance: EdgeInstance, run: Run) -> Iterator[Violation]:
    """Rule V3, (2a)(2l): integers >= 1 on known servers, at least one and at most D_j in all."""
    known = {server.id for server in instance.servers}
    faults = 0
    for server, count in run.workers.items():
        message = ""
        if server not in known:
            message = f"{run.name}: workers on {short(server)}, which is no server"
        elif not is_whole(count, 1, LARGEST):
            message = f"{run.name}: {short(count)} workers on {server}, must be an integer >= 1"
        if message:
            faults += 1
            yield Violation("V3", (run.name, server), 1, message)
    if not run.workers:
        yield Violation("V3", (run.name,), 1, f"{run.name} has no workers")
    elif not faults and run.number > run.job.chunks:
        message = f"{run.name}: {run.number} workers for {run.job.chunks} chunks"
        yield Violation("V3", (run.name,), run.number - run.job.chunks, message)


def one_constant_run(plan: Plan, name: str) -> Iterator[Violation]:
    """Rule V4, (2c)(2d): one run that stays as it is; segments only where that is relaxed."""
    if name not in plan.split:
        return
    if "2c-2d" not in plan.relaxed:
        message = f"{name} has segments, which only a schedule without (2c)(2d) may have"
        yield Violation("V4", (name,), 1, message)
    elif not plan.jobs[name]:
        yield Violation("V4", (name,), 1, f"{name} has no segments")
    for run in plan.jobs[name]:
        if not is_whole(run.overhead, 0, LARGEST):
            message = f"{run.name}: overhead {short(run.overhead)}, must be an integer >= 0"
            yield Violation("V4", (run.name, "overhead"), 1, message)


def segments_in_order(runs: Sequence[Run]) -> Iterator[Violation]:
    """Rule V4 of a preemptive schedule: segments are in order of time and do not overlap."""
    for first, second in pairwise(runs):
        overlap = first.end + 1 - second.start
        if overlap > 0:
            message = (
                f"{second.name} starts in slot {second.start}, {first.name} ends in {first.end}"
            )
            yield Violation("V4", (second.name,), overlap, message)


def one_parameter_server(instance: EdgeInstance, run: Run) -> Iterator[Violation]:
    """Rule V5, (2b): the PS is on one known server."""
    if run.ps_server not in {server.id for server in instance.servers}:
        message = f"{run.name}: PS on {short(run.ps_server)}, which is no server"
        yield Violation("V5", (run.name, run.ps_server), 1, message)


def within_the_round(instance: EdgeInstance, run: Run) -> Iterator[Violation]:
    """Rule V1b, (3b): arrived before tau_i, and within the slots tau_i + 1..tau_{i+1}."""
    if instance.batch_round is None:
        return
    tau = 2 ** (instance.batch_round - 1)
    last = min(2 * tau, instance.horizon)
    if run.job.arrival >= tau:
        message = f"{run.name} arrives in slot {run.job.arrival}, the round needs one before {tau}"
        yield Violation("V1b", (run.name,), run.job.arrival - tau + 1, message)
    outside = max(tau + 1 - run.start, run.end - last)
    if outside > 0:
        message = (
            f"{run.name} runs in slots {run.start}..{run.end}, the round has {tau + 1}..{last}"
        )
        yield Violation("V1b", (run.name,), outside, message)


def data_is_there(instance: EdgeInstance, plan: Plan, run: Run) -> Iterator[Violation]:
    """Rule V6, (2i): a job runs from a_j + Delta_js on, on every server s that it uses."""
    job = run.job
    if "2i" in plan.relaxed:
        ready, where = job.arrival, ""
    else:
        used = dict.fromkeys([*run.workers, run.ps_server])
        where = max(used, key=job.transfer_delay.__getitem__)
        ready = job.arrival + job.transfer_delay[where]
    if run.start < ready:
        told = f"its data are on {where} from slot {ready} on" if where else f"arrives in {ready}"
        message = f"{run.name} starts in slot {run.start}, {told}"
        yield Violation(
            "V6", (run.name, where) if where else (run.name,), ready - run.start, message
        )


def says_whether_together(run: Run) -> Iterator[Violation]:
    """Rule V7, (2f): `colocated` is true just when all workers are on the server of the PS."""
    if run.colocated is not None and run.colocated != run.is_together:
        message = (
            f"{run.name}: colocated is {short(run.colocated)}, but all workers are"
            f" {'' if run.is_together else 'not '}on the server of the PS"
        )
        yield Violation("V7", (run.name,), 1, message)


def worker_slots(instance: EdgeInstance, run: Run) -> float:
    """Return E D M / p_j of (1): seconds of one worker for all mini-batches, in slots."""
    job = run.job
    seconds = job.compute_seconds + job.update_seconds
    if not run.is_together:  # gradients out, parameters back: 10^6 bytes at 10^6 bit/s
        seconds += 2 * 8 * job.gradient_megabytes / job.bandwidth_mbps
    return job.epochs * job.chunks * job.minibatches_per_chunk * seconds / instance.slot_seconds


def long_enough(instance: EdgeInstance, run: Run) -> Iterator[Violation]:
    """Rule V8, (2e): workers x slots cover the work, but for a millionth of a worker-slot."""
    needed = worker_slots(instance, run)
    done = run.number * (run.end - run.start + 1)
    if not done >= needed - TOLERANCE:
        message = f"{run.name} runs {done} of {needed:.10g} worker-slots"
        yield Violation("V8", (run.name,), needed - done, message)


def enough_in_all(instance: EdgeInstance, runs: Sequence[Run]) -> Iterator[Violation]:
    """Rule V8 of a preemptive schedule: the segments' parts of the work, overhead taken off."""
    done = 0.0
    for run in runs:
        slots = max(0, run.end - run.start + 1 - run.overhead)
        done += run.number * slots / worker_slots(instance, run)
    if not done >= 1 - TOLERANCE:
        job = runs[0].job
        yield Violation("V8", (job.id,), 1 - done, f"{job.id} runs {done:.10g} of its work")


def workers_within_capacity(instance: EdgeInstance, runs: Sequence[Run]) -> Iterator[Violation]:
    """Rule V9, (2g): workers of a type on a server, in every slot."""
    held = [
        (server, run.job.worker_type, count, run)
        for run in runs
        for server, count in run.workers.items()
    ]
    room = {
        (server.id, kind): server.workers.get(kind, 0)
        for server in instance.servers
        for kind in instance.worker_types
    }
    yield from _within("V9", held, room, "workers")


def parameter_servers_within_capacity(
    instance: EdgeInstance, runs: Sequence[Run]
) -> Iterator[Violation]:
    """Rule V10, (2h): PSs of a type on a server, in every slot."""
    held = [(run.ps_server, run.job.ps_type, 1, run) for run in runs]
    room = {
        (server.id, kind): server.parameter_servers.get(kind, 0)
        for server in instance.servers
        for kind in instance.ps_types
    }
    yield from _within("V10", held, room, "PSs")


def _within(
    rule: str,
    held: Sequence[tuple[str, str, int, Run]],
    room: Mapping[tuple[str, str], int],
    what: str,
) -> Iterator[Violation]:
    """Name the slot of the largest excess of each server and type.

    A sweep over the starts and ends of each; what ends in a slot is free in the next one.
    """
    changes: dict[tuple[str, str], dict[int, int]] = {place: {} for place in room}
    for server, kind, number, run in held:
        here = changes[server, kind]
        here[run.start] = here.get(run.start, 0) + number
        here[run.end + 1] = here.get(run.end + 1, 0) - number
    for (server, kind), here in changes.items():
        most, used, worst = room[server, kind], 0, (0, 0)  # excess, -slot
        for slot in sorted(here):
            used += here[slot]
            worst = max(worst, (used - most, -slot))
        excess, slot = worst[0], -worst[1]
        if excess > 0:
            message = f"{server}, slot {slot}: {most + excess} {what} {kind}, it has {most}"
            yield Violation(rule, (server, kind, str(slot)), float(excess), message)
