"""PD-ORS as methods: as printed, greedily, and the bound that the prices of a run prove."""

from dataclasses import fields
from typing import Any

import numpy as np

from schedgap.errors import UsageError
from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.models.dmlrs import program_dual
from schedgap.models.dmlrs.algorithm import OnlineRun, Variant, pd_ors
from schedgap.models.dmlrs.bounds.dual_bound import GRID, dual_bound, machine_prices, prices_of
from schedgap.models.dmlrs.certificates import check_certificate
from schedgap.models.dmlrs.evidence import price_certificate, too_fine
from schedgap.models.dmlrs.guarantees import conditions, rounding_odds
from schedgap.models.dmlrs.heuristics.starting import NO_PRICES, alone_bound
from schedgap.models.dmlrs.oasis import oasis
from schedgap.models.method import Call, Method, Option, Outcome
from schedgap.solvers import solve

SOURCE = "Algorithms 1-4"

_OPTIONS = (
    Option(
        "prices", "choice", None,
        "U and L as the file declares them, of the jobs seen, or of all jobs, which is not online; "
        "else declared if they are, or running",
        choices=("declared", "running", "oracle"),
    ),
    Option("price_floor", "float", 0.0, "L is at least this", least=0, most=1e12),
    Option(
        "dp", "choice", "grid", "Algorithm 3: exact, on a grid, or in quanta of samples",
        choices=("exact", "grid", "literal"),
    ),
    Option("quantum", "int", None, "samples, with dp=literal; else V / 2000", least=1),
    Option("grid", "int", 2000, "parts of the work, with dp=grid", least=1, most=100_000),
    Option("literal_13", "bool", False, "(13) as printed: the duration less the arrival"),
)  # fmt: skip
_ROUNDING = (
    Option(
        "gain", "float", "one", "G_delta before the rounding: a number, or one that favors rows",
        choices=("one", "packing", "cover"), least=0.01, most=100,
    ),
    Option("delta", "float", 1.0, "how often the rounding may fail", least=1e-9, most=1),
    Option("rounds", "int", 20, "S, draws for each number of workers", least=1, most=10_000),
    Option("ps_row", "bool", True, "a row for PSs in (23)-(26); as printed there is none"),
)  # fmt: skip
_OF = Option(
    "of",
    "choice",
    "pd-ors",
    "the run whose prices are taken",
    choices=("pd-ors", "pd-ors-hull", "pd-ors-greedy", "oasis"),
)


_ACROSS = {"pd-ors": "round", "pd-ors-hull": "round-hull", "pd-ors-greedy": "greedy"}


def _run(instance: DmlrsInstance, call: Call, across: str) -> OnlineRun:
    known = {each.name for each in fields(Variant)}
    chosen: dict[str, Any] = {k: v for k, v in call.options.items() if k in known}
    return pd_ors(instance, Variant(across=across, **chosen), seed=call.seed, clock=call.clock)  # type: ignore[arg-type]  # a word of its choices


def _outcome(instance: DmlrsInstance, call: Call, run: OnlineRun) -> Outcome:
    trace = {**run.trace(instance), "conditions": conditions(instance, run)}
    if "delta" in call.options:
        trace["odds_of_rounding"] = rounding_odds(instance, call.options["delta"])
    return Outcome(run.schedule, note=run.note(instance), trace=trace)


def _pd_ors(instance: DmlrsInstance, call: Call) -> Outcome:
    return _outcome(instance, call, _run(instance, call, "round"))


def _hull(instance: DmlrsInstance, call: Call) -> Outcome:
    """Run PD-ORS with (24) by hulls of whole numbers.

    At the preset paper, seeds 1-3, no draw serves one number of workers in 140, where it is one in
    9 otherwise, in like time; what is earned is 571, 677 and 502 instead of 785, 647 and 341.
    """
    return _outcome(instance, call, _run(instance, call, "round-hull"))


def _greedy(instance: DmlrsInstance, call: Call) -> Outcome:
    return _outcome(instance, call, _run(instance, call, "greedy"))


def _dual_online(instance: DmlrsInstance, call: Call) -> Outcome:
    alone = alone_bound(instance)
    call.progress.bound(alone, NO_PRICES)
    if call.options["of"] == "oasis":
        chosen = {key: call.options[key] for key in ("prices", "price_floor")}
        run = oasis(instance, **chosen, clock=call.clock)
    else:
        run = _run(instance, call, _ACROSS[call.options["of"]])
    call.progress.phase("pricing at full capacity")
    certificate = machine_prices(instance, run.price(instance), run.range.least)
    prices = prices_of(instance, certificate["base"], certificate["prices"])  # as the file has them
    bound, note = None, "too large for a checker: every job alone"
    if not too_fine(instance, GRID):
        bound = dual_bound(instance, prices, clock=call.clock)
        note = "" if bound is not None else "stopped: every job alone"
    if bound is None or bound > alone:
        bound, certificate = alone, dict(NO_PRICES)
    trace, certificate = run.trace(instance), certificate | {"value": bound}
    return Outcome(bound=bound, note=note, trace=trace, certificate=certificate)


def _dual(instance: DmlrsInstance, call: Call) -> Outcome:
    alone = alone_bound(instance)
    call.progress.bound(alone, NO_PRICES)
    call.progress.phase("building a row for every schedule")
    try:
        model = program_dual.build(instance)
    except UsageError as error:
        certificate = dict(NO_PRICES) | {"value": alone}
        return Outcome(bound=alone, note=str(error), certificate=certificate)
    result = solve(
        model, call.engine or "highs", clock=call.clock, threads=call.threads, seed=call.seed
    )
    prices = np.zeros((instance.horizon, len(instance.resources)))
    for (t, r), price in model.p.items():
        prices[t - 1, r] = max(0.0, price.value or 0.0)
    certificate = price_certificate(prices, GRID)
    bound = check_certificate(instance, certificate)
    return Outcome(
        bound=bound,
        note="stopped: every job alone" if result.objective is None else "",
        trace={"rows": len(model.eq_11), "relaxation": result.objective},
        certificate=certificate | {"value": bound},
    )


METHODS: tuple[Method, ...] = (
    Method(
        "pd-ors",
        "algorithm",
        _pd_ors,
        "admit a job if its utility exceeds its cheapest schedule's price; rounded at random",
        SOURCE,
        engines=("highs",),
        options=_OPTIONS + _ROUNDING,
        online=True,
        seeded=True,
    ),
    Method(
        "pd-ors-hull",
        "algorithm",
        _hull,
        "pd-ors with each machine's whole numbers in (23)-(26): few draws fail",
        SOURCE,
        ours=True,
        engines=("highs",),
        options=_OPTIONS + _ROUNDING,
        online=True,
        seeded=True,
    ),
    Method(
        "pd-ors-greedy",
        "algorithm",
        _greedy,
        "pd-ors with workers put on the cheapest machines one by one; no engine",
        SOURCE,
        ours=True,
        options=_OPTIONS,
        online=True,
    ),
    Method(
        "dual-online",
        "bound",
        _dual_online,
        "the bound that the last prices of pd-ors prove, at full capacity",
        "(10), (11)",
        ours=True,
        engines=("highs",),
        options=(*_OPTIONS, *_ROUNDING, _OF),
        seeded=True,
    ),
    Method(
        "dual-10",
        "bound",
        _dual,
        "(10), (11) with a row for every schedule; tiny instances, for teaching",
        "(10), (11)",
        ours=True,
        engines=("highs", "gurobi"),
    ),
)
