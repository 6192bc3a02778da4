"""`exact` (ours): CP-SAT on intervals, prices by column generation, and the groups they leave.

CP-SAT settles small networks and finds schedules. Beyond, prices prove: their bound L is within a
few per cent, and a schedule with an objective up to a goal above L can use few groups. A program
over these decides whether there is one; if not, the goal is raised. The first schedule found so is
optimal, and every goal that fails is a bound.
"""

import math
from collections.abc import Sequence
from typing import Any

from schedgap.instances.edge import EdgeInstance, EdgeSchedule
from schedgap.models.bracket import Bracket, Finder, Report, solve_program
from schedgap.models.edge import mode_arrays, program_cp_sat
from schedgap.models.edge.column_bound import certificate, solve_bound, too_large
from schedgap.models.edge.fixing import Kept, keep, last_slot
from schedgap.models.edge.placements import Run, runs_from, schedule_of
from schedgap.models.edge.prices import Prices
from schedgap.models.edge.problem import no_schedule, problem
from schedgap.models.edge.starting import first_bracket, sense
from schedgap.models.method import Call, Outcome
from schedgap.solvers import Clock

FIRST_SHARE, FIRST_SECONDS = 0.2, 5.0  # of CP-SAT on all groups
PRICE_SHARE = 0.4
GOAL_SHARE = 0.25  # of what is left, for one goal
QUICK = 0.05  # a goal that took no more of what is left doubles the step to the next one
MOST_GROUPS = 40_000  # in one program


def exact(instance: EdgeInstance, call: Call) -> Outcome:
    """Run `exact`."""
    if reason := no_schedule(instance):
        return Outcome(infeasible=True, note=reason)
    found = first_bracket(instance, call)
    if found.closed:
        return found.outcome()
    if instance.is_batch:
        return _batch(instance, found)
    _search(instance, found, call.clock.share(FIRST_SHARE, most=FIRST_SECONDS))
    if found.closed:
        return found.outcome()
    prices = _price(instance, found, call.clock.share(PRICE_SHARE))
    if prices is not None and not found.closed:
        _settle(instance, found, prices)
    elif not found.closed and not call.clock.expired():
        _search(instance, found, call.clock)
    return found.outcome()


def _batch(instance: EdgeInstance, found: Bracket) -> Outcome:
    """Search, bound, and search again what is left between."""
    clock = found.call.clock
    _search(instance, found, clock.share(0.5))
    if not found.closed:
        _price(instance, found, clock.share(0.5))
    if not found.closed and not clock.expired():
        _search(instance, found, clock)
    return found.outcome()


def _search(
    instance: EdgeInstance, found: Bracket, clock: Clock, kept: Kept | None = None
) -> None:
    """Search with CP-SAT, on all groups or on those that something better can use."""
    found.call.progress.phase("CP-SAT on intervals")
    found.child(
        "cp-sat" if kept is None else "cp-sat on groups",
        f"{__name__}:search_stage",
        instance,
        found.schedule,
        found.lower,
        kept,
        clock=clock,
        engine="cp-sat",
    )


def _price(instance: EdgeInstance, found: Bracket, clock: Clock) -> Prices | None:
    """Solve the relaxation as far as an optimal schedule can reach."""
    view, slots = problem(instance), problem(instance).slots
    if found.upper is not None and not instance.is_batch:
        slots = last_slot(view, int(found.upper)) - view.first + 1
    if reason := too_large(view, slots):
        found.trace["prices"] = reason
        return None
    found.call.progress.phase("generating columns")
    report = found.child(
        "prices",
        f"{__name__}:price_stage",
        instance,
        found.schedule,
        slots,
        clock=clock,
        engine="highs",
    )
    if report is None:
        return None
    prices: Prices | None = report.value
    return prices


def _settle(instance: EdgeInstance, found: Bracket, prices: Prices) -> None:
    """Raise the goal from the bound on; where that ends, look for better schedules."""
    view, call = problem(instance), found.call
    step, stuck = 1, False
    while not found.closed and not call.clock.expired():
        goal = int(found.lower) + step - 1
        if found.upper is not None:
            goal = min(goal, int(found.upper) - 1)
        kept = keep(view, prices, goal + 1)
        if kept.hopeless:
            found.bound(goal + 1)
            step *= 2
            continue
        call.progress.phase(f"is there a schedule of {goal}: {len(kept.groups)} groups")
        left = call.clock.remaining()
        lower = found.lower
        report = found.child(
            "goals",
            f"{__name__}:goal_stage",
            instance,
            kept,
            goal,
            clock=call.clock.share(GOAL_SHARE),
            engine="highs",
        )
        if report is not None and report.value:
            taken = left - call.clock.remaining()
            step = 2 * step if taken <= QUICK * left else step
            continue
        ...
