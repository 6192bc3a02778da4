"""Dorm: at each arrival and completion the placement that uses the cluster best, by a program.

The paper says that Dorm assigns resources by a mixed-integer program of utilization. Its limits on
unfairness and on changed jobs are ours, after the idea of Sun et al., ICDCS 2017.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from schedgap.instances.dmlrs import Counts, DmlrsInstance, DmlrsSchedule, arrays
from schedgap.instances.dmlrs.compiled import Floats
from schedgap.models.dmlrs.baselines.drf import dominant_shares
from schedgap.models.dmlrs.baselines.simulation import BEYOND, Active, Placed, simulate
from schedgap.models.dmlrs.throughput import bundles, widths
from schedgap.models.method import MethodResult, RunContext
from schedgap.solvers.children.clock import Clock
from schedgap.solvers.programs.arrays import LinearProgram
from schedgap.solvers.programs.rows import Rows

EVENT_SECONDS = 2.0  # for one program; the best placement by then is taken

Solve = Callable[[LinearProgram], Floats | None]  # values by column, None where none were found


@dataclass(frozen=True, slots=True)
class Limits:
    """What Dorm keeps to: None is no limit."""

    unfair: float | None  # theta_f: sum of |share - share under DRF|, for each resource
    changed: float | None  # theta_a: part of the running jobs that may be placed anew


def dorm(
    instance: DmlrsInstance, solve: Solve, limits: Limits, clock: Clock | None = None
) -> DmlrsSchedule:
    """Return the schedule that is placed anew whenever a job arrives or completes.

    Where none is found that keeps to the limits, unfairness is given free, then also changes.
    Between events all stays as it is, also in the last slot of a job, which may do more than is
    left. Jobs that never complete are not admitted.

    Parameters
    ----------
    solve : Callable
        Solves one program; None keeps the last placement of those who are still there.
    clock : Clock, optional
        When its time is up, that placement is kept at every event.

    Notes
    -----
    Source: Numerical results; completed by us. One program at each event, at most T.
    """
    there: tuple[int, ...] = ()
    placed: Placed = {}

    def decide(slot: int, active: Sequence[Active]) -> Placed:
        nonlocal there, placed
        jobs = tuple(each.job for each in active)
        if jobs != there:
            there = jobs
            placed = {i: counts for i, counts in placed.items() if i in jobs}
            placed = _place(instance, jobs, placed, solve, limits, clock) if jobs else {}
        return placed

    return simulate(instance, decide)


def _place(
    instance: DmlrsInstance,
    jobs: Sequence[int],
    before: Placed,
    solve: Solve,
    limits: Limits,
    clock: Clock | None,
) -> Placed:
    """Return the placement under the first limits that admit one, or that before."""
    for each in (limits, Limits(None, limits.changed), Limits(None, None)):
        if clock is not None and clock.expired():
            break
        values = solve(build(instance, jobs, before, each))
        if values is not None:
            return read(instance, jobs, values)
    return before


class Columns:
    """Where the columns of the program are, for `jobs` [a] on machines [h]."""

    def __init__(self, instance: DmlrsInstance, jobs: Sequence[int]) -> None:
        self.H = len(instance.machines)
        self.sizes = [len(bundles(instance, i).workers) for i in jobs]
        self.first = [0, *accumulate(self.sizes)]  # [a] of v: which bundle a job has
        self.workers = self.first[-1]  # w [a, h]
        self.ps = self.workers + len(jobs) * self.H  # s [a, h]
        self.off = self.ps + len(jobs) * self.H  # [a] distance from the share under DRF
        self.moved = self.off + len(jobs)  # [a] whether the placement changed
        self.number = self.moved + len(jobs)


def build(
    instance: DmlrsInstance, jobs: Sequence[int], before: Mapping[int, Counts], limits: Limits
) -> LinearProgram:
    """Return the program of one event: the negative of the utilization, summed over resources.

    Rows: `one` bundle for each job, its `workers` and `ps`, `capacity`; `share` and `unfair`
    (theta_f R); `moved` and `changed` (theta_a of the running jobs).
    """
    view, at = arrays(instance), Columns(instance, jobs)
    total = view.capacity.sum(axis=0)
    countable = total > 0
    cost = np.zeros(at.number)
    rows, all_h = Rows(at.number), np.arange(at.H)
    for a, i in enumerate(jobs):
        some, v = bundles(instance, i), np.arange(at.first[a], at.first[a + 1])
        cost[v] = -(some.demand[:, countable] / total[countable]).sum(axis=1)
        rows.add("one", (np.zeros_like(v), v, 1), upper=[1])
        for name, first, counts in (
            ("workers", at.workers, some.workers),
            ("ps", at.ps, some.ps),
        ):
            own = first + a * at.H + all_h
            rows.add(name, (0 * own, own, 1), (0 * v, v, -counts), lower=[0], upper=[0])
    for r in range(len(instance.resources)):
        terms = []
        for a, i in enumerate(jobs):
            terms.append((all_h, at.workers + a * at.H + all_h, view.worker_demand[i, r]))
            terms.append((all_h, at.ps + a * at.H + all_h, view.ps_demand[i, r]))
        rows.add("capacity", *terms, upper=view.capacity[:, r])
    if limits.unfair is not None:
        _fair(instance, jobs, at, rows, limits.unfair)
    if limits.changed is not None:
        _few_changes(instance, jobs, at, rows, before, limits.changed)
    upper, integer = np.ones(at.number), np.ones(at.number, dtype=bool)
    most = widths(instance)
    upper[at.workers : at.ps] = most.workers[list(jobs)].ravel()
    upper[at.ps : at.off] = most.ps[list(jobs)].ravel()
    upper[at.off : at.moved], integer[at.off : at.moved] = np.inf, False
    return LinearProgram(cost, np.zeros(at.number), upper, *rows.arrays(), integer)


def _fair(
    instance: DmlrsInstance, jobs: Sequence[int], at: Columns, rows: Rows, limit: float
) -> None:
    """Keep the shares of the dominant resources near those of DRF on the empty cluster."""
    view = arrays(instance)
    total = view.capacity.sum(axis=0)
    fair = dominant_shares(instance, [Active(i, BEYOND, BEYOND) for i in jobs])
    for a, i in enumerate(jobs):
        each = view.worker_demand[i] + view.ps_demand[i] / view.ratio[i]
        r = int(np.argmax(np.divide(each, total, out=np.zeros_like(each), where=total > 0)))
        room = total[r] or 1.0
        w, s = (sum(pair[k] for pair in fair.get(i, {}).values()) for k in (0, 1))
        goal = (w * view.worker_demand[i, r] + s * view.ps_demand[i, r]) / room
        v = np.arange(at.first[a], at.first[a + 1])
        share = bundles(instance, i).demand[:, r] / room
        for sign in (1, -1):
            terms = (0 * v, v, sign * share), ([0], [at.off + a], [-1])
            rows.add("share", *terms, upper=[sign * goal])
    off = at.off + np.arange(len(jobs))
    rows.add("unfair", (0 * off, off, 1), upper=[limit * len(instance.resources)])


def _few_changes(
    instance: DmlrsInstance,
    jobs: Sequence[int],
    at: Columns,
    rows: Rows,
    before: Mapping[int, Counts],
    limit: float,
) -> None:
    """Let at most a part of the running jobs hold other numbers on some machine."""
    running = [a for a, i in enumerate(jobs) if before.get(i)]
    if not running:
        return
    most, h = widths(instance), np.arange(at.H)
    for a in running:
        i = jobs[a]
        held = before[i]
        for first, wide, k in ((at.workers, most.workers, 0), (at.ps, most.ps, 1)):
            own = np.array([held.get(m, (0, 0))[k] for m in range(at.H)])
            columns = first + a * at.H + h
            moved = np.full_like(h, at.moved + a)
            rows.add("moved", (h, columns, 1), (h, moved, -wide[i]), upper=own)
            rows.add("moved", (h, columns, 1), (h, moved, own), lower=own)
    moved = at.moved + np.array(running)
    rows.add("changed", (0 * moved, moved, 1), upper=[math.floor(limit * len(running) + 1e-9)])


def read(instance: DmlrsInstance, jobs: Sequence[int], values: Floats) -> Placed:
    """Return the placement of a solution of the program."""
    at, counts = Columns(instance, jobs), np.round(values).astype(np.int64)
    placed: Placed = {}
    for a, i in enumerate(jobs):
        w = counts[at.workers + a * at.H :][: at.H]
        s = counts[at.ps + a * at.H :][: at.H]
        held = {int(h): (int(w[h]), int(s[h])) for h in np.flatnonzero(w + s)}
        if held:
            placed[i] = held
    return placed


def run_dorm(instance: DmlrsInstance, call: RunContext) -> MethodResult:
    """Run Dorm with an engine for its programs."""
    from schedgap.solvers.engines.solve import solve

    programs = unproved = 0

    def values(program: LinearProgram) -> Floats | None:
        nonlocal programs, unproved
        clock = Clock(min(EVENT_SECONDS, call.clock.remaining()))
        result = solve(
            program, call.engine or "highs", clock=clock, threads=call.threads, seed=call.seed
        )
        programs += 1
        unproved += result.status not in ("optimal", "infeasible")
        found: Floats | None = result.values
        return found

    limits = Limits(call.options["theta_f"], call.options["theta_a"])
    schedule = dorm(instance, values, limits, call.clock)
    note = "stopped: placements stay as they were" if call.clock.expired() else ""
    return MethodResult(schedule, note=note, trace={"programs": programs, "not_proved": unproved})
