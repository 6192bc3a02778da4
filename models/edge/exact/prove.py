"""Write a proof of optimality: refute every better value over the program of `proof.py`.

Joins that program to the shared prover and its separation of cover cuts.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from schedgap.instances.edge import EdgeInstance, EdgeSchedule, Placement
from schedgap.models.edge.placements import valid_schedule
from schedgap.models.edge.proof import Model
from schedgap.models.method import Budget
from schedgap.solvers.engines.highs import Relaxation
from schedgap.solvers.proofs.covers import CoverSeparator
from schedgap.solvers.proofs.prover import Proved, linear_program, prove

FEW_RUNS = 500  # so few need no prices
# Of the delay that the goal leaves to a job; the relaxation has no later runs.
NEAR = (0.3, 1.0)
PRICE_BITS = 10


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
    model = Model(instance, goal)
    pools = reduced(model, budget)
    model.write()
    program = model.program
    found = prove(program, clock=budget.clock, separate=[CoverSeparator(program)], seed=budget.seed)
    if found.proof is not None and pools:
        vectors = [*found.proof.vectors, *pools]
        return replace(found, proof=replace(found.proof, vectors=vectors))
    if found.better is not None:
        return replace(found, better=schedule_of(instance, model, found.better))
    return found


def reduced(model: Model, budget: Budget) -> list[dict[str, Any]]:
    """Leave out the runs that prices exclude; return the prices as pools of a proof file.

    The first prices come from the relaxation over runs that end early.
    """
    pools: list[dict[str, Any]] = []
    for share in NEAR:
        if sum(map(len, model.runs)) <= FEW_RUNS:
            break
        every = model.runs
        least = [min((model.cost(j, run) for run in own), default=0) for j, own in enumerate(every)]
        late = share * (model.goal - sum(least))
        model.runs = [
            [run for run in own if model.cost(j, run) <= first + late]
            for j, (own, first) in enumerate(zip(every, least, strict=True))
        ]
        model.write()
        pools.append(priced(model, budget))
        model.runs = every
        model.reduce(pools[-1])
    return pools


def priced(model: Model, budget: Budget) -> dict[str, Any]:
    """Return prices of the capacities, from the linear relaxation, as a vector of a proof file."""
    program = model.program
    cost = np.array(program.cost, dtype=float)
    result = Relaxation(linear_program(program, cost), seed=budget.seed).solve(budget.clock)
    if result.duals is None:
        return {"o": 1, "p": []}
    price = np.maximum(0.0, -np.asarray(result.duals)[len(program.rows) - len(model.cells) :])
    unit = np.round(price * 2.0**PRICE_BITS).astype(int).tolist()
    cells = [[*cell, p] for cell, p in zip(model.cells, unit, strict=True) if p]
    return {"o": 1 << PRICE_BITS, "p": cells}


def schedule_of(
    instance: EdgeInstance, model: Model, solution: Sequence[int]
) -> EdgeSchedule | None:
    """Return the schedule of a solution; None if it breaks a rule.

    `solution`: of each column of the program, a whole number.
    """
    placements: dict[str, Placement] = {}
    taken = [(c, n) for c, n in zip(model.columns, solution, strict=True) if n]
    servers = [server.id for server in instance.servers]
    for column, _ in taken:
        j, run = column.job, column.run
        if column.kind != "run":
            continue
        own = [
            (c.kind, c.server, n) for c, n in taken if c[1:3] == (j, run) and c.server is not None
        ]
        if run.server is not None:
            own = [("workers", run.server, run.mode.workers), ("ps", run.server, 1)]
        workers = {servers[s]: n for kind, s, n in own if kind == "workers"}
        (host,) = (s for kind, s, _ in own if kind == "ps")
        end = run.start + run.mode.duration - 1
        placements[model.jobs[j].id] = Placement(run.start, end, workers, servers[host])
    return valid_schedule(instance, EdgeSchedule(placements))
