"""Dorm: at each arrival and completion, the placement of highest utilisation, by a program.

The paper says that Dorm assigns resources by a mixed-integer program of utilization. Its limits on
unfairness and on changed jobs are ours, after the idea of Sun et al., IEEE SMARTCOMP 2017. So is
that the program merges all machines and its bundles are placed afterwards. Machine by machine, the
program takes seconds at the paper's size and is often not solved.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from annotated_types import Ge, Le

from schedgap.instances.dmlrs import Counts, DmlrsInstance, DmlrsSchedule, arrays
from schedgap.instances.dmlrs.compiled import Floats
from schedgap.models.dmlrs.baselines.drf import dominant_shares, extended
from schedgap.models.dmlrs.baselines.fifo import spread
from schedgap.models.dmlrs.baselines.simulation import (
    UNBOUNDED,
    Placements,
    UnfinishedJob,
    simulate,
)
from schedgap.models.dmlrs.throughput import bundles, machine_limits
from schedgap.models.method import MethodResult, RunContext
from schedgap.solvers.children.clock import Clock
from schedgap.solvers.engines.results import EngineResult
from schedgap.solvers.programs.arrays import LinearProgram
from schedgap.solvers.programs.builder import Block, ProgramBuilder

MAX_NODES = 1000  # limit for one program; the best placement found is taken
GAP = 1e-3  # relative, at which a program counts as solved

Solve = Callable[[LinearProgram], Floats | None]  # values by column, None if there are none


@dataclass(frozen=True, slots=True)
class DormLimits:
    """The limits that Dorm keeps; with None there is none."""

    unfair: float | None  # theta_f: sum of |share - share under DRF|, for each resource
    changed: float | None  # theta_a: share of the running jobs whose placement may change


def dorm(
    instance: DmlrsInstance,
    solve: Solve,
    limits: DormLimits,
    clock: Clock | None = None,
) -> DmlrsSchedule:
    """Return the schedule that is placed anew whenever a job arrives or completes.

    If no placement keeps the limits, the one on unfairness is dropped, then also the one on
    changes. Between events placements do not change, not even in the last slot of a job, which may
    do more than the remaining work. Jobs that never complete are not admitted.

    `solve`: solves one program; None keeps the last placement of the remaining jobs. `limits`:
    limits on unfairness and changes. `clock`: when it expires, placements are kept at every event.

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
            for relaxed in (limits, DormLimits(None, limits.changed), DormLimits(None, None)):
                if not jobs or (clock is not None and clock.expired()):
                    break
                found = _placed(instance, jobs, placement, solve, relaxed)
                if found is not None:
                    placement = found
                    break
        return placement

    return simulate(instance, decide)


def totals(counts: Counts) -> tuple[int, int]:
    """Return the workers and PSs of a job on all machines.

    `counts`: workers and PSs by machine.
    """
    return sum(w for w, _ in counts.values()), sum(s for _, s in counts.values())


def pack(
    instance: DmlrsInstance,
    chosen: Mapping[int, tuple[int, int]],
    before: Mapping[int, Counts],
) -> Placements:
    """Return placements of numbers of workers and PSs that fit on all machines together.

    A job whose numbers stay keeps its placement. The others are placed in order of arrival, each on
    the first machine that holds all of it. Otherwise a job is placed unit by unit on the first
    machine with room. What does not fit is left out.

    `chosen`: workers and PSs of each job.
    """
    view = arrays(instance)
    free = view.capacity_milli.copy()
    placed: Placements = {}

    def occupy(i: int, counts: Counts) -> None:
        for h, (w, s) in counts.items():
            free[h] -= w * view.worker_milli[i] + s * view.ps_milli[i]

    for i, numbers in chosen.items():
        if numbers == totals(before.get(i, {})) != (0, 0):
            placed[i] = dict(before[i])
            occupy(i, placed[i])
    for i in sorted(set(chosen) - set(placed), key=lambda i: (int(view.arrival[i]), i)):
        workers, _ = chosen[i]
        held = extended(instance, i, {}, workers, free) if workers else {}
        if held is None:
            held = spread(instance, i, workers, free)
            occupy(i, held)
        if held:
            placed[i] = held
    return placed


def _placed(
    instance: DmlrsInstance,
    jobs: Sequence[int],
    before: Placements,
    solve: Solve,
    limits: DormLimits,
) -> Placements | None:
    """Return the placement that the program with merged machines leads to; None without one."""
    kept = {i: totals(counts) for i, counts in before.items()}
    program = build(instance, jobs, kept, limits)
    values = solve(program.builder.program())
    if values is None:
        return None
    steps = np.round(program.steps.extract(values)).astype(int).tolist()
    chosen = {}
    for i, step, number in zip(jobs, program.step, steps, strict=True):
        own = bundles(instance, i)
        k = int(np.searchsorted(own.workers, step * number))
        chosen[i] = (int(own.workers[k]), int(own.ps[k])) if number else (0, 0)
    return pack(instance, chosen, before)


class DormColumns(NamedTuple):
    """The program with merged machines, for `jobs` [a]."""

    builder: ProgramBuilder
    steps: Block  # [a] workers, in steps of the least allowed number
    ps: Block  # [a]
    step: list[int]  # [a] workers of a step


def build(
    instance: DmlrsInstance,
    jobs: Sequence[int],
    before: Mapping[int, tuple[int, int]],
    limits: DormLimits,
) -> DormColumns:
    """Return the program of one event with all machines merged.

    It minimises minus the utilisation, summed over resources. Rows: `ps` PSs for the workers, no
    more than they need; `capacity`; `share` and `unfair` (theta_f R); `moved` and `changed`
    (theta_a of the running jobs).

    `jobs`: unfinished jobs [a]. `before`: their previous workers and PSs. `limits`: limits on
    unfairness and changes.
    """
    view, builder, own = arrays(instance), ProgramBuilder(), list(jobs)
    total = view.capacity.sum(axis=0)
    weight = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
    allowed = [bundles(instance, i) for i in own]
    step = [int(each.workers[0]) if len(each.workers) else 1 for each in allowed]
    fits = machine_limits(instance)
    widest = [
        min(int(each.workers[-1]), int(fits.workers[i].sum())) // unit if len(each.workers) else 0
        for i, each, unit in zip(own, allowed, step, strict=True)
    ]
    unit_demand = np.array(step)[:, None] * view.worker_demand[own]
    steps = builder.columns(
        "steps", len(own), cost=-unit_demand @ weight, upper=widest, integer=True
    )
    ps = builder.columns(
        "ps", len(own), cost=-view.ps_demand[own] @ weight, upper=fits.ps[own].sum(axis=1),
        integer=True,
    )  # fmt: skip
    for a, each in enumerate(allowed):
        per_step = step[a] / view.ratio[own[a]]
        # The surplus lies in [0, 1), up to rounding errors.
        surplus = each.ps - each.workers / view.ratio[own[a]]
        builder.rows(
            "ps", 1, (0, ps.at(a), 1), (0, steps.at(a), -per_step),
            lower=-1e-7, upper=float(surplus.max(initial=0.0)) + 1e-7,
        )  # fmt: skip
    for r in range(len(total)):
        terms = (0, steps.positions, unit_demand[:, r]), (0, ps.positions, view.ps_demand[own, r])
        builder.rows("capacity", 1, *terms, upper=total[r])
    columns = DormColumns(builder, steps, ps, step)
    if limits.unfair is not None:
        _add_fairness(instance, own, columns, limits.unfair)
    if limits.changed is not None:
        _add_change_limit(own, columns, widest, before, limits.changed)
    return columns


def _add_fairness(
    instance: DmlrsInstance, jobs: Sequence[int], columns: DormColumns, limit: float
) -> None:
    """Keep the shares of the dominant resources near DRF's shares on the empty cluster."""
    view, rows = arrays(instance), columns.builder.rows
    off = columns.builder.columns("off", len(jobs))
    for a, (i, r, capacity, fair_share) in enumerate(_fair_shares(instance, jobs)):
        worker, ps = view.worker_demand[i, r] / capacity, view.ps_demand[i, r] / capacity
        for sign in (1, -1):  # off >= |share - fair share|
            terms = (
                (0, columns.steps.at(a), sign * columns.step[a] * worker),
                (0, columns.ps.at(a), sign * ps),
                (0, off.at(a), -1),
            )
            rows("share", 1, *terms, upper=sign * fair_share)
    rows("unfair", 1, (0, off.positions, 1), upper=limit * len(instance.resources))


def _add_change_limit(
    jobs: Sequence[int],
    columns: DormColumns,
    widest: Sequence[int],
    before: Mapping[int, tuple[int, int]],
    limit: float,
) -> None:
    """Let at most a share of the running jobs change their numbers."""
    running = [a for a, i in enumerate(jobs) if before.get(i, (0, 0))[0]]
    if not running:
        return
    moved = columns.builder.columns("moved", len(jobs), upper=1, integer=True)
    rows = columns.builder.rows
    for a in running:
        count = before[jobs[a]][0] // columns.step[a]
        own = (0, columns.steps.at(a), 1)
        rows("moved", 1, own, (0, moved.at(a), -max(0, widest[a] - count)), upper=count)
        rows("moved", 1, own, (0, moved.at(a), count), lower=count)
    allowed = math.floor(limit * len(running) + 1e-9)
    rows("changed", 1, (0, moved.at(running), 1), upper=allowed)


def _fair_shares(
    instance: DmlrsInstance, jobs: Sequence[int]
) -> Iterator[tuple[int, int, float, float]]:
    """Yield each job, its dominant resource, the capacity of that, and its share under DRF."""
    view = arrays(instance)
    total = view.capacity.sum(axis=0)
    fair = dominant_shares(instance, [UnfinishedJob(i, UNBOUNDED, UNBOUNDED) for i in jobs])
    for i in jobs:
        unit = view.worker_demand[i] + view.ps_demand[i] / view.ratio[i]
        r = int(np.argmax(np.divide(unit, total, out=np.zeros_like(unit), where=total > 0)))
        capacity = float(total[r]) or 1.0
        w, s = totals(fair.get(i, {}))
        share = (w * view.worker_demand[i, r] + s * view.ps_demand[i, r]) / capacity
        yield i, r, capacity, float(share)


def run_dorm(
    instance: DmlrsInstance,
    call: RunContext,
    *,
    theta_f: Annotated[float, "limit on the unfairness, per resource", Ge(0), Le(1e6)] = 0.1,
    theta_a: Annotated[
        float, "largest share of running jobs whose placement may change", Ge(0), Le(1)
    ] = 0.2,
) -> MethodResult:
    """Run Dorm with an engine for its programs."""
    from schedgap.solvers.engines.solve import solve

    programs = unproved = 0

    def values(program: LinearProgram) -> Floats | None:
        nonlocal programs, unproved
        result = solve(
            program,
            call.engine or "highs",
            clock=call.clock,
            threads=call.threads,
            seed=call.seed,
            options={"mip_max_nodes": MAX_NODES, "mip_rel_gap": GAP},
        )
        programs += 1
        unproved += result.status not in ("optimal", "infeasible") and not _within(result, GAP)
        found: Floats | None = result.values
        return found

    limits = DormLimits(theta_f, theta_a)
    schedule = dorm(instance, values, limits, call.clock)
    note = "stopped: placements stay as they were" if call.clock.expired() else ""
    return MethodResult(schedule, note=note, trace={"programs": programs, "not_proved": unproved})


def _within(result: EngineResult, gap: float) -> bool:
    """Return whether an engine's bound is within a relative gap of its solution."""
    if result.objective is None or result.bound is None:
        return False
    return result.objective - result.bound <= gap * abs(result.objective) * (1 + 1e-9)
