"""What makes a `ring` schedule valid, written from the paper; shares no code with the models.

V1 each job once (11), V2 starts, V3 placements (5), V4 all workers (1), V5 completion within the
horizon (9), V6 the stated end (9), V7 capacity (2)-(4), V8 GPU numbers. (3) and (4) hold by the
form of a schedule: a job keeps one placement from its start to its end. A row that breaks V1-V3 is
left out of what follows, so that one fault gives one message.
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


class Row(NamedTuple):
    """One job's run, with the values of the file."""

    job: Job
    start: Any
    end: Any
    placement: Mapping[str, Any]
    gpus: Mapping[str, Any] | None

    @property
    def is_spread(self) -> bool:
        """Whether the ring goes over several servers: 0 < y_js < G_j of (6) on some."""
        return len(self.placement) > 1


class Plan(NamedTuple):
    """A schedule of the right shape, in file order; values are not judged yet."""

    rows: Sequence[Row]  # of known jobs, the first of each
    twice: Sequence[str]  # jobs of further rows
    unknown: Sequence[str]  # ids that are no jobs


def check(instance: RingInstance, schedule: Any, options: Mapping[str, Any]) -> Iterator[Violation]:
    """Yield every broken rule of a schedule.

    Parameters
    ----------
    schedule : Any
        Plain JSON data, not trusted: `{"jobs": [{"job", "start", "end", "placement": {server:
        workers}, "gpus": {server: [number, ..]}}, ..]}` with slots from 1 and GPU numbers from 0;
        `gpus` may be left out. `order`, `theta`, `kappa` and `log` are for information.
    options : Mapping[str, Any]
        Of the solution; no rule depends on them.

    Raises
    ------
    InputError
        When a key is missing, unknown, or of the wrong JSON type.

    Notes
    -----
    Source: (1)-(9), (11). Whole numbers throughout: no tolerance. Time: O(T J) for T slots.
    """
    return _violations(instance, _read(instance, schedule))


def objective(instance: RingInstance, schedule: Any) -> float:
    """Return the makespan of a schedule without violations: the last slot of the last job.

    Equation (9) as printed counts each job as ending one slot later.
    """
    return float(max(row.end for row in _read(instance, schedule).rows))


# --- reading -----------------------------------------------------------------------------------


def _read(instance: RingInstance, schedule: Any) -> Plan:
    require(schedule, "object")
    require_keys(schedule, {"jobs": "list"}, _FACTS)
    known = {job.id: job for job in instance.jobs}
    rows: dict[str, Row] = {}
    twice, unknown = [], []
    for k, data in enumerate(schedule["jobs"]):
        name = _shape(data, "jobs", k)
        if name not in known:
            unknown.append(name)
        elif name in rows:
            twice.append(name)
        else:
            rows[name] = Row(
                known[name], data["start"], data["end"], data["placement"], data.get("gpus")
            )
    return Plan(tuple(rows.values()), twice, unknown)


def _shape(data: Any, *path: str | int) -> str:
    """Refuse a row that is not of the right shape; return its job."""
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


def _violations(instance: RingInstance, plan: Plan) -> Iterator[Violation]:
    yield from scheduled_once(instance, plan)
    rows: list[Row] = []
    for row in plan.rows:
        faults = [*starts_in_time(instance, row), *placed_somewhere(instance, row)]
        yield from faults
        if not faults:
            rows.append(row)
            yield from all_workers(row)
    ends = simulate(instance, rows)
    for row, end in zip(rows, ends, strict=True):
        yield from complete_in_time(instance, row, end)
        yield from stated_end(row, end)
    last = [instance.horizon if end is None else end for end in ends]
    yield from within_capacity(instance, rows, last)
    yield from numbered_gpus(instance, rows, last)


def scheduled_once(instance: RingInstance, plan: Plan) -> Iterator[Violation]:
    """Rule V1, (11): every job is there once, and no other."""
    there = {row.job.id for row in plan.rows}
    for job in instance.jobs:
        if job.id not in there:
            yield Violation("V1", (job.id,), 1, f"{job.id} is not scheduled")
    for name in plan.twice:
        yield Violation("V1", (name,), 1, f"{name} is scheduled more than once")
    for name in plan.unknown:
        yield Violation("V1", (name,), 1, f"no job {short(name)}")


def starts_in_time(instance: RingInstance, row: Row) -> Iterator[Violation]:
    """Rule V2: start is a slot, an integer in 1..horizon."""
    if not is_whole(row.start, 1, instance.horizon):
        message = (
            f"{row.job.id}: start {short(row.start)}, must be an integer in 1..{instance.horizon}"
        )
        yield Violation("V2", (row.job.id,), 1, message)


def placed_somewhere(instance: RingInstance, row: Row) -> Iterator[Violation]:
    """Rule V3, (5): at least one server, all known, and an integer >= 1 of workers on each."""
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


def all_workers(row: Row) -> Iterator[Violation]:
    """Rule V4, (1): as many workers as the job asks GPUs for."""
    placed = sum(row.placement.values())
    if placed != row.job.gpus:
        message = f"{row.job.id} has {placed} workers, needs {row.job.gpus}"
        yield Violation("V4", (row.job.id,), abs(placed - row.job.gpus), message)


def iterations_per_slot(instance: RingInstance, job: Job, servers: int, crowd: int) -> int:
    """Return phi_j[t] in 1 / rate_scale iterations: (7), (8) and below, with p_j[t] = `crowd`.

    A quotient less than 1e-9 under a whole number is that number. What is more than the job needs
    in all is cut off.
    """
    if servers == 1:
        B = instance.bandwidth_within
    else:
        k = instance.contention_factor * crowd  # (7)
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


def simulate(instance: RingInstance, rows: Sequence[Row]) -> list[int | None]:
    """Return the last slot of each row's job, or None where it is not complete by the horizon.

    All jobs of a slot see the same active jobs, and one that completes in a slot counts in it to
    its end. Slots between which no job starts or completes are alike and are taken together.
    Source: (3), (6)-(9).
    """
    starting: dict[int, list[int]] = {}
    for r, row in enumerate(rows):
        starting.setdefault(row.start, []).append(r)
    starts = sorted(starting, reverse=True)  # the next one is the last
    left = [row.job.iterations * instance.rate_scale for row in rows]
    ends: list[int | None] = [None] * len(rows)
    progress: dict[int, int] = {}  # of each active row in a slot, p_j[t]
    known: dict[tuple[int, int], int] = {}  # (row, p) -> progress in a slot
    t = 0  # the slots up to t are done
    while (progress or starts) and t < instance.horizon:
        if starts and (not progress or starts[-1] == t + 1):
            t = starts[-1] - 1
            progress.update(dict.fromkeys(starting[starts.pop()], 0))
        for r, crowd in _crowds(rows, set(progress)).items():
            if (r, crowd) not in known:
                row = rows[r]
                known[r, crowd] = iterations_per_slot(instance, row.job, len(row.placement), crowd)
            progress[r] = known[r, crowd]
        # until the first completion, the slot before the next start, or the horizon
        until = min([instance.horizon, *(start - 1 for start in starts[-1:])])
        slots = min([until - t, *(-(-left[r] // rate) for r, rate in progress.items() if rate)])
        t += slots
        for r, rate in list(progress.items()):
            left[r] -= slots * rate
            if left[r] <= 0 < rate:
                ends[r] = t
                del progress[r]
    return ends


def _crowds(rows: Sequence[Row], active: set[int]) -> dict[int, int]:
    """Return p_j[t] of (6) for each active row: 0 inside one server, else at least 1."""
    on_server: dict[str, int] = {}
    for r in active:
        if rows[r].is_spread:
            for server in rows[r].placement:
                on_server[server] = on_server.get(server, 0) + 1
    return {
        r: max(on_server[server] for server in rows[r].placement) if rows[r].is_spread else 0
        for r in active
    }


def complete_in_time(instance: RingInstance, row: Row, end: int | None) -> Iterator[Violation]:
    """Rule V5, (9): the job has done its iterations by the end of slot `horizon`."""
    if end is None:
        message = f"{row.job.id} is not complete by the end of slot {instance.horizon}"
        yield Violation("V5", (row.job.id,), 1, message)


def stated_end(row: Row, end: int | None) -> Iterator[Violation]:
    """Rule V6, (9): `end` is the slot in which the job completes."""
    if end is not None and (type(row.end) is not int or row.end != end):
        message = f"{row.job.id}: end {short(row.end)}, completes in slot {end}"
        yield Violation("V6", (row.job.id,), abs(row.end - end), message)


def within_capacity(
    instance: RingInstance, rows: Sequence[Row], last: Sequence[int]
) -> Iterator[Violation]:
    """Rule V7, (2)-(4): in no slot are there more workers on a server than GPUs.

    One violation for each stretch of slots in which a server holds too many; the worst slot counts.
    """
    changes: dict[str, dict[int, int]] = {server.id: {} for server in instance.servers}
    for row, end in zip(rows, last, strict=True):
        for name, count in row.placement.items():
            here = changes[name]
            here[row.start] = here.get(row.start, 0) + count
            here[end + 1] = here.get(end + 1, 0) - count
    for server in instance.servers:
        held, since, worst = 0, 0, 0  # since: first slot with too many, or 0
        for slot, more in sorted(changes[server.id].items()):
            held += more
            if held > server.gpus:
                since, worst = since or slot, max(worst, held)
            elif since:
                slots = f"slot {since}" if slot == since + 1 else f"slots {since}-{slot - 1}"
                message = f"{server.id}, {slots}: {worst} workers on {server.gpus} GPUs"
                yield Violation("V7", (server.id, str(since)), worst - server.gpus, message)
                since, worst = 0, 0


def numbered_gpus(
    instance: RingInstance, rows: Sequence[Row], last: Sequence[int]
) -> Iterator[Violation]:
    """Rule V8: GPU numbers, where they are stated, match the placement, one worker for each GPU."""
    room = {server.id: server.gpus for server in instance.servers}
    used: dict[tuple[str, int], list[tuple[int, int, str]]] = {}  # GPU -> (start, end, job)
    for row, end in zip(rows, last, strict=True):
        if row.gpus is None:
            continue
        fault = _fault_of_numbers(row, room)
        if fault:
            yield Violation("V8", (row.job.id,), 1, f"{row.job.id}: {fault}")
            continue
        for server, numbers in row.gpus.items():
            for number in numbers:
                used.setdefault((server, number), []).append((row.start, end, row.job.id))
    for (server, number), held in used.items():
        for (_, end, first), (start, _, second) in pairwise(sorted(held)):
            if start <= end:
                message = f"GPU {number} of {server}: {second} starts in slot {start}, "
                message += f"{first} holds it to slot {end}"
                yield Violation("V8", (server, str(number), second), 1, message)


def _fault_of_numbers(row: Row, room: Mapping[str, int]) -> str:
    assert row.gpus is not None
    if set(row.gpus) != set(row.placement):
        return "GPU numbers and placement name different servers"
    for server, numbers in row.gpus.items():
        if len(numbers) != row.placement[server]:
            return f"{len(numbers)} GPU numbers on {server}, {row.placement[server]} workers"
        for number in numbers:
            if not is_whole(number, 0, room[server] - 1):
                return f"no GPU {short(number)} on {server}"
        if len(set(numbers)) < len(numbers):
            return f"a GPU number of {server} twice"
    return ""
