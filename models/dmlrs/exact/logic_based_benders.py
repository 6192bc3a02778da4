"""Logic-based Benders decomposition (ours): a master with merged machines, slots packed in turn.

The master is the program of `proof.py`: it has all schedules that are better than the incumbent. If
a slot of its solution cannot be packed on the machines, a minimal infeasible subset S of its
bundles gives the cut

    sum over bundles that can become a member of S <= |S| - 1

in every slot, because capacities are the same in every slot. If the utilities of a solution do not
reach the goal, which happens within the tolerances of an engine, some job must earn more. Once
all slots can be packed, the solution is the next incumbent. The search is complete when the master
has no solution.

References
----------
J. N. Hooker, G. Ottosson, "Logic-based Benders decomposition", Mathematical Programming 96 (2003).
"""

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedgap.errors import UsageError
from schedgap.instances.dmlrs import DmlrsInstance, DmlrsSchedule
from schedgap.models.dmlrs import proof
from schedgap.models.dmlrs.bounds.utility_sums import attained
from schedgap.models.dmlrs.exact.packing import minimal_infeasible_subset, read
from schedgap.models.dmlrs.proof import Bundle
from schedgap.models.method import Budget
from schedgap.models.search_state import StageProgress, StageResult
from schedgap.solvers import solve
from schedgap.solvers.engines.confirm import confirm
from schedgap.solvers.engines.registry import find_engine
from schedgap.solvers.programs.arrays import LinearProgram
from schedgap.solvers.proofs.bins import OutOfTimeError
from schedgap.solvers.proofs.checker import IntegerProgram, RefusedError, Row
from schedgap.solvers.proofs.prover import linear_program

COST_BITS = 32  # bits of the largest utility; the rounding is far below `proof.WITHIN`


def benders_stage(
    progress: StageProgress[DmlrsSchedule],
    instance: DmlrsInstance,
    upper: float,
    *,
    master: str,
    share: float = 1.0,
    budget: Budget,
) -> StageResult:
    """Look for better and better schedules; complete if there is none.

    `progress`: receives schedules, and at the end the bound. `upper`: minus the value of the
    incumbent. `master`: the engine that solves the master. `share`: fraction of the time for the
    search; the rest can confirm its end.
    """
    clock = budget.clock.share(share)
    settings: dict[str, Any] = {
        "threads": budget.threads,
        "seed": budget.seed,
        "options": find_engine(master).usual,
    }
    trace: dict[str, Any] = {"rounds": 0, "cuts": 0}
    cuts: list[Row] = []
    complete = False
    try:
        model = proof.Model(instance, proof.goal(instance, -upper))
        while not clock.expired():
            goal = proof.goal(instance, -upper)
            program = _master(replace(model.program, goal=goal), cuts)
            result = solve(program, master, clock=clock, **settings)
            trace["rounds"] += 1
            if result.status == "infeasible":
                result, trace["asked_again"] = confirm(
                    program, master, result, clock=budget.clock, **settings
                )
                if result.status == "infeasible":
                    complete = True
                    progress.bound(final_bound(instance, upper))
            if result.values is None:
                break
            schedule, infeasible = read(model, result.values, clock)
            for items in infeasible:
                cuts += _cuts(model, minimal_infeasible_subset(model, items, clock))
            trace["cuts"] = len(cuts)
            if not infeasible:
                progress.incumbent(schedule)
                value = math.inf if schedule is None else -schedule.value(instance)
                if value >= upper:
                    chosen = result.values > 0.5
                    if sum(model.program.cost[j] for j in np.flatnonzero(chosen).tolist()) <= goal:
                        break  # a schedule only by what is rounded
                    cuts.append(_improvement(model, chosen))
                upper = min(upper, value)
    except (RefusedError, UsageError) as error:  # too large, or its numbers for the engine
        trace["note"] = str(error)
    except OutOfTimeError:
        pass
    return StageResult(complete, trace=trace)


def final_bound(instance: DmlrsInstance, upper: float) -> float:
    """Return the bound if no schedule is better than the incumbent by more than `proof.WITHIN`.

    `upper`: minus the value of the incumbent; so is the bound.
    """
    return -attained(instance, -upper * float(1 + proof.WITHIN))


def _master(program: IntegerProgram, cuts: Iterable[Row]) -> LinearProgram:
    """Return a program whose solutions include those with cost x <= goal, for an engine.

    Costs are rounded down, to keep them below 2^32; so all costs are in the unit of the engine.
    """
    bits = max((abs(cost).bit_length() for cost in program.cost), default=0)
    shift = max(0, bits - COST_BITS)
    value = {j: cost >> shift for j, cost in enumerate(program.cost) if cost}
    rows = [*program.rows, *cuts, (value, None, program.goal >> shift)]
    width = len(program.cost)
    arrays = linear_program(replace(program, rows=rows), np.zeros(width))
    return replace(arrays, integer=np.ones(width, dtype=bool))


def _improvement(model: proof.Model, chosen: NDArray[np.bool_]) -> Row:
    """Return the row that some job earns more than in a solution whose sum is too small.

    An engine with tolerances may return such a solution, if utilities differ by factors of 1e6.
    """
    cost = model.program.cost
    better = [
        y
        for completions in model.completions
        for own in [min((cost[y] for y in completions.values() if chosen[y]), default=0)]
        for y in completions.values()
        if cost[y] < own
    ]
    return dict.fromkeys(better, 1), 1, None


def _cuts(model: proof.Model, subset: tuple[Bundle, ...]) -> list[Row]:
    """Return the cuts of a minimal infeasible subset, for each slot that they concern."""
    found: list[Row] = []
    for own in model.bundles:
        entries = {
            j: 1 for j, bundle in own.items() if any(bundle.becomes(each) for each in subset)
        }
        if entries:
            found.append((entries, None, len(subset) - 1))
    return found
