"""The stage `refute`: rule out better and better values over the program of a family's proof.

Each goal that is refuted leaves a proof file: at the end of the optimum, before that a bound.

References
----------
R. Klein, A. Scholl, "Computing lower bounds by destructive improvement: an application to
resource-constrained project scheduling", European Journal of Operational Research 112 (1999).
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from schedgap.instances.instance import Instance
from schedgap.models.method import Budget, S
from schedgap.models.proofs import excluded_objective, excluded_value, proof_width
from schedgap.models.search_state import ProofProgress, SearchState, StageResult
from schedgap.solvers.proofs.checker import RefusedError
from schedgap.solvers.proofs.prover import Proved


def refute(
    state: SearchState[S],
    instance: Instance,
    prove_goal: Callable[..., Proved],
    budget: Budget,
    *,
    lower: float | None = None,
    **options: Any,
) -> bool:
    """Refute values better than the incumbent's in a child process; return whether none is left.

    `prove_goal`: of the family. `lower`: the bound from which it starts, by default the state's.
    `options`: `sense`, `grid`, `step` and `lowers` of `refute_stage`.
    """
    state.phase("refuting better values")
    known = state.lower if lower is None else lower, state.upper
    state.child(
        "refute",
        refute_stage,
        instance,
        prove_goal,
        *known,
        budget=budget,
        engine="highs",
        **options,
    )
    return "refute" in state.proofs


def refute_stage(
    progress: ProofProgress,
    instance: Instance,
    prove_goal: Callable[..., Proved],
    lower: float,
    upper: float | None,
    *,
    sense: int = 1,
    grid: float = 1.0,
    step: float = 1.0,
    lowers: bool = False,
    budget: Budget,
) -> StageResult:
    """Refute values below `upper`; a better schedule that the prover finds lowers `upper`.

    `progress`: receives schedules and bounds. `prove_goal`: of the family. `lower`, `upper`: known
    bound, and value of the incumbent; None without one. Both are in the units of the search state,
    `sense` times the objective's. `grid`: of the values; 0 without one. `step`: how far the next
    bound to be proved lies above the last one, as a fraction of the first gap. With 1, the first
    goal is the value below the incumbent. `lowers`: the first goal is that value, too, but the
    prover may lower it to `least`. At first `least` has no limit. Then the prover must prove a
    fraction `step` of the gap that is left.
    """
    lowering: dict[str, float] = {"least": -math.inf} if lowers else {}
    nodes, rounds, note = 0, 0, ""
    stride = math.inf if upper is None else step * (upper - lower)
    if grid:
        stride = grid * max(1.0, stride // grid)
    proof, proved = None, -math.inf
    complete = False
    while not complete:
        value = upper
        if upper is not None and step < 1 and not lowers:
            value = min(upper, lower + stride)
        goal = excluded_value(instance, None if value is None else sense * value)
        if goal is None:
            note = "the values are too large to be told apart"
            break
        try:
            found = prove_goal(instance, goal, budget=budget, **lowering)
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
            reached = goal if found.proof.goal is None else found.proof.goal
            proof, complete = replace(found.proof, goal=reached), value == upper and reached >= goal
            if lowers:
                lowering["least"] = reached + math.ceil(step * (goal - reached))
            if value is not None:
                lower = value
            if value is not None or not complete:
                excluded = excluded_objective(instance, reached)
                on_grid = proof_width(instance, excluded) == 0
                proved = sense * excluded + (grid if on_grid else 0.0)
                progress.proved_bound(proved, proof)
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
