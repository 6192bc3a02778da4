"""Two engines of different kinds asked whether an integer program has a solution (no proof).

HiGHS branches on linear relaxations, CP-SAT learns clauses; they share no code. That both find no
solution makes a common error unlikely. It is agreement, and no proof.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from schedgap.solvers.children.clock import Clock
from schedgap.solvers.children.processes import run_child
from schedgap.solvers.engines.availability import is_installed
from schedgap.solvers.engines.solve import solve
from schedgap.solvers.proofs.checker import IntegerProgram
from schedgap.solvers.proofs.prover import linear_program

LARGEST = 2**53  # integers beyond it are no doubles; CP-SAT's limit is 2^63


def agree(program: IntegerProgram, *, clock: Clock, seed: int = 0) -> bool:
    """Return whether HiGHS and CP-SAT each find that no solution has cost x <= goal.

    `clock`: time budget of both together. HiGHS runs in this process, CP-SAT in a child of it.
    `seed`: random seed of the engines.
    """
    if not is_installed("cp-sat"):
        return False
    cost = {j: c for j, c in enumerate(program.cost) if c}
    program = replace(program, rows=[*program.rows, (cost, None, program.goal)])
    if _size(program) >= LARGEST:
        return False
    if not _highs_refutes(program, clock.share(0.5), seed):
        return False
    reply = run_child(
        f"{__name__}:cp_sat_refutes",
        program,
        clock.remaining(),
        seed,
        limit=clock.remaining() + 1.0,
        engine="cp-sat",
    )
    return reply.outcome == "done" and bool(reply.value)


def _size(program: IntegerProgram) -> int:
    """Return an upper bound on every partial sum of a row."""
    reach = [max(abs(a), abs(b)) for a, b in zip(program.lower, program.upper, strict=True)]
    rows = [sum(abs(a) * reach[j] for j, a in entries.items()) for entries, _, _ in program.rows]
    sides = [abs(side or 0) for _, *both in program.rows for side in both]
    return max([*rows, *sides, *reach], default=0)


def _highs_refutes(program: IntegerProgram, clock: Clock, seed: int) -> bool:
    width = len(program.cost)
    arrays = replace(linear_program(program, np.zeros(width)), integer=np.ones(width, bool))
    return solve(arrays, "highs", clock=clock, seed=seed).status == "infeasible"


def cp_sat_refutes(
    send: Callable[[object], None], program: IntegerProgram, seconds: float, seed: int
) -> bool:
    """Return whether CP-SAT, in this (child) process, finds no solution of cost x <= goal.

    `send`: sends a message to the parent process; not used. `seconds`: time limit. `seed`: random
    seed.
    """
    from ortools.sat.python import cp_model

    from schedgap.solvers.engines.cp_sat import solve_model

    model = cp_model.CpModel()
    columns = [
        model.new_int_var(low, high, "")
        for low, high in zip(program.lower, program.upper, strict=True)
    ]
    for entries, low, high in program.rows:
        total = cp_model.LinearExpr.weighted_sum([columns[j] for j in entries], [*entries.values()])
        model.add_linear_constraint(
            total,
            cp_model.INT_MIN if low is None else low,
            cp_model.INT_MAX if high is None else high,
        )
    return solve_model(model, clock=Clock(seconds), seed=seed).status == "infeasible"
