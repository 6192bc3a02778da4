"""Simulated annealing by the moves of a kernel, in bursts of a few hundredths of a second."""

import math
import time
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from schedgap.solvers.search.moves import total

Plan = TypeVar("Plan")
_BURST = 0.02  # seconds between two looks at the clock
_NONE = np.empty(0, dtype=np.int64)


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
    seed: int = 0,
    enough: float = -math.inf,
    stop: Callable[[], bool] = lambda: False,
    spent: Callable[[], float] = lambda: 0.0,
    on_better: Callable[[Any, float], None] = lambda plan, value: None,
) -> tuple[Any, int]:
    """Improve the plan of a state; return the best plan found, and the number of moves.

    The same seed and number of moves give the same plan, unless it is stopped.

    `run`: of a kernel, compiled or not; `problem`, `state`, `genes`, `most`: its arguments. `hot`,
    `cold`: first and last temperature, relative to the mean cost of a job. `moves`: most moves.
    `enough`: a value at which it ends, for example a bound. `stop`: returns True when time is up.
    `spent`: returns the elapsed share of the time, in [0, 1]: with a time limit, cooling follows
    the time. `on_better`: receives each better plan, which it must not keep, with its value.
    """
    rng = np.random.default_rng(seed)
    old, best = copied(state.plan), copied(state.plan)
    values = np.full(2, total(state.plan.cost))
    made, count = 0, 1
    while made < moves and values[1] > enough + 1e-9 * abs(values[1]) and not stop():
        count, before, begin = min(count, moves - made), values[1], time.perf_counter()
        cooling = np.array([hot, cold, spent(), made, moves])
        run(problem, state, old, best, values, _NONE, genes, most, count, cooling, rng)
        made += count
        seconds = max(time.perf_counter() - begin, 1e-6)
        count = max(1, round(count * min(2.0, max(0.5, _BURST / seconds))))
        if values[1] < before:
            on_better(best, float(values[1]))
    return best, made


def copied(plan: Plan) -> Plan:
    """Return a copy of a plan, a named tuple of arrays."""
    return type(plan)(*(each.copy() for each in plan))  # type: ignore[attr-defined]
