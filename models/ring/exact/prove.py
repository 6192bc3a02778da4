"""Write a proof of optimality: decide slot by slot, and close what prices of configurations close.

The prices are dual values of a linear program. Its columns are configurations of jobs that run at
the same time. The program takes as few slots as complete the remaining work of every job. It is
solved for the first few slots; regions further down are closed by prices found before, or divided.

References
----------
A. Mingozzi, V. Maniezzo, S. Ricciardelli, L. Bianco, "An exact algorithm for the
resource-constrained project scheduling problem based on a new mathematical formulation", Management
Science 44 (1998): bounds from sets of jobs that run concurrently.
"""

from typing import Any, NamedTuple

import numpy as np

from schedgap.instances.ring import RingInstance, RingSchedule
from schedgap.models.method import Budget
from schedgap.models.ring import proof
from schedgap.models.ring.proof import Region, RingSpace
from schedgap.solvers import solve
from schedgap.solvers.programs.builder import ProgramBuilder
from schedgap.solvers.proofs.prover import Proved
from schedgap.solvers.proofs.tree import Proof

BITS = 20  # prices are integers of about so many bits
MAX_NODES = 500_000
PRICED_DEPTH = 2  # decided slots up to which prices are computed
PRICED_AT_FIRST, PRICED_EVERY = 20, 300  # regions: one in so many after the first ones
TRIED = 6  # vectors, the most recently successful ones


def prove_goal(
    instance: RingInstance, goal: int, schedule: object = None, *, budget: Budget
) -> Proved:
    """Look for a proof that no schedule has a makespan of `goal` or less.

    `goal`: slots, from `proof.goal`. `schedule`: JSON data of the schedule that is claimed to be
    optimal; not used. `budget`: time, and seed of the engine.

    Raises
    ------
    RefusedError
        If there are too many configurations.
    """
    space = proof.space(instance, goal, {"cuts": []})
    vectors: list[dict[str, Any]] = []
    tree: list[dict[str, Any]] = []
    recent: list[int] = []  # vectors, the last one that closed a region first
    priced = 0
    stack = [(space.root(), 0)]  # regions, with their numbers of decided slots
    while stack:
        region, depth = stack.pop()
        if budget.clock.expired():
            return Proved(None, reason="time is up", nodes=len(tree))
        if len(tree) >= MAX_NODES:
            return Proved(None, reason=f"more than {MAX_NODES} nodes", nodes=len(tree))
        if space.excess(region, {}) is None:
            tree.append({"empty": True})
            continue
        if space.is_schedule(region):
            better = RingSchedule.from_data(instance, space.schedule(instance, region))
            return Proved(None, better, "a better schedule exists", nodes=len(tree))
        closing = _closing(space, region, vectors, recent)
        often = priced < PRICED_AT_FIRST or priced * PRICED_EVERY < len(tree)
        if closing is None and region.asked == 0 and depth <= PRICED_DEPTH and often:
            priced += 1
            vector = best_prices(space, region, budget)
            if vector is not None:
                closes = space.missing(region, vector) > 0
                if closes or not tree:
                    recent.insert(0, len(vectors))
                    vectors.append(vector)
                    closing = len(vectors) - 1 if closes else None
        if closing is not None:
            tree.append({"v": closing})
            continue
        tree.append({"b": ["next"]})
        depth += region.asked == 0
        stack += [(part, depth) for part in reversed(space.split(region, ["next"]))]
    return Proved(_proof(vectors, tree), nodes=len(tree))


def _closing(
    space: RingSpace, region: Region, vectors: list[dict[str, Any]], recent: list[int]
) -> int | None:
    """Return a vector that closes a region, and put it first; None if there is none."""
    for position, k in enumerate(recent[:TRIED]):
        if space.missing(region, vectors[k]) > 0:
            recent.insert(0, recent.pop(position))
            return k
    return None


def _proof(vectors: list[dict[str, Any]], tree: list[dict[str, Any]]) -> Proof:
    """Return the proof without unused vectors."""
    used = sorted({node["v"] for node in tree if "v" in node})
    number = {k: n for n, k in enumerate(used)}
    nodes = [{"v": number[node["v"]]} if "v" in node else node for node in tree]
    return Proof([vectors[k] for k in used], [], nodes)


class _Mode(NamedTuple):
    """A job on a number of servers, with the progress and the least number of slots left."""

    job: int
    servers: int
    left: int
    slots: int


def best_prices(space: RingSpace, region: Region, budget: Budget) -> dict[str, Any] | None:
    """Return the prices with the best bound for a region, as integers; None without an answer.

    `region`: the schedules that are left. `budget`: time, and seed of the engine.

    Notes
    -----
    The program minimises sum_c x_c, the number of slots. The configurations give job j on n servers
    a share y_jn of its progress and of its least number of slots. The shares of a job add up to 1,
    and make progress of jobs of any length comparable.
    """
    jobs, modes = space.jobs, _modes(space, region)
    number = {(mode.job, mode.servers): i for i, mode in enumerate(modes)}
    order = {j: k for k, j in enumerate(dict.fromkeys(mode.job for mode in modes))}
    work = [  # (mode, configuration, progress in a slot)
        (number[j, n], c, jobs[j].rate[n - 1][p - 1] / jobs[j].need)
        for c, active in enumerate(space.configurations)
        for j, n, p in active
        if (j, n) in number
    ]
    if not work:
        return None
    at, c, progress = zip(*work, strict=True)
    builder = ProgramBuilder()
    x = builder.columns("x", len(space.configurations), cost=1.0).positions[list(c)]
    y = builder.columns("y", len(modes)).positions
    every = range(len(modes))
    left = [-mode.left / jobs[mode.job].need for mode in modes]
    builder.rows("progress", len(modes), (at, x, progress), (every, y, left), lower=0.0)
    slots = [-float(mode.slots) for mode in modes]
    builder.rows("slots", len(modes), (at, x, 1.0), (every, y, slots), lower=0.0)
    builder.rows("job", len(order), ([order[mode.job] for mode in modes], y, 1.0), lower=1.0)
    result = solve(builder.program(), "highs", clock=budget.clock, threads=1, seed=budget.seed)
    if result.duals is None:
        return None
    duals = np.maximum(result.duals, 0.0).tolist()
    largest = max(duals[: 2 * len(modes)])
    if largest == 0:
        return None
    unit = 2**BITS * max(job.need for job in jobs) / largest
    entries = []
    for mode, a, b in zip(modes, duals, duals[len(modes) :], strict=False):
        need = jobs[mode.job].need
        entries.append([mode.job, mode.servers, round(unit * a / need), round(unit * b)])
    return {"p": entries}


def _modes(space: RingSpace, region: Region) -> list[_Mode]:
    """Return the modes in which jobs can end by the goal."""
    found = []
    for r in region.running:
        slots = -(-r.left // space.jobs[r.job].rate[r.servers - 1][0])
        found.append(_Mode(r.job, r.servers, r.left, slots))
    for j in region.waiting:
        for n, length in space.jobs[j].alone:
            if length <= space.goal - region.slot + 1:
                found.append(_Mode(j, n, space.jobs[j].need, int(length)))
    return found
