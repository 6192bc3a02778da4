"""Local search over servers and orders, as a method and as a stage of others."""

from typing import Any

from schedgap.instances.ring import RingInstance, RingSchedule
from schedgap.models.bracket import Bracket, Finder, Report
from schedgap.models.method import Call, Method, Option, Outcome
from schedgap.models.ring import packing
from schedgap.models.ring.bounds.elementary import width_dff
from schedgap.models.ring.dispatch import schedule
from schedgap.models.ring.heuristics.local_search import local_search, too_large
from schedgap.models.ring.heuristics.timetable import Found
from schedgap.models.ring.measures import measures
from schedgap.models.ring.rates import past_horizon, rate_table
from schedgap.models.ring.run_algorithms import NO_PLACE, refuted
from schedgap.models.ring.simulator import schedule_of
from schedgap.solvers import Clock


def run_local_search(instance: RingInstance, call: Call) -> Outcome:
    """Run `local-search`: from `lpt-pack` on, down to the bounds that cost nothing."""
    if proof := refuted(instance):
        return proof
    table = rate_table(instance)
    lower = max(int(table.longest), width_dff(table)[0])
    if lower > instance.horizon:
        return Outcome(infeasible=True, note=past_horizon(instance, lower))
    found = Bracket(call, lambda made: float(made.makespan), close=0.0)
    call.progress.phase("packing the longest jobs first")
    first = packing.lpt_pack(table)
    if first.feasible:
        found.offer(schedule(instance, first))
    call.progress.phase("moving jobs")
    report = search_stage(
        found,
        instance,
        found.schedule,
        lower,
        clock=call.clock,
        seed=call.seed,
        threads=call.threads,
        **call.options,
    )
    if found.schedule is None:
        return Outcome(note=NO_PLACE)
    trace = {"lpt_pack": first.makespan if first.feasible else None, "lower": lower}
    trace["end"] = report.trace["end"]
    return Outcome(found.schedule, trace=measures(instance, found.schedule) | trace)


def search_stage(
    found: Finder,
    instance: RingInstance,
    known: RingSchedule | None,
    lower: int,
    *,
    clock: Clock,
    seed: int,
    threads: int,
    **options: Any,
) -> Report:
    """Look for schedules that are better than the known one; `options` are `local_search`'s."""

    def offer(better: Found) -> None:
        made = schedule_of(instance, better.starts, better.placements)
        if made is not None:
            found.offer(made)

    table = rate_table(instance)
    best = local_search(
        table,
        lower,
        instance.horizon + 1 if known is None else known.makespan,
        seed,
        clock=clock,
        on_better=offer,
        **options,
    )
    reached = [each.makespan for each in (best, known) if each is not None]
    if reached and min(reached) <= lower:
        end = "the bound is met"
    elif clock.expired():
        end = "time is up"
    elif too_large(table):
        end = "too many jobs and GPUs to move jobs between lanes"
    else:
        end = "all rounds are done"
    return Report(trace={"seconds": round(clock.elapsed(), 3), "end": end})


METHODS: tuple[Method, ...] = (
    Method(
        "local-search",
        "algorithm",
        run_local_search,
        "simulated annealing over which lanes of servers serve which jobs",
        "simulated annealing",
        ours=True,
        options=(
            Option("orders", "int", 30, "of a small timetable, for each job", least=0, most=10**6),
            Option(
                "moves",
                "int",
                2000,
                "of each job for each target, at first",
                least=1,
                most=10**6,
            ),
        ),
        seeded=True,
    ),
)
