"""The stage of `exact` with CP-SAT: a destructive bound.

Minimising the makespan says little about the bound. Deciding whether a schedule ends by H is much
easier for small H: most jobs cannot be spread any more, and there are few slots. So the bound is
raised from below by refuting one makespan after another. Plans of a relaxation become schedules
when they are simulated.

References
----------
R. Klein, A. Scholl, "Computing lower bounds by destructive improvement: an application to
resource-constrained project scheduling", European Journal of Operational Research 112 (1999).
C. P. Gomes, B. Selman, N. Crato, H. Kautz, "Heavy-tailed phenomena in satisfiability and constraint
satisfaction problems", Journal of Automated Reasoning 24 (2000): restarts with other seeds.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from schedgap.errors import ContradictionError, ScaleError
from schedgap.instances.ring import RingInstance, RingSchedule
from schedgap.models.method import Budget
from schedgap.models.ring.dispatch import ClusterState, Ints, dispatch, trial_schedule
from schedgap.models.ring.programs import intervals
from schedgap.models.ring.programs.intervals import Detail
from schedgap.models.ring.programs.jobs_as_intervals import Plan
from schedgap.models.ring.rates import rate_table
from schedgap.models.ring.simulator import Placement, schedule_of
from schedgap.models.search_state import StageProgress, StageResult
from schedgap.solvers import EngineResult, solve
from schedgap.solvers.engines.confirm import confirm
from schedgap.solvers.engines.results import SEEDS

STEP_SHARE = 0.12  # share of the remaining time for the first question about a makespan


def destructive_bound_stage(
    state: StageProgress,
    instance: RingInstance,
    incumbent: RingSchedule | None,
    lower: int,
    detail: Detail,
    *,
    budget: Budget,
) -> StageResult:
    """Refute one makespan after another until the bound meets the incumbent.

    The target is the smallest makespan that is not refuted. If the engine does not decide it in
    time, any schedule better than the incumbent is asked for next; a refutation of that closes the
    gap at once. Each target is asked for twice, by contention between pairs of rings and by
    `detail`: only plans of the former are found fast, only the latter refutes hard ones.

    `state`: receiver of schedules and bounds. `incumbent`: best known schedule. `lower`: lower
    bound on the makespan, slots. `detail`: how contention is modelled in the second question; after
    a plan of a relaxation that ends too late when simulated, the whole program is used.
    """
    try:
        return _destroy(state, instance, incumbent, lower, detail, budget)
    except ScaleError as error:  # numbers of the program are too large
        return StageResult(trace={"left_out": str(error)})


def _destroy(
    state: StageProgress,
    instance: RingInstance,
    incumbent: RingSchedule | None,
    lower: int,
    detail: Detail,
    budget: Budget,
) -> StageResult:
    """Run `destructive_bound_stage` on numbers that CP-SAT can take."""
    refuted = asked = 0
    if incumbent is None:
        result, plan = _ask(instance, instance.horizon, "sets", None, budget)
        if result.status == "infeasible":
            return StageResult(complete=True, infeasible=True)
        incumbent = None if plan is None else offer_plan(state, instance, *plan)
        if incumbent is None:
            return StageResult(trace={"asked": 1, "seconds": round(budget.clock.elapsed(), 3)})
    # Asked in turns, with other seeds each time: some seeds find a plan 30 times as fast as others.
    details: tuple[Detail, Detail] = ("pairs", detail)
    share, at_bound = STEP_SHARE, True  # at_bound: the target is the bound, not the incumbent
    while lower < incumbent.makespan and not budget.clock.expired():
        target, detail = lower if at_bound else incumbent.makespan - 1, details[asked % 2]
        part = replace(budget.share(share), seed=(budget.seed + asked) % SEEDS)
        asked += 1
        result, plan = _ask(instance, target, detail, incumbent, part)
        better = None if plan is None else offer_plan(state, instance, *plan)
        if better is not None and better.makespan < incumbent.makespan:
            incumbent = better
        if result.status == "infeasible":  # no schedule ends by the target
            refuted += 1
            lower = target + 1
            state.bound(lower)
        elif plan is not None and incumbent.makespan > target:  # the plan of a relaxation
            if detail == "sets":
                raise ContradictionError(f"a plan that ends by {target} cannot be executed")
            details = ("pairs", "sets")
        elif plan is None and asked % 2 == 0:  # undecided: the other target, with more time
            share, at_bound = min(1.0, 2 * share), not at_bound
    trace = {"asked": asked, "refuted": refuted, "seconds": round(budget.clock.elapsed(), 3)}
    return StageResult(complete=lower >= incumbent.makespan, trace=trace)


def _ask(
    instance: RingInstance,
    horizon: int,
    detail: Detail,
    incumbent: RingSchedule | None,
    budget: Budget,
) -> tuple[EngineResult, Plan | None]:
    """Ask for any plan that ends by `horizon`, with the incumbent, which ends later, as hints."""
    program = intervals.build(instance, horizon=horizon, detail=detail)
    if program is None:
        return EngineResult("infeasible", None, None), None
    hints = None if incumbent is None else program.start_from(incumbent)
    settings: dict[str, Any] = {
        "clock": budget.clock,
        "seed": budget.seed,
        "threads": budget.threads,
        "start": hints,
    }
    result = solve(program.model, "cp-sat", **settings)
    if result.status == "infeasible":
        result, _ = confirm(program.model, "cp-sat", result, **settings)
    return result, None if result.values is None else program.plan(result.values)


def offer_plan(
    state: StageProgress,
    instance: RingInstance,
    starts: Sequence[int],
    placements: Sequence[Placement],
) -> RingSchedule | None:
    """Offer the simulated schedule of a plan, and return it.

    `state`: receiver of the schedule. `starts`, `placements`: as of `simulated`.
    """
    schedule = simulated(instance, starts, placements)
    if schedule is not None:
        state.incumbent(schedule)
    return schedule


def simulated(
    instance: RingInstance, starts: Sequence[int], placements: Sequence[Placement]
) -> RingSchedule | None:
    """Return the simulated schedule of a plan; if that is infeasible, dispatch in its order.

    `starts`: [j] first slot. `placements`: [j] workers by server.
    """
    schedule = schedule_of(instance, starts, placements)
    return dispatch_in_order(instance, starts, placements) if schedule is None else schedule


def dispatch_in_order(
    instance: RingInstance, starts: Sequence[int], placements: Sequence[Placement]
) -> RingSchedule | None:
    """Dispatch the jobs in the order of their planned starts, each when its servers have room.

    `starts`: [j] planned first slot. `placements`: [j] workers by server.

    The result is None if a job ends after the horizon.
    """

    def choose(job: int, cluster: ClusterState) -> Ints | None:
        if any(cluster.idle_on[s] < count for s, count in placements[job].items()):
            return None
        chosen = []
        for s, count in placements[job].items():
            idle = np.flatnonzero(cluster.idle[cluster.first[s] : cluster.first[s + 1]])
            chosen.append(cluster.first[s] + idle[:count])
        return np.concatenate(chosen)

    order = sorted(range(len(starts)), key=lambda j: (starts[j], j))
    trial = dispatch(rate_table(instance), order, choose)
    return trial_schedule(instance, trial) if trial.feasible else None
