"""Write a proof of optimality: refute every better value over the program of `proof.py`.

Joins that program to the shared prover and its separation of cover cuts.
"""

from schedgap.instances.edge import EdgeInstance
from schedgap.models.edge import proof
from schedgap.models.method import Budget
from schedgap.solvers.proofs.covers import CoverSeparator
from schedgap.solvers.proofs.prover import Proved, prove


def prove_goal(
    instance: EdgeInstance, goal: int, schedule: object = None, *, budget: Budget
) -> Proved:
    """Look for a proof that no schedule has a value of `goal` or less.

    `goal`: minimised value, from `proof.goal`. `schedule`: JSON data of the schedule that is
    claimed to be optimal; not used. `budget`: time for the search, and seed of the engine.

    Raises
    ------
    RefusedError
        If the program is too large to be written down.
    """
    program = proof.program(instance, goal)
    return prove(program, clock=budget.clock, separate=[CoverSeparator(program)], seed=budget.seed)
