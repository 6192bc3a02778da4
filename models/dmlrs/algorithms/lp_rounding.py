"""PD-ORS with a measurement of its randomised rounding, problem by problem.

For every problem (23) of a run: the optimum of its relaxation, the cost of the rounded solution,
and how often the draws fail. For some of them also theta, the optimum in integers. Algorithm 4
promises a cost of at most 3 G / delta times the relaxation's optimum, with probability 1 - delta.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge, Le

from schedgap.instances.dmlrs import DmlrsInstance
from schedgap.models.dmlrs.algorithms import slot_placements
from schedgap.models.dmlrs.algorithms.pd_ors import pd_ors, slot_options
from schedgap.models.dmlrs.algorithms.rounding import Gain, RoundedProblem, Rounding
from schedgap.models.dmlrs.programs import across_machines
from schedgap.models.method import AlgorithmRun
from schedgap.solvers.children.clock import Clock
from schedgap.solvers.programs.arrays import LinearProgram

Solve = Callable[[LinearProgram], float | None]  # the proved optimum of an integer program


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredRun:
    """A run of PD-ORS, all its problems (23) with a relaxed solution, and theta of some of them."""

    run: AlgorithmRun
    problems: Sequence[RoundedProblem]
    thetas: dict[int, float | None]  # theta by position in `problems`; None if it is not known


def lp_rounding(
    instance: DmlrsInstance,
    solve: Solve,
    *,
    problems: Annotated[
        int, "most problems (23) that are also solved in integers", Ge(0), Le(100_000)
    ] = 200,
    gain: Gain = "one",
    delta: float = 1.0,
    rounds: int = 20,
    ps_row: bool = True,
    seed: int = 0,
    clock: Clock | None = None,
    **settings: Any,
) -> MeasuredRun:
    """Run PD-ORS and measure its rounding.

    With the defaults the schedule is the same as `pd_ors` returns with the same seed.

    `solve`: returns the proved optimum of an integer program, or None. `problems`: theta is
    computed for as many, evenly spread over the run. `gain`, `delta`, `rounds`, `ps_row`, `seed`,
    `clock`, `settings`: as for `pd_ors`.
    """
    seen: list[RoundedProblem] = []
    rounding = Rounding(
        np.random.default_rng(seed), gain, delta, rounds, ps_row, observe=seen.append
    )
    options = partial(slot_options, external=rounding)
    run = pd_ors(instance, options=options, clock=clock, **settings)
    chosen = np.unique(np.linspace(0, len(seen) - 1, min(problems, len(seen))).astype(int))
    thetas: dict[int, float | None] = {}
    for k in chosen.tolist():
        if clock is not None and clock.expired():
            break
        thetas[k] = theta(seen[k], solve, ps_row=ps_row)
    trace = {**run.trace, "rounding": dict(rounding.counts)}
    return MeasuredRun(replace(run, trace=trace), seen, thetas)


def theta(problem: RoundedProblem, solve: Solve, *, ps_row: bool = True) -> float | None:
    """Return the optimum of a problem (23) in integers, or None if it is not known.

    `solve`: as for `lp_rounding`. `ps_row`: whether the program has the row of PSs (E3).

    Notes
    -----
    Costs are divided by the optimum of the relaxation. A unit that costs more than a known solution
    is in no cheapest one and is left out; without a known solution the answer is None.
    """
    slot = problem.slot
    known = [
        option.cost
        for option in slot_placements.external_greedy(slot)
        if option.workers == problem.workers
    ]
    limit = min([*known, *([] if problem.cost is None else [problem.cost])], default=None)
    if limit is None:
        return None
    if limit <= 0:
        return 0.0
    workers, ps = slot.max_units
    machines = np.flatnonzero((workers > 0) | (ps > 0))
    program = across_machines.build(
        slot, machines, workers=problem.workers, ps=problem.ps if ps_row else 0
    )
    scale = 1 / (problem.lp if problem.lp > 0 else limit)
    useful = program.cost <= limit * (1 + 1e-9)
    optimum = solve(
        replace(
            program,
            cost=np.where(useful, program.cost * scale, 0.0),
            upper=np.where(useful, program.upper, 0.0),
        )
    )
    return None if optimum is None else optimum / scale


def summary(measured: MeasuredRun) -> dict[str, Any]:
    """Return the measurements as plain data for a trace.

    `problems` is the number of problems. Four numbers are shares of draws, averaged over the
    problems. `packing_failed` has the draws that break (24) or (25), and `cover_failed` those that
    break (26) or the row of PSs. `failed` has the draws that Algorithm 4 rejects. `above_bound` has
    the draws that cost more than 3 G / delta times the relaxation. `without_draw` counts the
    problems where every draw fails. The others are means and maxima of the ratios `cost_to_lp`,
    `theta_to_lp`, `cost_to_theta` and of the `bound` 3 G / delta. A number that is not known is
    null.
    """
    problems, thetas = measured.problems, measured.thetas
    known = {k: value for k, value in thetas.items() if value is not None}
    return {
        "problems": len(problems),
        "without_draw": sum(each.cost is None for each in problems),
        "failed": _mean(each.failed / each.draws for each in problems),
        "packing_failed": _mean(each.packing_failed / each.draws for each in problems),
        "cover_failed": _mean(each.cover_failed / each.draws for each in problems),
        "above_bound": _mean(each.above_bound / each.draws for each in problems),
        "bound": _spread(each.bound for each in problems),
        "cost_to_lp": _spread(
            each.cost / each.lp for each in problems if each.cost is not None and each.lp > 0
        ),
        "theta_known": len(known),
        "theta_to_lp": _spread(
            value / problems[k].lp for k, value in known.items() if problems[k].lp > 0
        ),
        "cost_to_theta": _spread(
            cost / value
            for k, value in known.items()
            if (cost := problems[k].cost) is not None and value > 0
        ),
    }


def _mean(values: Iterable[float]) -> float | None:
    """Return the mean, or None without values."""
    listed = list(values)
    return float(np.mean(listed)) if listed else None


def _spread(values: Iterable[float]) -> dict[str, float | None]:
    """Return mean and maximum, None without values."""
    listed = list(values)
    return {"mean": _mean(listed), "max": max(listed, default=None)}
