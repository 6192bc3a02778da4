"""The bound `lagrangian`: prices of GPU time from the fluid program, improved by column generation.

The loop and its dual stabilisation are `mechanisms.restricted_master`. Every bound on the way is
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
from schedgap.models.hare.bounds import fluid
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

_FEW = 10  # cells of the fluid program, whose prices come within seconds at full scale
# Least time steps up to the end of the grid: in the first box, and after it.
_COARSE, _FINE = 500, 4000
_SMOOTHING = 0.8
# Relative gap between master and bound at which a box is done: the first one, and a later one.
_GAP, _SMALL_GAP = 2e-3, 3e-4
_RAISED = 1e-4  # relative gain of a box after which another one follows
_LAST = 10.0  # largest time of the last evaluation, relative to the first


def lagrangian_bound(
    instance: HareInstance,
    call: RunContext,
    *,
    cells: Cells = 50,
    rounds: Annotated[int, "rounds of column generation that improve the prices", Ge(0)] = 40,
    steps: Annotated[int, "least time steps within the shortest task of a job", Ge(1)] = 1,
) -> MethodResult:
    """Return the best of the bounds of critical paths, fluid prices and improved prices.

    Column generation prices on coarse time steps in its first box of duals, and then on fine ones.
    """
    best = critical_certificate(instance)
    call.progress.bound(*best)

    def offer(value: float, certificate: dict[str, object]) -> None:
        nonlocal best
        if value > best[0]:
            best = value, certificate
            call.progress.bound(*best)

    def better(plans: PlanMaster, value: float, duals: Floats) -> None:
        offer(value, priced_certificate(plans.prices(duals), value, steps=steps, longest=longest))

    few = replace(call, budget=call.budget.share(0.6))
    solution = solve_fluid(instance, few, min(_FEW, cells))
    end = float(solution.prices.grid[-1])
    prices, longest = solution.prices.on(fluid.power_grid(end, cells)), end / _COARSE
    begin = call.clock.elapsed()
    offer(*lagrangian_certificate(instance, prices, steps=steps, longest=longest))
    remaining = call.clock.remaining() - _LAST * (call.clock.elapsed() - begin)
    trace: dict[str, object] = {"fluid_prices": best[0], "rounds": 0}
    clock = Clock(None if math.isinf(remaining) else remaining)
    left, raised, gap = rounds, remaining > 0, _GAP
    while left > 0 and raised and not clock.expired():  # one box of duals after another
        call.progress.phase("improving the prices by column generation")
        plans, before = PlanMaster(instance, prices, steps=steps, longest=longest), best[0]
        solved = plans.master.solve(
            plans.pricing,
            clock=clock,
            smoothing=_SMOOTHING,
            gap=gap,
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
        longest, gap = end / _FINE, _SMALL_GAP
    if not call.clock.expired():
        offer(*lagrangian_certificate(instance, prices, steps=steps, longest=end / _FINE))
    return MethodResult(bound=best[0], trace=trace, certificate=best[1], note=solution.note)
