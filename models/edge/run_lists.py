"""List scheduling as a method."""

from schedgap.instances.edge import EdgeInstance
from schedgap.models.edge.heuristics.lists import Search, best_list, orders, place_all
from schedgap.models.edge.outcomes import deliver
from schedgap.models.edge.problem import no_batches, no_schedule
from schedgap.models.method import Call, Method, Option, Outcome

ORDERS = ("arrival", "best")


def run_list(instance: EdgeInstance, call: Call) -> Outcome:
    """Run `list`: the best of several orders, improved by moves; or jobs by arrival alone."""
    if reason := no_schedule(instance):
        return Outcome(infeasible=True, note=reason)
    if call.options["order"] == "arrival":
        timetable = place_all(instance, orders(instance)["arrival"])
        return deliver(instance, timetable.schedule())
    call.progress.phase("lists")
    name, order = best_list(instance)
    search = Search(instance, order, seed=call.seed)
    first = search.value if search.complete else None

    def report(search: Search) -> None:
        call.progress.incumbent(search.schedule(), float(search.value))

    if search.complete:
        report(search)
    call.progress.phase("moving jobs")
    stop, each = call.clock.expired, call.options["moves"]
    if each is None:
        ended = search.run_until(stop=stop, on_better=report)
    else:
        moves = each * len(instance.jobs)
        search.run(moves, stop=stop, on_better=report)
        ended = "time is up" if stop() else f"{moves} moves are made (option moves)"
    trace = {"order": name, "first": first, "ended": ended}
    return deliver(instance, search.schedule(), trace)


METHODS: tuple[Method, ...] = (
    Method(
        "list",
        "baseline",
        run_list,
        "jobs in the best of several orders, each where it ends soonest; then moved",
        "list scheduling",
        ours=True,
        options=(
            Option("order", "choice", "best", "best, improved; or arrival, as it is", ORDERS),
            Option(
                "moves",
                "int",
                None,
                "tries to improve, for each job (default: 30, then twice as many each time, until "
                "time is up or three such rounds find nothing better)",
                least=0,
            ),
        ),
        seeded=True,
        refuses=no_batches,
    ),
)
