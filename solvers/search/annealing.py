"""Simulated annealing by the moves of a kernel, in bursts of a few hundredths of a second."""

import math
import time
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from schedgap.solvers.search.moves import Memory, total

Plan = TypeVar("Plan")
_BURST = 0.02  # seconds between two looks at the clock
_REPORTS = 0.1  # largest share of the time for `on_better`
_NONE = np.empty(0, dtype=np.int64)


def insert_all(
    run: Callable[..., int], problem: Any, state: Any, order: ArrayLike, gene: ArrayLike
) -> int:
    """Insert jobs in order until one does not fit; return how many are inserted.

    `run`: of a kernel, compiled or not; `problem`, `state`: its arguments.
    """
    plan, values, cooling = state.plan, np.zeros(2), np.ones(5)
    jobs, genes = np.array(order, dtype=np.int64), np.array([gene], dtype=float)
    memory = Memory(_NONE.copy(), np.zeros(len(plan.cost), dtype=np.int64))
    rng = np.random.default_rng(0)
    return run(
        problem, state, plan, plan, values, jobs, genes, memory, np.zeros(2), 2, 0, cooling, rng
    )


def anneal(
    run: Callable[..., int],
    problem: Any,
    state: Any,
    *,
    genes: Any,
    most: int,
    hot: float,
    cold: float,
    moves: int,
    memory: Memory | None = None,
    shifts: float = 0.0,
    mutation: float = 1.0,
    seed: int = 0,
    target: float = -math.inf,
    stop: Callable[[], bool] = lambda: False,
    spent: Callable[[], float] = lambda: 0.0,
    on_better: Callable[[Any, float], None] = lambda plan, value: None,
) -> tuple[Any, int]:
    """Improve the plan of a state; return the best plan found, and the number of moves.

    The same seed and number of moves give the same plan, unless it is stopped.

    `run`: of a kernel, compiled or not; `problem`, `state`, `genes`, `most`: its arguments. `hot`,
    `cold`: first and last temperature, relative to the mean cost of a job. `moves`: most moves.
    `memory`: order and genes of the jobs, overwritten; by default their starts give the order, and
    all have the first gene. `shifts`, `mutation`: shares of the moves that shift a job in the
    order, and that draw another gene. `target`: a value at which it ends, for example a bound.
    `stop`: returns True when time is up. `spent`: returns the elapsed share of the time, in [0, 1]:
    with a time limit, cooling follows the time. `on_better`: receives better plans, which it must
    not keep, with their values. If this takes long, it receives only some of them, but always the
    last one.
    """
    rng = np.random.default_rng(seed)
    old, best = copied(state.plan), copied(state.plan)
    values, chances = np.full(2, total(state.plan.cost)), np.array([shifts, mutation])
    if memory is None:
        jobs = len(state.plan.cost)
        order = np.argsort(state.plan.start, kind="stable") if shifts > 0 else np.arange(jobs)
        memory = Memory(order, np.zeros(jobs, dtype=np.int64))
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
        run(
            problem, state, old, best, values, _NONE, genes, memory, chances, most, count, cooling,
            rng,
        )  # fmt: skip
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
