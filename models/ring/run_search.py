"""Local search over servers and orders, as a method."""

from schedgap.instances.ring import RingInstance
from schedgap.models.method import Call, Method, Option, Outcome
from schedgap.models.ring import packing
from schedgap.models.ring.bounds import width_dff
from schedgap.models.ring.dispatch import schedule
from schedgap.models.ring.local_search import local_search
from schedgap.models.ring.measures import measures
from schedgap.models.ring.rates import rate_table
from schedgap.models.ring.run_algorithms import NO_PLACE, refuted
from schedgap.models.ring.simulator import schedule_of
from schedgap.models.ring.timetable import Found


def run_local_search(instance: RingInstance, call: Call) -> Outcome:
    """Run `local-search`: from `lpt-pack` on, down to the bounds that cost nothing."""
    if proof := refuted(instance):
        return proof
    table = rate_table(instance)
    lower = max(int(table.longest), width_dff(table)[0])
    if lower > instance.horizon:
        note = f"every schedule takes {lower} slots or more, the horizon is {instance.horizon}"
        return Outcome(infeasible=True, note=note)
    call.progress.phase("packing the longest jobs first")
    first = packing.lpt_pack(table)
    best = schedule(instance, first) if first.feasible else None
    if best is not None:
        call.progress.incumbent(best, best.makespan)
    call.progress.phase("moving jobs")

    def report(found: Found) -> None:
        nonlocal best
        better = schedule_of(instance, found.starts, found.placements)
        if better is not None and (best is None or better.makespan < best.makespan):
            best = better
            call.progress.incumbent(best, best.makespan)

    local_search(
        table,
        lower,
        instance.horizon + 1 if best is None else best.makespan,
        call.seed,
        orders=call.options["orders"],
        moves=call.options["moves"],
        stop=call.clock.expired,
        on_better=report,
    )
    if best is None:
        return Outcome(note=NO_PLACE)
    makespan = first.makespan if first.feasible else None
    trace = measures(instance, best) | {"lpt_pack": makespan, "lower": lower}
    return Outcome(best, trace=trace)


METHODS: tuple[Method, ...] = (
    Method(
        "local-search",
        "algorithm",
        run_local_search,
        "simulated annealing over which server serves which jobs, in which order",
        "simulated annealing",
        ours=True,
        options=(
            Option("orders", "int", 30, "of a small timetable, for each job", least=0, most=10**6),
            Option("moves", "int", 2000, "of each job for each target", least=1, most=10**6),
        ),
        seeded=True,
    ),
)
