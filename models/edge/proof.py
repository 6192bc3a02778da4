"""Proofs of optimality: the integer program that a proof for an edge instance refutes.

Written from the paper's constraints and the instance alone, like `rules.py`. It shares no code with
the programs that the searches solve, so a referee can compare the two.

Lemma (root). Every schedule of value <= goal can be changed into one of value <= goal in which each
job runs in a mode (n, d). A mode has d slots, and n is the fewest workers that do the work of (2e)
in d slots. So n is larger for smaller d. To see this, shorten each run to the slots that its
workers need, then remove workers while the slots suffice. No capacity is exceeded, and no job ends
later. The workers that remain may all be on the server of the PS. Then the run has become
colocated, does more work per slot, and needs fewer slots still. The flow c_j - a_j of a job is at
most the goal minus the least flows of all other jobs alone. That bounds its last slot.

A job has these columns, by mode and start. A colocated mode has one for each server that can hold
all workers and the PS. A split mode has one for the run, with numbers of workers and the PS by
server. A split run may have all workers on the PS's server; it then runs longer than needed, which
the rules allow. Prices may leave out runs first, by the lemma of `solvers/proofs/runs.py`.

Lemma (worker types). A schedule remains one without the jobs of other worker types, and values are
sums over the jobs. Let an integer g_u be given for each worker type u. Suppose that the jobs of u
have a value of at most g_u. Then their runs are a solution of the program of these jobs with the
goal g_u. If not, they cost at least g_u + 1. Take the programs of all types side by side. In this
program, a column of cost g_u + 1 may take the place of all jobs of u. Every schedule of value <=
goal is a solution of cost <= goal of this program. A row says that without this column they cost at
most g_u.
"""

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import compress
from typing import Any, NamedTuple

from schedgap.instances.edge.instance import EdgeInstance, Job
from schedgap.solvers.proofs.checker import (
    CUTS,
    IntegerProgram,
    ProgramSpace,
    RefusedError,
    Row,
    whole,
    with_cuts,
)
from schedgap.solvers.proofs.runs import Prices, RunModel

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


class Run(NamedTuple):
    """A mode from a start slot; on `server` if colocated, else None."""

    mode: ProofMode
    start: int
    server: int | None


class Column(NamedTuple):
    """What a column says of a run of a job.

    `kind`: "run", that the job runs in this way; "workers" or "ps" of a split run, how many of them
    are on `server`.
    """

    kind: str
    job: int
    run: Run
    server: int | None


def goal(instance: EdgeInstance, objective: float | None) -> int:
    """Return the largest value that a proof of optimality excludes, in the minimisation.

    Values are integers. A batch (3) has minus the number of jobs that run.

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

    `goal`: from `goal`. `proof`: vectors with a key `p` are pools, those with a key `type` parts of
    the lemma on worker types, with their `goal` and `pools`; its `cuts` are derived again.
    """
    vectors = proof.get("vectors")
    parts = [
        vector
        for vector in (vectors if isinstance(vectors, list) else [])
        if isinstance(vector, Mapping) and "type" in vector
    ]
    if not parts:
        return Model(instance, goal).space(proof)
    return ProgramSpace(with_cuts(_of_types(instance, goal, parts), proof.get("cuts"), CUTS))


def _of_types(instance: EdgeInstance, goal: int, parts: list[Any]) -> IntegerProgram:
    """Return the program of the lemma on worker types, written part by part."""
    names = [part["type"] for part in parts]
    wanted = sorted({job.worker_type for job in instance.jobs})
    if not all(isinstance(name, str) for name in names) or sorted(names) != wanted:
        raise RefusedError("/vectors", "needs one part for each worker type that has jobs")
    cost: list[int] = []
    lower: list[int] = []
    upper: list[int] = []
    rows: list[Row] = []
    for name, part in zip(names, parts, strict=True):
        most, pools = whole(part.get("goal"), "/vectors/goal"), part.get("pools")
        model = Model(instance, most, name)
        for pool in pools if isinstance(pools, list) else []:
            if not isinstance(pool, Mapping):
                raise RefusedError("/vectors/pools", "needs prices")
            model.reduce(pool)
        own, first = model.written(), len(cost)
        absent = first + len(own.cost)
        cost += [*own.cost, most + 1]
        lower += [*own.lower, 0]
        upper += [*own.upper, 1]
        moved = [({first + j: a for j, a in e.items()}, low, high) for e, low, high in own.rows]
        for i in model.choices:
            moved[i][0][absent] = 1
        value = {first + j: c for j, c in enumerate(own.cost) if c}
        rows += [*moved, (value | {absent: most}, None, most)]
    return IntegerProgram(cost, lower, upper, rows, goal)


def program(instance: EdgeInstance, goal: int) -> IntegerProgram:
    """Return the program without pools and cuts.

    `goal`: from `goal`.

    Raises
    ------
    RefusedError
        If it is too large to be written down.
    """
    return Model(instance, goal).written()


class Model(RunModel):
    """The program with a solution of cost <= goal for every schedule of value <= goal.

    `goal`: from `goal`. `worker_type`: of the jobs of the problem; None for all jobs. `runs`: runs
    of each job of the problem. `columns`: columns of the program. `cells`: (server, type, slot) of
    each capacity row, which are the last rows; the types of workers come first, then the types of
    PSs. `choices`: row of each job that chooses its run.

    Raises
    ------
    RefusedError
        If it is too large to be written down.
    """

    def __init__(self, instance: EdgeInstance, goal: int, worker_type: str | None = None) -> None:
        self.instance, self.goal, self.is_batch = instance, goal, instance.is_batch
        first, last = instance.window
        self.before, self.last = first - 1, first
        self.types = [("worker", name) for name in instance.worker_types]
        self.types += [("ps", name) for name in instance.ps_types]
        number = {name: k for k, name in enumerate(self.types)}
        self.capacity = [
            [server.workers.get(name, 0) for name in instance.worker_types]
            + [server.parameter_servers.get(name, 0) for name in instance.ps_types]
            for server in instance.servers
        ]
        self.jobs = [
            job
            for job in instance.jobs
            if instance.may_run(job) and worker_type in (None, job.worker_type)
        ]
        self.type_of = [
            (number["worker", job.worker_type], number["ps", job.ps_type]) for job in self.jobs
        ]
        alone = [_minimum_flow(instance, job) for job in self.jobs]
        # A job may end `slack` slots later than alone: the others cost at least what they cost
        # alone.
        bounded = not instance.is_batch and None not in alone
        slack = goal - sum(map(int, filter(None, alone))) if bounded else 0
        self.runs: list[list[Run]] = []
        count = 0
        for j, (job, flow) in enumerate(zip(self.jobs, alone, strict=True)):
            end = (
                last if instance.is_batch or flow is None else min(last, job.arrival + flow + slack)
            )
            own: list[Run] = []
            for mode in _modes(instance, job):
                starts = range(max(first, job.arrival), end - mode.duration + 2)
                count += len(starts)
                if count > MAX_RUNS:
                    raise RefusedError("/model", "the program is too large to be written down")
                for start in starts:
                    own += self._placed(j, mode, start)
            self.runs.append(own)
            self.last = max(self.last, end)

    def _placed(self, j: int, mode: ProofMode, start: int) -> Iterator[Run]:
        """Yield the runs of a job in a mode from a start."""
        limits = self.limits(j, mode, start)
        v = self.type_of[j][1]
        hosts = [s for s in limits if self.capacity[s][v] >= 1]
        if mode.colocated:
            yield from (Run(mode, start, s) for s in hosts if limits[s] >= mode.workers)
        elif sum(limits.values()) >= mode.workers and hosts:
            yield Run(mode, start, None)

    def limits(self, j: int, mode: ProofMode, start: int) -> dict[int, int]:
        """Return the workers in a mode by server on which the data have arrived; (2i)."""
        job, u = self.jobs[j], self.type_of[j][0]
        return {
            s: min(mode.workers, self.capacity[s][u])
            for s, server in enumerate(self.instance.servers)
            if job.arrival + job.transfer_delay[server.id] <= start
        }

    def cost(self, j: int, run: Run) -> int:
        """Return the coefficient of a run in the minimised value."""
        end = run.start + run.mode.duration - 1
        return -1 if self.instance.is_batch else end - self.jobs[j].arrival

    def priced(self, prices: Prices) -> list[list[int]]:
        """Return the costs and least prices of the runs of each job; resources are the types."""
        return [
            [prices.o * self.cost(j, run) + self._price(j, run, prices) for run in own]
            for j, own in enumerate(self.runs)
        ]

    def keep(self, kept: list[list[bool]]) -> None:
        """Leave out runs, in the order of `priced`."""
        self.runs = [list(compress(*both)) for both in zip(self.runs, kept, strict=True)]

    def _price(self, j: int, run: Run, prices: Prices) -> int:
        """Return what a run pays at least."""
        (u, v), mode = self.type_of[j], run.mode
        time = run.start, mode.duration
        if run.server is not None:
            worker, ps = (prices.of(run.server, k, *time) for k in (u, v))
            return mode.workers * worker + ps
        limits, left, total = self.limits(j, mode, run.start), mode.workers, 0
        for price, limit in sorted((prices.of(s, u, *time), n) for s, n in limits.items()):
            total += price * min(left, limit)
            left -= min(left, limit)
        return total + min(prices.of(s, v, *time) for s in limits if self.capacity[s][v] >= 1)

    def write(self) -> None:
        """Write the program over the runs that are left."""
        self.columns: list[Column] = []
        self.choices: list[int] = []
        cost: list[int] = []
        upper: list[int] = []
        rows: list[Row] = []
        usage: dict[tuple[int, int, int], dict[int, int]] = {}
        entries = 0

        def column(kind: str, j: int, run: Run, s: int | None, most: int) -> int:
            nonlocal entries
            self.columns.append(Column(kind, j, run, s))
            cost.append(self.cost(j, run) if kind == "run" else 0)
            upper.append(most)
            entries += 0 if s is None else run.mode.duration
            if len(cost) > MAX_COLUMNS or entries > MAX_ENTRIES:
                raise RefusedError("/model", "the program is too large to be written down")
            return len(cost) - 1

        def uses(x: int, run: Run, s: int, k: int, number: int) -> None:
            for slot in range(run.start, run.start + run.mode.duration):
                usage.setdefault((s, k, slot), {})[x] = number

        for j, own in enumerate(self.runs):
            u, v = self.type_of[j]
            choices: list[tuple[int, int]] = []  # completion and column
            for run in own:
                mode = run.mode
                x = column("run", j, run, run.server, 1)
                choices.append((run.start + mode.duration - 1, x))
                if run.server is not None:
                    uses(x, run, run.server, u, mode.workers)
                    uses(x, run, run.server, v, 1)
                    continue
                limits = self.limits(j, mode, run.start)
                workers = {s: column("workers", j, run, s, n) for s, n in limits.items() if n}
                hosts = [s for s in limits if self.capacity[s][v] >= 1]
                host = {s: column("ps", j, run, s, 1) for s in hosts}
                for s, y in workers.items():
                    uses(y, run, s, u, 1)
                    rows.append(({y: 1, x: -limits[s]}, None, 0))  # only where the mode is chosen
                for s, z in host.items():
                    uses(z, run, s, v, 1)
                every = dict.fromkeys(workers.values(), 1)
                rows.append(({**every, x: -mode.workers}, 0, 0))  # (2e): n workers
                rows.append(({**dict.fromkeys(host.values(), 1), x: -1}, 0, 0))  # (2b): one PS
            choices.sort()
            chosen = dict.fromkeys((x for _, x in choices), 1)
            self.choices.append(len(rows))
            rows.append((chosen, None if self.instance.is_batch else 1, 1))  # (2j)-(2l); (3)
        self.cells = sorted(usage)
        rows += [
            (usage[cell], None, self.capacity[cell[0]][cell[1]]) for cell in self.cells
        ]  # (2g)
        self.program = IntegerProgram(cost, [0] * len(cost), upper, rows, self.goal)


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
