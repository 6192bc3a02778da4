"""Proofs of optimality: the integer program that a proof for an elastic instance refutes.

Written from the paper's constraints and the instance alone, like `rules.py`; it imports no code of
the searches. `exact` refutes values over this program, too, so it does not check the program. It is
about schedules without preemption.

Lemma (runs). A run is a duration with what it uses of each resource on each server. Any run of a
schedule can be replaced by one with PSs on one server only. (2i) limits the PSs of each server by
themselves, so the PSs of the others can go. PSs that (2i) does not ask for can go, too. If all is
on one server then, the run needs no more slots than before. So it suffices to list all numbers of
workers by server, each with every server for the PSs, for as many slots as (2f) asks for. A run
that is at least as long as another and uses at least as much everywhere can be left out.

Lemma (windows). Move every job to the left as long as it fits. Before a job that starts after its
arrival, a job runs. So no slot after the last arrival is idle, and all jobs end within the sum of
their durations after this arrival. In a schedule of value <= goal, a job costs at most the goal
less what all others cost alone, which bounds its end.

Prices may leave out runs first, by the lemma of `solvers/proofs/runs.py`.

Amounts count as the decimal numbers that the file shows, in integer units. Where the unit does not
divide them, demands and weights are rounded such that no schedule is lost.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

from schedgap.instances.elastic.instance import ElasticInstance, Job
from schedgap.instances.scaling import as_fraction, largest_step
from schedgap.solvers.proofs.checker import (
    CUTS,
    IntegerProgram,
    ProgramSpace,
    RefusedError,
    Row,
)
from schedgap.solvers.proofs.cuts import CliqueCut, SlotCut
from schedgap.solvers.proofs.runs import Prices, RunModel

MAX_SERVERS = 50
MAX_CELLS = 1_000_000  # placements times servers times resources
MAX_WORKERS = 1000  # largest number of workers of a job
MAX_KEPT = 1000  # largest number of runs of a job
MAX_RUNS = 2_000_000  # runs times starts, before the pools
MAX_COLUMNS = 100_000
MAX_ENTRIES = 4_000_000
MAX_SLOTS = 1_000_000  # from the first arrival on, times servers times resources
MAX_UNITS = 10**6  # a demand or weight is at most this many units, unless it is rounded
ROUNDED_UNITS = 10**9  # as many are the largest capacity, weight, if rounded
TOLERANCE = Fraction(1, 10**6)  # the rules', in worker-slots, bandwidth and capacity
ROUNDING = Fraction(1, 10**12)  # relative: the rules evaluate sums and products in doubles
WIDTH = Fraction(5, 10**7)  # relative, of an objective whose weights are rounded


class Place(NamedTuple):
    """Types and servers of a run, all by number: -1 and 0 PSs in the ring."""

    worker_type: int
    workers: tuple[int, ...]  # by server
    ps_type: int
    server: int  # holds all PSs
    ps: int


class Run(NamedTuple):
    """How a job can run: slots, and units of (server, resource) in use."""

    duration: int
    use: tuple[tuple[tuple[int, int], int], ...]
    place: Place


class JobRuns(NamedTuple):
    """One job: first slot, largest start + duration, cost, and how it can run."""

    first: int
    end: int
    weight: int
    runs: list[Run]


class Column(NamedTuple):
    """A run of a job from a start slot; run -1 stands for a job of a batch that does not run."""

    job: int
    run: int
    start: int


def within(instance: ElasticInstance, objective: float) -> float:
    """Return by how much, relative, a better value may remain that a proof does not exclude.

    `objective`: of the schedule that is claimed to be optimal.
    """
    return 0.0 if _is_whole(instance, objective) else float(WIDTH)


def goal(instance: ElasticInstance, objective: float | None) -> int:
    """Return the largest value that a proof of optimality excludes, in units of weight.

    `objective`: of the schedule that is claimed to be optimal; None claims that there is none.

    Raises
    ------
    RefusedError
        For None, if the instance is a batch, which always has a schedule, or too large.
    """
    if objective is None:
        if instance.is_batch:
            raise RefusedError("/goal", "there always is a schedule of a batch")
        # No schedule of the lemma on windows exceeds this value.
        return _latest(instance, _all_runs(instance)) * sum(_weights(instance))
    value = Fraction(objective) / weight_unit(instance) * (-1 if instance.is_batch else 1)
    if _is_whole(instance, objective):
        nearest, lost = round(value), min(Fraction(1, 4), abs(value) / 2**50)
        return (nearest if abs(value - nearest) <= lost else math.ceil(value)) - 1
    below = math.floor(value - WIDTH * abs(value))
    return min(below, -1) if instance.is_batch else below  # each job of a batch is worth a unit


def excluded(instance: ElasticInstance, goal: int) -> tuple[str, Fraction]:
    """Return which objectives a goal excludes: "<=" or ">=", and a value."""
    unit = weight_unit(instance)
    return (">=", -goal * unit) if instance.is_batch else ("<=", goal * unit)


def space(instance: ElasticInstance, goal: int, proof: Mapping[str, Any]) -> ProgramSpace:
    """Return the set that a proof shows to be empty: the schedules of value <= goal.

    `goal`: from `goal`. `proof`: vectors with a key `p` are pools; its `cuts` are derived again.
    """
    return Model(instance, goal).space(proof)


def program(instance: ElasticInstance, goal: int) -> IntegerProgram:
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

    `goal`: from `goal`. `runs`: runs of each job. `starts`: [job][run] first slots. `cells`: (h, r,
    t) of each row after the jobs' rows. `kinds`: the kinds of cuts.

    Raises
    ------
    RefusedError
        If it is too large to be written down.
    """

    cliques: CliqueCut

    def __init__(self, instance: ElasticInstance, goal: int) -> None:
        self.is_batch, self.goal = instance.is_batch, goal
        self.capacity = _units(instance).capacity
        self.runs = _all_runs(instance)
        self.jobs = _windows(instance, goal, self.runs)
        self.before = min(job.first for job in self.jobs) - 1  # the slot before the first arrival
        self.last = max(job.end for job in self.jobs)
        self.columns: list[Column] = []
        self.cells: list[tuple[int, int, int]] = []
        numbers = (max(0, job.end - job.first - d + 1) for job in self.jobs for d, *_ in job.runs)
        slots = (self.last - self.before) * len(self.capacity) * len(instance.resources)
        if sum(numbers) > MAX_RUNS or slots > MAX_SLOTS:
            raise RefusedError("/model", "the program is too large to be written down")
        self.starts = [
            [list(range(job.first, job.end - run.duration + 1)) for run in job.runs]
            for job in self.jobs
        ]

    def cost(self, column: Column) -> int:
        """Return the coefficient of a column in the minimised value."""
        if column.run < 0:
            return 0
        job = self.jobs[column.job]
        end = column.start + job.runs[column.run].duration
        return -job.weight if self.is_batch else job.weight * end

    def priced(self, prices: Prices) -> list[list[int]]:
        """Return the costs and prices of the runs of each job, at all starts that are left."""
        return [
            [c for k, own in enumerate(runs) for c in self._costs(j, k, own, prices)]
            for j, runs in enumerate(self.starts)
        ]

    def keep(self, kept: list[list[bool]]) -> None:
        """Leave out starts, in the order of `priced`."""
        for runs, flags in zip(self.starts, map(iter, kept), strict=True):
            runs[:] = [[t for t in own if next(flags)] for own in runs]

    def _costs(self, j: int, k: int, starts: list[int], prices: Prices) -> list[int]:
        """Return the costs and prices of a run by start."""
        d, before = self.jobs[j].runs[k].duration, self.before
        total = [prices.o * self.cost(Column(j, k, t)) for t in starts]
        for key, amount in self.jobs[j].runs[k].use:
            if (sums := prices.until.get(key)) is not None:
                total = [
                    c + amount * (sums[t - before + d - 1] - sums[t - before - 1])
                    for c, t in zip(total, starts, strict=True)
                ]
        return total

    def write(self) -> None:
        """Write the program over the runs at the starts that are left."""
        rows: list[Row] = []
        usage: dict[tuple[int, int, int], dict[int, int]] = {}  # h, r, t
        entries = 0
        for j, runs in enumerate(self.starts):
            first = len(self.columns)
            found = [Column(j, k, t) for k, own in enumerate(runs) for t in own]
            found.sort(key=lambda c: (c.start + self.jobs[c.job].runs[c.run].duration, c))
            if self.is_batch:
                self.columns.append(Column(j, -1, 0))
            self.columns += found
            every = range(first, len(self.columns))
            rows.append((dict.fromkeys(every, 1), 1, 1))  # (2a), (7a)
            first = len(self.columns) - len(found)
            for i, column in enumerate(found, first):
                run = self.jobs[j].runs[column.run]
                entries += run.duration * len(run.use)
                if len(self.columns) > MAX_COLUMNS or entries > MAX_ENTRIES:
                    raise RefusedError("/model", "the program is too large to be written down")
                for (h, r), amount in run.use:
                    for t in range(column.start, column.start + run.duration):
                        usage.setdefault((h, r, t), {})[i] = amount
        for cell, own in sorted(usage.items()):
            most = dict[int, int]()  # by job
            for i, amount in own.items():
                j = self.columns[i].job
                most[j] = max(most.get(j, 0), amount)
            limit = self.capacity[cell[0]][cell[1]]
            if sum(most.values()) > limit:  # else it holds by itself
                rows.append((own, None, limit))  # (2h)
                self.cells.append(cell)
        width = len(self.columns)
        cost = [self.cost(column) for column in self.columns]
        self.program = IntegerProgram(cost, [0] * width, [1] * width, rows, self.goal)
        slots = SlotCut([column.job for column in self.columns])
        self.cliques = CliqueCut(self.program)
        self.kinds = {**CUTS, "clique": self.cliques, "slot": slots}


# --- what a job can do ---------------------------------------------------------------------------


class _Units(NamedTuple):
    """Amounts in whole units of each resource."""

    worker: list[list[int]]  # [m][r]
    ps: list[list[int]]  # [p][r]
    capacity: list[list[int]]  # [h][r]


def _units(instance: ElasticInstance) -> _Units:
    """Return demands rounded down, and capacities with the tolerance of V13."""
    types = [kind.demand for kind in instance.worker_types]
    types += [kind.demand for kind in instance.ps_types]
    columns = []
    for r in instance.resources:
        demands = [_decimal(demand.get(r, 0.0)) for demand in types]
        limits = [
            (_decimal(c) + TOLERANCE + 2 * Fraction(math.ulp(c))) * (1 + ROUNDING)
            for c in (server.capacity.get(r, 0.0) for server in instance.servers)
        ]
        unit = largest_step(demands)
        if max(demands) > MAX_UNITS * unit:
            unit = max(limits) / ROUNDED_UNITS
        columns.append([math.floor(amount / unit) for amount in demands + limits])
    rows = [list(row) for row in zip(*columns, strict=True)]
    m, n = len(instance.worker_types), len(types)
    return _Units(rows[:m], rows[m:n], rows[n:])


@lru_cache(maxsize=1)  # goals of one instance are refuted one after the other
def _all_runs(instance: ElasticInstance) -> list[list[Run]]:
    """Return the runs of each job on the empty servers that the first lemma leaves."""
    units = _units(instance)
    cells = len(instance.servers) * len(instance.resources)
    if len(instance.servers) > MAX_SERVERS:
        raise RefusedError("/model", f"more than {MAX_SERVERS} servers")
    most = MAX_CELLS // (cells * len(instance.jobs))
    return [_runs(instance, units, job, most) for job in instance.jobs]


def _runs(instance: ElasticInstance, units: _Units, job: Job, most: int) -> list[Run]:
    found = dict[tuple[int, ...], tuple[int, Place]]()
    limits = [limit for room in units.capacity for limit in room]
    slots: dict[tuple[int, int, int, bool], int] = {}
    for number, place in enumerate(_placements(instance, units, job)):
        if number >= most:
            raise RefusedError("/model", "too many placements to be listed")
        m, y, p, n, s = place
        use = [
            y[h] * units.worker[m][r] + (s * units.ps[p][r] if h == n else 0)
            for h, room in enumerate(units.capacity)
            for r in range(len(room))
        ]
        if all(a <= b for a, b in zip(use, limits, strict=True)):
            workers = sum(y)
            kind = m, p, workers, workers == (max(y) if instance.is_ring else y[n])
            if kind not in slots:
                slots[kind] = _duration(instance, job, *kind)
            key = tuple(use)
            found[key] = min((slots[kind], place), found.get(key, (slots[kind], place)))
    return _undominated(found, len(instance.resources))


def _placements(instance: ElasticInstance, units: _Units, job: Job) -> Iterator[Place]:
    """Yield the places of the runs of a job."""
    for m, worker in enumerate(instance.worker_types):
        if worker.id not in job.train_time:
            continue
        needed: dict[tuple[int, int], int] = {}  # PSs by type and workers on other servers
        limits = [_fit(room, units.worker[m]) for room in units.capacity]
        if min(job.chunks, sum(limits)) > MAX_WORKERS:
            raise RefusedError("/model", f"a job could use more than {MAX_WORKERS} workers")
        for y in _numbers(job.chunks, limits):
            if instance.is_ring:
                yield Place(m, y, -1, -1, 0)
                continue
            assert isinstance(job.update_time, dict)
            for p, kind in enumerate(instance.ps_types):
                for n in range(len(y)) if kind.id in job.update_time else ():
                    key = p, sum(y) - y[n]
                    if key not in needed:
                        needed[key] = _ps_needed(instance, m, *key)
                    yield Place(m, y, p, n, needed[key])


def _numbers(most: int, limits: list[int]) -> Iterator[tuple[int, ...]]:
    """Yield the numbers of workers by server, from 1 to `most` in all."""
    ys: list[int] = [0] * len(limits)

    def rest(h: int, left: int) -> Iterator[tuple[int, ...]]:
        if h == len(limits):
            if left < most:
                yield tuple(ys)
            return
        for y in range(min(left, limits[h]) + 1):
            ys[h] = y
            yield from rest(h + 1, left - y)

    return rest(0, most)


def _fit(room: list[int], demand: list[int]) -> int:
    """Return how many containers fit on a server; as many as the largest instance could ask for."""
    return min((limit // a for limit, a in zip(room, demand, strict=True) if a), default=10**9)


def _ps_needed(instance: ElasticInstance, m: int, p: int, away: int) -> int:
    """Return the number of PSs on a server that (2i) asks for; V11."""
    b = _decimal(instance.worker_types[m].demand[instance.bandwidth_resource])
    B = _decimal(instance.ps_types[p].demand[instance.bandwidth_resource])
    sent = b * away * (1 - ROUNDING) - TOLERANCE * (1 + ROUNDING)
    return max(1, math.ceil(sent / B))


def _duration(
    instance: ElasticInstance, job: Job, m: int, p: int, workers: int, central: bool
) -> int:
    """Return the least number of slots that the rules accept: (1) or (14), (2f), V10."""
    worker = instance.worker_types[m]
    slots = _decimal(job.train_time[worker.id])
    exchange = Fraction(0)
    if not central:
        b = _decimal(worker.demand[instance.bandwidth_resource])
        exchange = 2 * _decimal(job.gradient_size) / b
    if isinstance(job.update_time, dict):
        slots += _decimal(job.update_time[instance.ps_types[p].id]) + exchange
    else:
        slots += (_decimal(job.update_time) + exchange) * (workers - 1) / workers
    needed = job.work * slots * (1 - ROUNDING) - TOLERANCE * (1 + ROUNDING)
    return max(1, math.ceil(needed / workers))


def _undominated(found: Mapping[tuple[int, ...], tuple[int, Place]], resources: int) -> list[Run]:
    """Return the runs without those that are no shorter and use no less than another one."""
    kept: list[Run] = []
    # Of each server and resource: amounts that kept runs use, and, as bits, the runs that use so
    # much or less.
    cells: list[tuple[list[int], list[int]]] = [([-1], [0]) for _ in next(iter(found), ())]
    order = sorted(found.items(), key=lambda item: (item[1][0], sum(item[0]), item[0]))
    for use, (slots, place) in order:
        smaller = -1
        for a, (amounts, runs) in zip(use, cells, strict=True):
            smaller &= runs[bisect_right(amounts, a) - 1]
            if not smaller:
                break
        else:
            continue
        bit = 1 << len(kept)
        for a, (amounts, runs) in zip(use, cells, strict=True):
            at = bisect_left(amounts, a)
            if at == len(amounts) or amounts[at] != a:
                amounts.insert(at, a)
                runs.insert(at, runs[at - 1])
            runs[at:] = [own | bit for own in runs[at:]]
        used = ((divmod(k, resources), a) for k, a in enumerate(use) if a)
        kept.append(Run(slots, tuple(used), place))
        if len(kept) > MAX_KEPT:
            raise RefusedError("/model", "too many placements to be listed")
    return kept


# --- windows and weights -------------------------------------------------------------------------


def _windows(instance: ElasticInstance, goal: int, runs: list[list[Run]]) -> list[JobRuns]:
    """Return the runs of each job and the window of its lemma."""
    weights, last = _weights(instance), _latest(instance, runs)
    least = [
        job.arrival + min((run.duration for run in own), default=0)
        for job, own in zip(instance.jobs, runs, strict=True)
    ]
    slack = goal - sum(w * end for w, end in zip(weights, least, strict=True))
    jobs = []
    for job, own, weight, end in zip(instance.jobs, runs, weights, least, strict=True):
        latest = last if instance.is_batch or not weight else min(last, end + slack // weight)
        jobs.append(JobRuns(job.arrival, latest, weight, own))
    return jobs


def _latest(instance: ElasticInstance, runs: list[list[Run]]) -> int:
    """Return an upper limit on start + duration of all jobs."""
    durations = (max((run.duration for run in own), default=0) for own in runs)
    last = max(job.arrival for job in instance.jobs) + sum(durations)
    return last if instance.last_end is None else min(last, instance.last_end)


def _weights(instance: ElasticInstance) -> list[int]:
    """Return the weights in units; of a value to be minimised, rounded down."""
    unit = weight_unit(instance)
    sign = -1 if instance.is_batch else 1
    return [sign * math.floor(sign * _decimal(job.weight) / unit) for job in instance.jobs]


def weight_unit(instance: ElasticInstance) -> Fraction:
    """Return the largest unit of which all weights are multiples, or a coarser one."""
    weights = [_decimal(job.weight) for job in instance.jobs]
    unit = largest_step(weights)
    return unit if max(weights) <= MAX_UNITS * unit else max(weights) / ROUNDED_UNITS


def _is_whole(instance: ElasticInstance, objective: float) -> bool:
    """Return whether objective values are integers in units that doubles tell apart.

    A weight, its product and the sum are each rounded by a part of 2^-53. So below 2^50 units an
    objective is wrong by less than half a unit.
    """
    unit = weight_unit(instance)
    exact = all((_decimal(job.weight) / unit).denominator == 1 for job in instance.jobs)
    return exact and abs(Fraction(objective)) < 2**50 * unit


_decimal = lru_cache(maxsize=10_000)(as_fraction)
