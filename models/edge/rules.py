"""The verifier: rules of a valid `edge` schedule, written from the paper without the models' code.

V1 (2)/(3), V1b (3b), V2 (2j)-(2l), V3 (2a)(2l), V4 (2c)(2d), V5 (2b), V6 (2i), V7 (2f), V8 (2e)
with (1), V9 (2g), V10 (2h). A run whose own values break V2, V3 or V5 is not checked against the
other rules, so one fault gives one message.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from schedgap.instances.edge.instance import EdgeInstance, Job
from schedgap.instances.records import short
from schedgap.instances.shapes import Shapes, is_whole, require, require_keys, schedule_error
from schedgap.instances.verdict import TOLERANCE, Violation

RELAXABLE = ("2c-2d", "2i")  # preemption allowed; transfer delays ignored
LARGEST = 10**60
_RUN: Shapes = {
    "start": "number", "completion": "number", "workers": "object", "ps_server": "string",
}  # fmt: skip
_SEGMENT: Shapes = {
    "start": "number", "end": "number", "workers": "object", "ps_server": "string",
}  # fmt: skip


class SubmittedRun(NamedTuple):
    """A run or segment of a job with the values from the file; `name` is used in messages."""

    name: str
    job: Job
    start: Any
    end: Any  # last slot
    workers: Mapping[str, Any]
    ps_server: str
    colocated: bool | None
    overhead: Any

    @property
    def total_workers(self) -> int:
        """Workers on all servers."""
        return sum(self.workers.values())

    @property
    def is_colocated(self) -> bool:
        """xi by (2f): all workers are on the server of the PS."""
        return set(self.workers) == {self.ps_server}


class SubmittedSchedule(NamedTuple):
    """A schedule with the required keys and types; its values are not checked yet."""

    relaxed: Sequence[str]
    jobs: Mapping[str, Sequence[SubmittedRun]]  # runs by job id, in file order
    unknown: Sequence[str]  # ids that are not in the instance
    segmented: Sequence[str]  # ids of jobs with the key 'segments'


def check(
    instance: EdgeInstance, schedule: object, options: Mapping[str, object]
) -> Iterator[Violation]:
    """Yield every broken rule of a schedule.

    `schedule`: untrusted JSON data: `{"jobs": {id: {"start", "completion", "workers": {server:
    count}, "ps_server", "colocated"}}}`; `colocated` is optional. With `"relaxed": ["2c-2d"]` a job
    may have `segments` instead, a list of `{"start", "end", "workers", "ps_server", "overhead"}`.
    The first `overhead` slots (default 0) of a segment make no progress. With `"2i"` transfer
    delays are ignored. `options`: options of the method; no rule depends on them.

    Raises
    ------
    InputError
        If a key is missing or unknown, or has the wrong JSON type.

    Notes
    -----
    Source: (2) and (3). Time: O(n log n), n the number of (run, server) pairs.
    """
    return _violations(instance, _read(instance, schedule))


def objective(instance: EdgeInstance, schedule: object) -> float:
    """Return the objective value of a valid schedule.

    `schedule`: JSON data as in `check`, without violations.

    It is the sum of c_j - a_j in (2), with c_j the last slot of a job, and the number of jobs in
    the schedule in (3).
    """
    submitted = _read(instance, schedule)
    if instance.is_batch:
        return float(len(submitted.jobs))
    return float(
        sum(max(r.end for r in runs) - runs[0].job.arrival for runs in submitted.jobs.values())
    )


def metrics(instance: EdgeInstance, schedule: object) -> dict[str, float]:
    """Return further numbers on a schedule, which include the numbers of the paper's figures.

    The flow time counts the last slot of each job, which objective (2) omits (E5). Utilization and
    jobs per slot are over the slots up to the last one in use.

    `schedule`: JSON data as in `check`, without violations.

    They are `flow time` in slots, `worker utilization` in 0..1, `jobs per slot`, and `colocated
    jobs`, the share of jobs that always have all workers on the server of the PS. A batch has none.
    """
    if instance.is_batch:
        return {}
    jobs = _read(instance, schedule).jobs.values()
    runs = [run for own in jobs for run in own]
    used = sum(run.total_workers * (run.end - run.start + 1) for run in runs)
    workers = sum(sum(server.workers.values()) for server in instance.servers)
    last = max(run.end for run in runs)
    return {
        "flow time": objective(instance, schedule) + len(instance.jobs),
        "worker utilization": used / (workers * last),
        "jobs per slot": len(jobs) / last,
        "colocated jobs": sum(all(run.is_colocated for run in own) for own in jobs) / len(jobs),
    }


def omitted_rules(schedule: object) -> tuple[str, ...]:
    """Return the rules of program (2) that a schedule declares as relaxed.

    `schedule`: JSON data as in `check`.
    """
    named = schedule.get("relaxed", ()) if isinstance(schedule, Mapping) else ()
    return tuple(name for name in RELAXABLE if isinstance(named, (list, tuple)) and name in named)


# --- shape -------------------------------------------------------------------------------------


def _read(instance: EdgeInstance, schedule: Any) -> SubmittedSchedule:
    """Return the schedule; InputError where keys or types are wrong."""
    require(schedule, "object")
    require_keys(schedule, {"jobs": "object"}, {"relaxed": "list"})
    for k, name in enumerate(schedule.get("relaxed", ())):
        if name not in RELAXABLE:
            allowed = " or ".join(f"'{rule}'" for rule in RELAXABLE)
            raise schedule_error(f"must be {allowed}, got {short(name)}", "relaxed", k)
    known_jobs = {job.id: job for job in instance.jobs}
    jobs: dict[str, list[SubmittedRun]] = {}
    unknown, segmented = [], []
    for name, data in schedule["jobs"].items():
        require(data, "object", "jobs", name)
        job = known_jobs.get(name, instance.jobs[0])  # the format of an unknown job is checked, too
        if "segments" in data:
            require_keys(data, {"segments": "list"}, {}, "jobs", name)
            segmented.append(name)
            runs = [
                _segment(job, f"{name} segment {k + 1}", part, "jobs", name, "segments", k)
                for k, part in enumerate(data["segments"])
            ]
        else:
            require_keys(data, _RUN, {"colocated": "boolean"}, "jobs", name)
            _require_counts(data["workers"], "jobs", name, "workers")
            values = data["start"], data["completion"], data["workers"], data["ps_server"]
            runs = [SubmittedRun(name, job, *values, data.get("colocated"), 0)]
        if name in known_jobs:
            jobs[name] = runs
        else:
            unknown.append(name)
    return SubmittedSchedule(omitted_rules(schedule), jobs, unknown, segmented)


def _segment(job: Job, name: str, data: Any, *path: str | int) -> SubmittedRun:
    require(data, "object", *path)
    require_keys(data, _SEGMENT, {"overhead": "number"}, *path)
    _require_counts(data["workers"], *path, "workers")
    values = data["start"], data["end"], data["workers"], data["ps_server"]
    return SubmittedRun(name, job, *values, None, data.get("overhead", 0))


def _require_counts(workers: Mapping[str, Any], *path: str | int) -> None:
    for server, count in workers.items():
        require(count, "number", *path, server)


# --- rules -------------------------------------------------------------------------------------


def _violations(instance: EdgeInstance, submitted: SubmittedSchedule) -> Iterator[Violation]:
    yield from _scheduled_once(instance, submitted)
    well_formed: dict[str, Sequence[SubmittedRun]] = {}
    for name, runs in submitted.jobs.items():
        faults = [fault for run in runs for fault in _own_violations(instance, run)]
        faults += _constant_run(submitted, name)
        yield from faults
        if not faults:
            well_formed[name] = runs
    for name, runs in well_formed.items():
        for run in runs:
            yield from _within_round(instance, run)
            yield from _data_available(instance, submitted, run)
            yield from _colocated_flag(run)
        if name in submitted.segmented:
            yield from _segments_in_order(runs)
            yield from _segments_complete_work(instance, runs)
        else:
            yield from _work_completed(instance, runs[0])
    everything = [run for runs in well_formed.values() for run in runs]
    yield from _worker_capacity(instance, everything)
    yield from _parameter_server_capacity(instance, everything)


def _own_violations(instance: EdgeInstance, run: SubmittedRun) -> Iterator[Violation]:
    """Rules V2, V3 and V5: conditions on single values, which the other rules take for granted."""
    yield from _slots_within_horizon(instance, run)
    yield from _integer_workers(instance, run)
    yield from _one_parameter_server(instance, run)


def _scheduled_once(instance: EdgeInstance, submitted: SubmittedSchedule) -> Iterator[Violation]:
    """Rule V1: all jobs are scheduled in (2), any subset in (3), and no unknown jobs."""
    for job in instance.jobs:
        if job.id not in submitted.jobs and not instance.is_batch:
            yield Violation("V1", (job.id,), 1, f"{job.id} is not scheduled")
    for name in submitted.unknown:
        yield Violation("V1", (name,), 1, f"no job {short(name)}")


def _slots_within_horizon(instance: EdgeInstance, run: SubmittedRun) -> Iterator[Violation]:
    """Rule V2, (2j)-(2l): start <= completion, both integer slots in 1..T."""
    T = instance.horizon
    for key, slot in (("start", run.start), ("completion", run.end)):
        if not is_whole(slot, 1, T):
            message = f"{run.name}: {key} {short(slot)}, must be an integer in 1..{T}"
            yield Violation("V2", (run.name, key), 1, message)
            return
    if run.start > run.end:
        message = f"{run.name} starts in slot {run.start}, ends in slot {run.end}"
        yield Violation("V2", (run.name,), run.start - run.end, message)


def _integer_workers(instance: EdgeInstance, run: SubmittedRun) -> Iterator[Violation]:
    """Rule V3, (2a)(2l): integer counts >= 1 on known servers, 1 to D_j workers in total."""
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
    elif not faults and run.total_workers > run.job.chunks:
        message = f"{run.name}: {run.total_workers} workers for {run.job.chunks} chunks"
        yield Violation("V3", (run.name,), run.total_workers - run.job.chunks, message)


def _constant_run(submitted: SubmittedSchedule, name: str) -> Iterator[Violation]:
    """Rule V4, (2c)(2d): one run with constant workers; segments only if the rule is relaxed."""
    if name not in submitted.segmented:
        return
    if "2c-2d" not in submitted.relaxed:
        message = f"{name} has segments, which only a schedule without (2c)(2d) may have"
        yield Violation("V4", (name,), 1, message)
    elif not submitted.jobs[name]:
        yield Violation("V4", (name,), 1, f"{name} has no segments")
    for run in submitted.jobs[name]:
        if not is_whole(run.overhead, 0, LARGEST):
            message = f"{run.name}: overhead {short(run.overhead)}, must be an integer >= 0"
            yield Violation("V4", (run.name, "overhead"), 1, message)


def _segments_in_order(runs: Sequence[SubmittedRun]) -> Iterator[Violation]:
    """Rule V4 of a preemptive schedule: segments are ordered by time and do not overlap."""
    for first, second in pairwise(runs):
        overlap = first.end + 1 - second.start
        if overlap > 0:
            message = (
                f"{second.name} starts in slot {second.start}, {first.name} ends in {first.end}"
            )
            yield Violation("V4", (second.name,), overlap, message)


def _one_parameter_server(instance: EdgeInstance, run: SubmittedRun) -> Iterator[Violation]:
    """Rule V5, (2b): the PS is on one known server."""
    if run.ps_server not in {server.id for server in instance.servers}:
        message = f"{run.name}: PS on {short(run.ps_server)}, which is no server"
        yield Violation("V5", (run.name, run.ps_server), 1, message)


def _within_round(instance: EdgeInstance, run: SubmittedRun) -> Iterator[Violation]:
    """Rule V1b, (3b): arrival before tau_i, run within the slots tau_i + 1..tau_{i+1}."""
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


def _data_available(
    instance: EdgeInstance, submitted: SubmittedSchedule, run: SubmittedRun
) -> Iterator[Violation]:
    """Rule V6, (2i): a job starts at a_j + Delta_js or later for every server s that it uses."""
    job = run.job
    if "2i" in submitted.relaxed:
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


def _colocated_flag(run: SubmittedRun) -> Iterator[Violation]:
    """Rule V7, (2f): `colocated` is true if and only if all workers are on the PS's server."""
    if run.colocated is not None and run.colocated != run.is_colocated:
        message = (
            f"{run.name}: colocated is {short(run.colocated)}, but all workers are"
            f" {'' if run.is_colocated else 'not '}on the server of the PS"
        )
        yield Violation("V7", (run.name,), 1, message)


def _worker_slots(instance: EdgeInstance, run: SubmittedRun) -> float:
    """Return E D M / p_j of (1): the time of one worker for all mini-batches, in slots."""
    job = run.job
    seconds = job.compute_seconds + job.update_seconds
    if not run.is_colocated:  # gradients out, parameters back: 10^6 bytes at 10^6 bit/s
        seconds += 2 * 8 * job.gradient_megabytes / job.bandwidth_mbps
    return job.epochs * job.chunks * job.minibatches_per_chunk * seconds / instance.slot_seconds


def _work_completed(instance: EdgeInstance, run: SubmittedRun) -> Iterator[Violation]:
    """Rule V8, (2e): workers x slots cover the work, up to a millionth of a worker-slot."""
    needed = _worker_slots(instance, run)
    done = run.total_workers * (run.end - run.start + 1)
    if not done >= needed - TOLERANCE:
        message = f"{run.name} runs {done} of {needed:.10g} worker-slots"
        yield Violation("V8", (run.name,), needed - done, message)


def _segments_complete_work(
    instance: EdgeInstance, runs: Sequence[SubmittedRun]
) -> Iterator[Violation]:
    """Rule V8 of a preemptive schedule: segments complete the work, overhead slots excluded."""
    done = 0.0
    for run in runs:
        slots = max(0, run.end - run.start + 1 - run.overhead)
        done += run.total_workers * slots / _worker_slots(instance, run)
    if not done >= 1 - TOLERANCE:
        job = runs[0].job
        yield Violation("V8", (job.id,), 1 - done, f"{job.id} runs {done:.10g} of its work")


def _worker_capacity(instance: EdgeInstance, runs: Sequence[SubmittedRun]) -> Iterator[Violation]:
    """Rule V9, (2g): workers in use of each type and server in every slot."""
    used = [
        (server, run.job.worker_type, count, run)
        for run in runs
        for server, count in run.workers.items()
    ]
    units = {server.id: server.workers for server in instance.servers}
    yield from _capacity_violations("V9", used, units, instance.worker_types, "workers")


def _parameter_server_capacity(
    instance: EdgeInstance, runs: Sequence[SubmittedRun]
) -> Iterator[Violation]:
    """Rule V10, (2h): PSs in use of each type and server in every slot."""
    used = [(run.ps_server, run.job.ps_type, 1, run) for run in runs]
    units = {server.id: server.parameter_servers for server in instance.servers}
    yield from _capacity_violations("V10", used, units, instance.ps_types, "PSs")


def _capacity_violations(
    rule: str,
    held: Sequence[tuple[str, str, int, SubmittedRun]],
    units: Mapping[str, Mapping[str, int]],
    types: Sequence[str],
    what: str,
) -> Iterator[Violation]:
    """Yield a violation for each server and type with excess use: its worst slot.

    `held` has server, type, number and run; `units` are the capacities by server and type. A sweep
    over the starts and ends of each; units are free in the slot after the end.
    """
    capacity = {(server, kind): has.get(kind, 0) for server, has in units.items() for kind in types}
    changes: dict[tuple[str, str], dict[int, int]] = {place: {} for place in capacity}
    for server, kind, number, run in held:
        here = changes[server, kind]
        here[run.start] = here.get(run.start, 0) + number
        here[run.end + 1] = here.get(run.end + 1, 0) - number
    for (server, kind), here in changes.items():
        most, used, worst = capacity[server, kind], 0, (0, 0)  # excess, -slot
        for slot in sorted(here):
            used += here[slot]
            worst = max(worst, (used - most, -slot))
        excess, slot = worst[0], -worst[1]
        if excess > 0:
            message = f"{server}, slot {slot}: {most + excess} {what} {kind}, it has {most}"
            yield Violation(rule, (server, kind, str(slot)), float(excess), message)
