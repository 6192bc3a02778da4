"""A kernel of a few lines: jobs on one machine, at the least weighted completion time."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedgap.solvers.search.annealing import listed, without_moves
from schedgap.solvers.search.compiled import Kernel
from schedgap.solvers.search.moves import GENERIC, Terms

SLOTS = 40
Floats = NDArray[np.float64]


class Problem(NamedTuple):
    alone: Floats  # [j]
    keys: Floats  # [k, j]
    weight: Floats  # [j]
    length: NDArray[np.int64]  # [j] slots


class Plan(NamedTuple):
    start: Floats  # [j]
    end: Floats  # [j]
    cost: Floats  # [j]


class State(NamedTuple):
    plan: Plan
    busy: NDArray[np.int64]  # [t] jobs in a slot


def copy(source: Any, target: Any, j: int) -> None:
    target.start[j], target.end[j], target.cost[j] = source.start[j], source.end[j], source.cost[j]


def apply(problem: Any, state: Any, j: int, sign: int) -> None:
    for t in range(int(state.plan.start[j]), int(state.plan.end[j])):
        state.busy[t] += sign


def insert(problem: Any, state: Any, j: int, gene: Any, spare: float, rng: Any) -> bool:
    """Take the first gap after a random delay, whose largest number of slots is the gene."""
    free, first = 0, int(gene[0] * rng.random())
    for t in range(first, len(state.busy)):
        free = free + 1 if state.busy[t] == 0 else 0
        cost = problem.weight[j] * (t + 1)
        if cost > problem.alone[j] + spare:
            return False
        if free == problem.length[j]:
            state.plan.start[j], state.plan.end[j], state.plan.cost[j] = t + 1 - free, t + 1, cost
            apply(problem, state, j, 1)
            return True
    return False


def one_machine(weight: list[float], length: list[int]) -> tuple[Problem, State]:
    """Return the instance, and a state without jobs."""
    w, p = np.array(weight), np.array(length)
    plan = Plan(*(np.zeros(len(w)) for _ in Plan._fields))
    return Problem(w * p, np.stack([-w, p / w]), w, p), State(plan, np.zeros(SLOTS, np.int64))


def terms_of(state: Any, genes: Any, most: int, *chances: float) -> Terms:
    """Return terms by the order in which the jobs start; all have the first gene."""
    genes = np.zeros((genes, 1)) if isinstance(genes, int) else genes
    order = np.argsort(state.plan.start, kind="stable")
    return Terms(order, np.zeros(len(order), dtype=np.int64), genes, most, *chances)


def sample() -> tuple[Any, ...]:
    return without_moves(*one_machine([1.0, 2.0], [1, 1]), listed(2, [], [0.0]))


KERNEL = Kernel("toy", (copy, apply, insert, *GENERIC), sample, lambda instance: True)
