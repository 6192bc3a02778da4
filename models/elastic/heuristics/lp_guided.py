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
from schedgap.models.elastic.bounds.configuration_lp import Block, solve_configurations
from schedgap.models.elastic.bounds.container_prices import ContainerPrices
from schedgap.models.elastic.bounds.job_alone import job_alone
from schedgap.models.elastic.heuristics import list_schedules
from schedgap.models.elastic.heuristics.neighborhood_search import relist, search, value_of
from schedgap.models.elastic.modes import modes
from schedgap.models.elastic.programs.columns import ElasticRun, schedule_of
from schedgap.models.method import MethodResult, RunContext
from schedgap.solvers.children.clock import Clock

_LP_SHARE = 0.4  # fraction of the time for the relaxation
_GAP = 1e-3  # relative gap between master and bound at which the relaxation ends
_LIST_SHARE = 0.15  # fraction of the remaining time for lists in other orders
_LISTS = 20  # number of these lists without a time limit
_MAX_LISTS = 1_000  # number of lists with a time limit
_PATIENCE = 60  # lists without improvement after which they end
_MOVES = 150  # moves per job without a time limit
_MAX_MOVES = 10**9  # moves per job with a time limit, which ends the search


def _spent(clock: Clock) -> Callable[[], float]:
    """Return a function that returns the elapsed share of the time from now to the limit."""
    start, end = clock.elapsed(), clock.limit
    if end is None or end <= start:
        return lambda: 0.0
    return lambda: min(1.0, (clock.elapsed() - start) / (end - start))


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
    """Run `lp-guided`: relaxation, lists, search; return the best schedule found.

    In a batch problem it ends with the lists.
    """
    clock, sign = call.clock, -1.0 if instance.is_batch else 1.0
    found: list[tuple[float, list[ElasticRun]]] = []  # minimised values, the best schedule last
    values: dict[str, float] = {}
    bounds: list[tuple[float, Mapping[str, object]]] = []

    def report(runs: list[ElasticRun], value: float) -> None:
        found.append((value, runs))
        call.progress.incumbent(schedule_of(instance, runs), sign * value)

    def keep(bound: float, certificate: Mapping[str, object]) -> None:
        if not bounds or bound > bounds[-1][0]:
            bounds.append((bound, certificate))
            call.progress.bound(sign * bound, certificate)

    def listed(name: str, runs: list[ElasticRun] | None) -> None:
        if runs is not None:
            values[name] = value_of(instance, runs)
            if not found or values[name] < found[-1][0]:
                report(runs, values[name])

    def list_by(name: str, prices: ContainerPrices) -> list_schedules.LpGuide:
        own = list_schedules.guide(instance, prices)
        order = [j for j in own.order(0.0) if modes(instance, j)]
        runs = list_schedules.list_schedule(instance, order, own.upto, 1.0, 1.0, clock.expired)
        listed(name, runs)
        return own

    call.progress.phase("a first list")
    listed("wspt_list", list_schedules.wspt_list(instance))
    keep(sign * job_alone(instance), {"kind": "no-contention"})
    call.progress.phase("the relaxation")
    lp = solve_configurations(
        instance, block=block, budget=call.budget.share(_LP_SHARE), gap=_GAP, on_bound=keep,
        on_start=lambda prices: list_by("list of one pool", prices),
    )  # fmt: skip
    trace: dict[str, Any] = {"first": values}
    if lp is not None and not clock.expired():
        call.progress.phase("lists by prices")
        guide = list_by("list", lp.prices)
        if found and moves != 0:
            best = relist(
                instance,
                guide,
                found[-1][1],
                rounds=_LISTS if clock.limit is None else _MAX_LISTS,
                patience=_PATIENCE,
                stop=clock.share(_LIST_SHARE).expired,
                enough=bounds[-1][0],
                seed=call.seed,
                on_better=report,
            )
            if not instance.is_batch:
                trace["search"] = _searched(
                    instance, call, moves, guide, best, bounds[-1][0], report
                )
    bound, certificate = bounds[-1]
    if not found:
        return MethodResult(
            bound=sign * bound, certificate=certificate, note=list_schedules.NO_PLACE
        )
    return MethodResult(
        schedule_of(instance, found[-1][1]),
        bound=sign * bound,
        certificate=certificate,
        trace=trace,
    )


def _searched(
    instance: ElasticInstance,
    call: RunContext,
    asked: int | None,
    guide: list_schedules.LpGuide,
    runs: list[ElasticRun],
    bound: float,
    report: Callable[[list[ElasticRun], float], None],
) -> dict[str, Any]:
    """Search; return the number of moves and why the search ended."""
    clock, jobs = call.clock, len(instance.jobs)
    moves = asked if asked is not None else _MOVES if clock.limit is None else _MAX_MOVES
    call.progress.phase("searching")
    try:
        best, made = search(
            instance,
            guide,
            runs,
            moves=moves * jobs,
            stop=clock.expired,
            spent=_spent(clock),
            enough=bound,
            seed=call.seed,
            on_better=report,
        )
    except ScaleError as error:
        return {"moves": 0, "end": str(error)}
    if value_of(instance, best) <= bound * (1 + 1e-9):
        why = "the bound is met"
    elif clock.expired():
        why = "out of time"
    else:
        why = f"{moves} moves for each job"
    return {"moves": made, "end": why}
