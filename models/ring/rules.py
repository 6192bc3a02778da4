"""Verifier of `ring` schedules, written from the paper; it shares no code with the models.

The rules are V1 each job once (11), V2 starts, V3 placements (5), and V4 all workers (1). Further
rules are V5 completion within the horizon (9), V6 the stated end (9), V7 capacity (2)-(4), and V8
GPU numbers. (3) and (4) hold by the format of a schedule: a job keeps one placement from its start
to its end. A row that breaks V1-V3 is left out of the later rules, so one fault gives one message.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from schedgap.instances.records import short
from schedgap.instances.ring.instance import Job, RingInstance
from schedgap.instances.shapes import Shapes, is_whole, require, require_keys
from schedgap.instances.verdict import Violation

_KEYS: Shapes = {"job": "string", "start": "number", "end": "number", "placement": "object"}
_FACTS: Shapes = {
    "order": "list",
    "theta": "number",
    "kappa": "number",
    "log": "list",
}  # informative


class JobRow(NamedTuple):
    """The row of a known job, with unchecked values from the file."""

    job: Job
    start: Any
    end: Any
    placement: Mapping[str, Any]
    gpus: Mapping[str, Any] | None

    @property
    def is_spread(self) -> bool:
        """Whether the ring spans several servers, 0 < y_js < G_j in (6)."""
        return len(self.placement) > 1


class ParsedSchedule(NamedTuple):
    """A schedule of the right JSON types, in file order; its values are not checked yet."""

    rows: Sequence[JobRow]  # first row of each known job
    twice: Sequence[str]  # ids of jobs with further rows
    unknown: Sequence[str]  # ids that are not jobs of the instance


def check(instance: RingInstance, schedule: Any, options: Mapping[str, Any]) -> Iterator[Violation]:
    """Yield every violation of a rule by a schedule.

    `schedule`: untrusted plain JSON data: `{"jobs": [{"job", "start", "end", "placement": {server:
    workers}, "gpus": {server: [number, ..]}}, ..]}`. Slots count from 1, and GPU numbers from 0.
    The key `gpus` may be left out. `order`, `theta`, `kappa` and `log` are informative. `options`:
    options of the solution; no rule depends on them.

    Raises
    ------
    InputError
        If a key is missing or unknown, or a value has the wrong JSON type.

    Notes
    -----
    Source: (1)-(9), (11). All numbers are integers, so there is no tolerance. Time: O(T J) for T
    slots and J jobs.
    """
    return _violations(instance, _read(instance, schedule))


def objective(instance: RingInstance, schedule: Any) -> float:
    """Return the makespan of a schedule without violations: the last slot of the last job.

    Equation (9) as printed counts each job as ending one slot later (E6).

    `schedule`: plain JSON data, as for `check`.
    """
    return float(max(row.end for row in _read(instance, schedule).rows))


# --- reading -----------------------------------------------------------------------------------


def _read(instance: RingInstance, schedule: Any) -> ParsedSchedule:
    require(schedule, "object")
    require_keys(schedule, {"jobs": "list"}, _FACTS)
    known = {job.id: job for job in instance.jobs}
    rows: dict[str, JobRow] = {}
    twice, unknown = [], []
    for k, data in enumerate(schedule["jobs"]):
        name = _checked_row(data, "jobs", k)
        if name not in known:
            unknown.append(name)
        elif name in rows:
            twice.append(name)
        else:
            rows[name] = JobRow(
                known[name], data["start"], data["end"], data["placement"], data.get("gpus")
            )
    return ParsedSchedule(tuple(rows.values()), twice, unknown)


def _checked_row(data: Any, *path: str | int) -> str:
    """Check the JSON types of a row; return its job id."""
    require(data, "object", *path)
    require_keys(data, _KEYS, {"gpus": "object"}, *path)
    for server, count in data["placement"].items():
        require(count, "number", *path, "placement", server)
    for server, numbers in data.get("gpus", {}).items():
        require(numbers, "list", *path, "gpus", server)
        for n, number in enumerate(numbers):
            require(number, "number", *path, "gpus", server, n)
    return str(data["job"])


# --- rules -------------------------------------------------------------------------------------


def _violations(instance: RingInstance, parsed: ParsedSchedule) -> Iterator[Violation]:
    yield from _scheduled_once(instance, parsed)
    rows: list[JobRow] = []
    for row in parsed.rows:
        faults = [*_starts_in_time(instance, row), *_placed_somewhere(instance, row)]
        yield from faults
        if not faults:
            rows.append(row)
            yield from _all_workers(row)
    ends = _simulate(instance, rows)
    for row, end in zip(rows, ends, strict=True):
        yield from _complete_in_time(instance, row, end)
        yield from _stated_end(row, end)
    last = [instance.horizon if end is None else end for end in ends]
    yield from _within_capacity(instance, rows, last)
    yield from _numbered_gpus(instance, rows, last)


def _scheduled_once(instance: RingInstance, parsed: ParsedSchedule) -> Iterator[Violation]:
    """Rule V1, (11): every job has exactly one row, and there are no other rows."""
    scheduled = {row.job.id for row in parsed.rows}
    for job in instance.jobs:
        if job.id not in scheduled:
            yield Violation("V1", (job.id,), 1, f"{job.id} is not scheduled")
    for name in parsed.twice:
        yield Violation("V1", (name,), 1, f"{name} is scheduled more than once")
    for name in parsed.unknown:
        yield Violation("V1", (name,), 1, f"no job {short(name)}")


def _starts_in_time(instance: RingInstance, row: JobRow) -> Iterator[Violation]:
    """Rule V2: the start is a slot, an integer in 1..horizon."""
    if not is_whole(row.start, 1, instance.horizon):
        message = (
            f"{row.job.id}: start {short(row.start)}, must be an integer in 1..{instance.horizon}"
        )
        yield Violation("V2", (row.job.id,), 1, message)


def _placed_somewhere(instance: RingInstance, row: JobRow) -> Iterator[Violation]:
    """Rule V3, (5): at least one server, all known, with an integer >= 1 of workers on each."""
    name = row.job.id
    if not row.placement:
        yield Violation("V3", (name,), 1, f"{name} has no placement")
    known = {server.id for server in instance.servers}
    for server, count in row.placement.items():
        if server not in known:
            yield Violation("V3", (name, server), 1, f"{name}: no server {short(server)}")
        elif type(count) is not int or count < 1:
            message = f"{name}: {short(count)} workers on {server}, must be an integer >= 1"
            yield Violation("V3", (name, server), 1, message)


def _all_workers(row: JobRow) -> Iterator[Violation]:
    """Rule V4, (1): as many workers as the job asks for GPUs."""
    placed = sum(row.placement.values())
    if placed != row.job.gpus:
        message = f"{row.job.id} has {placed} workers, needs {row.job.gpus}"
        yield Violation("V4", (row.job.id,), abs(placed - row.job.gpus), message)


def _iterations_per_slot(instance: RingInstance, job: Job, servers: int, contention: int) -> int:
    """Return phi_j[t] in 1 / rate_scale iterations: (7), (8) and below; p_j[t] is `contention`.

    A quotient less than 1e-9 below an integer counts as that integer. The rate is cut off at
    the total progress that the job needs.
    """
    if servers == 1:
        B = instance.bandwidth_within
    else:
        k = instance.contention_factor * contention  # (7)
        if instance.clamp_contention and k < 1:
            k = 1.0
        alpha = instance.degradation.alpha
        if instance.degradation.kind == "linear":
            f = k + alpha * (k - 1)
        else:
            f = float(k ** (1 + alpha))
        B = instance.bandwidth_between / f
    m, w = job.gradient_size, job.gpus
    exchanged = m / w * (w - 1)
    tau = (  # (8)
        2 * exchanged / B
        + exchanged / instance.compute_speed
        + instance.overhead_per_server * servers
        + job.forward_time_per_sample * job.batch_size
        + job.backward_time
    )
    return math.floor(min(instance.rate_scale / tau + 1e-9, job.iterations * instance.rate_scale))


def _simulate(instance: RingInstance, rows: Sequence[JobRow]) -> list[int | None]:
    """Return the last slot of each row's job, or None if it is not complete by the horizon.

    The rates in a slot depend on the jobs active in it; a job that completes in a slot counts as
    active for the whole slot. Slots between which no job starts or completes are alike and are
    taken together. Source: (3), (6)-(9).
    """
    starting: dict[int, list[int]] = {}
    for r, row in enumerate(rows):
        starting.setdefault(row.start, []).append(r)
    starts = sorted(starting, reverse=True)  # the next one is the last
    remaining = [row.job.iterations * instance.rate_scale for row in rows]
    ends: list[int | None] = [None] * len(rows)
    progress: dict[int, int] = {}  # row -> p_j[t], for the active rows of a slot
    rates: dict[tuple[int, int], int] = {}  # (row, p) -> progress in a slot
    t = 0  # the slots up to t are done
    while (progress or starts) and t < instance.horizon:
        if starts and (not progress or starts[-1] == t + 1):
            t = starts[-1] - 1
            progress.update(dict.fromkeys(starting[starts.pop()], 0))
        for r, contention in _contentions(rows, set(progress)).items():
            if (r, contention) not in rates:
                row = rows[r]
                servers = len(row.placement)
                rates[r, contention] = _iterations_per_slot(instance, row.job, servers, contention)
            progress[r] = rates[r, contention]
        # The rates hold until a job is completed, the slot before the next start, or the horizon.
        until = min([instance.horizon, *(start - 1 for start in starts[-1:])])
        slots = min(
            [until - t, *(-(-remaining[r] // rate) for r, rate in progress.items() if rate)]
        )
        t += slots
        for r, rate in list(progress.items()):
            remaining[r] -= slots * rate
            if remaining[r] <= 0 < rate:
                ends[r] = t
                del progress[r]
    return ends


def _contentions(rows: Sequence[JobRow], active: set[int]) -> dict[int, int]:
    """Return p_j[t] of (6) for each active row: 0 inside one server, else at least 1."""
    on_server: dict[str, int] = {}  # server -> rings
    for r in active:
        if rows[r].is_spread:
            for server in rows[r].placement:
                on_server[server] = on_server.get(server, 0) + 1
    return {
        r: max(on_server[server] for server in rows[r].placement) if rows[r].is_spread else 0
        for r in active
    }


def _complete_in_time(instance: RingInstance, row: JobRow, end: int | None) -> Iterator[Violation]:
    """Rule V5, (9): the job has completed its iterations by the end of slot `horizon`."""
    if end is None:
        message = f"{row.job.id} is not complete by the end of slot {instance.horizon}"
        yield Violation("V5", (row.job.id,), 1, message)


def _stated_end(row: JobRow, end: int | None) -> Iterator[Violation]:
    """Rule V6, (9): `end` is the slot in which the job completes."""
    if end is not None and (type(row.end) is not int or row.end != end):
        message = f"{row.job.id}: end {short(row.end)}, completes in slot {end}"
        yield Violation("V6", (row.job.id,), abs(row.end - end), message)


def _within_capacity(
    instance: RingInstance, rows: Sequence[JobRow], last: Sequence[int]
) -> Iterator[Violation]:
    """Rule V7, (2)-(4): in no slot does a server have more workers than GPUs.

    One violation per interval of slots with too many workers; its amount is the excess in the worst
    slot.
    """
    changes: dict[str, dict[int, int]] = {server.id: {} for server in instance.servers}
    for row, end in zip(rows, last, strict=True):
        for name, count in row.placement.items():
            on_server = changes[name]
            on_server[row.start] = on_server.get(row.start, 0) + count
            on_server[end + 1] = on_server.get(end + 1, 0) - count
    for server in instance.servers:
        workers, since, worst = 0, 0, 0  # since: first slot with too many workers, or 0
        for slot, change in sorted(changes[server.id].items()):
            workers += change
            if workers > server.gpus:
                since, worst = since or slot, max(worst, workers)
            elif since:
                slots = f"slot {since}" if slot == since + 1 else f"slots {since}-{slot - 1}"
                message = f"{server.id}, {slots}: {worst} workers on {server.gpus} GPUs"
                where = (server.id, str(since), str(slot - 1))
                yield Violation("V7", where, worst - server.gpus, message)
                since, worst = 0, 0


def _numbered_gpus(
    instance: RingInstance, rows: Sequence[JobRow], last: Sequence[int]
) -> Iterator[Violation]:
    """Rule V8: stated GPU numbers match the placement, and no GPU has two jobs in one slot."""
    capacity = {server.id: server.gpus for server in instance.servers}
    used: dict[tuple[str, int], list[tuple[int, int, str]]] = {}  # GPU -> (start, end, job)
    for row, end in zip(rows, last, strict=True):
        if row.gpus is None:
            continue
        fault = _numbering_fault(row, capacity)
        if fault:
            yield Violation("V8", (row.job.id,), 1, f"{row.job.id}: {fault}")
            continue
        for server, numbers in row.gpus.items():
            for number in numbers:
                used.setdefault((server, number), []).append((row.start, end, row.job.id))
    for (server, number), intervals in used.items():
        for (_, end, first), (start, _, second) in pairwise(sorted(intervals)):
            if start <= end:
                message = f"GPU {number} of {server}: {second} starts in slot {start}, "
                message += f"{first} holds it to slot {end}"
                yield Violation("V8", (server, str(number), second), 1, message)


def _numbering_fault(row: JobRow, capacity: Mapping[str, int]) -> str:
    """Return what is wrong with the GPU numbers of a row; empty if nothing is."""
    assert row.gpus is not None
    if set(row.gpus) != set(row.placement):
        return "GPU numbers and placement name different servers"
    for server, numbers in row.gpus.items():
        if len(numbers) != row.placement[server]:
            return f"{len(numbers)} GPU numbers on {server}, {row.placement[server]} workers"
        for number in numbers:
            if not is_whole(number, 0, capacity[server] - 1):
                return f"no GPU {short(number)} on {server}"
        if len(set(numbers)) < len(numbers):
            return f"a GPU number of {server} twice"
    return ""
