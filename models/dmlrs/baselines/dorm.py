"""Dorm: at each arrival and completion, the placement of highest utilisation, by a program.

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
from schedgap.models.dmlrs.baselines.simulation import (
    UNBOUNDED,
    Placements,
    UnfinishedJob,
    simulate,
)
from schedgap.models.dmlrs.throughput import bundles, machine_limits
from schedgap.models.method import MethodResult, RunContext
from schedgap.solvers.children.clock import Clock
from schedgap.solvers.programs.arrays import LinearProgram
from schedgap.solvers.programs.rows import Rows

EVENT_SECONDS = 2.0  # limit for one program; the best placement found is taken

Solve = Callable[[LinearProgram], Floats | None]  # values by column, None if there are none


@dataclass(frozen=True, slots=True)
class DormLimits:
    """The limits that Dorm keeps; None is no limit."""

    unfair: float | None  # theta_f: sum of |share - share under DRF|, for each resource
    changed: float | None  # theta_a: share of the running jobs whose placement may change


def dorm(
    instance: DmlrsInstance, solve: Solve, limits: DormLimits, clock: Clock | None = None
) -> DmlrsSchedule:
    """Return the schedule that is placed anew whenever a job arrives or completes.

    If no placement keeps the limits, the one on unfairness is dropped, then also the one on
    changes. Between events placements do not change, not even in the last slot of a job, which may
    do more than the remaining work. Jobs that never complete are not admitted.

    Parameters
    ----------
    solve : callable
        Solves one program; None keeps the last placement of the remaining jobs.
    limits : DormLimits
        Limits on unfairness and changes.
    clock : Clock, optional
        When it expires, placements are kept at every event.

    Notes
    -----
    Source: Numerical results; completed by us. One program at each event, at most T.
    """
    current: tuple[int, ...] = ()
    placement: Placements = {}

    def decide(slot: int, active: Sequence[UnfinishedJob]) -> Placements:
        nonlocal current, placement
        jobs = tuple(each.job for each in active)
        if jobs != current:
            current = jobs
            placement = {i: counts for i, counts in placement.items() if i in jobs}
            placement = _place(instance, jobs, placement, solve, limits, clock) if jobs else {}
        return placement

    return simulate(instance, decide)


def _place(
    instance: DmlrsInstance,
    jobs: Sequence[int],
    before: Placements,
    solve: Solve,
    limits: DormLimits,
    clock: Clock | None,
) -> Placements:
    """Return the placement under the first limits that admit one, or the previous placement."""
    for relaxed in (limits, DormLimits(None, limits.changed), DormLimits(None, None)):
        if clock is not None and clock.expired():
            break
        values = solve(build(instance, jobs, before, relaxed))
        if values is not None:
            return read(instance, jobs, values)
    return before


class DormColumns:
    """Positions of the columns of the program, for `jobs` [a] on machines [h]."""

    def __init__(self, instance: DmlrsInstance, jobs: Sequence[int]) -> None:
        self.H = len(instance.machines)
        self.sizes = [len(bundles(instance, i).workers) for i in jobs]
        self.first = [0, *accumulate(self.sizes)]  # [a] of v: choice of the bundle
        self.workers = self.first[-1]  # w [a, h]
        self.ps = self.workers + len(jobs) * self.H  # s [a, h]
        self.off = self.ps + len(jobs) * self.H  # [a] distance from the share of DRF
        self.moved = self.off + len(jobs)  # [a] whether the placement changed
        self.number = self.moved + len(jobs)


def build(
    instance: DmlrsInstance, jobs: Sequence[int], before: Mapping[int, Counts], limits: DormLimits
) -> LinearProgram:
    """Return the program of one event; it minimises minus the utilisation, summed over resources.

    Rows: `one` bundle for each job, its `workers` and `ps`, `capacity`; `share` and `unfair`
    (theta_f R); `moved` and `changed` (theta_a of the running jobs).

    Parameters
    ----------
    jobs : sequence of int
        Unfinished jobs [a].
    before : mapping
        Their previous placements.
    limits : DormLimits
        Limits on unfairness and changes.
    """
    view, layout = arrays(instance), DormColumns(instance, jobs)
    total = view.capacity.sum(axis=0)
    positive = total > 0
    cost = np.zeros(layout.number)
    rows, all_h = Rows(layout.number), np.arange(layout.H)
    for a, i in enumerate(jobs):
        job_bundles, v = bundles(instance, i), np.arange(layout.first[a], layout.first[a + 1])
        cost[v] = -(job_bundles.demand[:, positive] / total[positive]).sum(axis=1)
        rows.add("one", (np.zeros_like(v), v, 1), upper=[1])
        for name, first, counts in (
            ("workers", layout.workers, job_bundles.workers),
            ("ps", layout.ps, job_bundles.ps),
        ):
            columns = first + a * layout.H + all_h
            rows.add(name, (0 * columns, columns, 1), (0 * v, v, -counts), lower=[0], upper=[0])
    for r in range(len(instance.resources)):
        terms = []
        for a, i in enumerate(jobs):
            terms.append((all_h, layout.workers + a * layout.H + all_h, view.worker_demand[i, r]))
            terms.append((all_h, layout.ps + a * layout.H + all_h, view.ps_demand[i, r]))
        rows.add("capacity", *terms, upper=view.capacity[:, r])
    if limits.unfair is not None:
        _add_fairness(instance, jobs, layout, rows, limits.unfair)
    if limits.changed is not None:
        _add_change_limit(instance, jobs, layout, rows, before, limits.changed)
    upper, integer = np.ones(layout.number), np.ones(layout.number, dtype=bool)
    most = machine_limits(instance)
    upper[layout.workers : layout.ps] = most.workers[list(jobs)].ravel()
    upper[layout.ps : layout.off] = most.ps[list(jobs)].ravel()
    upper[layout.off : layout.moved], integer[layout.off : layout.moved] = np.inf, False
    return LinearProgram(cost, np.zeros(layout.number), upper, *rows.arrays(), integer)


def _add_fairness(
    instance: DmlrsInstance, jobs: Sequence[int], layout: DormColumns, rows: Rows, limit: float
) -> None:
    """Keep the shares of the dominant resources near those of DRF on the empty cluster."""
    view = arrays(instance)
    total = view.capacity.sum(axis=0)
    fair = dominant_shares(instance, [UnfinishedJob(i, UNBOUNDED, UNBOUNDED) for i in jobs])
    for a, i in enumerate(jobs):
        unit_demand = view.worker_demand[i] + view.ps_demand[i] / view.ratio[i]
        r = int(
            np.argmax(
                np.divide(unit_demand, total, out=np.zeros_like(unit_demand), where=total > 0)
            )
        )
        capacity = total[r] or 1.0
        w, s = (sum(pair[k] for pair in fair.get(i, {}).values()) for k in (0, 1))
        fair_share = (w * view.worker_demand[i, r] + s * view.ps_demand[i, r]) / capacity
        v = np.arange(layout.first[a], layout.first[a + 1])
        share = bundles(instance, i).demand[:, r] / capacity
        for sign in (1, -1):
            terms = (0 * v, v, sign * share), ([0], [layout.off + a], [-1])
            rows.add("share", *terms, upper=[sign * fair_share])
    off = layout.off + np.arange(len(jobs))
    rows.add("unfair", (0 * off, off, 1), upper=[limit * len(instance.resources)])


def _add_change_limit(
    instance: DmlrsInstance,
    jobs: Sequence[int],
    layout: DormColumns,
    rows: Rows,
    before: Mapping[int, Counts],
    limit: float,
) -> None:
    """Let at most a share of the running jobs change their numbers on any machine."""
    running = [a for a, i in enumerate(jobs) if before.get(i)]
    if not running:
        return
    limits, h = machine_limits(instance), np.arange(layout.H)
    for a in running:
        i = jobs[a]
        previous = before[i]
        for first, max_units, k in ((layout.workers, limits.workers, 0), (layout.ps, limits.ps, 1)):
            counts = np.array([previous.get(m, (0, 0))[k] for m in range(layout.H)])
            columns = first + a * layout.H + h
            moved = np.full_like(h, layout.moved + a)
            rows.add("moved", (h, columns, 1), (h, moved, -max_units[i]), upper=counts)
            rows.add("moved", (h, columns, 1), (h, moved, counts), lower=counts)
    moved = layout.moved + np.array(running)
    rows.add("changed", (0 * moved, moved, 1), upper=[math.floor(limit * len(running) + 1e-9)])


def read(instance: DmlrsInstance, jobs: Sequence[int], values: Floats) -> Placements:
    """Return the placement of a solution of the program.

    Parameters
    ----------
    jobs : sequence of int
        As for `build`.
    values : array of float
        By column.
    """
    layout, counts = DormColumns(instance, jobs), np.round(values).astype(np.int64)
    placed: Placements = {}
    for a, i in enumerate(jobs):
        w = counts[layout.workers + a * layout.H :][: layout.H]
        s = counts[layout.ps + a * layout.H :][: layout.H]
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

    limits = DormLimits(call.options["theta_f"], call.options["theta_a"])
    schedule = dorm(instance, values, limits, call.clock)
    note = "stopped: placements stay as they were" if call.clock.expired() else ""
    return MethodResult(schedule, note=note, trace={"programs": programs, "not_proved": unproved})
