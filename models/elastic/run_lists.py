"""List schedules as methods: by weight over volume, and led by the prices of a relaxation."""

from collections.abc import Callable

from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic import lists
from schedgap.models.elastic.coarse import coarse_bound
from schedgap.models.elastic.coarse_lp import solve_coarse
from schedgap.models.elastic.columns import Run, schedule_of
from schedgap.models.elastic.pooled import no_contention
from schedgap.models.elastic.run_algorithms import needs_completion, no_schedule
from schedgap.models.elastic.search import search
from schedgap.models.method import Call, Method, Option, Outcome
from schedgap.solvers.clock import Clock

_LP_SHARE = 0.4  # of the time; with what prices it has by then, the list goes on
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
    solved = solve_coarse(
        instance,
        block=call.options["block"],
        clock=call.clock.share(_LP_SHARE),
        seed=call.seed,
        threads=call.threads,
        on_bound=call.progress.bound,
    )
    best = first
    if solved.prices is not None:
        bound = max(bound, coarse_bound(instance, solved.prices))
        guide = lists.guide(instance, solved.prices)
        if not call.clock.expired():
            call.progress.phase("the list by prices")
            second = lists.lp_guided(instance, guide)
            if second is not None:
                values["list"] = schedule_of(instance, second).value(instance)
                if best is None or values["list"] < values["wspt_list"]:
                    best = second
                    report(second, values["list"])
        if best is not None and not call.clock.expired():
            call.progress.phase("searching")
            best = search(
                instance,
                guide,
                best,
                moves=call.options["moves"] * len(instance.jobs),
                seed=call.seed,
                stop=call.clock.expired,
                spent=_spent(call.clock),
                on_better=report,
            )
    if best is None:
        return Outcome(bound=bound, note=_NO_PLACE)
    schedule = schedule_of(instance, best)
    return Outcome(schedule, bound=bound, trace={"first": values, "rounds": solved.rounds})


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
            Option("block", "int", 5, "slots that share a price", least=1),
            Option("moves", "int", 150, "of the search, for each job; 0: the list alone", least=0),
        ),
        refuses=needs_completion,
    ),
)
