"""The bounds: each joins one relaxation to the engine that solves it, with a certificate."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.instances.dmlrs.arrays import Floats
from schedgap.models.dmlrs.bounds import colgen, fluid
from schedgap.models.dmlrs.certificates import check_certificate
from schedgap.models.dmlrs.evidence import FINEST, price_certificate, too_fine
from schedgap.models.dmlrs.heuristics.starting import NO_PRICES, alone_bound
from schedgap.models.dmlrs.units import in_units
from schedgap.models.method import Call, Method, Option, Outcome
from schedgap.solvers import solve


def _proved(instance: DmlrsInstance, prices: Floats, note: str = "", **trace: Any) -> Outcome:
    """Return what prices prove: evaluated as they stand in the file."""
    certificate = price_certificate(prices)
    bound = check_certificate(instance, certificate)
    return Outcome(bound=bound, note=note, trace=trace, certificate=certificate | {"value": bound})


def _free(instance: DmlrsInstance) -> Floats:
    return np.zeros((instance.horizon, len(instance.resources)))


def _fluid(
    build: Callable[[DmlrsInstance], fluid.Fluid], size: Callable[[DmlrsInstance], int]
) -> Callable[[DmlrsInstance, Call], Outcome]:
    def run(instance: DmlrsInstance, call: Call) -> Outcome:
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


def columns(instance: DmlrsInstance, call: Call) -> Outcome:
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
    found = colgen.generate(
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
    certificate = price_certificate(colgen.prices_of(instance, found.prices), grid)
    bound = check_certificate(instance, certificate)
    if bound > first.bound:
        return replace(first, trace=trace)
    return Outcome(bound=bound, trace=trace, certificate=certificate | {"value": bound})


def trivial(instance: DmlrsInstance, call: Call) -> Outcome:
    """Give every job the cluster for itself."""
    return _proved(instance, _free(instance))


MAX_COLUMNS = Option(
    "max_columns", "int", 500_000, "give up when the program has more columns", least=1
)

METHODS: tuple[Method, ...] = (
    Method(
        "fluid-lp",
        "bound",
        in_units(_fluid(fluid.compact, fluid.compact_columns)),
        "all machines as one, workers divisible; prices judged by whole bundles",
        "(3)-(7), (10), (11)",
        ours=True,
        engines=("highs",),
        options=(MAX_COLUMNS,),
    ),
    Method(
        "fluid-lp-disaggregated",
        "bound",
        in_units(_fluid(fluid.disaggregated, fluid.disaggregated_columns)),
        "the same with parts of its own for each slot of completion; short horizons",
        "(3)-(7), (10), (11)",
        ours=True,
        engines=("highs",),
        options=(MAX_COLUMNS,),
    ),
    Method(
        "colgen",
        "bound",
        in_units(columns),
        "(8), (9) by columns of whole bundles, all machines as one",
        "(8)-(11), (15)",
        ours=True,
        engines=("highs",),
        options=(
            Option(
                "grid", "int", 3000, "parts of the work, progress rounded up", least=1, most=FINEST
            ),
        ),
    ),
    Method(
        "trivial",
        "bound",
        in_units(trivial),
        "every job alone at its soonest",
        "(3)-(7)",
        ours=True,
    ),
)
