"""(23)-(26): the workers and PSs of one job in one slot, on several machines.

Algorithm 4 rounds its relaxation, which `algorithms.relaxed_placements` solves for all n at once.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from schedgap.instances.dmlrs import STEP
from schedgap.instances.dmlrs.compiled import Ints
from schedgap.models.dmlrs.slot_options import SlotState
from schedgap.solvers.programs.arrays import LinearProgram
from schedgap.solvers.programs.builder import Block, ProgramBuilder

if TYPE_CHECKING:
    from pyomo.environ import ConcreteModel


def build(
    slot: SlotState,
    machines: Ints,
    *,
    workers: int = 0,
    ps: int = 0,
    names: bool = False,
) -> LinearProgram:
    """Return (23)-(26): the cheapest placement of n workers and their PSs on some machines.

    Columns `w` and `s`, integer. The rows `eq_24` are the free capacity of each used resource and
    machine, and `eq_25_26` asks for at least n and at most F workers. Row `fix_e3` has the PSs that
    they need, which the paper leaves out (E3).

    `slot`: state of the slot for the job. `machines` [k]: indices of the machines. `workers`, `ps`:
    n and m(n), the lower sides of `eq_25_26` and `fix_e3`. `names`: whether to name the columns and
    rows.
    """
    builder, K = ProgramBuilder(), len(machines)
    prices = slot.worker_price[machines], slot.ps_price[machines]
    limits = [max_units[machines] for max_units in slot.max_units]
    w, s = (
        builder.columns(name, K, cost=price, upper=limit, integer=True)
        for name, price, limit in zip("ws", prices, limits, strict=True)
    )
    _capacity_rows(builder, slot, machines, w, s)
    total = (0, w.positions, 1.0)
    builder.rows("eq_25_26", 1, total, lower=workers, upper=slot.job.batch)
    builder.rows("fix_e3", 1, (0, s.positions, 1.0), lower=ps)
    return builder.program(names=names)


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


def model(slot: SlotState, workers: int, *, relax: bool = False) -> "ConcreteModel":
    """Return the program on all machines as a Pyomo model.

    `slot`: state of the slot for the job. `workers`: n, an allowed number of workers. `relax`:
    whether to relax integrality, as Algorithm 4 does before it rounds.
    """
    from schedgap.solvers.programs.indices import as_model

    job_bundles = slot.job.bundles
    ps = int(job_bundles.ps[int(np.searchsorted(job_bundles.workers, workers))])
    machines = np.arange(len(slot.free))
    program = build(slot, machines, workers=workers, ps=ps, names=True)
    return as_model(replace(program, integer=None) if relax else program, "sub-23")
