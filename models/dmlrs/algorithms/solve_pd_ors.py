"""PD-ORS as methods: as printed, with hulls in its relaxation, and with greedy placements."""

from dataclasses import fields
from typing import Any

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.models.dmlrs.algorithms.guarantees import conditions, rounding_odds
from schedgap.models.dmlrs.algorithms.pd_ors import OnlineRun, pd_ors
from schedgap.models.dmlrs.algorithms.variant import Variant
from schedgap.models.method import MethodResult, RunContext


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


def online_run(instance: DmlrsInstance, call: RunContext, across: str) -> OnlineRun:
    """Run PD-ORS with those options of a call that it has."""
    known = {each.name for each in fields(Variant)}
    chosen: dict[str, Any] = {k: v for k, v in call.options.items() if k in known}
    return pd_ors(instance, Variant(across=across, **chosen), seed=call.seed, clock=call.clock)  # type: ignore[arg-type]  # a word of its choices


def _outcome(instance: DmlrsInstance, call: RunContext, run: OnlineRun) -> MethodResult:
    trace = {**run.trace(instance), "conditions": conditions(instance, run)}
    if "delta" in call.options:
        trace["odds_of_rounding"] = rounding_odds(instance, call.options["delta"])
    return MethodResult(run.schedule, note=run.note(instance), trace=trace)
