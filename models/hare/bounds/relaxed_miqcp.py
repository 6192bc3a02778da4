"""The bound from the paper's relaxation as printed."""

from typing import Annotated

from schedgap.instances.hare import HareInstance
from schedgap.models.hare.programs.relaxation_arrays import separate_full_set
from schedgap.models.hare.programs.solve_relaxation import solve_relaxation
from schedgap.models.method import MethodResult, RunContext

MAX_CELLS = 20_000  # tasks x GPUs; beyond it, no cutting-plane loop ends in useful time


def relaxed_miqcp(
    instance: HareInstance,
    call: RunContext,
    *,
    horizon_cap: Annotated[
        bool, "bound the starts by the horizon: a stronger relaxation (E31)"
    ] = False,
) -> MethodResult:
    """Return the engine's bound on Hare_Sched_RL as printed, unless it is too large for cuts."""
    size = instance.number_of_tasks * len(instance.gpus)
    if size > MAX_CELLS:
        return MethodResult(
            note=f"{size} tasks x GPUs are too many (at most {MAX_CELLS}); use fluid-lp"
        )
    found = solve_relaxation(
        instance,
        call,
        separate_full_set,
        integer=True,
        horizon_cap=horizon_cap,
        on_bound=call.progress.bound,
    )
    note = "" if found.bound is not None else "stopped before the first bound"
    return MethodResult(bound=found.bound, trace=found.trace(), note=note)
