"""Write a proof of optimality: refute every better value over the program of `proof.py`.

Column generation prices the capacities, and the runs that are too expensive at these prices leave
the program. Branch and cut with cliques and covers refutes the rest.

References
----------
R. Baldacci, N. Christofides, A. Mingozzi, "An exact algorithm for the vehicle routing problem based
on the set partitioning formulation with additional cuts", Mathematical Programming 115 (2008).
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule
from schedgap.models.elastic import rules
from schedgap.models.elastic.bounds.contention import MAX_SLOTS
from schedgap.models.elastic.bounds.schedule_lp import priced_slots, solve_lp
from schedgap.models.elastic.heuristics.initial import starting_schedule
from schedgap.models.elastic.modes import Mode, cluster
from schedgap.models.elastic.programs import columns
from schedgap.models.elastic.proof import Model
from schedgap.models.method import Budget
from schedgap.solvers.programs.arrays import Floats
from schedgap.solvers.proofs.cliques import CliqueSeparator
from schedgap.solvers.proofs.covers import CoverSeparator
from schedgap.solvers.proofs.prover import Proved, Separator, prove

FEW_RUNS = 1500  # runs and starts that need no prices
MANY_RUNS, LOWER = 5000, 0.7  # if more runs are left, the gap to the goal shrinks by this factor
PRICE_BITS = 16  # the largest price is an integer of so many bits
MAX_ROUNDS = 60  # column generation ends after so many


def prove_goal(
    instance: ElasticInstance,
    goal: int,
    schedule: object = None,
    *,
    budget: Budget,
    least: float | None = None,
) -> Proved:
    """Look for a proof that no schedule has a value of `goal` or less.

    `goal`: minimised value, from `proof.goal`. `schedule`: JSON data of the schedule that is
    claimed to be optimal; not used. `budget`: time for the search, and seed of the engine. `least`:
    the goal may be lowered to this value, which leaves few runs; the proof names the goal.

    Raises
    ------
    RefusedError
        If the program is too large to be written down.
    """
    model = Model(instance, goal)
    pools: list[dict[str, Any]] = []
    if _runs_left(model) > FEW_RUNS:
        pool = _pool(instance, model, budget)
        gap = model.reduce(pool) / pool["o"]
        # At a gap of one step, the goal is next to the bound of the prices.
        while (
            gap > 1 and least is not None and model.goal > least and _runs_left(model) > MANY_RUNS
        ):
            gap *= LOWER
            lower = model.goal - math.ceil(gap * (1 / LOWER - 1))
            model = Model(instance, int(max(least, lower)))
            pool = _pool(instance, model, budget)
            model.reduce(pool)
        pools = [pool]
    model.write()
    separate: list[Separator] = [CliqueSeparator(model.cliques), CoverSeparator(model.program)]
    proved = prove(
        model.program,
        clock=budget.clock,
        separate=separate,
        kinds=model.kinds,
        seed=budget.seed,
    )
    if proved.better is not None:
        return replace(proved, better=schedule_of(instance, model, proved.better))
    if proved.proof is not None:
        vectors = [*proved.proof.vectors, *pools]
        return replace(proved, proof=replace(proved.proof, vectors=vectors, goal=model.goal))
    return proved


def _runs_left(model: Model) -> int:
    return sum(len(own) for runs in model.starts for own in runs)


def schedule_of(
    instance: ElasticInstance, model: Model, solution: Sequence[int]
) -> ElasticSchedule | None:
    """Return the schedule of a solution; None if it breaks a rule, by less than is rounded away.

    `solution`: of each column, 0 or 1.
    """
    runs = []
    for column in itertools.compress(model.columns, solution):
        if column.run >= 0:
            run = model.jobs[column.job].runs[column.run]
            m, workers, p, n, ps = run.place
            central = sum(workers) == (max(workers) if p < 0 else workers[n])
            mode = Mode(m, None if p < 0 else p, sum(workers), central, run.duration)
            by_server = dict(enumerate(workers))
            runs.append(columns.run_at(column.job, mode, column.start, by_server, {n: ps}))
    schedule = columns.schedule_of(instance, runs)
    broken = any(rules.check(instance, schedule.to_data(instance), {}))
    return None if broken else schedule


# --- prices --------------------------------------------------------------------------------------


@lru_cache(maxsize=1)  # goals of one instance are refuted one after the other
def _prices(instance: ElasticInstance, budget: Budget) -> Floats:
    """Return prices [h, r, t] of the capacities by column generation."""
    slots = min(priced_slots(instance, starting_schedule(instance)), MAX_SLOTS)
    lp = solve_lp(instance, slots, budget=budget, rounds=MAX_ROUNDS)
    shape = (*cluster(instance).capacity.shape, 0)
    return np.zeros(shape) if lp is None else lp.prices.price[lp.prices.pool]


def _pool(instance: ElasticInstance, model: Model, budget: Budget) -> dict[str, Any]:
    """Return the prices of the capacities as a vector of a proof file."""
    unit = cluster(instance).capacity / np.maximum(1.0, np.array(model.capacity, dtype=np.float64))
    price = _prices(instance, budget)[:, :, : model.last] * unit[:, :, None]
    bits = max(0, PRICE_BITS - int(np.frexp(price.max(initial=0.0))[1]))
    whole = np.round(price * 2.0**bits).astype(object)
    cells = [[h, r, t + 1, int(whole[h, r, t])] for h, r, t in np.argwhere(whole > 0).tolist()]
    return {"o": 1 << bits, "p": cells}
