"""PD-ORS as a method, and another one that measures its rounding."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.models.dmlrs.algorithms.guarantees import conditions, rounding_odds
from schedgap.models.dmlrs.algorithms.lp_rounding import lp_rounding as measure
from schedgap.models.dmlrs.algorithms.lp_rounding import summary
from schedgap.models.dmlrs.algorithms.pd_ors import Across, pd_ors, stop_note
from schedgap.models.method import AlgorithmRun, MethodResult, RunContext
from schedgap.solvers.programs.arrays import LinearProgram


def run_pd_ors(
    instance: DmlrsInstance, call: RunContext, across: Across = "round", **options: Any
) -> MethodResult:
    """Run PD-ORS as a method; `across` and `options`: as in `pd_ors`."""
    run = pd_ors(instance, **options, across=across, seed=call.seed, clock=call.clock)
    return _result(instance, run, options)


def lp_rounding(instance: DmlrsInstance, call: RunContext, **options: Any) -> MethodResult:
    """Run PD-ORS with Algorithm 4 as printed, and measure its rounding.

    `options`: as in `lp_rounding.lp_rounding`.
    """
    from schedgap.solvers.engines.solve import solve

    def optimum(program: LinearProgram) -> float | None:
        found = solve(
            program, call.engine or "highs", clock=call.clock, threads=call.threads, seed=call.seed
        )
        return found.objective if found.status == "optimal" else None

    measured = measure(instance, optimum, **options, seed=call.seed, clock=call.clock)
    trace = {"lp_rounding": summary(measured)}
    run = replace(measured.run, trace={**measured.run.trace, **trace})
    return _result(instance, run, options)


def _result(instance: DmlrsInstance, run: AlgorithmRun, options: Mapping[str, Any]) -> MethodResult:
    """Return the result of a run, with its conditions in the trace."""
    trace = {**run.trace, "conditions": conditions(instance, run)}
    if "delta" in options:
        trace["odds_of_rounding"] = rounding_odds(instance, options["delta"])
    return MethodResult(run.schedule, note=stop_note(instance, run), trace=trace)
