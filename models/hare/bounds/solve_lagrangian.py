"""The bound `lagrangian`: prices of GPU time improved by column generation."""

import math
from dataclasses import replace
from typing import Any

from schedgap.instances.hare import HareInstance, arrays
from schedgap.models.hare.bounds import fluid, lagrangian
from schedgap.models.hare.bounds.certificates import (
    critical_certificate,
    lagrangian_certificate,
    priced_certificate,
)
from schedgap.models.hare.bounds.solve_fluid import solve_fluid, unsolved
from schedgap.models.method import MethodResult, RunContext
from schedgap.solvers import Clock
from schedgap.solvers.programs.arrays import Floats

_COARSE = 2  # steps of time in a job's shortest task, while prices are looked for
_SMOOTHING = 0.8
_GAP = 1e-4  # relative, between the master and the bound, below which prices are good enough


def lagrangian_bound(instance: HareInstance, call: RunContext) -> MethodResult:
    """Price GPU time as the fluid program does, then by column generation; return the best bound.

    Every bound on the way is valid; the last word has a finer step of time.
    """
    from schedgap.solvers.loops.column_generation import Priced, generate_columns

    alone, certificate_alone = critical_certificate(instance)
    call.progress.bound(alone, certificate_alone)
    solution = solve_fluid(instance, replace(call, clock=call.clock.share(0.5)))
    view, steps, grid = arrays(instance), call.options["steps"], solution.model.grid
    first = lagrangian.GpuPrices(grid, fluid.capacity_prices(solution.model, solution.duals))
    begin = call.clock.elapsed()
    bound, certificate = lagrangian_certificate(instance, first, steps=steps)
    call.progress.bound(bound, certificate)
    trace: dict[str, Any] = {"fluid_prices": bound, "rounds": 0}
    left = call.clock.remaining() - 3 * (call.clock.elapsed() - begin)  # for the last word
    if call.options["rounds"] and left > 0:
        call.progress.phase("looking for better prices")
        price = lagrangian.pricing(instance, grid, steps=_COARSE)
        asked: list[lagrangian.GpuPrices] = []  # the last prices, those of a bound that is heard

        def pricing(duals: Floats) -> Priced | None:
            asked[:] = [lagrangian.prices_from_duals(view, grid, duals)]
            return None if call.clock.expired() else price(duals)

        def better(value: float) -> None:
            call.progress.bound(value, priced_certificate(asked[0], value, steps=_COARSE))

        result = generate_columns(
            lagrangian.restricted_master(instance, first, steps=_COARSE),
            pricing,
            clock=Clock(None if math.isinf(left) else left),
            smoothing=_SMOOTHING,
            gap=_GAP,
            rounds=call.options["rounds"],
            prices=lagrangian.duals_from_prices(view, first),
            threads=call.threads,
            seed=call.seed,
            on_bound=better,
        )
        trace |= {"rounds": result.rounds, "master": result.objective}
        if result.prices is not None:
            last = lagrangian.prices_from_duals(view, grid, result.prices)
            if result.bound is not None and result.bound > bound:
                bound, certificate = (
                    result.bound,
                    priced_certificate(last, result.bound, steps=_COARSE),
                )
            value, rival = lagrangian_certificate(instance, last, steps=steps)
            if value > bound:
                bound, certificate = value, rival
    if alone > bound:
        bound, certificate = alone, certificate_alone
    return MethodResult(
        bound=bound, trace=trace, certificate=certificate, note=unsolved(solution.result)
    )
