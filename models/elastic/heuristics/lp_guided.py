"""`lp-guided` (ours): list schedules led by the prices of a linear relaxation, then a local search.

A job is inserted at the least weight x completion plus a part of the prices: without them it would
take all that is free, and leave nothing for the next one. A move of the search removes a few jobs
and inserts them again in another order.

References
----------
C. Phillips, C. Stein, J. Wein, "Minimizing average completion time in the presence of release
dates", Mathematical Programming (1998): lists in the order of a relaxation.
P. Shaw, "Using constraint programming and local search methods to solve vehicle routing problems",
Principles and Practice of Constraint Programming, Lecture Notes in Computer Science 1520 (1998):
large neighbourhoods.
S. Kirkpatrick, C. D. Gelatt, M. P. Vecchi, "Optimization by simulated annealing", Science 220
(1983).
"""

from itertools import product
from typing import Annotated, Any, NamedTuple

import numpy as np
from annotated_types import Ge

from schedgap.errors import ScaleError
from schedgap.instances.elastic import ElasticInstance
from schedgap.models.elastic.bounds.compiled_pricing import fastest_pricer
from schedgap.models.elastic.bounds.configuration_lp import Block, solve_configurations
from schedgap.models.elastic.bounds.container_prices import ContainerPrices, configurations
from schedgap.models.elastic.heuristics.initial import initial_state
from schedgap.models.elastic.heuristics.kernel import KERNEL
from schedgap.models.elastic.heuristics.list_schedules import NO_PLACE, list_schedule, wspt_order
from schedgap.models.elastic.heuristics.partial_schedule import PartialSchedule
from schedgap.models.elastic.modes import cluster, modes
from schedgap.models.elastic.placement import Floats
from schedgap.models.elastic.programs.columns import runs_from, schedule_of
from schedgap.models.method import Budget, MethodResult, RunContext
from schedgap.models.search_state import SearchState
from schedgap.solvers.children.clock import Clock
from schedgap.solvers.search.annealing import anneal
from schedgap.solvers.search.moves import Terms

LP_SHARE = 0.4  # fraction of the time for the relaxation
GAP = 1e-3  # relative gap between master and bound at which the relaxation ends
FACTORS = (0.7, 0.5, 1.0)  # prices count so many times in the lists
MOVES = 150  # moves per job without a time limit
MAX_MOVES = 10**9  # moves per job with a time limit, which ends the search
# One is drawn for each move: factor of the prices, and weight of the room next to a run.
GENES = np.array(list(product((0.2, 0.2, 0.5, 0.8, 1.0), (0.0, 0.5))))
MAX_REMOVED = 4  # jobs that a move removes
ROUNDING = 1e-13  # relative: sums of weights lose less in doubles
HOT, COLD = 0.03, 3e-4  # first and last temperature, relative to the mean value of a job


class LpGuide(NamedTuple):
    """Prices of a linear relaxation, and starts and ends of the jobs in its Lagrangian solution."""

    upto: Floats  # [i, t] price of a container in slots 1..t, with the surcharge on PSs
    start: Floats  # [j]
    end: Floats  # [j] start + duration


def guide(instance: ElasticInstance, prices: ContainerPrices) -> LpGuide:
    """Return the guide given by prices; jobs without a run come last."""
    pricer = fastest_pricer(instance)
    priced = pricer.price_jobs(prices)
    assert priced is not None  # without a clock
    late = prices.slots + 1
    spans = [(runs[0].start, pricer.end(runs[0])) if runs else (late, late) for runs in priced[1]]
    extra = surcharge(instance, prices) + volume_price(instance)
    charged = ContainerPrices(prices.edges, prices.price + extra)
    return LpGuide(charged.upto(), *np.array(spans, dtype=float).T)


def surcharge(instance: ElasticInstance, prices: ContainerPrices) -> Floats:
    """Return [i, b] what a PS takes from the best use of its server; 0 for workers.

    The relaxation puts the PSs of a run on any servers, wherever workers leave room, so they are
    almost free. In a schedule they are on one server, throughout the run. The surcharge is the mean
    over all servers that can hold the PS.
    """
    extra, servers = np.zeros(prices.price.shape), np.zeros(len(prices.price))
    for number, table in configurations(instance):
        value = table @ prices.price  # [c, b]
        for i in range(len(cluster(instance).worker_units), len(extra)):
            holds = table[:, i] > 0
            if holds.any():
                extra[i] += number * (value.max(axis=0) - value[holds].max(axis=0))
                servers[i] += number
    return extra / np.maximum(servers, 1)[:, None]


def volume_price(instance: ElasticInstance) -> Floats:
    """Return [i, 1] the price of a container and slot in a batch problem: its share of the cluster.

    With this price, lists and moves prefer runs of little volume, which leave more to other jobs.
    All servers until the deadline cost as much as all jobs weigh. The prices of a relaxation that
    leaves no job out are 0.
    """
    view = cluster(instance)
    units = np.concatenate([view.worker_units, view.ps_units])
    if instance.deadline is None:
        return np.zeros((len(units), 1))
    weight = sum(job.weight for job in instance.jobs)
    price: Floats = (units * view.share).max(axis=1, keepdims=True) * weight / instance.deadline
    return price


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
    """Run `lp-guided`: relaxation, lists, search; return the best schedule found."""
    state = initial_state(instance, call)
    if state.closed:
        return state.outcome()

    call.progress.phase("the relaxation")
    found = lists_by_prices(instance, state, call.budget.share(LP_SHARE), block)
    if found is not None and state.schedule is not None and moves != 0:
        call.progress.phase("searching")
        state.trace["search"] = search(instance, state, found, call.clock, moves)
    return state.outcome(NO_PLACE if state.schedule is None else "")


def lists_by_prices(
    instance: ElasticInstance, state: SearchState, budget: Budget, block: int | None = None
) -> LpGuide | None:
    """Report bounds of the relaxation, and lists by its first and last prices; return the last.

    None if time is up. `block`: slots that share a price.
    """
    clock = state.call.clock

    def list_by(prices: ContainerPrices) -> LpGuide:
        found = guide(instance, prices)
        by_start = np.argsort(found.start, kind="stable").tolist()
        orders = [[j for j in by_start if modes(instance, j)]]
        if instance.is_batch:  # the jobs that start first may be those to leave out
            orders.append(wspt_order(instance))
        for order, factor in product(orders, FACTORS):
            runs = list_schedule(instance, order, found.upto, factor, 1.0, clock.expired)
            if runs is not None:
                state.incumbent(schedule_of(instance, runs))
        return found

    lp = solve_configurations(
        instance,
        block=block,
        budget=budget,
        pricer=fastest_pricer(instance),
        gap=GAP,
        on_bound=state.bound,
        on_start=list_by,
    )
    return None if lp is None or clock.expired() else list_by(lp.prices)


def search(
    instance: ElasticInstance,
    state: SearchState,
    found: LpGuide,
    clock: Clock,
    asked: int | None = None,
) -> dict[str, Any]:
    """Improve the incumbent of a state, all jobs in modes; return the moves and why they ended.

    In a batch problem the search minimises the weight that is left out. In a closed horizon there
    may be no incumbent; then it makes no moves.

    `asked`: moves for each job; None: as time allows.
    """
    if state.schedule is None:
        return {"moves": 0, "end": NO_PLACE}
    moves = asked if asked is not None else MOVES if clock.limit is None else MAX_MOVES
    runs, end = runs_from(instance, state.schedule), instance.deadline
    try:
        end = max(run.end for run in runs) if end is None else end
        partial = PartialSchedule(instance, end - 1, found.upto, runs)
    except ScaleError as error:
        return {"moves": 0, "end": str(error)}
    jobs, plan = len(instance.jobs), partial.state.plan
    keys, target = np.full((3, jobs), np.inf), state.lower
    keys[0] = -partial.problem.weight
    for row, order in (1, wspt_order(instance)), (2, np.argsort(found.end, kind="stable").tolist()):
        keys[row, order] = np.arange(len(order))
    problem = partial.problem._replace(keys=keys)
    if instance.is_batch:
        weight = np.array([job.weight for job in instance.jobs], dtype=float)
        problem = problem._replace(alone=np.zeros(jobs), left_out=weight)
        plan.cost[:] = np.where(plan.mode < 0, weight, 0.0)
        target += weight.sum() * (1 + ROUNDING)
    terms = Terms(np.arange(jobs), np.zeros(jobs, dtype=np.int64), GENES, MAX_REMOVED)
    _, made = anneal(
        KERNEL.entry(instance), problem, partial.state, terms, hot=HOT, cold=COLD,
        moves=moves * jobs, seed=state.call.seed, target=target, stop=clock.expired,
        spent=clock.share(1).spent,
        on_better=lambda plan, value: state.incumbent(schedule_of(instance, partial.runs(plan))),
    )  # fmt: skip
    why = f"{moves} moves for each job"
    if state.closed:
        why = "the bound is met"
    elif clock.expired():
        why = "out of time"
    return {"moves": made, "end": why}
