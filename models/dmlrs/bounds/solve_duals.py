"""The dual (10), (11) as methods: at the final prices of an online run, and over all schedules.

References
----------
N. Buchbinder, J. Naor, "The design of competitive online algorithms via a primal-dual approach",
Foundations and Trends in Theoretical Computer Science 3 (2009): dual solutions from online prices.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np

from schedgap.errors import UsageError
from schedgap.instances.dmlrs import DmlrsInstance, arrays
from schedgap.instances.dmlrs.compiled import Floats
from schedgap.models.dmlrs.algorithms.pd_ors import Across, pd_ors
from schedgap.models.dmlrs.algorithms.prices import final_prices
from schedgap.models.dmlrs.baselines.oasis import oasis
from schedgap.models.dmlrs.bounds.certificate_data import is_too_fine, price_certificate
from schedgap.models.dmlrs.bounds.certificates import check_certificate
from schedgap.models.dmlrs.bounds.solve_relaxations import bounded_state, report_value
from schedgap.models.dmlrs.programs import dual
from schedgap.models.method import MethodResult, RunContext
from schedgap.solvers import solve

GRID = 2000  # steps of the work; progress is rounded up
_ACROSS: Mapping[str, Across] = {
    "pd-ors": "round",
    "pd-ors-hull": "round-hull",
    "pd-ors-greedy": "greedy",
}


def dual_online(
    instance: DmlrsInstance,
    call: RunContext,
    *,
    of: Annotated[
        Literal["pd-ors", "pd-ors-hull", "pd-ors-greedy", "oasis"],
        "the online run that supplies the prices",
    ] = "pd-ors",
    **options: Any,
) -> MethodResult:
    """Price every schedule at full capacity with the final prices of a run.

    With all machines merged, a resource costs in a slot what it does on the cheapest machine. Any
    prices prove a bound (E9), and no schedule of the run is part of it.

    `options`: for the run; OASiS has only `prices` and `price_floor`.
    """
    state = bounded_state(instance, call)
    if of == "oasis":
        shared = {key: options[key] for key in ("prices", "price_floor") if key in options}
        run = oasis(instance, **shared, clock=call.clock)
    else:
        run = pd_ors(instance, **options, across=_ACROSS[of], seed=call.seed, clock=call.clock)
    state.trace |= run.trace
    if call.clock.expired():
        return state.outcome("stopped: every job alone")
    call.progress.phase("pricing at full capacity")
    too_fine = is_too_fine(instance, GRID)
    prices = merged_prices(instance, final_prices(instance, run))
    certificate = price_certificate(prices, None if too_fine else GRID)
    note = "too large for whole bundles: priced with fractional ones" if too_fine else ""
    report_value(state, instance, check_certificate(instance, certificate), certificate)
    return state.outcome(note)


def merged_prices(instance: DmlrsInstance, prices: Floats) -> Floats:
    """Return prices [t - 1, r]: of the cheapest machine that has the resource, 0 without one.

    `prices` [t - 1, h, r]: by machine.
    """
    least = np.where(arrays(instance).capacity > 0, prices, np.inf).min(axis=1)
    return np.where(np.isfinite(least), least, 0.0)


def dual_10(instance: DmlrsInstance, call: RunContext) -> MethodResult:
    """Solve the dual with a row for every schedule, and evaluate its prices."""
    state = bounded_state(instance, call)
    call.progress.phase("building a row for every schedule")
    try:
        model = dual.build(instance)
    except UsageError as error:
        return state.outcome(str(error))
    result = solve(
        model, call.engine or "highs", clock=call.clock, threads=call.threads, seed=call.seed
    )
    prices = np.zeros((instance.horizon, len(instance.resources)))
    for (t, r), price in model.p.items():
        prices[t - 1, r - 1] = max(0.0, price.value or 0.0)
    certificate = price_certificate(prices, GRID)
    report_value(state, instance, check_certificate(instance, certificate), certificate)
    state.trace |= {"rows": len(model.schedules), "relaxation": result.objective}
    return state.outcome("stopped: every job alone" if result.objective is None else "")
