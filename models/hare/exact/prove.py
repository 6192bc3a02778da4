"""Write the proof of an optimum: branch and price against the known value, and its record.

For optima that another engine found; a complete branch and price has its record already.
"""

from typing import Any

from schedgap.instances.hare import HareInstance, HareSchedule
from schedgap.models.hare.decode import to_steps, value_of
from schedgap.models.hare.exact.branch_and_price import BranchAndPrice, refusal
from schedgap.models.method import Budget
from schedgap.solvers.proofs.checker import RefusedError
from schedgap.solvers.proofs.prover import Proved


def prove_goal(instance: HareInstance, goal: int, schedule: Any, *, budget: Budget) -> Proved:
    """Look for a proof that no schedule has a value of `goal` or less.

    `goal`: as `proof.goal` gives it. `schedule`: the schedule that is claimed to be optimal, of
    value `goal` + 1. `budget`: time for the search.

    Raises
    ------
    RefusedError
        When the search, or the checker, is too large for the instance.
    """
    start = HareSchedule.from_data(instance, schedule)
    upper = value_of(instance, to_steps(instance, start), start.gpu)
    if reason := refusal(instance, upper):
        raise RefusedError("/goal", reason)
    result = BranchAndPrice(instance, start, budget=budget).run()
    if result.upper <= goal:
        return Proved(None, reason="a better schedule exists", nodes=result.nodes)
    if result.stopped:
        return Proved(None, reason=result.stopped, nodes=result.nodes)
    if result.proof is None:
        return Proved(None, reason="the proof is too large for the checker", nodes=result.nodes)
    return Proved(result.proof, nodes=result.nodes)
