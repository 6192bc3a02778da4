"""The relaxations as methods: each with the engine that solves it, and a certificate."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, cast

from annotated_types import Ge, Le

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.instances.dmlrs.compiled import Floats
from schedgap.models.dmlrs.bounds import column_generation, fluid
from schedgap.models.dmlrs.bounds.certificate_data import is_too_fine, price_certificate
from schedgap.models.dmlrs.bounds.certificates import check_certificate
from schedgap.models.dmlrs.bounds.job_alone import NO_PRICES, alone_bound
from schedgap.models.method import MethodResult, RunContext
from schedgap.solvers import solve

MaxColumns = Annotated[int, "largest number of columns that is built", Ge(1)]


def certified(
    instance: DmlrsInstance, certificate: Mapping[str, Any], note: str = "", **trace: Any
) -> MethodResult:
    """Return the better of two bounds: a certificate's, and the sum over the jobs alone.

    The certificate is evaluated as it will be stored.
    """
    bound, alone = check_certificate(instance, certificate), alone_bound(instance)
    if bound > alone:
        bound, certificate = alone, NO_PRICES
    return MethodResult(
        bound=bound, note=note, trace=trace, certificate={**certificate, "value": bound}
    )


def fluid_lp(
    instance: DmlrsInstance, call: RunContext, *, max_columns: MaxColumns = 500_000
) -> MethodResult:
    """Return the bound that the prices of the fluid program prove."""
    if (columns := fluid.columns(instance)) > max_columns:
        note = f"too large: {columns} columns > max_columns={max_columns}"
        return certified(instance, NO_PRICES, note)
    return _fluid_bound(instance, call)[0]


def _fluid_bound(instance: DmlrsInstance, call: RunContext) -> tuple[MethodResult, Floats | None]:
    """Return the bound of the fluid program, and its prices [t, r]; None if it was not solved."""
    relaxation = fluid.build(instance)
    call.progress.bound(alone_bound(instance), NO_PRICES)
    call.progress.phase("solving the fluid program")
    result = solve(
        relaxation.program, "highs", clock=call.clock, threads=call.threads, seed=call.seed
    )
    if result.duals is None:
        note = f"the fluid program was not solved ({result.status})"
        return certified(instance, NO_PRICES, note), None
    prices = relaxation.prices(result.duals)
    found = certified(
        instance,
        price_certificate(prices),
        relaxation=None if result.objective is None else -result.objective + 0.0,
        columns=len(relaxation.program.cost),
    )
    return found, prices


def colgen(
    instance: DmlrsInstance,
    call: RunContext,
    *,
    grid: Annotated[
        int,
        "number of grid steps of a job's work; progress is rounded up",
        Ge(1),
        Le(100_000),
    ] = 3000,
) -> MethodResult:
    """Generate columns from the prices of the fluid program; return the better of both bounds."""
    best, prices = _fluid_bound(instance, call)
    if prices is None:
        return best
    if is_too_fine(instance, grid):
        return replace(best, note=f"too large for columns: grid={grid} parts of the work")
    call.progress.bound(cast(float, best.bound), best.certificate)
    call.progress.phase("generating columns")

    def report(bound: float, prices_then: Floats) -> None:
        nonlocal best
        if bound < cast(float, best.bound):
            certificate = price_certificate(prices_then, grid) | {"value": bound}
            best = replace(best, bound=bound, certificate=certificate)
            call.progress.bound(bound, certificate)

    fluid_bound = best.bound
    generated = column_generation.generate(
        instance, grid=grid, budget=call.budget, prices=prices, on_bound=report
    )
    trace = {
        "fluid": fluid_bound,
        "master": None if generated.objective is None else -generated.objective + 0.0,
        "end": generated.end,
        "rounds": generated.rounds,
        "columns": len(generated.tags),
    }
    note = "stopped before the first columns" if generated.prices is None else ""
    return replace(best, note=note, trace=trace)
