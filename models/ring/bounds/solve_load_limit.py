"""The least limit on the loads of GPUs, (14)-(16) in compact form, as a bound on the makespan."""

from typing import Any

from schedgap.instances.ring import RingInstance
from schedgap.models.method import MethodResult, RunContext
from schedgap.models.ring.bounds.solve_bounds import BoundsOnly, within_horizon
from schedgap.models.ring.programs import load_limit
from schedgap.models.ring.rates import rate_table, refuted
from schedgap.models.search_state import solve_program

MOST_COLUMNS = 200_000


def limit_bound(instance: RingInstance, call: RunContext, loads: tuple[float, ...]) -> MethodResult:
    """Bound the makespan by the least limit on loads."""
    table = rate_table(instance)
    free = load_limit.trivial_limit(table, loads)
    call.progress.bound(float(free))
    kinds = len(set(zip(table.size, loads, strict=True)))
    trace: dict[str, Any] = {"kinds": kinds, "free": free}
    if kinds * table.gpus > MOST_COLUMNS:
        return MethodResult(bound=float(free), note="too large: free bound only", trace=trace)
    call.progress.phase("solving with highs")
    kept = BoundsOnly(call.progress, free)
    _, report = solve_program(
        kept,
        load_limit.build(table, loads),
        "highs",
        clock=call.clock,
        read=lambda values: None,
        threads=call.threads,
        seed=call.seed,
        grid=1,
    )
    trace |= {"exact": report.complete, **report.trace}
    return within_horizon(instance, MethodResult(bound=float(kept.lower), trace=trace))


def load_ilp(instance: RingInstance, call: RunContext) -> MethodResult:
    """Bound by the least limit where each job counts for its least execution time."""
    return refuted(instance) or limit_bound(instance, call, rate_table(instance).best_slots)
