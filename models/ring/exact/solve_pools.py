"""The choice among all schedules, (10)-(13), and the least limit, (14)-(16), as methods.

Joins the pools of `all_schedules` and the programs to the engines.
"""

import math
from typing import Annotated, Any, Literal

from schedgap.instances.ring import RingInstance
from schedgap.models.method import MethodResult, RunContext
from schedgap.models.ring.bounds.solve_load_limit import limit_bound
from schedgap.models.ring.exact import all_schedules
from schedgap.models.ring.programs import schedule_pool as pools
from schedgap.models.ring.simulator import schedule_metrics
from schedgap.solvers import solve

NO_PLAN = "no start and placement of all jobs is feasible"


def complete_pool(instance: RingInstance, call: RunContext) -> MethodResult:
    """Run method `complete-pool`: (10)-(13) over all schedules."""
    engine = call.engine or "highs"
    call.progress.phase("collecting schedules")
    latest = all_schedules.latest_end(instance, budget=call.budget)
    pool = all_schedules.complete_pool(instance, latest, call.clock.expired)
    if pool is None:
        return MethodResult(note="stopped before the pool was complete")
    if not pool:
        return MethodResult(infeasible=True, note=NO_PLAN)
    trace: dict[str, Any] = {"schedules": len(pool)}
    call.progress.phase(f"solving with {engine}")
    settings: dict[str, Any] = {
        "clock": call.clock, "threads": call.threads, "seed": call.seed, "grid": 1
    }  # fmt: skip
    if engine == "cp-sat":
        program = pools.build_cp_sat(instance, pool)
    else:
        relaxation = pools.build(instance, pool, relaxed=True)
        trace["lp_value"] = solve(relaxation, engine, **(settings | {"grid": None})).objective
        program = pools.build(instance, pool)
    result = solve(program, engine, **settings)
    if result.objective is None:
        return MethodResult(note="stopped before the first solution", trace=trace)
    if engine == "cp-sat":
        chosen = pools.read_cp_sat(result.values, pool)
    else:
        chosen = pools.read(program, instance)
    return MethodResult(
        chosen,
        bound=float(min(schedule.makespan for schedule in pool)),
        trace=trace | schedule_metrics(instance, chosen),
    )


def theta_feasible(
    instance: RingInstance,
    call: RunContext,
    *,
    form: Annotated[
        Literal["compact", "pool"],
        "any choice of GPUs (ours), or as printed: the choice among all schedules and GPU numbers "
        "up to the end of a first schedule; tiny instances, for teaching",
    ] = "compact",
) -> MethodResult:
    """Run method `theta-feasible`: the least limit of (14)-(16) with the estimates of (15)."""
    if form == "pool":
        return _pool_limit_bound(instance, call)
    return limit_bound(instance, call)


def _pool_limit_bound(instance: RingInstance, call: RunContext) -> MethodResult:
    """Bound the makespan by the least limit that some schedule keeps.

    It is a bound because an optimal schedule is among those enumerated. The limit is found by the
    enumeration; the program over the best schedules is solved too, and gives the same value.
    """
    call.progress.phase("collecting schedules")
    latest = all_schedules.latest_end(instance, budget=call.budget)
    found = all_schedules.limit_pool(instance, latest, call.clock.expired)
    if found is None:
        return MethodResult(note="stopped before the pool was complete")
    pool, limit = found
    if not pool:
        return MethodResult(infeasible=True, note=NO_PLAN)
    call.progress.phase("solving with highs")
    model = pools.build_limit(instance, pool)
    result = solve(model, "highs", clock=call.clock, threads=call.threads, seed=call.seed)
    trace = {"schedules": len(pool), "limit": limit, "engine_limit": result.objective}
    return MethodResult(bound=float(math.ceil(limit - 1e-6)), trace=trace)
