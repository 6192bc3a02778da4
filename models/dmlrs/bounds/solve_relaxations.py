"""The relaxations as methods: each with the engine that solves it, and a certificate."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

from annotated_types import Ge, Le

from schedgap.instances.dmlrs import DmlrsInstance
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
    instance: DmlrsInstance,
    call: RunContext,
    *,
    max_columns: MaxColumns = 500_000,
    disaggregated: bool = False,
) -> MethodResult:
    """Return the bound that the prices of a fluid program prove.

    `disaggregated`: by slot of completion.
    """
    build, count = fluid.compact, fluid.compact_columns
    if disaggregated:
        build, count = fluid.disaggregated, fluid.disaggregated_columns
    call.progress.bound(alone_bound(instance), NO_PRICES)
    if (columns := count(instance)) > max_columns:
        note = f"too large: {columns} columns > max_columns={max_columns}"
        return certified(instance, NO_PRICES, note)
    call.progress.phase("building the program")
    relaxation = build(instance)
    call.progress.phase("solving the relaxation")
    result = solve(
        relaxation.program, "highs", clock=call.clock, threads=call.threads, seed=call.seed
    )
    if result.duals is None:
        return certified(instance, NO_PRICES, f"the relaxation was not solved ({result.status})")
    return certified(
        instance,
        price_certificate(relaxation.prices(result.duals)),
        relaxation=None if result.objective is None else -result.objective + 0.0,
        columns=len(relaxation.program.cost),
    )


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
    relaxation = fluid.compact(instance)
    call.progress.bound(alone_bound(instance), NO_PRICES)
    call.progress.phase("solving the fluid program")
    result = solve(
        relaxation.program, "highs", clock=call.clock, threads=call.threads, seed=call.seed
    )
    if result.duals is None:
        return certified(instance, NO_PRICES, f"no prices to begin with ({result.status})")
    prices = relaxation.prices(result.duals)
    first = certified(instance, price_certificate(prices))
    assert first.bound is not None
    call.progress.bound(first.bound, first.certificate)
    if is_too_fine(instance, grid):
        return replace(first, note=f"too large for columns: grid={grid} parts of the work")
    call.progress.phase("generating columns")
    generated = column_generation.generate(
        instance,
        grid=grid,
        budget=call.budget,
        prices=prices,
        on_bound=lambda bound, prices_then: call.progress.bound(
            bound, price_certificate(prices_then, grid)
        ),
    )
    master = None if generated.objective is None else -generated.objective + 0.0
    trace: dict[str, Any] = {
        "fluid": first.bound,
        "master": master,
        "end": generated.end,
        "rounds": generated.rounds,
        "columns": len(generated.tags),
    }
    if generated.prices is None:
        return replace(first, note="stopped before the first columns", trace=trace)
    found = certified(
        instance,
        price_certificate(column_generation.resource_prices(instance, generated.prices), grid),
        **trace,
    )
    assert found.bound is not None
    return replace(first, trace=trace) if found.bound > first.bound else found
