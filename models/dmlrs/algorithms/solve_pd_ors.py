"""PD-ORS as methods: as printed, with integer hulls in its relaxation, with greedy placements.

A further method measures the rounding of the first.
"""

from dataclasses import replace

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.models.dmlrs.algorithms.guarantees import conditions, rounding_odds
from schedgap.models.dmlrs.algorithms.lp_rounding import lp_rounding as measure
from schedgap.models.dmlrs.algorithms.lp_rounding import summary
from schedgap.models.dmlrs.algorithms.pd_ors import Across, pd_ors, stop_note
from schedgap.models.method import AlgorithmRun, MethodResult, RunContext
from schedgap.solvers.programs.arrays import LinearProgram


def as_printed(instance: DmlrsInstance, call: RunContext) -> MethodResult:
    """Run PD-ORS with Algorithm 4 as printed."""
    return _result(instance, call, online_run(instance, call, "round"))


def with_hulls(instance: DmlrsInstance, call: RunContext) -> MethodResult:
    """Run PD-ORS with (24) replaced by the integer hull of each machine; fewer draws fail."""
    return _result(instance, call, online_run(instance, call, "round-hull"))


def greedily(instance: DmlrsInstance, call: RunContext) -> MethodResult:
    """Run PD-ORS with workers placed one by one on the cheapest machines."""
    return _result(instance, call, online_run(instance, call, "greedy"))


def lp_rounding(instance: DmlrsInstance, call: RunContext) -> MethodResult:
    """Run PD-ORS with Algorithm 4 as printed, and measure its rounding."""
    from schedgap.solvers.engines.solve import solve

    def optimum(program: LinearProgram) -> float | None:
        found = solve(
            program, call.engine or "highs", clock=call.clock, threads=call.threads, seed=call.seed
        )
        return found.objective if found.status == "optimal" else None

    measured = measure(instance, optimum, **call.options, seed=call.seed, clock=call.clock)
    trace = {"lp_rounding": summary(measured, instance)}
    return _result(instance, call, replace(measured.run, trace={**measured.run.trace, **trace}))


def online_run(instance: DmlrsInstance, call: RunContext, across: Across) -> AlgorithmRun:
    """Run PD-ORS with the options of a call.

    `across`: how options across machines are found, as in `pd_ors`.
    """
    options = {name: value for name, value in call.options.items() if name != "of"}
    return pd_ors(instance, **options, across=across, seed=call.seed, clock=call.clock)


def _result(instance: DmlrsInstance, call: RunContext, run: AlgorithmRun) -> MethodResult:
    """Return the result of a run, with its conditions in the trace."""
    trace = {**run.trace, "conditions": conditions(instance, run)}
    if "delta" in call.options:
        trace["odds_of_rounding"] = rounding_odds(instance, call.options["delta"])
    return MethodResult(run.schedule, note=stop_note(instance, run), trace=trace)
