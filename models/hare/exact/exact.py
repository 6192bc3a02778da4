"""`exact` (ours): local search for a schedule, then two complete searches of different kinds.

CP-SAT settles small instances; branch and price, whose bounds are sums of exact numbers and trust
no engine, the others. All values are in grid steps.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from schedgap.errors import ScaleError
from schedgap.instances.hare import HareInstance, HareSchedule, arrays
from schedgap.models.hare.bounds.certificates import critical_certificate
from schedgap.models.hare.bounds.solve_lagrangian import lagrangian_bound
from schedgap.models.hare.decode import to_steps, value_of
from schedgap.models.hare.exact.branch_and_price import OUT_OF_TIME, BranchAndPrice, cells, refusal
from schedgap.models.hare.exact.rounded_instance import RoundedInstance, left_shifted, rounded_down
from schedgap.models.hare.exact.solve_programs import no_schedule
from schedgap.models.hare.heuristics.initial import initial_state, starting_schedules
from schedgap.models.hare.heuristics.local_search import local_search
from schedgap.models.hare.integer_time import Synchronization, grid, steps
from schedgap.models.hare.programs import intervals
from schedgap.models.method import MethodResult, NullProgress, RunContext
from schedgap.models.search_state import Finder, Relay, SearchState, StageResult, solve_program
from schedgap.solvers import Clock

MOVES = 150  # of the local search, for each task
SEARCH_SHARE, SEARCH_SECONDS = 0.08, 4.0
CP_SAT_SHARE, CP_SAT_SECONDS = 0.3, 4.0  # a cold start of its process included
LAGRANGIAN_SHARE, LAGRANGIAN_SECONDS = 0.3, 60.0
LAGRANGIAN_LARGE = 0.6  # of the time for instances that only bounds and searches can hold
LEAST_SEARCH = 30.0  # seconds of a search without a time limit
ROUNDED_SHARE = 0.7  # of the time for an instance rounded down to whole steps
CLOSE = 5e-7  # relative: what meets so nearly is one value where there is no grid
LAGRANGIAN = {"cells": 100, "rounds": 40, "steps": 16}  # the method's own defaults
MANY_CELLS = 2_000_000
MOST_TASKS = 5000  # larger ones are for the bounds and algorithms that scale


def exact(instance: HareInstance, call: RunContext) -> MethodResult:
    """Run `exact`."""
    synchronization: Synchronization = call.options["synchronization"]
    if proof := no_schedule(instance, synchronization):
        return proof
    try:
        steps(instance)
    except ScaleError as error:
        return _between(instance, call, synchronization, str(error))
    found = initial_state(instance, call, synchronization)
    if found.closed:
        return found.outcome()
    if arrays(instance).tasks > MOST_TASKS:
        return _large(instance, call, found, synchronization)
    if synchronization == "fixed":
        return _fixed(instance, call, found)
    _search(instance, found, call.clock.share(SEARCH_SHARE, most=SEARCH_SECONDS), MOVES)
    if found.closed:
        return found.outcome()
    clock = call.clock.share(CP_SAT_SHARE, most=CP_SAT_SECONDS)
    if _cp_sat(instance, found, clock, synchronization):
        # A second proof, of another kind, where it costs little.
        _tree(instance, found, call.clock.share(0.5, most=2.0 + clock.elapsed()))
        return found.outcome()
    if cells(instance, int(found.upper or 0)) > MANY_CELLS:  # the tree's first bound takes long
        _lagrangian(instance, found, call.clock.share(LAGRANGIAN_SHARE, most=LAGRANGIAN_SECONDS))
    if _tree(instance, found, call.clock):
        _search(instance, found, call.clock.share(0.5), 10 * MOVES)
        _cp_sat(instance, found, call.clock, synchronization)
    return found.outcome()


class _RoundedProgress(NullProgress):
    """What is found of an instance rounded down, on its way to the bracket of the instance."""

    def __init__(self, found: SearchState, down: RoundedInstance) -> None:
        self._found, self._down = found, down

    def incumbent(self, schedule: HareSchedule, objective: float) -> None:
        """Offer a schedule, whose times the bracket makes true."""
        self._found.offer(schedule)

    def bound(
        self,
        value: float,
        certificate: Mapping[str, Any] | None = None,
        *,
        confirmed: bool = True,
    ) -> None:
        """Pass a bound on; certificates are of the other instance."""
        self._found.bound(self._down.bound(value), confirmed=confirmed)


def _between(
    instance: HareInstance, call: RunContext, synchronization: Synchronization, reason: str
) -> MethodResult:
    """Solve the instance rounded down for a bound, and put the true times into its schedules."""
    found = SearchState(
        call,
        lambda schedule: schedule.value(instance),
        normalise=lambda schedule: left_shifted(instance, schedule, synchronization),
        tolerance=CLOSE,
    )
    found.bound(*critical_certificate(instance))
    for schedule in starting_schedules(instance, synchronization):
        found.offer(schedule)
    if not found.closed and synchronization == "relaxed":
        _search(instance, found, call.clock.share(SEARCH_SHARE, most=SEARCH_SECONDS), MOVES)
    down = rounded_down(instance)
    if down is None:
        note = f"{reason}; steps that are possible are longer than a task"
    else:
        note = (
            f"{reason}; the bound holds for times rounded down to {float(down.step):g} and weights "
            f"rounded down to {float(down.weight_step):g}"
        )
    if not found.closed and down is not None:
        share = call.clock.share(ROUNDED_SHARE)
        inner = exact(
            down.instance, replace(call, progress=_RoundedProgress(found, down), clock=share)
        )
        found.trace["rounded_down"] = dict(inner.trace)
    if not found.closed:
        _lagrangian(instance, found, call.clock)
    return found.outcome(note)


def _large(
    instance: HareInstance, call: RunContext, found: SearchState, synchronization: Synchronization
) -> MethodResult:
    """Bound by prices, and search for as long without a limit; what is left is for the search."""
    share = LAGRANGIAN_LARGE if synchronization == "relaxed" else 1.0
    _lagrangian(instance, found, call.clock.share(share))
    if synchronization == "relaxed" and not found.closed:
        clock = call.clock
        if clock.limit is None:
            clock = Clock(max(clock.elapsed(), LEAST_SEARCH))
        _search(instance, found, clock, MOVES)
    return found.outcome(f"too large for an exact search: over {MOST_TASKS} tasks")


def _search(instance: HareInstance, found: SearchState, clock: Clock, moves: int) -> None:
    """Run the local search with so many moves for each task."""
    found.call.progress.phase("local search")
    schedule = local_search(
        instance,
        clock=clock,
        seed=found.call.seed,
        moves=moves * arrays(instance).tasks,
        on_improvement=lambda schedule, value: found.offer(schedule),
    )
    found.offer(schedule)


def _fixed(instance: HareInstance, call: RunContext, found: SearchState) -> MethodResult:
    """Solve the scale-fixed variant: CP-SAT, helped by a bound of the relaxed problem."""
    if _cp_sat(instance, found, call.clock.share(0.3, most=10.0), "fixed"):
        return found.outcome()
    relaxed = initial_state(instance, replace(call, progress=NullProgress()), "relaxed")
    _tree(instance, relaxed, call.clock.share(0.3, most=20.0))
    found.bound(relaxed.lower, relaxed.certificate)
    _cp_sat(instance, found, call.clock, "fixed")
    return found.outcome()


def _cp_sat(
    instance: HareInstance, found: SearchState, clock: Clock, synchronization: Synchronization
) -> bool:
    """Search with CP-SAT; True when the search was complete."""
    found.call.progress.phase("CP-SAT")
    report = found.child(
        "cp-sat",
        cp_sat_stage,
        instance,
        found.schedule,
        found.lower,
        synchronization,
        clock=clock,
        engine="cp-sat",
    )
    return report is not None and report.complete


def _tree(instance: HareInstance, found: SearchState, clock: Clock) -> bool:
    """Run branch and price; True when it ended without a proof before its time was up."""
    found.call.progress.phase("branch and price")
    report = found.child(
        "branch-and-price",
        tree_stage,
        instance,
        found.schedule,
        clock=clock,
        engine="highs",
    )
    return report is not None and report.value == "given up"


def _lagrangian(instance: HareInstance, found: SearchState, clock: Clock) -> None:
    found.call.progress.phase("pricing GPU time")
    found.child("lagrangian", lagrangian_stage, instance, clock=clock, engine="highs")


def cp_sat_stage(
    found: Finder,
    instance: HareInstance,
    schedule: HareSchedule,
    lower: int,
    synchronization: Synchronization,
    *,
    clock: Clock,
    seed: int,
    threads: int,
) -> StageResult:
    """Search with CP-SAT from a schedule and a bound."""
    begin = to_steps(instance, schedule, synchronization)
    upper = value_of(instance, begin, schedule.gpu)
    model = intervals.build(instance, synchronization=synchronization, upper=upper, lower=lower)
    _, report = solve_program(
        found,
        model,
        "cp-sat",
        clock=clock,
        threads=threads,
        seed=seed,
        grid=1,
        start=intervals.start(instance, schedule, synchronization=synchronization),
        read=lambda values: intervals.read(values, instance),
    )
    return report


def tree_stage(
    found: Finder,
    instance: HareInstance,
    schedule: HareSchedule,
    *,
    clock: Clock,
    seed: int,
    threads: int,
) -> StageResult:
    """Run branch and price from a schedule."""
    upper = value_of(instance, to_steps(instance, schedule), schedule.gpu)
    if reason := refusal(instance, upper):
        return StageResult(value="given up", trace={"note": reason})
    tree = BranchAndPrice(
        instance,
        schedule,
        clock=clock,
        seed=seed,
        on_incumbent=found.offer,
        on_bound=found.bound,
    )
    result = tree.run()
    trace: dict[str, Any] = {
        "root_bound": steps(instance).to_objective(result.root)
        if math.isfinite(result.root)
        else None,
        "nodes": result.nodes,
        "columns": result.columns,
        "seconds": round(clock.elapsed(), 3),  # from the call on
    }
    if result.stopped:
        trace["stopped"] = result.stopped
    given_up = result.stopped not in ("", OUT_OF_TIME)
    return StageResult(
        complete=result.lower >= result.upper,
        trace=trace,
        value="given up" if given_up else None,
    )


def lagrangian_stage(
    found: Finder, instance: HareInstance, *, clock: Clock, seed: int, threads: int
) -> StageResult:
    """Find the bound that scales; what is proved on the way is sent at once."""
    scale = grid(instance)

    def to_grid(bound: float) -> float:
        """Round up to whole steps, with room for round-off."""
        return bound if scale is None else math.ceil(bound / scale * (1 - 1e-9) - 1e-6)

    progress = Relay(found, to_grid)
    outcome = lagrangian_bound(
        instance, RunContext(LAGRANGIAN, "highs", clock, seed, progress, threads)
    )
    if outcome.bound is not None:
        progress.bound(outcome.bound, outcome.certificate)
    return StageResult(trace={"bound": outcome.bound})
