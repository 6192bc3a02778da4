"""The bounds from the paper's relaxation: as printed, and with row (9) for all sets of tasks."""

from dataclasses import replace
from typing import Annotated

from schedgap.instances.hare import HareInstance, arrays
from schedgap.models.hare.bounds.certificates import cut_certificate
from schedgap.models.hare.programs.relaxation_arrays import (
    Separate,
    separate_full_set,
    separate_prefixes,
)
from schedgap.models.hare.programs.solve_relaxation import has_few_cells, solve_relaxation
from schedgap.models.method import MethodResult, RunContext

MAX_CELLS = 20_000  # items x machines; beyond it, no cutting-plane loop ends in useful time


def relaxed_miqcp(
    instance: HareInstance,
    call: RunContext,
    *,
    horizon_cap: Annotated[
        bool, "bound the starts by the horizon: a stronger relaxation (E31)"
    ] = False,
) -> MethodResult:
    """Return the engine's bound on Hare_Sched_RL as printed."""
    return _bound(instance, call, separate_full_set, integer=True, horizon_cap=horizon_cap)


def relaxed_prefix(
    instance: HareInstance,
    call: RunContext,
    *,
    integer: Annotated[bool | None, "keep y binary; by default if tasks x GPUs <= 400"] = None,
) -> MethodResult:
    """Return the bound with row (9) for all sets of tasks, certified if y is continuous."""
    integer = has_few_cells(instance) if integer is None else integer
    return _bound(instance, call, separate_prefixes, integer=integer, horizon_cap=True)


def _bound(
    instance: HareInstance,
    call: RunContext,
    separate: Separate,
    *,
    integer: bool,
    horizon_cap: bool,
) -> MethodResult:
    """Return the bound of a relaxation, unless it is too large for cutting planes."""
    view = arrays(instance)
    size = view.tasks * view.gpus if integer else len(view.alike) * len(view.class_gpus)
    if size > MAX_CELLS:
        unit = "tasks x GPUs" if integer else "classes of tasks x classes of GPUs"
        return MethodResult(note=f"{size} {unit} are too many (at most {MAX_CELLS}); use fluid-lp")
    found = solve_relaxation(
        instance,
        call,
        separate,
        integer=integer,
        horizon_cap=horizon_cap,
        on_bound=call.progress.bound,
    )
    certificate = None
    if found.duals is not None:
        bound, certificate = cut_certificate(found)
        found = replace(found, bound=bound)
    note = "" if found.bound is not None else "stopped before the first bound"
    return MethodResult(bound=found.bound, trace=found.trace(), note=note, certificate=certificate)
