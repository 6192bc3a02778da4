"""Stages of the searches: lists of jobs at the prices of the fluid program, simulated annealing."""

import math

import numpy as np

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.instances.dmlrs.compiled import Floats
from schedgap.models.dmlrs.bounds.solve_relaxations import solve_fluid
from schedgap.models.dmlrs.heuristics.kernel import KERNEL, Plan
from schedgap.models.dmlrs.heuristics.negotiation import negotiate
from schedgap.models.dmlrs.heuristics.partial_schedule import PartialSchedule
from schedgap.models.method import MethodResult, RunContext
from schedgap.models.search_state import SearchState
from schedgap.solvers import Clock
from schedgap.solvers.search.annealing import anneal
from schedgap.solvers.search.moves import Terms

PRICE_SHARES = 0.0, 0.3, 0.6, 1.0  # shares of the prices at which jobs are inserted
# Genes, as in `kernel.insert`: mostly all workers, sometimes half of them.
GENES = np.array([(share, 1.0) for share in PRICE_SHARES] * 2 + [(0.0, 0.5)])
HOT, COLD = 2.0, 0.01  # first and last temperature, relative to the mean loss of a job
WARM = 0.3  # first temperature that keeps most of a schedule
ROOMS = 0.9, 0.95, 1.0  # shares of the capacity in which jobs negotiate, in turn
SAME_MOVES = 4  # negotiated starts until a search has twice as many moves
MAX_IDLE_STARTS = 8  # negotiated starts in a row without improvement that end the search
MAX_REMOVED = 8  # jobs of a move
MAX_TIME_SHARE = 0.96  # fraction of the time left, because a list on a large instance takes long
PATIENCE = 3  # rounds in a row without improvement that end a repeated search


def density(instance: DmlrsInstance, call: RunContext) -> MethodResult:
    """Insert all jobs into an empty schedule at prices 0: each where it completes earliest."""
    partial = PartialSchedule(instance, np.zeros((instance.horizon, len(instance.resources))))
    partial.insert_by_density(0.0, call.clock)
    return MethodResult(schedule=partial.schedule())


def list_stage(state: SearchState, instance: DmlrsInstance) -> Floats | None:
    """Report the fluid bound and greedy schedules; return its prices [t, r], None without time."""
    prices = solve_fluid(state, instance)
    if prices is not None:
        for share in PRICE_SHARES:
            partial = PartialSchedule(instance, prices)
            partial.insert_by_density(share, state.call.clock)
            state.incumbent(partial.schedule())
    return prices


def search(
    state: SearchState,
    instance: DmlrsInstance,
    prices: Floats,
    *,
    moves: int,
    rounds: float = math.inf,
    time_share: float = MAX_TIME_SHARE,
    hot: float = HOT,
) -> None:
    """Search from the incumbent by simulated annealing, in rounds of twice as many moves each time.

    It ends when rounds find nothing better; the trace says why it has ended.

    `state`: receives schedules. `prices` [t, r]: prices of the resources. `moves`: of the first
    round. `time_share`: share of the remaining time, in (0, 1]. `hot`: first temperature.
    """
    state.call.progress.phase("local search")
    clock, patience, done = state.call.clock.share(time_share), PATIENCE, 0
    assert state.schedule is not None
    partial = PartialSchedule(instance, prices, state.schedule.plans(instance))
    while patience and done < rounds and not (state.closed or clock.expired()):
        before = state.upper
        _anneal(state, partial, clock, moves=moves * 2**done, number=done, hot=hot)
        patience, done = patience - 1 if state.upper == before else PATIENCE, done + 1
    ended = (
        f"after {moves} moves" if patience else f"{PATIENCE} rounds in a row found nothing better"
    )
    ended = "out of time" if clock.expired() else ended
    state.trace["search_ended"] = "closed" if state.closed else ended


def search_negotiated(
    state: SearchState, instance: DmlrsInstance, prices: Floats, *, moves: int, time_share: float
) -> None:
    """Search from one negotiated schedule after another, until many in a row find nothing better.

    `prices` [t, r]: prices of the resources. `moves`: of each of the first searches. `time_share`:
    share of the remaining time, in (0, 1].
    """
    state.call.progress.phase("negotiating")
    clock, done, idle = state.call.clock.share(time_share), 0, 0
    while idle < MAX_IDLE_STARTS and not (state.closed or clock.expired()):
        before, room, seed = state.upper, ROOMS[done % len(ROOMS)], state.call.seed + done
        partial = negotiate(instance, prices, room=room, seed=seed, clock=clock)
        if partial is not None:
            state.incumbent(partial.schedule())
            more = moves * 2 ** (done // SAME_MOVES)
            _anneal(state, partial, clock, moves=more, number=done, hot=WARM)
        idle, done = idle + 1 if state.upper == before else 0, done + 1
    state.trace["negotiated_starts"] = done


def _anneal(
    state: SearchState,
    partial: PartialSchedule,
    clock: Clock,
    *,
    moves: int,
    number: int,
    hot: float,
) -> None:
    """Search from a partial schedule, and report what is better than the incumbent.

    `number`: of the search, for its seed.
    """
    own, jobs = clock.share(1.0), len(partial.problem.job)

    def report(plan: Plan, value: float) -> None:
        if state.upper is None or value - partial.best < state.upper:
            state.incumbent(partial.schedule(plan))

    anneal(
        KERNEL.entry(partial.instance),
        partial.problem,
        partial.state,
        Terms(np.arange(jobs), np.zeros(jobs, dtype=np.int64), GENES, MAX_REMOVED),
        hot=hot,
        cold=COLD,
        moves=moves if jobs else 0,
        seed=state.call.seed + number,
        target=partial.best + state.lower,
        stop=own.expired,
        spent=own.spent,
        on_better=report,
    )
