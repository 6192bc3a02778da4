"""The rules of a valid `dmlrs` schedule, written from the paper; shares no code with the models.

V1 structure, V2 and V4 (4), V3 (7), V5 (2), V6 (3), V7 (5). A row whose values break V1 is left out
of the later rules, and its job is left out of V4 to V6. So one fault gives one message. Counts are
integers, demands and capacities whole thousandths: sums are exact.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

from schedgap.instances.dmlrs.instance import STEP, DmlrsInstance, Job
from schedgap.instances.records import short
from schedgap.instances.scaling import as_fraction
from schedgap.instances.shapes import Shapes, is_whole, require, require_keys
from schedgap.instances.verdict import Violation

ROUNDING = 1e-9  # tolerance on n / gamma in (2), and on the fraction of the work in (3)
MAX_COUNT = 10**60
_ROW: Shapes = {
    "job": "string", "slot": "number", "machine": "string", "workers": "number", "ps": "number",
}  # fmt: skip


class AllocationRow(NamedTuple):
    """One allocation with the values of the file; `position` is its index, for messages."""

    position: int
    job: str
    slot: Any
    machine: str
    workers: Any
    ps: Any

    @property
    def key(self) -> tuple[str, int, str]:
        """Job, slot and machine, which no other row may repeat."""
        return self.job, self.slot, self.machine


class SlotHoldings(NamedTuple):
    """What a job holds in one slot."""

    workers: int
    ps: int
    machines: int


def check(
    instance: DmlrsInstance, schedule: Any, options: Mapping[str, Any]
) -> Iterator[Violation]:
    """Yield every violated rule of a schedule.

    `schedule`: untrusted JSON data: `{"admitted": [job ids], "allocations": [{"job", "slot",
    "machine", "workers", "ps"}]}`, slots from 1. `options`: options of the solution; no rule
    depends on them.

    Raises
    ------
    InputError
        When a key is missing, unknown, or of the wrong JSON type.

    Notes
    -----
    Source: (2)-(5), (7). Time: linear in the number of allocations.
    """
    admitted, rows = _read(schedule)
    return _violations(instance, admitted, rows)


def objective(instance: DmlrsInstance, schedule: Any) -> float:
    """Return the sum of u_i(t~_i - a_i) over the admitted jobs of a valid schedule.

    t~_i is the last slot with a worker, (6), even if the work was complete before.

    `schedule`: JSON data that `check` accepts.
    """
    admitted, rows = _read(schedule)
    delays = _delays(instance, admitted, rows)
    return math.fsum(job.utility.at(delays[job.id]) for job in instance.jobs if job.id in delays)


def metrics(instance: DmlrsInstance, schedule: Any) -> dict[str, float]:
    """Return the number of admitted jobs, and medians of delays in slots.

    `median delay` is over the admitted jobs, and absent without any. In `median delay, T if
    unfinished` all jobs count, those that are not admitted with the horizon.

    `schedule`: JSON data that `check` accepts.
    """
    admitted, rows = _read(schedule)
    delays = _delays(instance, admitted, rows)
    numbers = {"admitted jobs": float(len(delays))}
    if delays:
        numbers["median delay"] = float(median(delays.values()))
    if instance.jobs:
        every = [delays.get(job.id, instance.horizon) for job in instance.jobs]
        numbers["median delay, T if unfinished"] = float(median(every))
    return numbers


def _read(schedule: Any) -> tuple[Sequence[str], Sequence[AllocationRow]]:
    """Return the admitted ids and the rows; InputError if their shape is wrong."""
    require(schedule, "object")
    require_keys(schedule, {"admitted": "list", "allocations": "list"}, {})
    for k, name in enumerate(schedule["admitted"]):
        require(name, "string", "admitted", k)
    rows = []
    for k, row in enumerate(schedule["allocations"]):
        require(row, "object", "allocations", k)
        require_keys(row, _ROW, {}, "allocations", k)
        rows.append(AllocationRow(k, *(row[key] for key in _ROW)))
    return schedule["admitted"], rows


def _delays(
    instance: DmlrsInstance, admitted: Sequence[str], rows: Sequence[AllocationRow]
) -> dict[str, int]:
    """Return t~ - a of each admitted job, (6)."""
    arrival = {job.id: job.arrival for job in instance.jobs}
    last: dict[str, int] = {}
    for row in rows:
        if row.workers:
            last[row.job] = max(last.get(row.job, 0), row.slot)
    return {name: last[name] - arrival[name] for name in admitted}


# --- rules -------------------------------------------------------------------------------------


def _violations(
    instance: DmlrsInstance, admitted: Sequence[str], rows: Sequence[AllocationRow]
) -> Iterator[Violation]:
    """Yield the violations of all rules, in the order of the rules."""
    yield from admitted_once(instance, admitted)
    machines = {machine.id for machine in instance.machines}
    jobs = {job.id: job for job in instance.jobs}
    sound: list[AllocationRow] = []
    unsound: set[str] = set()
    seen: set[tuple[str, int, str]] = set()
    for row in rows:
        fault = fault_of_row(instance, row, jobs, machines)
        if not fault and row.key in seen:
            fault = f"{row.job} has a second row for {row.machine} in slot {row.slot}"
        if fault:
            unsound.add(row.job)
            yield Violation("V1", ("allocations", str(row.position)), 1, fault)
        else:
            seen.add(row.key)
            sound.append(row)
    yield from only_admitted(admitted, sound)
    chosen = set(admitted)
    sound = [row for row in sound if row.job in chosen]
    holdings = _holdings(sound)
    for name in dict.fromkeys(admitted):
        if name in jobs and name not in unsound:
            job, slots = jobs[name], holdings.get(name, {})
            yield from not_before_arrival(job, slots)
            yield from at_most_the_batch(job, slots)
            yield from enough_parameter_servers(instance, job, slots)
            yield from whole_work(job, slots)
    yield from within_capacity(instance, sound)


def admitted_once(instance: DmlrsInstance, admitted: Sequence[str]) -> Iterator[Violation]:
    """Rule V1: `admitted` holds known ids, each once.

    `admitted`: as in the file.
    """
    known = {job.id for job in instance.jobs}
    seen: set[str] = set()
    for name in admitted:
        if name not in known:
            yield Violation("V1", ("admitted", name), 1, f"admitted: no job {short(name)}")
        elif name in seen:
            yield Violation("V1", ("admitted", name), 1, f"admitted: {name} is there twice")
        seen.add(name)


def fault_of_row(
    instance: DmlrsInstance, row: AllocationRow, jobs: Mapping[str, Job], machines: set[str]
) -> str:
    """Rule V1 for one row: known ids, a slot in 1..T, whole counts >= 0, not both 0.

    `row`: values as in the file. `jobs`, `machines`: the jobs by id, and the ids of the machines.

    The text says what is wrong, or is empty.
    """
    where = f"allocation {row.position + 1}"
    if row.job not in jobs:
        return f"{where}: no job {short(row.job)}"
    if row.machine not in machines:
        return f"{where}: no machine {short(row.machine)}"
    if not is_whole(row.slot, 1, instance.horizon):
        return f"{where}: slot {short(row.slot)}, must be an integer in 1..{instance.horizon}"
    for key, count in (("workers", row.workers), ("ps", row.ps)):
        if not is_whole(count, 0, MAX_COUNT):
            return f"{where}: {key} {short(count)}, must be an integer >= 0"
    if row.workers + row.ps == 0:
        return f"{where}: neither workers nor PSs"
    return ""


def only_admitted(admitted: Sequence[str], rows: Sequence[AllocationRow]) -> Iterator[Violation]:
    """Rule V2, (4) with x_i = 0: a job that is not admitted holds nothing.

    `admitted`, `rows`: admitted ids, and the rows without a fault.
    """
    chosen = set(admitted)
    for name in dict.fromkeys(row.job for row in rows if row.job not in chosen):
        held = sum(row.workers + row.ps for row in rows if row.job == name)
        yield Violation("V2", (name,), held, f"{name} is not admitted, but has allocations")


def _holdings(rows: Sequence[AllocationRow]) -> dict[str, dict[int, SlotHoldings]]:
    """Return what each job holds in each slot, in order of slots."""
    holdings: dict[str, dict[int, SlotHoldings]] = defaultdict(dict)
    for row in sorted(rows, key=lambda row: row.slot):
        previous = holdings[row.job].get(row.slot, SlotHoldings(0, 0, 0))
        holdings[row.job][row.slot] = SlotHoldings(
            previous.workers + row.workers, previous.ps + row.ps, previous.machines + 1
        )
    return holdings


def not_before_arrival(job: Job, slots: Mapping[int, SlotHoldings]) -> Iterator[Violation]:
    """Rule V3, (7): nothing before the slot of the arrival.

    `job`, `slots`: a job, and what it holds by slot.
    """
    for slot in slots:
        if slot < job.arrival:
            message = f"{job.id} runs in slot {slot}, it arrives in {job.arrival}"
            yield Violation("V3", (job.id, str(slot)), job.arrival - slot, message)


def at_most_the_batch(job: Job, slots: Mapping[int, SlotHoldings]) -> Iterator[Violation]:
    """Rule V4, (4): at most F_i workers in a slot.

    `job`, `slots`: a job, and what it holds by slot.
    """
    for slot, held in slots.items():
        if held.workers > job.batch_size:
            message = (
                f"{job.id}, slot {slot}: {held.workers} workers for a batch of {job.batch_size}"
            )
            yield Violation("V4", (job.id, str(slot)), held.workers - job.batch_size, message)


def enough_parameter_servers(
    instance: DmlrsInstance, job: Job, slots: Mapping[int, SlotHoldings]
) -> Iterator[Violation]:
    """Rule V5, (2): at most, or exactly, gamma workers per PS; no PS without a worker.

    `job`, `slots`: a job, and what it holds by slot.
    """
    for slot, held in slots.items():
        where, label = (job.id, str(slot)), f"{job.id}, slot {slot}:"
        if not held.workers:
            yield Violation("V5", where, held.ps, f"{label} {held.ps} PSs without a worker")
            continue
        share = held.workers / job.worker_ps_ratio
        needed = max(1, math.ceil(share - ROUNDING))
        message = f"{label} {held.ps} PSs for {held.workers} workers"
        if instance.ps_rule == "at_least":
            if held.ps < needed:
                yield Violation("V5", where, needed - held.ps, f"{message}, need {needed}")
        elif not abs(share - max(1, round(share))) < ROUNDING:
            multiple = f"not a multiple of {job.worker_ps_ratio:g}"
            yield Violation("V5", where, 1, f"{label} {held.workers} workers, {multiple}")
        elif held.ps != round(share):
            off = abs(held.ps - round(share))
            yield Violation("V5", where, off, f"{message}, need just {round(share)}")


def worker_slots(job: Job, bandwidth: float) -> float:
    """Return E K (tau + (gamma / F) (2 g / b)), the worker-slots of the whole job at a bandwidth.

    `job`, `bandwidth`: a job, and b > 0 in MB per slot.
    """
    exchange = job.worker_ps_ratio / job.batch_size * (2 * job.gradient_size / bandwidth)
    return job.epochs * job.samples * (job.time_per_sample + exchange)


def whole_work(job: Job, slots: Mapping[int, SlotHoldings]) -> Iterator[Violation]:
    """Rule V6, (3) divided by E K: an admitted job does all of its work.

    A slot counts at the bandwidth of the bus if one machine holds all workers and PSs (Fact 1).

    `job`, `slots`: a job, and what it holds by slot.
    """
    internal = sum(held.workers for held in slots.values() if held.machines == 1)
    external = sum(held.workers for held in slots.values() if held.machines > 1)
    done = internal / worker_slots(job, job.internal_bandwidth)
    done += external / worker_slots(job, job.external_bandwidth)
    if not done >= 1 - ROUNDING:
        yield Violation("V6", (job.id,), 1 - done, f"{job.id} trains {done:.10g} of its samples")


def within_capacity(instance: DmlrsInstance, rows: Sequence[AllocationRow]) -> Iterator[Violation]:
    """Rule V7, (5): the demand of all jobs on a machine in a slot, in exact thousandths.

    `rows`: rows without a fault, of admitted jobs.
    """
    names = instance.resources
    demand = {
        job.id: [(_milli(job.worker_demand[r]), _milli(job.ps_demand[r])) for r in names]
        for job in instance.jobs
    }
    used: dict[tuple[str, int], list[int]] = {}
    for row in rows:
        sums = used.setdefault((row.machine, row.slot), [0] * len(names))
        for k, (worker, ps) in enumerate(demand[row.job]):
            sums[k] += row.workers * worker + row.ps * ps
    for machine in instance.machines:
        capacity = [_milli(machine.capacity[r]) for r in names]
        for slot in range(1, instance.horizon + 1):
            for k, amount in enumerate(used.get((machine.id, slot), ())):
                if amount > capacity[k]:
                    message = (
                        f"{machine.id}, slot {slot}: {amount / STEP:.10g} {names[k]}, "
                        f"it has {capacity[k] / STEP:.10g}"
                    )
                    excess = (amount - capacity[k]) / STEP
                    yield Violation("V7", (machine.id, str(slot), names[k]), excess, message)


def _milli(amount: float) -> int:
    return int(as_fraction(amount) * STEP)
