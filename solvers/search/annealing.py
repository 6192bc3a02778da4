"""Simulated annealing by the moves of a kernel, in bursts of a few hundredths of a second."""

import math
import time
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from schedgap.solvers.search.moves import NONE, Terms, total

Plan = TypeVar("Plan")
_BURST = 0.02  # seconds between two looks at the clock
_REPORTS = 0.1  # largest share of the time for `on_better`


def insert_all(
    run: Callable[..., int], problem: Any, state: Any, order: ArrayLike, gene: ArrayLike
) -> int:
    """Insert jobs in order until one does not fit; return how many are inserted.

    `run`: of a kernel, compiled or not; `problem`, `state`: its arguments.
    """
    return run(*without_moves(problem, state, listed(len(state.plan.cost), order, gene)))


def listed(jobs: int, order: ArrayLike, gene: ArrayLike) -> Terms:
    """Return the terms by which jobs are inserted in order; `jobs`: how many there are in all."""
    genes = np.zeros(jobs, dtype=np.int64)
    first = np.array(order, dtype=np.int64)
    return Terms(NONE.copy(), genes, np.array([gene], dtype=float), 2, listed=first)


def without_moves(problem: Any, state: Any, terms: Any) -> tuple[Any, ...]:
    """Return arguments of the entry of a search for what it does before the first move."""
    plan, rng = state.plan, np.random.default_rng(0)
    return problem, state, plan, plan, np.zeros(2), terms, 0, np.ones(5), rng


def anneal(
    run: Callable[..., Any],
    problem: Any,
    state: Any,
    terms: Any,
    *,
    hot: float,
    cold: float,
    moves: int,
    seed: int = 0,
    target: float = -math.inf,
    stop: Callable[[], bool] = lambda: False,
    spent: Callable[[], float] = lambda: 0.0,
    on_better: Callable[[Any, float], None] = lambda plan, value: None,
) -> tuple[Any, int]:
    """Improve the plan of a state; return the best plan found, and the number of moves.

    The same seed and number of moves give the same plan, unless it is stopped.

    `run`: of a kernel, compiled or not; `problem`, `state`, `terms`: its arguments. `hot`, `cold`:
    first and last temperature, in its unit. `moves`: most moves. `target`: a value at which it
    ends, for example a bound.
    `stop`: returns True when time is up. `spent`: returns the elapsed share of the time, in [0, 1]:
    with a time limit, cooling follows the time. `on_better`: receives better plans, which it must
    not keep, with their values. If this takes long, it receives only some of them, but always the
    last one.
    """
    rng = np.random.default_rng(seed)
    old, best = copied(state.plan), copied(state.plan)
    values = np.full(2, total(state.plan.cost))
    made, count, reported, due = 0, 1, values[1], -math.inf

    def report() -> float:
        """Report the best plan; return when the next report is due."""
        begin = time.perf_counter()
        on_better(best, float(values[1]))
        end = time.perf_counter()
        return end + (end - begin) / _REPORTS

    while made < moves and values[1] > target + 1e-9 * abs(values[1]) and not stop():
        count, begin = min(count, moves - made), time.perf_counter()
        cooling = np.array([hot, cold, spent(), made, moves])
        run(problem, state, old, best, values, terms, count, cooling, rng)
        made += count
        seconds = max(time.perf_counter() - begin, 1e-6)
        count = max(1, round(count * min(2.0, max(0.5, _BURST / seconds))))
        if values[1] < reported and time.perf_counter() >= due:
            reported, due = values[1], report()
    if values[1] < reported:
        report()
    return best, made


def copied(plan: Plan) -> Plan:
    """Return a copy of a plan, a named tuple of arrays."""
    return type(plan)(*(each.copy() for each in plan))  # type: ignore[attr-defined]
