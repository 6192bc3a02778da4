"""Write the proof of an optimum: refute every better value over the program of `proof.py`."""

from typing import Any

from schedgap.instances.edge import EdgeInstance
from schedgap.models.edge import proof
from schedgap.solvers import Clock
from schedgap.solvers.proofs.covers import CoverSeparator
from schedgap.solvers.proofs.prover import Proved, prove


def prove_goal(
    instance: EdgeInstance, goal: int, schedule: Any = None, *, clock: Clock, seed: int = 0
) -> Proved:
    """Look for a proof that no schedule has a value of `goal` or less.

    Parameters
    ----------
    instance : EdgeInstance
    goal : int
        In the minimisation, as `proof.goal` gives it.
    schedule : JSON data
        That is claimed to be optimal; not needed.
    clock : Clock
    seed : int
        Of the engine.

    Raises
    ------
    RefusedError
        When the program is too large to be written down.
    """
    program = proof.program(instance, goal)
    return prove(program, clock=clock, separate=[CoverSeparator(program)], seed=seed)
