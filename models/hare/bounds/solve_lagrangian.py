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
from functools import partial
from typing import Annotated

from annotated_types import Ge

from schedgap.instances.hare import HareInstance
from schedgap.models.hare.bounds.certificates import (
    critical_certificate,
    lagrangian_certificate,
    priced_certificate,
)
from schedgap.models.hare.bounds.lagrangian import PlanMaster
from schedgap.models.hare.bounds.solve_fluid import Cells, solve_fluid
from schedgap.models.method import MethodResult, RunContext
from schedgap.solvers import Clock
from schedgap.solvers.programs.arrays import Floats

_FEW = 10  # cells of the first fluid program, whose prices come within seconds at full scale
_COARSE = 8  # time steps in a job's shortest task during column generation
_SMOOTHING = 0.8
_GAP = 1e-3  # relative gap between master and bound at which a box is done
_RAISED = 1e-4  # relative gain of a box after which another one follows
_LAST = 2.5  # largest time of the last evaluation, relative to the first


def lagrangian_bound(
    instance: HareInstance,
    call: RunContext,
    *,
    cells: Cells = 50,
    rounds: Annotated[int, "rounds of column generation that improve the prices", Ge(0)] = 40,
    steps: Annotated[int, "time steps within the shortest task of a job", Ge(1)] = 16,
) -> MethodResult:
    """Return the best of the bounds of critical paths, fluid prices and improved prices.

    Column generation prices on a coarse time step; its last prices are evaluated on a fine one.
    """
    best = critical_certificate(instance)
    call.progress.bound(*best)

    def offer(value: float, certificate: dict[str, object]) -> None:
        nonlocal best
        if value > best[0]:
            best = value, certificate
            call.progress.bound(*best)

    def better(plans: PlanMaster, value: float, duals: Floats) -> None:
        offer(value, priced_certificate(plans.prices(duals), value, steps=_COARSE))

    solution = solve_fluid(instance, replace(call, budget=call.budget.share(0.6)), min(_FEW, cells))
    prices = solution.prices
    begin = call.clock.elapsed()
    offer(*lagrangian_certificate(instance, prices, steps=min(_COARSE, steps)))
    reserve = _LAST * (call.clock.elapsed() - begin)
    trace: dict[str, object] = {"fluid_prices": best[0], "rounds": 0}
    if cells > _FEW and call.clock.remaining() > reserve:
        finer = solve_fluid(instance, replace(call, budget=call.budget.share(0.5)), cells)
        if finer.result.duals is not None:
            solution, prices = finer, finer.prices
    remaining = call.clock.remaining() - reserve
    clock = Clock(None if math.isinf(remaining) else remaining)
    left, raised = rounds, remaining > 0
    while left > 0 and raised and not clock.expired():  # one box of duals after another
        call.progress.phase("improving the prices by column generation")
        plans, before = PlanMaster(instance, prices, steps=_COARSE), best[0]
        solved = plans.master.solve(
            plans.pricing,
            clock=clock,
            smoothing=_SMOOTHING,
            gap=_GAP,
            rounds=left,
            duals=plans.duals(prices),
            threads=call.threads,
            seed=call.seed,
            on_bound=partial(better, plans),
        )
        left -= max(1, solved.result.rounds)
        raised = best[0] > before + _RAISED * abs(before)
        trace |= {"rounds": rounds - left, "master": solved.result.objective}
        if solved.duals is not None:
            prices = plans.prices(solved.duals)
    offer(*lagrangian_certificate(instance, prices, steps=steps))
    return MethodResult(bound=best[0], trace=trace, certificate=best[1], note=solution.note)
