"""What is known of a `ring` instance before any search: free bounds, list schedules."""

import math
from collections.abc import Callable

from schedgap.instances.ring import RingInstance, RingSchedule
from schedgap.models.method import MethodResult, NullProgress, RunContext
from schedgap.models.ring.algorithms.packing import longest_first, pack, random_orders
from schedgap.models.ring.algorithms.sjf_bco import search_runs
from schedgap.models.ring.bounds.elementary import width_dff
from schedgap.models.ring.dispatch import Trial, dispatch, trial_schedule
from schedgap.models.ring.rates import RateTable, past_horizon, rate_table
from schedgap.models.search_state import SearchState
from schedgap.solvers.children.clock import Clock

_SHARE, _SECONDS = 0.2, 30.0  # for the lists, of the time that is left


def starting_schedule(
    instance: RingInstance, seed: int = 0, *, clock: Clock | None = None
) -> RingSchedule | None:
    """Return the best of a few list schedules; None where none ends within the horizon.

    There must be one at all: `rates.no_schedule` is asked first.
    """
    call = RunContext({}, None, Clock() if clock is None else clock, seed, NullProgress())
    found: RingSchedule | None = initial_state(instance, call).schedule
    return found


def initial_state(instance: RingInstance, call: RunContext) -> SearchState:
    """Return the bracket of what is known at once.

    A list's schedule is in it as soon as it is made; no list follows one that meets the bound. The
    first list is made however little time there is: it may be all that there ever is.
    """
    table = rate_table(instance)
    found = SearchState(
        call,
        lambda schedule: float(schedule.makespan),
        round_bound=lambda bound: math.ceil(bound - 1e-6),
        tolerance=0.0,
    )
    longest = max(range(len(table.size)), key=table.best_slots.__getitem__)
    job = instance.jobs[longest].id
    found.bound(table.best_slots[longest], {"kind": "longest", "job": job})
    width, k = width_dff(table)
    found.bound(width, {"kind": "width-dff", "k": k})
    if found.lower > instance.horizon:
        return found
    clock = call.clock.share(_SHARE, most=_SECONDS)

    def offer(trial: Trial) -> None:
        if trial.feasible:
            found.offer(trial_schedule(instance, trial))

    run_list_algorithms(table, call.seed, offer, lambda: found.closed or clock.expired())
    return found


def run_list_algorithms(
    table: RateTable, seed: int, offer: Callable[[Trial], None], stop: Callable[[], bool]
) -> None:
    """Offer the schedules of `lpt-pack`, SJF-BCO and random orders as they come.

    `stop` is asked between any two runs.
    """
    for order in longest_first(table):
        offer(dispatch(table, order, pack))
        if stop():
            return
    search_runs(table, stop=stop, on_better=lambda attempt: offer(attempt.trial))
    if not stop():
        random_orders(table, seed, stop=stop, on_better=offer)


def settled_result(instance: RingInstance, found: SearchState) -> MethodResult | None:
    """Return the outcome of a bracket that leaves nothing to prove, or None.

    A bound past the horizon leaves no schedule.
    """
    if found.closed:
        return found.outcome()
    if found.schedule is None and found.lower > instance.horizon:
        return MethodResult(
            infeasible=True,
            note=past_horizon(instance, found.lower),
            certificate=found.certificate,
            trace=found.trace,
        )
    return None
