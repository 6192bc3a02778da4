"""(23)-(26): the workers and PSs of one job in one slot, on several machines.

Algorithm 4 solves and rounds the relaxation.
"""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from schedgap.instances.dmlrs import STEP
from schedgap.instances.dmlrs.compiled import Ints
from schedgap.models.dmlrs.slot_options import SlotState
from schedgap.solvers.programs.arrays import LinearProgram
from schedgap.solvers.programs.builder import Block, ProgramBuilder

if TYPE_CHECKING:
    from pyomo.environ import ConcreteModel


@dataclass(frozen=True, slots=True, eq=False)
class AcrossMachines:
    """Problem (23) on machines [k], as arrays and with the places of its cover rows."""

    program: LinearProgram
    cover_rows: Ints  # positions of the rows eq_25_26 and fix_e3, whose lower sides are n and m(n)


def build(
    slot: SlotState,
    machines: Ints,
    *,
    workers: int = 0,
    ps: int = 0,
    hull: bool = False,
    names: bool = False,
) -> AcrossMachines:
    """Return (23)-(26): the cheapest placement of n workers and their PSs on some machines.

    Columns `w` and `s`, integer. The rows `eq_24` are the free capacity of each used resource and
    machine, and `eq_25_26` asks for at least n and at most F workers. Row `fix_e3` has the PSs that
    they need, which the paper leaves out (E3).

    `slot`: state of the slot for the job. `machines` [k]: indices of the machines. `workers`, `ps`:
    n and m(n), the lower sides of `eq_25_26` and `fix_e3`. `hull`: whether (24) is replaced by the
    integer hull of each machine. `names`: whether columns and rows have names.
    """
    builder, K = ProgramBuilder(), len(machines)
    prices = slot.worker_price[machines], slot.ps_price[machines]
    limits = [max_units[machines] for max_units in slot.max_units]
    w, s = (
        builder.columns(name, K, cost=price, upper=limit, integer=True)
        for name, price, limit in zip("ws", prices, limits, strict=True)
    )
    (_hull_rows if hull else _capacity_rows)(builder, slot, machines, w, s)
    total = (0, w.positions, 1.0)
    covers = (
        builder.rows("eq_25_26", 1, total, lower=workers, upper=slot.job.batch),
        builder.rows("fix_e3", 1, (0, s.positions, 1.0), lower=ps),
    )
    cover_rows = np.concatenate([block.positions for block in covers])
    return AcrossMachines(builder.program(names=names), cover_rows)


def _capacity_rows(
    builder: ProgramBuilder, slot: SlotState, machines: Ints, w: Block, s: Block
) -> None:
    """Add (24) for each resource that the job uses."""
    job = slot.job
    used = np.flatnonzero((job.worker > 0) | (job.ps > 0))
    shape = len(used), len(machines)
    place = np.arange(shape[0] * shape[1]).reshape(shape)
    terms = [
        (place, block.positions, demand[used, None] / STEP)
        for block, demand in ((w, job.worker), (s, job.ps))
    ]
    builder.rows("eq_24", shape, *terms, upper=slot.free[machines][:, used].T / STEP)


def _hull_rows(
    builder: ProgramBuilder, slot: SlotState, machines: Ints, w: Block, s: Block
) -> None:
    """Add the edges of each machine's integer hull, a w + b s <= c."""
    by_capacity: dict[bytes, list[tuple[int, int, int]]] = {}
    edges: list[tuple[int, int, int, int]] = []
    for k, h in enumerate(machines.tolist()):
        key = slot.free[h].tobytes()
        if key not in by_capacity:
            by_capacity[key] = _hull_edges(slot, h)
        edges += [(k, *edge) for edge in by_capacity[key]]
    machine, a, b, c = np.array(edges, dtype=np.int64).reshape(-1, 4).T
    place = np.arange(len(edges))
    terms = (place, w.at(machine), a), (place, s.at(machine), b)
    builder.rows("hull", len(edges), *terms, upper=c)


def _hull_edges(slot: SlotState, h: int) -> list[tuple[int, int, int]]:
    """Return the edges (a, b, c) of the hull of the pairs (w, s) that machine h holds."""
    job, (workers, ps) = slot.job, slot.max_units
    used = job.ps > 0
    w = np.arange(int(workers[h]) + 1)
    remaining = slot.free[h] - w[:, None] * job.worker
    s = np.minimum(int(ps[h]), (remaining[:, used] // job.ps[used]).min(axis=1))
    # upper hull of the points (w, largest s for it), from left to right
    corners: list[tuple[int, int]] = []
    for point in zip(w.tolist(), s.tolist(), strict=True):
        while len(corners) > 1 and _turns_left(corners[-2], corners[-1], point):
            corners.pop()
        corners.append(point)
    return [
        (before[1] - after[1], after[0] - before[0], after[0] * before[1] - before[0] * after[1])
        for before, after in pairwise(corners)
    ]


def _turns_left(a: tuple[int, int], b: tuple[int, int], c: tuple[int, int]) -> bool:
    """Return whether b lies on or below the line from a to c."""
    return (b[0] - a[0]) * (c[1] - a[1]) >= (b[1] - a[1]) * (c[0] - a[0])


def model(slot: SlotState, workers: int, *, relax: bool = False) -> "ConcreteModel":
    """Return the program on all machines as a Pyomo model.

    `slot`: state of the slot for the job. `workers`: n, an allowed number of workers. `relax`:
    whether to relax integrality, as Algorithm 4 does before it rounds.
    """
    from schedgap.solvers.programs.indices import as_model

    job_bundles = slot.job.bundles
    ps = int(job_bundles.ps[int(np.searchsorted(job_bundles.workers, workers))])
    machines = np.arange(len(slot.free))
    program = build(slot, machines, workers=workers, ps=ps, names=True).program
    return as_model(replace(program, integer=None) if relax else program, "sub-23")
