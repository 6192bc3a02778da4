"""Write a proof of optimality: refute every better value over the program of `proof.py`.

Joins that program to the shared prover and its separation of cover cuts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from schedgap.instances.edge import EdgeInstance, EdgeSchedule, Placement
from schedgap.models.edge.placements import valid_schedule
from schedgap.models.edge.proof import Model
from schedgap.models.method import Budget
from schedgap.solvers.children.clock import Clock
from schedgap.solvers.engines.highs import Relaxation
from schedgap.solvers.proofs.covers import CoverSeparator
from schedgap.solvers.proofs.prover import Proved, Prover, linear_program
from schedgap.solvers.proofs.tree import Proof

FEW_RUNS = 500  # up to this number, runs need no prices
# Fraction of the delay that the goal leaves to a job; the relaxation has no later runs.
NEAR = (0.3, 1.0)
PRICE_BITS = 10


class GoalSearch:
    """A search for a proof that no schedule has a value of `goal` or less; it can be continued.

    `goal`: minimised value, from `proof.goal`. `budget`: time for the prices that leave out runs,
    and seed of the engine. `pools`: known prices, which leave out runs first.

    Raises
    ------
    RefusedError
        If the program is too large to be written down.
    """

    def __init__(
        self,
        instance: EdgeInstance,
        goal: int,
        budget: Budget,
        pools: Sequence[dict[str, Any]] = (),
    ) -> None:
        self.instance, self.model = instance, Model(instance, goal)
        for pool in pools:
            self.model.reduce(pool)
        self.pools = [*pools, *reduced(self.model, budget)]
        program = self.model.written()
        self._prover = Prover(program, [CoverSeparator(program)], seed=budget.seed)

    def run(self, clock: Clock) -> Proved:
        """Search until time is up; a further call goes on."""
        found = self._prover.search(clock)
        if found.proof is not None:
            vectors = [*found.proof.vectors, *self.pools]
            return replace(found, proof=replace(found.proof, vectors=vectors, goal=self.model.goal))
        if found.better is not None:
            return replace(found, better=schedule_of(self.instance, self.model, found.better))
        return found


def prove_goal(
    instance: EdgeInstance, goal: int, schedule: object = None, *, budget: Budget
) -> Proved:
    """Look for a proof that no schedule has a value of `goal` or less.

    `schedule`: JSON data of the schedule that is claimed to be optimal; not used. `goal`, `budget`,
    and RefusedError: as for `GoalSearch`.
    """
    return GoalSearch(instance, goal, budget).run(budget.clock)


class TypeProof(NamedTuple):
    """A proof that the jobs of one worker type have no value up to the goal of a program."""

    model: Model
    proof: Proof


def of_types(parts: Mapping[str, TypeProof]) -> Proof:
    """Return the proof over the joint program of all worker types, from one for each of them.

    A first branch asks whether the jobs of a type have a value up to its goal. In the part where
    they do, their own tree follows; its vectors take the row of this value in the place of the
    objective. Where the jobs of no type do, the costs above all goals close the last part.
    """
    if len(parts) == 1:
        return next(iter(parts.values())).proof
    vectors: list[dict[str, Any]] = [
        {"type": name, "goal": model.goal, "pools": [v for v in own.vectors if "p" in v]}
        for name, (model, own) in parts.items()
    ]
    cuts: list[Mapping[str, Any]] = []
    tree: list[dict[str, Any]] = []
    closing: list[list[int]] = []  # a batch has costs below 0: at most one run of each job
    base = sum(len(model.program.rows) + 1 for model, _ in parts.values())
    column = row = 0
    for model, own in parts.values():
        absent, value = column + len(model.columns), row + len(model.program.rows)
        at = [*range(row, value), *range(base + len(cuts), base + len(cuts) + len(own.cuts))]
        number = len(vectors)
        for vector in own.vectors:
            if "p" not in vector:
                prices = [[at[i], y] for i, y in vector["d"]]
                prices += [[value, -vector["o"]]] if vector["o"] else []
                vectors.append({"o": 0, "d": prices})
        for cut in own.cuts:
            sets = [
                [[column + j for j in members], choice if choice is None else at[choice]]
                for members, choice in cut["sets"]
            ]
            cuts.append({**cut, "row": at[cut["row"]], "sets": sets})
        tree.append({"b": ["var", absent, 0]})
        for node in own.tree:
            moved: dict[str, Any] = {"v": number + node["v"]} if "v" in node else {}
            if "fix" in node:
                moved["fix"] = [number + k for k in node["fix"]]
            if "b" in node:
                kind, i, split = node["b"]
                moved["b"] = [kind, at[i] if kind == "row" else column + i, split]
            tree.append({**node, **moved})
        closing += [[row + i, -1] for i in model.choices] if model.is_batch else []
        column, row = absent + 1, value + 1
    vectors.append({"o": 1, "d": closing})
    tree.append({"v": len(vectors) - 1})
    goal = sum(model.goal + 1 for model, _ in parts.values()) - 1
    return Proof(vectors, cuts, tree, goal)


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

    `solution`: an integer for each column of the program.
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
