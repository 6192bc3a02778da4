"""(23)-(26): the workers and PSs of one job in one slot, on several machines.

Algorithm 4 solves and rounds the relaxation.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from schedgap.instances.dmlrs import STEP
from schedgap.instances.dmlrs.compiled import Floats, Ints
from schedgap.models.dmlrs.slot_options import SlotState
from schedgap.solvers.programs.arrays import LinearProgram
from schedgap.solvers.programs.builder import Block, ProgramBuilder

if TYPE_CHECKING:
    from pyomo.environ import ConcreteModel


@dataclass(frozen=True, slots=True, eq=False)
class AcrossMachines:
    """Problem (23) on machines [k], as arrays and with the places of its columns and rows."""

    program: LinearProgram
    columns: tuple[Block, Block]  # w [k], s [k]
    cover_rows: Ints  # positions of the rows eq_25_26 and fix_e3, whose lower sides are n and m(n)

    def counts(self, values: Floats) -> Floats:
        """Return workers and PSs [2, k] of a solution.

        `values` [j]: by column.
        """
        return np.stack([block.extract(values) for block in self.columns])


def build(
    slot: SlotState, machines: Ints, *, workers: int = 0, ps: int = 0, names: bool = False
) -> AcrossMachines:
    """Return (23)-(26): the cheapest placement of n workers and their PSs on some machines.

    Columns `w` and `s`, integer. Rows: `eq_24` the free capacity of each used resource and machine,
    `eq_25_26` at least n and at most F workers, `fix_e3` the PSs that they need, which the paper
    leaves out (E3).

    `slot`: state of the slot for the job. `machines` [k]: indices of the machines. `workers`, `ps`:
    n and m(n), the lower sides of `eq_25_26` and `fix_e3`. `names`: whether columns and rows have
    names.
    """
    builder, job = ProgramBuilder(), slot.job
    prices = slot.worker_price[machines], slot.ps_price[machines]
    limits = [max_units[machines] for max_units in slot.max_units]
    w, s = (
        builder.columns(name, len(machines), cost=price, upper=limit, integer=True)
        for name, price, limit in zip("ws", prices, limits, strict=True)
    )
    used = np.flatnonzero((job.worker > 0) | (job.ps > 0))
    shape = len(used), len(machines)
    place = np.arange(shape[0] * shape[1]).reshape(shape)
    terms = [
        (place, block.positions, demand[used, None] / STEP)
        for block, demand in ((w, job.worker), (s, job.ps))
    ]
    builder.rows("eq_24", shape, *terms, upper=slot.free[machines][:, used].T / STEP)
    total = (0, w.positions, 1.0)
    covers = (
        builder.rows("eq_25_26", 1, total, lower=workers, upper=job.batch),
        builder.rows("fix_e3", 1, (0, s.positions, 1.0), lower=ps),
    )
    cover_rows = np.concatenate([block.positions for block in covers])
    return AcrossMachines(builder.program(names=names), (w, s), cover_rows)


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
