"""The relaxations: each with the engine that solves it, reported to the search state of a method.

A method begins with the bound of every job alone; the fluid program gives prices, and column
generation better ones.
"""

import math
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from annotated_types import Ge, Le

from schedgap.instances.dmlrs import DmlrsInstance, DmlrsSchedule
from schedgap.instances.dmlrs.compiled import Floats
from schedgap.models.dmlrs.bounds import column_generation, completion_branches, fluid
from schedgap.models.dmlrs.bounds.certificate_data import (
    completion_certificate,
    is_too_fine,
    price_certificate,
    rounded_to_sum,
)
from schedgap.models.dmlrs.bounds.job_alone import NO_PRICES, alone_bound
from schedgap.models.dmlrs.bounds.pricing import priced_bound
from schedgap.models.dmlrs.rules import check
from schedgap.models.method import Budget, MethodResult, RunContext
from schedgap.models.search_state import SearchState
from schedgap.solvers import solve

MaxColumns = Annotated[int, "largest number of columns that is built", Ge(1)]
Report = Callable[[SearchState, DmlrsInstance, float, Mapping[str, Any] | None], None]


def bounded_state(instance: DmlrsInstance, call: RunContext) -> SearchState:
    """Return the search state of a call, without a schedule; its values are minus utilities."""

    def verified(schedule: DmlrsSchedule) -> DmlrsSchedule | None:
        broken = any(check(instance, schedule.to_data(instance), {}))
        return None if broken else schedule

    state = SearchState(
        call,
        lambda schedule: -float(schedule.value(instance)),
        to_objective=lambda value: -value + 0.0,  # no -0.0
        normalise=verified,
    )
    report_value(state, instance, alone_bound(instance), NO_PRICES)
    return state


def initial_state(instance: DmlrsInstance, call: RunContext) -> SearchState:
    """Return the search state of a call, with the empty schedule."""
    state = bounded_state(instance, call)
    report_bound(state, instance, alone_bound(instance), NO_PRICES)
    state.incumbent(DmlrsSchedule())
    return state


def report_value(
    state: SearchState, instance: DmlrsInstance, bound: float, certificate: Mapping[str, Any] | None
) -> None:
    """Report a bound on the sum of utilities to a search state."""
    state.bound(-bound, certificate and {**certificate, "value": bound})


def report_bound(
    state: SearchState, instance: DmlrsInstance, bound: float, certificate: Mapping[str, Any] | None
) -> None:
    """Report a bound on the sum of utilities, rounded down to an attainable sum."""
    report_value(state, instance, *rounded_to_sum(instance, bound, certificate))


def solve_fluid(
    state: SearchState, instance: DmlrsInstance, report: Report = report_bound
) -> Floats | None:
    """Report the fluid bound; return its prices [t, r], None if time ran out."""
    call = state.call
    call.progress.phase("solving the fluid program")
    relaxation = fluid.build(instance)
    result = solve(
        relaxation.program, "highs", clock=call.clock, seed=call.seed, threads=call.threads
    )
    if result.duals is None:
        state.trace["fluid"] = result.status
        return None
    prices = relaxation.prices(result.duals)
    state.trace["fluid"] = priced_bound(instance, prices)
    report(state, instance, state.trace["fluid"], price_certificate(prices))
    return prices


def solve_columns(
    state: SearchState,
    instance: DmlrsInstance,
    prices: Floats,
    *,
    grid: int,
    budget: Budget,
    report: Report = report_bound,
) -> Floats:
    """Report bounds by columns; return the prices [t, r] of the best one.

    `prices` [t, r]: prices to begin with, and to return if there is none. `grid`: steps of the
    work.
    """
    checkable = not is_too_fine(instance, grid)
    state.call.progress.phase("generating columns")
    columns = column_generation.generate(
        instance,
        grid=grid,
        budget=budget,
        prices=prices,
        on_bound=lambda bound, at: report(
            state, instance, bound, price_certificate(at, grid) if checkable else None
        ),
    )
    state.trace |= {
        "master": None if columns.objective is None else -columns.objective + 0.0,
        "end": columns.end,
        "rounds": columns.rounds,
        "columns": len(columns.tags),
    }
    if columns.prices is None:
        return prices
    return column_generation.resource_prices(instance, columns.prices)


def branch_on_completions(
    state: SearchState, instance: DmlrsInstance, prices: Floats, *, budget: Budget
) -> Floats:
    """Report bounds by branches on the completions of jobs; return the prices [t, r] before them.

    `prices` [t, r]: prices to begin with.
    """

    def on_bound(root: completion_branches.Part) -> None:
        value, branches, leaves = completion_branches.flattened(root)
        report_bound(state, instance, value, completion_certificate(branches, leaves))

    state.call.progress.phase("branching on completions")
    return completion_branches.branch_on_completions(
        instance,
        prices,
        upper=lambda: math.inf if state.upper is None else state.upper,
        budget=budget,
        on_bound=on_bound,
    )


def fluid_lp(
    instance: DmlrsInstance, call: RunContext, *, max_columns: MaxColumns = 500_000
) -> MethodResult:
    """Return the bound that the prices of the fluid program prove."""
    state = bounded_state(instance, call)
    if (columns := fluid.columns(instance)) > max_columns:
        return state.outcome(f"too large: {columns} columns > max_columns={max_columns}")
    prices = solve_fluid(state, instance, report_value)
    return state.outcome("the fluid program was not solved" if prices is None else "")


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
    state = bounded_state(instance, call)
    prices = solve_fluid(state, instance, report_value)
    if prices is None:
        return state.outcome("the fluid program was not solved")
    if is_too_fine(instance, grid):
        return state.outcome(f"too large for columns: grid={grid} parts of the work")
    solve_columns(state, instance, prices, grid=grid, budget=call.budget, report=report_value)
    return state.outcome("stopped before the first columns" if not state.trace["rounds"] else "")
