"""Stages of the searches: lists of jobs at the prices of the fluid program, simulated annealing."""

import math

import numpy as np

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.instances.dmlrs.compiled import Floats
from schedgap.models.dmlrs.bounds.solve_relaxations import solve_fluid
from schedgap.models.dmlrs.heuristics.kernel import KERNEL
from schedgap.models.dmlrs.heuristics.partial_schedule import PartialSchedule
from schedgap.models.method import MethodResult, RunContext
from schedgap.models.search_state import SearchState
from schedgap.solvers.search.annealing import anneal
from schedgap.solvers.search.moves import Terms

PRICE_SHARES = 0.0, 0.3, 0.6, 1.0  # shares of the prices at which jobs are inserted
# Genes, as in `kernel.insert`: mostly all workers, sometimes half of them.
GENES = np.array([(share, 1.0) for share in PRICE_SHARES] * 2 + [(0.0, 0.5)])
HOT, COLD = 2.0, 0.01  # first and last temperature, relative to the mean loss of a job
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
) -> None:
    """Search from the incumbent by simulated annealing, in rounds of twice as many moves each time.

    It ends when rounds find nothing better; the trace says why it has ended.

    `state`: receives schedules. `prices` [t, r]: prices of the resources. `moves`: of the first
    round. `time_share`: share of the remaining time, in (0, 1].
    """
    state.call.progress.phase("local search")
    clock, patience, done = state.call.clock.share(time_share), PATIENCE, 0
    assert state.schedule is not None
    partial = PartialSchedule(instance, prices, state.schedule.plans(instance))
    while patience and done < rounds and not (state.closed or clock.expired()):
        before, own, jobs = state.upper, clock.share(1.0), len(partial.problem.job)
        anneal(
            KERNEL.entry(instance),
            partial.problem,
            partial.state,
            Terms(np.arange(jobs), np.zeros(jobs, dtype=np.int64), GENES, MAX_REMOVED),
            hot=HOT,
            cold=COLD,
            moves=moves * 2**done if jobs else 0,
            seed=state.call.seed + done,
            target=partial.best + state.lower,
            stop=own.expired,
            spent=own.spent,
            on_better=lambda plan, value: state.incumbent(partial.schedule(plan)),
        )
        patience, done = patience - 1 if state.upper == before else PATIENCE, done + 1
    ended = (
        f"after {moves} moves" if patience else f"{PATIENCE} rounds in a row found nothing better"
    )
    ended = "out of time" if clock.expired() else ended
    state.trace["search_ended"] = "closed" if state.closed else ended
