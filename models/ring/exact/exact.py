"""`exact` (ours): bounds and lists, relaxations, then makespans refuted one by one."""

import math
from collections.abc import Callable
from typing import Any

from schedgap.instances.ring import RingInstance
from schedgap.models.method import MethodResult, RunContext
from schedgap.models.ring.bounds.solve_bounds import run_pattern_lp
from schedgap.models.ring.exact.interval_stages import (
    destructive_bound_stage,
    relaxation_stage,
    single_server_stage,
)
from schedgap.models.ring.heuristics.initial import initial_state, settled_result
from schedgap.models.ring.heuristics.local_search import search_stage
from schedgap.models.ring.programs import intervals
from schedgap.models.ring.programs.concurrent_sets import concurrent_sets
from schedgap.models.ring.programs.intervals import Detail
from schedgap.models.ring.rates import rate_table, refuted
from schedgap.models.search_state import Finder, SearchState, StageResult
from schedgap.solvers import Clock

MOST_WAYS = 300_000  # jobs x servers that a program for CP-SAT is built for
MANY_JOBS = 40  # from here on schedules with few spread jobs are looked for first
BOUND_SHARE, BOUND_SECONDS = 0.15, 15.0
SEARCH_SHARE, SEARCH_SECONDS = 0.4, 60.0
LANES_SHARE, LANES_SECONDS = 0.8, 150.0  # the same where jobs are many
RELAX_SHARE, RELAX_SECONDS = 0.1, 6.0  # of each of the relaxations
INSIDE_SHARE = 0.5
_NAMES = {"free": "contention-free", "pairs": "pair-contention", "meetings": "meetings"}
MOSTLY = 0.8  # of the work is that of jobs which no server can hold


def exact(instance: RingInstance, call: RunContext) -> MethodResult:
    """Run `exact`."""
    if proof := refuted(instance):
        return proof
    call.progress.phase("bounds and list schedules")
    found = initial_state(instance, call)
    if end := settled_result(instance, found):
        return end
    found.child(
        "pattern-lp",
        pattern_bound_stage,
        instance,
        clock=call.clock.share(BOUND_SHARE, most=BOUND_SECONDS),
        engine="highs",
    )
    if end := settled_result(instance, found):
        return end
    many = len(instance.jobs) >= MANY_JOBS
    call.progress.phase("local search")
    share, most = (LANES_SHARE, LANES_SECONDS) if many else (SEARCH_SHARE, SEARCH_SECONDS)
    if large := len(instance.jobs) * len(instance.servers) > MOST_WAYS:
        share, most = 1.0, math.inf
    found.child(
        "local-search",
        search_stage,
        instance,
        found.schedule,
        int(found.lower),
        orders=30 if many else 200,
        moves=2000 if many else 200,
        rounds=20 if many else 2,
        clock=call.clock.share(share, most=most),
    )
    if found.closed:
        return found.outcome()
    if large:
        found.trace["makespans"] = f"left out: more than {MOST_WAYS} pairs of job and server"
        return found.outcome()
    if many:
        call.progress.phase("jobs inside single servers")
        clock = call.clock.share(INSIDE_SHARE)
        _cp_sat(instance, found, "inside", single_server_stage, clock)
    details: tuple[Detail, ...] = ("free", "pairs")
    if _rings_prevail(instance):
        details = (*details, "meetings")
    for detail in details:
        if not found.closed:
            name = _NAMES[detail]
            call.progress.phase(name)
            clock = call.clock.share(RELAX_SHARE, most=RELAX_SECONDS)
            _cp_sat(instance, found, name, relaxation_stage, clock, detail)
    if not found.closed:
        call.progress.phase("refuting makespans")
        _cp_sat(instance, found, "makespans", destructive_bound_stage, call.clock, details[-1])
    return found.outcome()


def _rings_prevail(instance: RingInstance) -> bool:
    """Return whether jobs that no server can hold have most of the work, and few run at once.

    Relaxations without the contention may then be far off, and the program by meetings is often at
    once at its end.
    """
    table = rate_table(instance)
    work = [size * d for size, d in zip(table.size, table.best_slots, strict=True)]
    rings = [j for j, n in enumerate(table.fewest_servers) if n > 1]
    few = concurrent_sets(table, rings, intervals.MOST_SETS) is not None
    return few and sum(work[j] for j in rings) >= MOSTLY * sum(work)


def _cp_sat(
    instance: RingInstance,
    found: SearchState,
    name: str,
    stage: Callable[..., StageResult],
    clock: Clock,
    *more: Any,
) -> None:
    found.child(
        name,
        stage,
        instance,
        found.schedule,
        int(found.lower),
        *more,
        clock=clock,
        engine="cp-sat",
    )


def pattern_bound_stage(
    found: Finder, instance: RingInstance, *, clock: Clock, seed: int, threads: int
) -> StageResult:
    """Prove what the linear relaxations prove."""
    outcome = run_pattern_lp(instance, RunContext({}, "highs", clock, seed, found, threads))
    if outcome.certificate is not None:
        found.bound(outcome.certificate["value"], outcome.certificate)
    return StageResult(trace={"bound": outcome.bound, "seconds": round(clock.elapsed(), 3)})
