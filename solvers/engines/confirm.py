"""Confirm an engine's answer by solving the program again without presolve.

Engines can be wrong without any sign. Presolve, restarts and tolerances have each made HiGHS 1.15.1
miss an optimum, and so has the presolve of CP-SAT 9.15, although it computes with integers.
Presolve is the common cause. Neither another seed nor a smaller tolerance helps. On one ordinary
program HiGHS is wrong at 1e-9 with every seed and right at 1e-6; on another program it is the
reverse. CP-SAT returns 50 instead of 48 with every seed if progress is counted in units of 1e9.
Therefore a search without presolve must agree.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from schedgap.solvers.children import meter
from schedgap.solvers.children.clock import Clock
from schedgap.solvers.engines.registry import ENGINES, find_engine
from schedgap.solvers.engines.results import (
    SEEDS,
    TOLERANCE,
    EngineResult,
    EngineStatus,
    OnIncumbent,
)
from schedgap.solvers.engines.solve import Program, solve

# time limit of the first repeated solve: a multiple of the first solve's seconds, and a minimum
_LIMIT_FACTOR, _MIN_SECONDS = 10.0, 5.0


Way = tuple[str, str, Mapping[str, Any]]  # words, engine, options


def ways(engine: str) -> tuple[Way, ...]:
    """Return how the answers of an engine are confirmed; empty for engines of conic programs.

    `engine`: name of the engine. If it describes no way, HiGHS confirms its answers.
    """
    chosen = find_engine(engine)
    if chosen.repeats or chosen.takes == ("conic",):
        return tuple((words, engine, options) for words, options in chosen.repeats)
    return tuple((f"with HiGHS {w}", "highs", options) for w, options in ENGINES["highs"].repeats)


@meter.confirmation()
def confirm(
    program: Program,
    engine: str,
    first: EngineResult,
    *,
    clock: Clock,
    threads: int = 1,
    seed: int = 0,
    grid: float | None = None,
    start: object = None,
    options: Mapping[str, object] | None = None,
    on_incumbent: OnIncumbent | None = None,
) -> tuple[EngineResult, str]:
    """Solve a program again, in other ways, until two answers agree.

    `program`, `engine`, `clock`, `threads`, `seed`, `grid`, `start`, `options`: as for the first
    solve. `first`: result of the first solve, with status `optimal` or `infeasible`.
    `on_incumbent`: called with better solutions of the repeated solves.

    The result is one of two results that agree. If no two agree, it is the best solution without a
    bound; its status is `feasible` or `unknown`. The text says what was repeated and how it ended,
    for the trace; it contains "differently" if answers differ.
    """
    if first.info.get("asked_twice"):
        return first, "the same without presolve"
    answers, words = [first], []
    for number, (way, by, other) in enumerate(ways(engine)):
        limit = max(_MIN_SECONDS, _LIMIT_FACTOR * first.seconds) if number == 0 else math.inf
        again = solve(
            program,
            by,
            clock=clock.share(1.0 if number else 0.5, most=limit),
            threads=threads,
            seed=(seed + 1 + number) % SEEDS,
            grid=grid,
            start=start if first.values is None else first.values,
            options={**((options or {}) if by == engine else {}), **other},
            on_incumbent=on_incumbent,
        )
        if again.status not in ("optimal", "infeasible"):
            words.append(f"no answer {way}")
            continue
        for earlier in answers:
            if _agree(earlier, again, grid):
                words.append(f"the same {way}")
                return (earlier if earlier.objective is not None else again), ", ".join(words)
        words.append(f"differently {way}: {_said(again)}, before: {_said(first)}")
        answers.append(again)
    best = min(
        answers,
        key=lambda result: math.inf if result.objective is None else result.objective,
    )
    status: EngineStatus = "unknown" if best.objective is None else "feasible"
    return replace(best, status=status, bound=None), ", ".join(words)


def _agree(one: EngineResult, other: EngineResult, grid: float | None) -> bool:
    if one.objective is None or other.objective is None:
        return one.status == other.status
    near = TOLERANCE * max(1.0, abs(one.objective), abs(other.objective))
    return abs(one.objective - other.objective) <= max(near, 1e-3 * (grid or 0.0))


def _said(result: EngineResult) -> str:
    return result.status if result.objective is None else f"{result.status} {result.objective:.12g}"
