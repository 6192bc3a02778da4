"""Dorm: at each arrival and completion, the placement of highest utilisation, by a program.

The paper says that Dorm assigns resources by a mixed-integer program of utilization. Its limits on
unfairness and on changed jobs are ours, after the idea of Sun et al., IEEE SMARTCOMP 2017.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

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
from schedgap.solvers.programs.builder import Block, ProgramBuilder

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


class DormColumns(NamedTuple):
    """The columns of the program, for `jobs` [a] on machines [h], and the builder that has them."""

    builder: ProgramBuilder
    bundle: list[Block]  # [a][k] choice of the bundle
    workers: Block  # [a, h]
    ps: Block  # [a, h]
    off: Block  # [a] distance from the share of DRF
    moved: Block  # [a] whether the placement changes


def _columns(instance: DmlrsInstance, jobs: Sequence[int]) -> DormColumns:
    """Return the columns; the cost of a bundle is minus its utilisation, summed over resources."""
    builder, total = ProgramBuilder(), arrays(instance).capacity.sum(axis=0)
    positive, limits, own = total > 0, machine_limits(instance), list(jobs)
    shape = len(own), len(instance.machines)
    bundle = []
    for i in own:
        demand = bundles(instance, i).demand[:, positive]
        cost = -(demand / total[positive]).sum(axis=1)
        bundle.append(builder.columns("bundle", len(demand), cost=cost, upper=1, integer=True))
    return DormColumns(
        builder,
        bundle,
        builder.columns("workers", shape, upper=limits.workers[own], integer=True),
        builder.columns("ps", shape, upper=limits.ps[own], integer=True),
        builder.columns("off", len(own)),
        builder.columns("moved", len(own), upper=1, integer=True),
    )


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
    view, columns, h = arrays(instance), _columns(instance, jobs), np.arange(len(instance.machines))
    rows = columns.builder.rows
    for a, i in enumerate(jobs):
        own, v = bundles(instance, i), columns.bundle[a].positions
        rows("one", 1, (0, v, 1), upper=1)
        for block, counts in ((columns.workers, own.workers), (columns.ps, own.ps)):
            rows(block.name, 1, (0, block.at(a, h), 1), (0, v, -counts), lower=0, upper=0)
    for r in range(len(instance.resources)):
        terms = []
        for a, i in enumerate(jobs):
            terms.append((h, columns.workers.at(a, h), view.worker_demand[i, r]))
            terms.append((h, columns.ps.at(a, h), view.ps_demand[i, r]))
        rows("capacity", len(h), *terms, upper=view.capacity[:, r])
    if limits.unfair is not None:
        _add_fairness(instance, jobs, columns, limits.unfair)
    if limits.changed is not None:
        _add_change_limit(instance, jobs, columns, before, limits.changed)
    return columns.builder.program()


def _add_fairness(
    instance: DmlrsInstance, jobs: Sequence[int], columns: DormColumns, limit: float
) -> None:
    """Keep the shares of the dominant resources near those of DRF on the empty cluster."""
    view, rows = arrays(instance), columns.builder.rows
    total = view.capacity.sum(axis=0)
    fair = dominant_shares(instance, [UnfinishedJob(i, UNBOUNDED, UNBOUNDED) for i in jobs])
    for a, i in enumerate(jobs):
        unit = view.worker_demand[i] + view.ps_demand[i] / view.ratio[i]
        r = int(np.argmax(np.divide(unit, total, out=np.zeros_like(unit), where=total > 0)))
        capacity = total[r] or 1.0
        w, s = (sum(pair[k] for pair in fair.get(i, {}).values()) for k in (0, 1))
        fair_share = (w * view.worker_demand[i, r] + s * view.ps_demand[i, r]) / capacity
        share = bundles(instance, i).demand[:, r] / capacity
        for sign in (1, -1):  # off >= |share - fair share|
            terms = (0, columns.bundle[a].positions, sign * share), (0, columns.off.at(a), -1)
            rows("share", 1, *terms, upper=sign * fair_share)
    rows("unfair", 1, (0, columns.off.positions, 1), upper=limit * len(instance.resources))


def _add_change_limit(
    instance: DmlrsInstance,
    jobs: Sequence[int],
    columns: DormColumns,
    before: Mapping[int, Counts],
    limit: float,
) -> None:
    """Let at most a share of the running jobs change their numbers on any machine."""
    running = [a for a, i in enumerate(jobs) if before.get(i)]
    if not running:
        return
    rows, limits, h = (
        columns.builder.rows,
        machine_limits(instance),
        np.arange(len(instance.machines)),
    )
    for a in running:
        i = jobs[a]
        pairs = (columns.workers, limits.workers[i]), (columns.ps, limits.ps[i])
        for k, (block, most) in enumerate(pairs):
            counts = np.array([before[i].get(m, (0, 0))[k] for m in h.tolist()])
            own, moved = (h, block.at(a, h), 1), columns.moved.at(a)
            rows("moved", len(h), own, (h, moved, -most), upper=counts)
            rows("moved", len(h), own, (h, moved, counts), lower=counts)
    allowed = math.floor(limit * len(running) + 1e-9)
    rows("changed", 1, (0, columns.moved.at(running), 1), upper=allowed)


def read(instance: DmlrsInstance, jobs: Sequence[int], values: Floats) -> Placements:
    """Return the placement of a solution of the program.

    Parameters
    ----------
    jobs : sequence of int
        As for `build`.
    values : array of float
        By column.
    """
    columns, placed = _columns(instance, jobs), Placements()
    workers, ps = (np.round(b.of(values)).astype(int) for b in (columns.workers, columns.ps))
    for a, i in enumerate(jobs):
        held = np.flatnonzero(workers[a] + ps[a]).tolist()
        if held:
            placed[i] = {h: (int(workers[a, h]), int(ps[a, h])) for h in held}
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
