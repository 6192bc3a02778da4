"""List schedules as methods: by weight over volume, and led by the prices of a relaxation."""

from collections.abc import Callable
from typing import Any

from schedgap.errors import ScaleError
from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.bounds.coarse_lp import solve_coarse
from schedgap.models.elastic.bounds.configuration_lp import solve_configurations
from schedgap.models.elastic.bounds.pooled import no_contention
from schedgap.models.elastic.columns import Run, schedule_of
from schedgap.models.elastic.heuristics import lists
from schedgap.models.elastic.heuristics.search import relist, search
from schedgap.models.elastic.run_algorithms import needs_completion, no_schedule
from schedgap.models.method import Call, Method, Option, Outcome
from schedgap.solvers.clock import Clock

_LP_SHARE = 0.4  # of the time; with what prices it has by then, the list goes on
_GAP = 1e-3  # relative, between master and bound, at which the relaxation is good enough
_LIST_SHARE = 0.15  # of the time after that, for lists in other orders
_LISTS = 20  # of these without a limit
_MOST_LISTS = 1_000
_PATIENCE = 60  # lists without gain
_MOVES = 150  # of a search without a limit, for each job; so many without gain end it
_MOST_MOVES = 5_000  # of one that has time
_NO_PLACE = "a job found no place before the end of the closed horizon"


def run_wspt_list(instance: ElasticInstance, call: Call) -> Outcome:
    """Run `wspt-list`."""
    if proof := no_schedule(instance):
        return proof
    runs = lists.wspt_list(instance)
    return Outcome(note=_NO_PLACE) if runs is None else Outcome(schedule_of(instance, runs))


def _spent(clock: Clock) -> Callable[[], float]:
    """Return the share of the time from now to the end that is gone, as a function."""
    start, end = clock.elapsed(), clock.limit
    if end is None or end <= start:
        return lambda: 0.0
    return lambda: min(1.0, (clock.elapsed() - start) / (end - start))


def _moves(call: Call) -> int:
    """Return the moves of the search, for each job."""
    asked: int | None = call.options["moves"]
    if asked is not None:
        return asked
    return _MOVES if call.clock.limit is None else _MOST_MOVES


def _relaxation(instance: ElasticInstance, call: Call) -> tuple[float | None, lists.Guide | None]:
    """Return the best bound of a linear relaxation, and what it says to the lists."""
    clock = call.clock.share(_LP_SHARE)
    settings: dict[str, Any] = {"seed": call.seed, "threads": call.threads}
    settings |= {"block": call.options["block"], "on_bound": call.progress.bound}
    try:
        solved = solve_configurations(instance, clock=clock, gap=_GAP, **settings)
        bound, rough, fine = solved.bound, solved.rough, solved.prices
    except ScaleError:
        pooled = solve_coarse(instance, clock=clock, gap=_GAP, **settings)
        bound, rough, fine = pooled.bound, pooled.prices, None
    return bound, None if rough is None else lists.guide(instance, rough, fine)


def run_lp_guided(instance: ElasticInstance, call: Call) -> Outcome:
    """Run `lp-guided`: relaxation, list, search; the best of all schedules met."""
    if proof := no_schedule(instance):
        return proof

    def report(runs: list[Run], value: float) -> None:
        call.progress.incumbent(schedule_of(instance, runs), value)

    call.progress.phase("a first list")
    first = lists.wspt_list(instance)
    values: dict[str, float] = {}
    if first is not None:
        start = schedule_of(instance, first)
        values["wspt_list"] = start.value(instance)
        call.progress.incumbent(start, values["wspt_list"])
    bound = no_contention(instance)
    call.progress.bound(bound)
    call.progress.phase("the relaxation")
    found, guide = _relaxation(instance, call)
    bound = bound if found is None else max(bound, found)
    best = first
    if guide is not None:
        if not call.clock.expired():
            call.progress.phase("the list by prices")
            second = lists.lp_guided(instance, guide)
            if second is not None:
                values["list"] = schedule_of(instance, second).value(instance)
                if best is None or values["list"] < values["wspt_list"]:
                    best = second
                    report(second, values["list"])
        jobs, moves = len(instance.jobs), _moves(call)
        settings: dict[str, Any] = {"enough": bound, "seed": call.seed, "on_better": report}
        if best is not None and moves:
            call.progress.phase("lists in other orders")
            best = relist(
                instance,
                guide,
                best,
                rounds=_LISTS if call.clock.limit is None else _MOST_LISTS,
                patience=_PATIENCE,
                stop=call.clock.share(_LIST_SHARE).expired,
                **settings,
            )
            call.progress.phase("searching")
            best = search(
                instance,
                guide,
                best,
                moves=moves * jobs,
                patience=_MOVES * jobs,
                stop=call.clock.expired,
                spent=_spent(call.clock),
                **settings,
            )
    if best is None:
        return Outcome(bound=bound, note=_NO_PLACE)
    schedule = schedule_of(instance, best)
    return Outcome(schedule, bound=bound, trace={"first": values})


METHODS: tuple[Method, ...] = (
    Method(
        "wspt-list",
        "algorithm",
        run_wspt_list,
        "jobs by weight over least volume, each where it ends first",
        "list scheduling",
        ours=True,
        refuses=needs_completion,
    ),
    Method(
        "lp-guided",
        "algorithm",
        run_lp_guided,
        "jobs as in a linear relaxation, each where it costs least; then a search",
        "(8), (9); large neighborhoods",
        ours=True,
        engines=("highs",),
        options=(
            Option("block", "int", None, "slots that share a price; default: a 100th", least=1),
            Option(
                "moves",
                "int",
                None,
                "of the search, for each job; 0: the list alone; default: 150, or as time allows",
                least=0,
            ),
        ),
        refuses=needs_completion,
    ),
)
