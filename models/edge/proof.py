"""Proofs of optimality: the integer program that a proof for an edge instance refutes.

Written from the paper's constraints and the instance alone, like `rules.py`; it shares no code with
the programs that the searches solve, so that a referee can compare the two.

Lemma (root). Every schedule of value <= goal can be changed into one of value <= goal in which each
job runs in a mode (n, d): d slots, with n the fewest workers that do the work of (2e) in d slots,
so that n is larger for smaller d. To see this, shorten each run to the slots that its workers need,
then remove workers while the slots suffice: no capacity is exceeded and no job ends later. If the
workers that remain are all on the server of the PS, the run has become colocated, does more work
per slot and needs fewer slots still. The flow c_j - a_j of a job is at most the goal minus the
least flows of all other jobs alone, which bounds its last slot.

Columns of a job, by mode and start: one for each server that can hold all workers and the PS
(colocated), or one for the split run, with numbers of workers and the PS by server. A split run may
have all workers on the PS's server; it then runs longer than needed, which the rules allow.
"""

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from schedgap.instances.edge.instance import EdgeInstance, Job
from schedgap.solvers.proofs.checker import (
    CUTS,
    IntegerProgram,
    ProgramSpace,
    RefusedError,
    Row,
    with_cuts,
)

MAX_COLUMNS = 200_000
MAX_ENTRIES = 4_000_000
MAX_RUNS = 1_000_000  # modes times starts, whether they have columns or not
TOLERANCE = Fraction(1, 10**6)  # worker-slots by which the rules let a run fall short (V8)
ROUNDING = Fraction(1, 10**12)  # relative: the rules evaluate (1) in doubles


class ProofMode(NamedTuple):
    """n workers for d slots; colocated: all on the server of the PS."""

    workers: int
    duration: int
    colocated: bool


def goal(instance: EdgeInstance, objective: float | None) -> int:
    """Return the largest value that a proof of optimality excludes, in the minimisation.

    Values are integers; that of a batch (3) is minus the number of jobs.

    `objective`: objective of the schedule that is claimed to be optimal; None claims that there is
    none.

    Raises
    ------
    RefusedError
        For objectives that doubles do not tell apart.
    """
    if objective is None:
        return sum(instance.horizon - job.arrival for job in instance.jobs)
    if abs(objective) >= 2**53:
        raise RefusedError("/goal", "objectives of this size are too large to be told apart")
    return math.ceil(-objective if instance.is_batch else objective) - 1


def excluded(instance: EdgeInstance, goal: int) -> tuple[str, Fraction]:
    """Return which objectives a goal excludes: "<=" or ">=", and a value."""
    return (">=", Fraction(-goal)) if instance.is_batch else ("<=", Fraction(goal))


def space(instance: EdgeInstance, goal: int, proof: Mapping[str, Any]) -> ProgramSpace:
    """Return the set that a proof shows to be empty: the schedules of value <= goal.

    `goal`: from `goal`. `proof`: its `cuts` are derived again.
    """
    return ProgramSpace(with_cuts(program(instance, goal), proof.get("cuts"), CUTS))


def program(instance: EdgeInstance, goal: int) -> IntegerProgram:
    """Return a program with a solution of cost <= goal for every schedule of value <= goal.

    `goal`: from `goal`.

    Raises
    ------
    RefusedError
        If it is too large to be written down.
    """
    first, last = instance.window
    jobs = [job for job in instance.jobs if instance.may_run(job)]
    alone = [_minimum_flow(instance, job) for job in jobs]
    # A job may end `slack` slots later than alone: the others cost at least what they cost alone.
    slack = 0 if instance.is_batch or None in alone else goal - sum(map(int, filter(None, alone)))
    build, runs = _Builder(), 0
    capacity: dict[tuple[str, int, str, int], dict[int, int]] = {}  # kind, server, type, slot
    for job, flow in zip(jobs, alone, strict=True):
        end = last if instance.is_batch or flow is None else min(last, job.arrival + flow + slack)
        choices: list[tuple[int, int]] = []  # completion and column
        for mode in _modes(instance, job):
            starts = range(max(first, job.arrival), end - mode.duration + 2)
            runs += len(starts)
            if runs > MAX_RUNS:
                raise RefusedError("/model", "the program is too large to be written down")
            for start in starts:
                completion = start + mode.duration - 1
                cost = -1 if instance.is_batch else completion - job.arrival
                slots = range(start, completion + 1)
                for column in _run(instance, job, mode, start, cost, slots, build, capacity):
                    choices.append((completion, column))
        choices.sort()
        entries = dict.fromkeys((column for _, column in choices), 1)
        build.row(entries, None if instance.is_batch else 1, 1)  # (2j), (2k), (2l); (3)
    for (kind, s, name, _), entries in capacity.items():
        server = instance.servers[s]
        units = server.workers if kind == "worker" else server.parameter_servers
        build.row(entries, None, units.get(name, 0))  # (2g), (2h)
    return IntegerProgram(build.cost, [0] * len(build.cost), build.upper, build.rows, goal)


def _run(
    instance: EdgeInstance,
    job: Job,
    mode: ProofMode,
    start: int,
    cost: int,
    slots: range,
    build: "_Builder",
    capacity: dict[tuple[str, int, str, int], dict[int, int]],
) -> Iterator[int]:
    """Add the columns of a job in a mode from one start; yield those that choose the mode."""
    u, v = job.worker_type, job.ps_type
    # (2i): the data have arrived on the server.
    ready = [
        s
        for s, server in enumerate(instance.servers)
        if job.arrival + job.transfer_delay[server.id] <= start
    ]
    limits = {s: min(mode.workers, instance.servers[s].workers.get(u, 0)) for s in ready}
    hosts = [s for s in ready if instance.servers[s].parameter_servers.get(v, 0) >= 1]

    def uses(column: int, kind: str, s: int, name: str, number: int) -> None:
        for slot in slots:
            capacity.setdefault((kind, s, name, slot), {})[column] = number

    if mode.colocated:
        for s in hosts:
            if limits[s] >= mode.workers:
                x = build.column(cost, 1, mode.duration)
                uses(x, "worker", s, u, mode.workers)
                uses(x, "ps", s, v, 1)
                yield x
        return
    if sum(limits.values()) < mode.workers or not hosts:
        return
    x = build.column(cost, 1, 0)
    workers = {s: build.column(0, limit, mode.duration) for s, limit in limits.items() if limit}
    host = {s: build.column(0, 1, mode.duration) for s in hosts}
    for s, y in workers.items():
        uses(y, "worker", s, u, 1)
        build.row({y: 1, x: -limits[s]}, None, 0)  # workers only where the mode is chosen
    for s, z in host.items():
        uses(z, "ps", s, v, 1)
    build.row({**dict.fromkeys(workers.values(), 1), x: -mode.workers}, 0, 0)  # (2e): n workers
    build.row({**dict.fromkeys(host.values(), 1), x: -1}, 0, 0)  # (2b): one PS
    yield x


def _modes(instance: EdgeInstance, job: Job) -> list[ProofMode]:
    """Return the modes of a job: for each duration the fewest workers, if the servers have them."""
    u, v = job.worker_type, job.ps_type
    hosts = [server for server in instance.servers if server.parameter_servers.get(v, 0) >= 1]
    if not hosts:
        return []
    most = {
        True: max(server.workers.get(u, 0) for server in hosts),
        False: sum(server.workers.get(u, 0) for server in instance.servers),
    }
    modes = []
    for colocated, workers in most.items():
        needed, before = _worker_slots(instance, job, colocated), None
        # (2a): at most one worker for each chunk. More than `needed` workers are useless.
        n = max(1, -(-needed // instance.horizon))
        while n <= min(workers, job.chunks):
            duration = max(1, -(-needed // n))
            if duration != before:
                modes.append(ProofMode(n, duration, colocated))
                before = duration
            if len(modes) > MAX_COLUMNS:
                raise RefusedError("/model", "the program is too large to be written down")
            if duration == 1:
                break
            n = -(-needed // (duration - 1))
    return modes


def _worker_slots(instance: EdgeInstance, job: Job, colocated: bool) -> int:
    """Return the least integer number of worker-slots that the rules accept: (1), (2e), V8."""
    seconds = Fraction(job.compute_seconds) + Fraction(job.update_seconds)
    if not colocated:
        seconds += 16 * Fraction(job.gradient_megabytes) / Fraction(job.bandwidth_mbps)
    total = job.minibatches * seconds / Fraction(instance.slot_seconds)
    return math.ceil(total * (1 - ROUNDING) - TOLERANCE)


def _minimum_flow(instance: EdgeInstance, job: Job) -> int | None:
    """Return a lower bound on c_j - a_j; None when the job fits nowhere."""
    ready = min(job.transfer_delay.values())
    ends = [ready + mode.duration - 1 for mode in _modes(instance, job)]
    return min(ends, default=None)


class _Builder:
    """Columns and rows of the program; RefusedError above the limits of size."""

    def __init__(self) -> None:
        self.cost: list[int] = []
        self.upper: list[int] = []
        self.rows: list[Row] = []
        self.entries = 0

    def column(self, cost: int, upper: int, entries: int) -> int:
        """Add a column with a number of entries in capacity rows; return its index."""
        self.cost.append(cost)
        self.upper.append(upper)
        self.entries += entries
        if len(self.cost) > MAX_COLUMNS or self.entries > MAX_ENTRIES:
            raise RefusedError("/model", "the program is too large to be written down")
        return len(self.cost) - 1

    def row(self, entries: dict[int, int], low: int | None, high: int | None) -> None:
        """Add a row."""
        self.rows.append((entries, low, high))
