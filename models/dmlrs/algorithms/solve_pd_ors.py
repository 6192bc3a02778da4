"""PD-ORS as methods: as printed, with hulls in its relaxation, and with greedy placements."""

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.models.dmlrs.algorithms.guarantees import conditions, rounding_odds
from schedgap.models.dmlrs.algorithms.pd_ors import Across, pd_ors, stop_note
from schedgap.models.method import AlgorithmRun, MethodResult, RunContext


def as_printed(instance: DmlrsInstance, call: RunContext) -> MethodResult:
    """Run PD-ORS with Algorithm 4 as it is printed."""
    return _outcome(instance, call, online_run(instance, call, "round"))


def with_hulls(instance: DmlrsInstance, call: RunContext) -> MethodResult:
    """Run PD-ORS with (24) by hulls of whole numbers.

    At the preset paper, seeds 1-3, no draw serves one number of workers in 140, where it is one in
    9 otherwise, in like time; what is earned is 571, 677 and 502 instead of 785, 647 and 341.
    """
    return _outcome(instance, call, online_run(instance, call, "round-hull"))


def greedily(instance: DmlrsInstance, call: RunContext) -> MethodResult:
    """Run PD-ORS with workers put on the cheapest machines one by one."""
    return _outcome(instance, call, online_run(instance, call, "greedy"))


def online_run(instance: DmlrsInstance, call: RunContext, across: Across) -> AlgorithmRun:
    """Run PD-ORS with those options of a call that it has."""
    chosen = {name: value for name, value in call.options.items() if name != "of"}
    return pd_ors(instance, **chosen, across=across, seed=call.seed, clock=call.clock)


def _outcome(instance: DmlrsInstance, call: RunContext, run: AlgorithmRun) -> MethodResult:
    trace = {**run.trace, "conditions": conditions(instance, run)}
    if "delta" in call.options:
        trace["odds_of_rounding"] = rounding_odds(instance, call.options["delta"])
    return MethodResult(run.schedule, note=stop_note(instance, run), trace=trace)
