"""The stages of `exact` that ask CP-SAT: relaxations minimised, makespans refuted one by one.

Minimising the whole program from a list schedule down says little about the bound. Asked for a
schedule that ends by H, with H small, most jobs cannot be spread any more, and there are few slots:
such questions are answered, so the bound climbs from below (a destructive bound).
"""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from schedgap.errors import ContradictionError, ScaleError
from schedgap.instances.ring import RingInstance, RingSchedule
from schedgap.models.ring.dispatch import Cluster, Ints, dispatch, trial_schedule
from schedgap.models.ring.programs import intervals
from schedgap.models.ring.programs.intervals import Detail
from schedgap.models.ring.rates import rate_table
from schedgap.models.ring.simulator import Placement, schedule_of
from schedgap.models.search_state import Finder, StageResult
from schedgap.solvers import Clock, EngineResult, solve
from schedgap.solvers.engines.confirm import confirm

STEP_SHARE = 0.3  # of what is left, for each makespan that is asked about


def _skip_if_out_of_range(stage: Callable[..., StageResult]) -> Callable[..., StageResult]:
    """Let a stage end with what it has where a program's numbers are too large."""

    @wraps(stage)
    def careful(*args: Any, **kwargs: Any) -> StageResult:
        try:
            return stage(*args, **kwargs)
        except ScaleError as error:
            return StageResult(trace={"left_out": str(error)})

    return careful


@_skip_if_out_of_range
def relaxation_stage(
    found: Finder,
    instance: RingInstance,
    known: RingSchedule | None,
    lower: int,
    detail: Detail,
    *,
    clock: Clock,
    seed: int,
    threads: int,
) -> StageResult:
    """Minimise the makespan in one program, mostly a relaxation, and execute the plans."""
    horizon = instance.horizon if known is None else known.makespan
    made = intervals.build(instance, horizon=horizon, detail=detail, least=lower)
    if made is None:
        return StageResult(complete=True, infeasible=True)
    program = made

    def better(value: float, values: Any) -> None:
        offer_plan(found, instance, *program.plan(values))

    result = solve(
        program.model,
        "cp-sat",
        clock=clock,
        threads=threads,
        seed=seed,
        grid=1,
        start=None if known is None else program.start_from(known),
        on_incumbent=better,
        on_bound=lambda bound: found.bound(bound, confirmed=False),
    )
    if result.values is not None:
        better(0.0, result.values)
    if result.status in ("optimal", "infeasible"):
        result, _ = confirm(
            program.model,
            "cp-sat",
            result,
            clock=clock,
            threads=threads,
            seed=seed,
            grid=1,
            on_incumbent=better,
        )
    done = result.status in ("optimal", "infeasible")
    if result.bound is not None:
        found.bound(result.bound, confirmed=done)
    refuted = result.status == "infeasible"
    if refuted and known is not None:
        raise ContradictionError(f"no plan ends by {horizon}, where a schedule does")
    return StageResult(
        infeasible=refuted,
        trace={
            "value": result.objective,
            "bound": result.bound,
            "seconds": round(clock.elapsed(), 3),
        },
        value=result.bound if done else None,
    )


def single_server_stage(
    found: Finder,
    instance: RingInstance,
    known: RingSchedule | None,
    lower: int,
    *,
    clock: Clock,
    seed: int,
    threads: int,
) -> StageResult:
    """Look for schedules in which no job is spread that fits into a server, by bisection.

    First at the bound, which would be a proof; a makespan at which nothing is found is no bound.
    """
    low, high = lower, instance.horizon + 1 if known is None else known.makespan
    target, asked = lower, 0
    while low < high and not clock.expired():
        asked += 1
        _, plan = _ask(
            instance, target, "free", known, clock.share(STEP_SHARE), seed, threads, inside=True
        )
        better = None if plan is None else offer_plan(found, instance, *plan)
        if better is not None and better.makespan < high:
            high, known = better.makespan, better
        else:
            low = target + 1
        target = (low + high - 1) // 2
    return StageResult(trace={"asked": asked, "seconds": round(clock.elapsed(), 3)})


@_skip_if_out_of_range
def destructive_bound_stage(
    found: Finder,
    instance: RingInstance,
    known: RingSchedule | None,
    lower: int,
    detail: Detail,
    *,
    clock: Clock,
    seed: int,
    threads: int,
) -> StageResult:
    """Ask whether there is a schedule of the least makespan that is not refuted, and go on.

    A makespan left open: then for any schedule that is better than the best. A `no` to that closes
    all between. `detail` is what is asked first; where a relaxation has a plan that cannot be
    executed in time, the whole program is asked from then on.
    """
    refuted = asked = 0
    if known is None:
        result, plan = _ask(instance, instance.horizon, "meetings", None, clock, seed, threads)
        if result.status == "infeasible":
            return StageResult(complete=True, infeasible=True)
        known = None if plan is None else offer_plan(found, instance, *plan)
        if known is None:
            return StageResult(trace={"asked": 1, "seconds": round(clock.elapsed(), 3)})
    share, below = STEP_SHARE, True
    while lower < known.makespan and not clock.expired():
        target = lower if below else known.makespan - 1
        asked += 1
        result, plan = _ask(instance, target, detail, known, clock.share(share), seed, threads)
        better = None if plan is None else offer_plan(found, instance, *plan)
        if better is not None and better.makespan < known.makespan:
            known = better
        if result.status == "infeasible":
            refuted += 1
            lower = target + 1
            found.bound(lower)
        elif plan is not None and known.makespan > target:
            if detail == "meetings":
                raise ContradictionError(f"a plan that ends by {target} cannot be executed")
            detail = "meetings"
        elif plan is None:
            if not below:
                share = min(1.0, 2 * share)
            below = not below
    trace = {"asked": asked, "refuted": refuted, "seconds": round(clock.elapsed(), 3)}
    return StageResult(complete=lower >= known.makespan, trace=trace)


def _ask(
    instance: RingInstance,
    horizon: int,
    detail: Detail,
    known: RingSchedule | None,
    clock: Clock,
    seed: int,
    threads: int,
    *,
    inside: bool = False,
) -> tuple[EngineResult, tuple[list[int], list[Placement]] | None]:
    """Ask for any plan that ends by `horizon`; hints from a schedule that ends later."""
    made = intervals.build(instance, horizon=horizon, detail=detail, one_server=inside)
    if made is None:
        return EngineResult("infeasible", None, None), None
    hints = None if known is None else made.start_from(known)
    settings: dict[str, Any] = {"clock": clock, "threads": threads, "seed": seed, "start": hints}
    result = solve(made.model, "cp-sat", **settings)
    if result.status == "infeasible":
        result, _ = confirm(made.model, "cp-sat", result, **settings)
    return result, None if result.values is None else made.plan(result.values)


def offer_plan(
    found: Finder, instance: RingInstance, starts: Sequence[int], placements: Sequence[Placement]
) -> RingSchedule | None:
    """Offer what starts and placements lead to; where they collide, the jobs in that order."""
    made = schedule_of(instance, starts, placements)
    if made is None:
        made = dispatch_in_order(instance, starts, placements)
    if made is not None:
        found.offer(made)
    return made


def dispatch_in_order(
    instance: RingInstance, starts: Sequence[int], placements: Sequence[Placement]
) -> RingSchedule | None:
    """Return the schedule of jobs in the order of their starts, each as soon as its place is free.

    None where the last one ends after the horizon.
    """

    def choose(job: int, cluster: Cluster) -> Ints | None:
        if any(cluster.idle_on[s] < count for s, count in placements[job].items()):
            return None
        taken = []
        for s, count in placements[job].items():
            idle = np.flatnonzero(cluster.idle[cluster.first[s] : cluster.first[s + 1]])
            taken.append(cluster.first[s] + idle[:count])
        return np.concatenate(taken)

    order = sorted(range(len(starts)), key=lambda j: (starts[j], j))
    trial = dispatch(rate_table(instance), order, choose)
    return trial_schedule(instance, trial) if trial.feasible else None
