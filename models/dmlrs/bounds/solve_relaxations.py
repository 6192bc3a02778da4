"""The relaxations as bounds: each is joined to the engine that solves it, with a certificate."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.instances.dmlrs.compiled import Floats
from schedgap.models.dmlrs.bounds import column_generation, fluid
from schedgap.models.dmlrs.bounds.certificate_data import price_certificate, too_fine
from schedgap.models.dmlrs.bounds.certificates import check_certificate
from schedgap.models.dmlrs.bounds.job_alone import NO_PRICES, alone_bound
from schedgap.models.method import MethodResult, RunContext
from schedgap.solvers import solve


def _proved(instance: DmlrsInstance, prices: Floats, note: str = "", **trace: Any) -> MethodResult:
    """Return what prices prove: evaluated as they stand in the file."""
    certificate = price_certificate(prices)
    bound = check_certificate(instance, certificate)
    return MethodResult(
        bound=bound, note=note, trace=trace, certificate=certificate | {"value": bound}
    )


def _free(instance: DmlrsInstance) -> Floats:
    return np.zeros((instance.horizon, len(instance.resources)))


def _fluid(
    build: Callable[[DmlrsInstance], fluid.Fluid], size: Callable[[DmlrsInstance], int]
) -> Callable[[DmlrsInstance, RunContext], MethodResult]:
    """Return the method that judges the prices of a fluid program."""

    def run(instance: DmlrsInstance, call: RunContext) -> MethodResult:
        alone = alone_bound(instance)
        call.progress.bound(alone, NO_PRICES)
        columns, most = size(instance), call.options["max_columns"]
        if columns > most:
            note = f"too large: {columns} columns > max_columns={most}"
            return _proved(instance, _free(instance), note)
        call.progress.phase("building the program")
        made = build(instance)
        call.progress.phase("solving the relaxation")
        result = solve(
            made.program, "highs", clock=call.clock, threads=call.threads, seed=call.seed
        )
        if result.duals is None:
            note = f"the relaxation was not solved ({result.status})"
            return _proved(instance, _free(instance), note)
        value = None if result.objective is None else -result.objective + 0.0
        found = _proved(
            instance,
            made.prices(instance, result.duals),
            relaxation=value,
            columns=len(made.program.cost),
        )
        better = found.bound is not None and found.bound <= alone
        return found if better else _proved(instance, _free(instance), relaxation=value)

    return run


fluid_lp = _fluid(fluid.compact, fluid.compact_columns)
fluid_lp_disaggregated = _fluid(fluid.disaggregated, fluid.disaggregated_columns)


def colgen(instance: DmlrsInstance, call: RunContext) -> MethodResult:
    """Generate columns from the fluid program's prices; the better of both bounds."""
    grid = call.options["grid"]
    made = fluid.compact(instance)
    call.progress.bound(alone_bound(instance), NO_PRICES)
    call.progress.phase("solving the fluid program")
    result = solve(made.program, "highs", clock=call.clock, threads=call.threads, seed=call.seed)
    if result.duals is None:
        return _proved(instance, _free(instance), f"no prices to begin with ({result.status})")
    prices = made.prices(instance, result.duals)
    first = _proved(instance, prices)
    assert first.bound is not None
    call.progress.bound(first.bound, first.certificate)
    if too_fine(instance, grid):
        return replace(first, note=f"too large for columns: grid={grid} parts of the work")
    call.progress.phase("generating columns")
    found = column_generation.generate(
        instance,
        grid=grid,
        clock=call.clock,
        prices=prices,
        seed=call.seed,
        threads=call.threads,
        on_bound=lambda bound, at: call.progress.bound(bound, price_certificate(at, grid)),
    )
    master = None if found.objective is None else -found.objective + 0.0
    trace = {
        "fluid": first.bound,
        "master": master,
        "end": found.end,
        "rounds": found.rounds,
        "columns": len(found.tags),
    }
    if found.prices is None:
        return replace(first, note="stopped before the first columns", trace=trace)
    certificate = price_certificate(column_generation.prices_of(instance, found.prices), grid)
    bound = check_certificate(instance, certificate)
    if bound > first.bound:
        return replace(first, trace=trace)
    return MethodResult(bound=bound, trace=trace, certificate=certificate | {"value": bound})
