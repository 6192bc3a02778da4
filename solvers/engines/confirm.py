"""A second answer to the same program, found in another way, before a last word is believed.

Engines can be wrong without a sign: presolve, restarts and tolerances have all cost HiGHS 1.15.1 an
optimum, and the presolve of CP-SAT 9.15, in whole numbers, has. Presolve is the common cause, and
neither another seed nor a smaller tolerance is a cure: on one ordinary program HiGHS is wrong at
1e-9 with every seed, and right at 1e-6; on another it is the other way round; CP-SAT says 50 for 48
with every seed where progress is counted in units of 1e9. So a search without presolve has to
agree.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from schedgap.solvers.children.clock import Clock
from schedgap.solvers.engines.results import (
    LEAST_TOLERANCES,
    TOLERANCE,
    EngineResult,
    EngineStatus,
    OnIncumbent,
)
from schedgap.solvers.engines.solve import solve

# by engine, ways to ask again
WORDS: dict[str, tuple[tuple[str, dict[str, Any]], ...]] = {
    "highs": (
        ("without presolve", {"presolve": "off"}),
        (
            "without presolve at the least tolerance",
            {"presolve": "off"} | LEAST_TOLERANCES["highs"],
        ),
    ),
    "gurobi": (
        ("without presolve", {"Presolve": 0}),
        ("without presolve at the least tolerance", {"Presolve": 0} | LEAST_TOLERANCES["gurobi"]),
    ),
    "cp-sat": (
        ("without presolve", {"cp_model_presolve": False}),
        ("without presolve, with another seed", {"cp_model_presolve": False}),
    ),
}
_PATIENCE, _LEAST_SECONDS = 10.0, 5.0  # times the first answer's seconds, for the first way


def confirm(
    program: Any,
    engine: str,
    first: EngineResult,
    *,
    clock: Clock,
    threads: int = 1,
    seed: int = 0,
    grid: float | None = None,
    start: Any = None,
    options: Mapping[str, Any] | None = None,
    on_incumbent: OnIncumbent | None = None,
) -> tuple[EngineResult, str]:
    """Ask for a program's optimum, or its infeasibility, again until two answers agree.

    Parameters
    ----------
    program, engine, clock, threads, seed, grid, start, options
        As `first` was solved with.
    first : EngineResult
        Of status `optimal` or `infeasible`.
    on_incumbent : callable or None
        Told of the solutions of the further answers.

    Returns
    -------
    EngineResult
        One of two that agree; without any two, the best solution, with no bound and a status that
        claims nothing.
    str
        What was asked and how it ended, for the trace. It says "differently" of a disagreement.
    """
    if first.info.get("asked_twice"):
        return first, "the same without presolve"
    answers, words = [first], []
    for number, (way, other) in enumerate(WORDS[engine]):
        limit = max(_LEAST_SECONDS, _PATIENCE * first.seconds) if number == 0 else math.inf
        again = solve(
            program,
            engine,
            clock=clock.share(1.0 if number else 0.5, most=limit),
            threads=threads,
            seed=seed + 1 + number,
            grid=grid,
            start=start if first.values is None else first.values,
            options={**(options or {}), **other},
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
        key=lambda each: math.inf if each.objective is None else each.objective,
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
