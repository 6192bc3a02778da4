"""`lp-guided` (ours): list schedules led by the prices of a linear relaxation, then a local search.

References
----------
C. Phillips, C. Stein, J. Wein, "Minimizing average completion time in the presence of release
dates", Mathematical Programming (1998): lists in the order of a relaxation.
P. Shaw, "Using constraint programming and local search methods to solve vehicle routing problems",
Principles and Practice of Constraint Programming, Lecture Notes in Computer Science 1520 (1998):
the search.
"""

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from annotated_types import Ge

from schedgap.errors import ScaleError
from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.bounds.coarse_lp import solve_coarse
from schedgap.models.elastic.bounds.configuration_lp import Block, solve_configurations
from schedgap.models.elastic.bounds.container_prices import configuration_certificate
from schedgap.models.elastic.bounds.job_alone import job_alone
from schedgap.models.elastic.heuristics import list_schedules
from schedgap.models.elastic.heuristics.neighborhood_search import relist, search
from schedgap.models.elastic.programs.columns import ElasticRun, schedule_of
from schedgap.models.method import MethodResult, RunContext
from schedgap.solvers.children.clock import Clock

_LP_SHARE = 0.4  # of the time, for the relaxation
_GAP = 1e-3  # relative gap between master and bound at which the relaxation ends
_LIST_SHARE = 0.15  # of the remaining time, for lists in other orders
_LISTS = 20  # number of these lists without a time limit
_MAX_LISTS = 1_000  # and with one
_PATIENCE = 60  # lists without improvement after which they end
_MOVES = 150  # moves per job without a time limit, and moves without improvement at all
_MAX_MOVES = 5_000  # moves per job with a time limit


def _spent(clock: Clock) -> Callable[[], float]:
    """Return a function that returns the elapsed share of the time from now to the limit."""
    start, end = clock.elapsed(), clock.limit
    if end is None or end <= start:
        return lambda: 0.0
    return lambda: min(1.0, (clock.elapsed() - start) / (end - start))


CertifiedBound = tuple[float, Mapping[str, object]]  # a bound, and its certificate


def _relaxation(
    instance: ElasticInstance, call: RunContext, block: int | None, first_bound: CertifiedBound
) -> tuple[CertifiedBound, list_schedules.LpGuide | None]:
    """Return the better of a bound and that of a linear relaxation, and a guide for lists."""
    best = [first_bound]

    def keep(bound: float, certificate: Mapping[str, object]) -> None:
        if bound > best[-1][0]:
            best.append((bound, certificate))
            call.progress.bound(bound, certificate)

    budget = call.budget.share(_LP_SHARE)
    try:
        lp = solve_configurations(instance, block=block, budget=budget, gap=_GAP, on_bound=keep)
        rough, fine = lp.rough, lp.prices
        if lp.bound is not None and fine is not None:
            keep(lp.bound, configuration_certificate(fine))
    except ScaleError:
        coarse = solve_coarse(instance, block=block, budget=budget, gap=_GAP, on_bound=keep)
        rough, fine = coarse.prices, None
    return best[-1], None if rough is None else list_schedules.guide(instance, rough, fine)


def lp_guided(
    instance: ElasticInstance,
    call: RunContext,
    *,
    block: Block = None,
    moves: Annotated[
        int | None,
        "moves of the search for each job; 0: no search; default: 150, or as time allows",
        Ge(0),
    ] = None,
) -> MethodResult:
    """Run `lp-guided`: relaxation, lists, search; return the best schedule found."""

    def report(runs: list[ElasticRun], value: float) -> None:
        call.progress.incumbent(schedule_of(instance, runs), value)

    clock = call.clock
    call.progress.phase("a first list")
    first = list_schedules.wspt_list(instance)
    values: dict[str, float] = {}
    if first is not None:
        start = schedule_of(instance, first)
        values["wspt_list"] = start.value(instance)
        call.progress.incumbent(start, values["wspt_list"])
    alone: CertifiedBound = job_alone(instance), {"kind": "no-contention"}
    call.progress.bound(*alone)
    call.progress.phase("the relaxation")
    (bound, certificate), guide = _relaxation(instance, call, block, alone)
    best, trace = first, {"first": values}
    # One list in the order of the relaxation, then lists in perturbed orders, then the search.
    if guide is not None and not clock.expired():
        call.progress.phase("the list by prices")
        second = list_schedules.list_schedule(
            instance, guide.order(), guide.price, 1.0, clock.expired
        )
        if second is not None:
            values["list"] = schedule_of(instance, second).value(instance)
            if best is None or values["list"] < values["wspt_list"]:
                best = second
                report(second, values["list"])
    if guide is not None and best is not None and moves != 0:
        call.progress.phase("lists in other orders")
        best = relist(
            instance,
            guide,
            best,
            rounds=_LISTS if clock.limit is None else _MAX_LISTS,
            patience=_PATIENCE,
            stop=clock.share(_LIST_SHARE).expired,
            enough=bound,
            seed=call.seed,
            on_better=report,
        )
        best, trace["search"] = _searched(instance, call, moves, guide, best, bound, report)
    if best is None:
        return MethodResult(bound=bound, certificate=certificate, note=list_schedules.NO_PLACE)
    return MethodResult(
        schedule_of(instance, best), bound=bound, certificate=certificate, trace=trace
    )


def _searched(
    instance: ElasticInstance,
    call: RunContext,
    asked: int | None,
    guide: list_schedules.LpGuide,
    runs: list[ElasticRun],
    bound: float,
    report: Callable[[list[ElasticRun], float], None],
) -> tuple[list[ElasticRun], dict[str, Any]]:
    """Search, with time left repeatedly; return the best schedule and why the search ended."""
    jobs, clock, best, rounds = len(instance.jobs), call.clock, runs, 0
    again = clock.limit is not None and asked is None
    moves = asked if asked is not None else _MOVES if clock.limit is None else _MAX_MOVES
    while True:
        call.progress.phase("searching")
        best = search(
            instance,
            guide,
            best,
            moves=moves * jobs,
            patience=_MOVES * jobs,
            stop=clock.expired,
            spent=_spent(clock),
            enough=bound,
            seed=call.seed + rounds,
            on_better=report,
        )
        rounds += 1
        if schedule_of(instance, best).value(instance) <= bound * (1 + 1e-9):
            why = "the bound is met"
        elif clock.expired():
            why = "out of time"
        elif not again:
            why = f"{moves} moves for each job, or {_MOVES} without gain"
        else:
            continue
        return best, {"rounds": rounds, "end": why}
