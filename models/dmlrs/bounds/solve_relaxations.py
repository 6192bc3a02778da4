"""The relaxations as methods: each with the engine that solves it, and a certificate."""

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
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


def _certified(
    instance: DmlrsInstance, prices: Floats, note: str = "", **trace: Any
) -> MethodResult:
    """Return the bound that prices prove, evaluated from the certificate as it will be stored."""
    certificate = price_certificate(prices)
    bound = check_certificate(instance, certificate)
    return MethodResult(
        bound=bound, note=note, trace=trace, certificate=certificate | {"value": bound}
    )


def _zero_prices(instance: DmlrsInstance) -> Floats:
    """Return prices of 0 [t, r]."""
    return np.zeros((instance.horizon, len(instance.resources)))


def _fluid(
    build: Callable[[DmlrsInstance], fluid.FluidRelaxation],
    columns: int,
    instance: DmlrsInstance,
    call: RunContext,
    limit: int,
) -> MethodResult:
    """Return the bound that the prices of a fluid program prove, if it is not too large."""
    alone = alone_bound(instance)
    call.progress.bound(alone, NO_PRICES)
    if columns > limit:
        note = f"too large: {columns} columns > max_columns={limit}"
        return _certified(instance, _zero_prices(instance), note)
    call.progress.phase("building the program")
    relaxation = build(instance)
    call.progress.phase("solving the relaxation")
    result = solve(
        relaxation.program, "highs", clock=call.clock, threads=call.threads, seed=call.seed
    )
    if result.duals is None:
        note = f"the relaxation was not solved ({result.status})"
        return _certified(instance, _zero_prices(instance), note)
    value = None if result.objective is None else -result.objective + 0.0
    certified = _certified(
        instance,
        relaxation.prices(result.duals),
        relaxation=value,
        columns=len(relaxation.program.cost),
    )
    better = certified.bound is not None and certified.bound <= alone
    return certified if better else _certified(instance, _zero_prices(instance), relaxation=value)


def fluid_lp(
    instance: DmlrsInstance, call: RunContext, *, max_columns: MaxColumns = 500_000
) -> MethodResult:
    """Bound by the compact fluid program."""
    columns = fluid.compact_columns(instance)
    return _fluid(fluid.compact, columns, instance, call, max_columns)


def fluid_lp_disaggregated(
    instance: DmlrsInstance, call: RunContext, *, max_columns: MaxColumns = 500_000
) -> MethodResult:
    """Bound by the fluid program that is disaggregated by slot of completion."""
    columns = fluid.disaggregated_columns(instance)
    return _fluid(fluid.disaggregated, columns, instance, call, max_columns)


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
        return _certified(
            instance, _zero_prices(instance), f"no prices to begin with ({result.status})"
        )
    prices = relaxation.prices(result.duals)
    first = _certified(instance, prices)
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
    trace = {
        "fluid": first.bound,
        "master": master,
        "end": generated.end,
        "rounds": generated.rounds,
        "columns": len(generated.tags),
    }
    if generated.prices is None:
        return replace(first, note="stopped before the first columns", trace=trace)
    certificate = price_certificate(
        column_generation.resource_prices(instance, generated.prices), grid
    )
    bound = check_certificate(instance, certificate)
    if bound > first.bound:
        return replace(first, trace=trace)
    return MethodResult(bound=bound, trace=trace, certificate=certificate | {"value": bound})
