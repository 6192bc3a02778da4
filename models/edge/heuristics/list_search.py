"""The method `list`: list schedules, and simulated annealing of the jobs of each worker type.

Worker types share only parameter servers. So a search moves the jobs of one type, next to the runs
of the others. A move places some jobs again, each where it ends earliest, with at most a part of
its workers. A job that takes all that is free leaves nothing for the next one.

References
----------
S. Kirkpatrick, C. D. Gelatt, M. P. Vecchi, "Optimization by simulated annealing", Science 220
(1983).
"""

import functools
import math
from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge

from schedgap.instances.edge import EdgeInstance, EdgeSchedule
from schedgap.models.edge.algorithms.unplaced import complete_or_partial
from schedgap.models.edge.heuristics.kernel import KERNEL, Plan
from schedgap.models.edge.heuristics.lists import best_list, orders, place_all
from schedgap.models.edge.heuristics.partial_schedule import ALL, PartialSchedule
from schedgap.models.edge.placements import schedule_from_runs
from schedgap.models.method import MethodResult, RunContext
from schedgap.solvers import Clock
from schedgap.solvers.search.annealing import anneal
from schedgap.solvers.search.moves import Terms

# Genes, as in `kernel.insert`: all workers, a part of them, colocated, after a delay.
GENES = np.array(
    [ALL] * 4
    + [(cap / 20, 0.0, 0.0) for cap in range(1, 20)]
    + [(cap, 1.0, 0.0) for cap in (1.0, 0.6, 0.3)]
    + [(1.0, 0.0, wait) for wait in (2.0, 5.0, 12.0)]
)
HOT, COLD = 0.03, 3e-4  # first and last temperature, relative to the mean c_j - a_j
SHIFTS, MUTATION = 0.8, 0.5  # shares of the moves that shift a job in the order, that draw a gene
MAX_REMOVED = 8  # jobs that another move removes
ROUND = 50  # moves per job in the first round
PATIENCE = 4  # rounds in a row without improvement after which a search ends


def anneal_types(
    partial: PartialSchedule,
    clock: Clock,
    *,
    moves: int = ROUND,
    rounds: float = math.inf,
    patience: float = PATIENCE,
    seed: int = 0,
    stop: Callable[[], bool] = lambda: False,
    on_better: Callable[[EdgeSchedule], None] = lambda schedule: None,
) -> str:
    """Improve a list schedule in rounds, each with twice as many moves; return why it ended.

    `moves`: per job, in the first round. `patience`: rounds in a row without improvement after
    which it ends. `stop`: asked from time to time. `on_better`: receives better schedules of all
    jobs.
    """
    left, done = patience, 0
    genes = [np.zeros(len(problem.job), dtype=np.int64) for problem in partial.problems]

    def ended(clock: Clock) -> bool:
        return stop() or clock.expired()

    def report(t: int, plan: Plan, value: float) -> None:
        runs = partial.runs | partial.runs_of(t, plan)
        jobs = sum(len(problem.job) for problem in partial.problems)
        if len(runs) == jobs and (plan.host >= 0).all():
            on_better(schedule_from_runs(partial.instance, runs.values()))

    while left and done < rounds and not ended(clock):
        before = partial.value
        for t, (problem, state) in enumerate(zip(partial.problems, partial.states, strict=True)):
            own = clock.share(1 / (len(partial.problems) - t))
            order = np.argsort(state.plan.start, kind="stable")
            best, _ = anneal(
                KERNEL.entry(partial.instance),
                problem,
                state,
                Terms(order, genes[t], GENES, MAX_REMOVED, SHIFTS, MUTATION),
                hot=HOT,
                cold=COLD,
                moves=moves * 2**done * len(problem.job),
                seed=seed + done,
                target=float(problem.alone.sum()),
                stop=functools.partial(ended, own),
                spent=own.spent,
                on_better=functools.partial(report, t),
            )
            partial.restore(t, best)
        if partial.value <= sum(float(problem.alone.sum()) for problem in partial.problems):
            return "every job ends as soon as it can alone"
        left, done = patience if partial.value < before else left - 1, done + 1
    if ended(clock):
        return "time is up"
    if left:
        return f"{moves * len(partial.row)} moves are made (option moves)"
    return f"{patience} rounds in a row found nothing better"


def list_search(
    instance: EdgeInstance,
    call: RunContext,
    *,
    order: Annotated[
        Literal["arrival", "best"],
        "best: the best of several orders, improved by annealing; arrival: the order of arrival, "
        "without annealing",
    ] = "best",
    moves: Annotated[
        int | None,
        "moves of the annealing per job (default: 50, doubled in each round, until the time limit "
        "or four rounds in a row without improvement)",
        Ge(0),
    ] = None,
) -> MethodResult:
    """Run `list`: the best of several orders improved by annealing, or the order of arrival."""
    if order == "arrival":
        partial = place_all(instance, orders(instance)["arrival"])
        return complete_or_partial(instance, partial.schedule())
    call.progress.phase("lists")
    name, partial = best_list(instance)
    first = partial.value if partial.complete else None

    def report(schedule: EdgeSchedule) -> None:
        call.progress.incumbent(schedule, float(schedule.value(instance)))

    if partial.complete:
        report(partial.schedule())
    call.progress.phase("moving jobs")
    ended = anneal_types(
        partial,
        call.clock,
        moves=ROUND if moves is None else moves,
        rounds=math.inf if moves is None else 1,
        seed=call.seed,
        on_better=report,
    )
    trace = {"order": name, "first": first, "ended": ended}
    return complete_or_partial(instance, partial.schedule(), trace)
