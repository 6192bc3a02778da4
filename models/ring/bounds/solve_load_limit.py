"""The least limit on the loads of GPUs, (14)-(16) in compact form, as a bound on the makespan.

Joins `programs.load_limit`, which proves that the limit is a bound, to an engine.
"""

from typing import Annotated, Any, Literal

from schedgap.instances.ring import RingInstance
from schedgap.models.method import MethodResult, RunContext
from schedgap.models.ring.bounds.solve_bounds import BoundsOnly, within_horizon
from schedgap.models.ring.programs import load_limit
from schedgap.models.ring.rates import rate_table
from schedgap.models.search_state import solve_program

MOST_COLUMNS = 200_000


def theta_feasible(
    instance: RingInstance,
    call: RunContext,
    *,
    form: Annotated[
        Literal["compact", "pool"],
        "any choice of GPUs (ours); `pool`, once an enumeration of all schedules, is the same",
    ] = "compact",
) -> MethodResult:
    """Bound the makespan by the least limit of (14)-(16) on the estimated loads of GPUs, (15).

    The instance must not be refuted by `no_schedule`.
    """
    table = rate_table(instance)
    loads = load_limit.estimated_loads(table)
    trivial = load_limit.trivial_limit(table, loads)
    call.progress.bound(float(trivial))
    kinds = len(set(zip(table.size, loads, strict=True)))
    trace: dict[str, Any] = {"kinds": kinds, "free": trivial}
    if kinds * table.gpus > MOST_COLUMNS:
        return MethodResult(
            bound=float(trivial),
            note="too large for the program: closed-form bound only",
            trace=trace,
        )
    call.progress.phase("solving with highs")
    bounds = BoundsOnly(call.progress, trivial)
    _, report = solve_program(
        bounds,
        load_limit.build(table, loads),
        "highs",
        budget=call.budget,
        read=lambda values: None,
        grid=1,
    )
    trace |= {"exact": report.complete, **report.trace}
    return within_horizon(instance, MethodResult(bound=float(bounds.lower), trace=trace))
