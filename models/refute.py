"""The stage `refute`: rule out better and better values over the program of a family's proof.

Each goal that is refuted leaves a proof file: at the end of the optimum, before that of the bound.

References
----------
R. Klein, A. Scholl, "Computing lower bounds by destructive improvement: an application to
resource-constrained project scheduling", European Journal of Operational Research 112 (1999).
"""

import math
from dataclasses import replace
from typing import Any, Protocol, cast

from schedgap.instances.instance import Instance
from schedgap.models.method import Budget
from schedgap.models.proofs import excluded_value, proof_width
from schedgap.models.search_state import StageProgress, StageResult
from schedgap.solvers.proofs.checker import RefusedError
from schedgap.solvers.proofs.prover import Proved


class Prover(Protocol):
    """`prove_goal` of a family; what it returns as `better` is a schedule, where it reads it."""

    def __call__(
        self, instance: Any, goal: int, schedule: object = None, *, budget: Budget
    ) -> Proved:
        """Look for a proof that no schedule has a value of `goal` or less."""


def refute_stage(
    progress: StageProgress,
    instance: Instance,
    prove_goal: Prover,
    lower: float,
    upper: float | None,
    *,
    sense: int = 1,
    grid: float = 1.0,
    step: float = 1.0,
    budget: Budget,
) -> StageResult:
    """Refute values below `upper`; each schedule that is found instead lowers it.

    `progress`: receives schedules and bounds. `lower`, `upper`: known bound, and value of the
    incumbent; None without one. Both are in the units of the search state, `sense` times those of
    the objective. `grid`: of the values; 0 without one. `step`: how far the next bound to be proved
    lies above the last one, as a part of the first gap; with 1, the incumbent is tried at once.
    """
    nodes, rounds, note = 0, 0, ""
    stride = math.inf if upper is None else step * (upper - lower)
    if grid:
        stride = grid * max(1.0, stride // grid)
    proof, proved = None, -math.inf
    complete = False
    while not complete:
        value = upper if upper is None or step >= 1 else min(upper, lower + stride)
        objective = None if value is None else sense * value
        goal = excluded_value(instance, objective)
        if goal is None:
            note = "the values are too large to be told apart"
            break
        try:
            found = prove_goal(instance, goal, budget=budget)
        except RefusedError as error:  # too large
            note = str(error)
            break
        nodes, rounds, note = nodes + found.nodes, rounds + 1, found.reason
        if isinstance(found.better, tuple):  # the family reads no schedules from solutions
            break
        if found.better is not None:
            progress.incumbent(found.better)
            upper = sense * float(found.better.value(instance))
        elif found.proof is None:
            break
        else:
            proof, complete = replace(found.proof, goal=goal), value == upper
            if value is not None:
                lower = value
                proved = value - proof_width(instance, objective) * abs(value)
                progress.bound(proved, cast(Any, proof))  # a search state takes proofs, too
    return StageResult(
        complete=complete,
        infeasible=complete and upper is None,
        trace={
            "rounds": rounds,
            "nodes": nodes,
            "note": note,
            "seconds": round(budget.clock.elapsed(), 3),
        },
        proof=proof,
        proved=proved,
    )
