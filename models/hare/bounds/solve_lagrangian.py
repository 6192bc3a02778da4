"""The bound `lagrangian`: prices of GPU time from the fluid program, improved by column generation.

The loop and its dual stabilisation are `mechanisms.restricted_master`; every bound on the way is
the Lagrangian bound of some prices, so it is valid whenever the loop is stopped.

References
----------
P. Wentges, "Weighted Dantzig-Wolfe decomposition for linear mixed-integer programming",
International Transactions in Operational Research 4 (1997): dual smoothing.
"""

import math
from dataclasses import replace
from typing import Annotated

from annotated_types import Ge

from schedgap.instances.hare import HareInstance
from schedgap.models.hare.bounds import fluid, lagrangian
from schedgap.models.hare.bounds.certificates import (
    critical_certificate,
    lagrangian_certificate,
    priced_certificate,
)
from schedgap.models.hare.bounds.solve_fluid import Cells, solve_fluid, unsolved
from schedgap.models.method import MethodResult, RunContext
from schedgap.solvers import Clock
from schedgap.solvers.programs.arrays import Floats

_COARSE = 2  # time steps in a job's shortest task during column generation
_SMOOTHING = 0.8
_GAP = 1e-4  # relative gap between master and bound at which the prices are good enough


def lagrangian_bound(
    instance: HareInstance,
    call: RunContext,
    *,
    cells: Cells = 100,
    rounds: Annotated[int, "rounds of column generation that improve the prices", Ge(0)] = 40,
    steps: Annotated[int, "time steps within the shortest task of a job", Ge(1)] = 16,
) -> MethodResult:
    """Return the best of the bounds of critical paths, fluid prices and improved prices.

    Column generation prices on a coarse time step; its last prices are evaluated on a fine one.
    """
    path_bound, path_certificate = critical_certificate(instance)
    call.progress.bound(path_bound, path_certificate)
    solution = solve_fluid(instance, replace(call, budget=call.budget.share(0.5)), cells)
    grid = solution.model.grid
    first = lagrangian.GpuPrices(grid, fluid.capacity_prices(solution.model, solution.duals))
    begin = call.clock.elapsed()
    bound, certificate = lagrangian_certificate(instance, first, steps=steps)
    call.progress.bound(bound, certificate)
    trace: dict[str, object] = {"fluid_prices": bound, "rounds": 0}
    # What remains after the last evaluation, which may take three times as long as this one.
    remaining = call.clock.remaining() - 3 * (call.clock.elapsed() - begin)
    if rounds and remaining > 0:
        call.progress.phase("improving the prices by column generation")
        plans = lagrangian.PlanMaster(instance, first, steps=_COARSE)

        def better(value: float, duals: Floats) -> None:
            call.progress.bound(
                value, priced_certificate(plans.prices(duals), value, steps=_COARSE)
            )

        solved = plans.master.solve(
            lambda duals: None if call.clock.expired() else plans.pricing(duals),
            clock=Clock(None if math.isinf(remaining) else remaining),
            smoothing=_SMOOTHING,
            gap=_GAP,
            rounds=rounds,
            duals=plans.duals(first),
            threads=call.threads,
            seed=call.seed,
            on_bound=better,
        )
        trace |= {"rounds": solved.result.rounds, "master": solved.result.objective}
        if solved.duals is not None:
            last = plans.prices(solved.duals)
            if solved.bound is not None and solved.bound > bound:
                bound = solved.bound
                certificate = priced_certificate(last, bound, steps=_COARSE)
            value, fine_certificate = lagrangian_certificate(instance, last, steps=steps)
            if value > bound:
                bound, certificate = value, fine_certificate
    if path_bound > bound:
        bound, certificate = path_bound, path_certificate
    return MethodResult(
        bound=bound, trace=trace, certificate=certificate, note=unsolved(solution.result)
    )
