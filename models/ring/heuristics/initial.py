"""Initial state of a search: closed-form bounds and the best of several list schedules.

Joins `bounds.elementary`, `algorithms.packing` and SJF-BCO to a search state.
"""

import math
from collections.abc import Callable

from schedgap.instances.ring import RingInstance, RingSchedule
from schedgap.models.method import Budget, MethodResult, NullProgress, RunContext
from schedgap.models.ring.algorithms.packing import longest_first, pack, random_orders
from schedgap.models.ring.algorithms.sjf_bco import search_runs
from schedgap.models.ring.bounds.elementary import width_dff
from schedgap.models.ring.dispatch import Trial, dispatch, trial_schedule
from schedgap.models.ring.rates import (
    RateTable,
    past_horizon,
    rate_table,
)
from schedgap.models.search_state import SearchState

_SHARE, _SECONDS = 0.2, 30.0  # share of the remaining time for the list algorithms


def starting_schedule(
    instance: RingInstance, *, budget: Budget | None = None
) -> RingSchedule | None:
    """Return the best of a few list schedules, or None if none ends within the horizon.

    The instance must not be refuted by `no_schedule`.
    """
    call = RunContext({}, None, budget or Budget(), NullProgress())
    schedule: RingSchedule | None = initial_state(instance, call).schedule
    return schedule


def initial_state(instance: RingInstance, call: RunContext) -> SearchState:
    """Return a search state with the closed-form bounds and the best list schedule.

    The schedule of each list is offered at once, and the first that meets the bound is the last. At
    least one list is run, however little time is left, since its schedule may remain the only one.
    """
    table = rate_table(instance)
    state = SearchState(
        call,
        lambda schedule: float(schedule.makespan),
        round_bound=lambda bound: math.ceil(bound - 1e-6),
        tolerance=0.0,
    )
    longest = max(range(len(table.size)), key=table.best_slots.__getitem__)
    job = instance.jobs[longest].id
    state.bound(table.best_slots[longest], {"kind": "longest", "job": job})
    value, k = width_dff(table)
    state.bound(value, {"kind": "width-dff", "k": k})
    if state.lower > instance.horizon:
        return state
    clock = call.clock.share(_SHARE, most=_SECONDS)

    def offer(trial: Trial) -> None:
        if trial.feasible:
            state.incumbent(trial_schedule(instance, trial))

    run_list_algorithms(table, call.seed, offer, lambda: state.closed or clock.expired())
    return state


def run_list_algorithms(
    table: RateTable, seed: int, offer: Callable[[Trial], None], stop: Callable[[], bool]
) -> None:
    """Run the lists of `lpt-pack`, then SJF-BCO, then random orders.

    `table`: of an instance that `no_schedule` does not refute. `offer`: called with each run of a
    list, and with the runs of the others that are better than before. `stop`: asked after each run
    whether to stop.
    """
    for order in longest_first(table):
        offer(dispatch(table, order, pack))
        if stop():
            return
    search_runs(table, stop=stop, on_better=lambda attempt: offer(attempt.trial))
    if not stop():
        random_orders(table, seed, stop=stop, on_better=offer)


def settled_result(instance: RingInstance, state: SearchState) -> MethodResult | None:
    """Return the result of a state in which nothing is left to prove, or None.

    `state`: closed if bound and incumbent meet; infeasible if the bound exceeds the horizon.
    """
    if state.closed:
        return state.outcome()
    if state.schedule is None and state.lower > instance.horizon:
        return MethodResult(
            infeasible=True,
            note=past_horizon(instance, state.lower),
            certificate=state.certificate,
            trace=state.trace,
        )
    return None
