"""Fluid relaxations of DMLRS (ours): all machines merged, workers and PSs divisible.

q_it in [0, 1] is the fraction of a mode's full width that job i uses in slot t. The compact program
tracks each job's work W_it and the fraction Y_it of it that is complete by t, with W >= Y. The
disaggregated program has its own q for each completion slot f. The duals of the capacity rows are
what the programs are for: `pricing` turns them into a bound without trusting the engine.

References
----------
J. P. Sousa, L. A. Wolsey, "A time indexed formulation of non-preemptive single machine scheduling
problems", Mathematical Programming 54 (1992): time-indexed programs, whose relaxation this adapts
to jobs of variable width that may be interrupted.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from schedgap.instances.dmlrs import EXTERNAL, INTERNAL, DmlrsInstance, arrays
from schedgap.instances.dmlrs.compiled import Floats
from schedgap.models.dmlrs.throughput import first_completions, machine_limits, max_external_workers
from schedgap.solvers.programs.arrays import LinearProgram


@dataclass(frozen=True, slots=True, eq=False)
class FluidLp:
    """A fluid program, minimising minus the sum of utilities; the rows of (5) come first."""

    program: LinearProgram
    capacity_rows: int  # T R, by slot, then resource

    def prices(self, instance: DmlrsInstance, duals: Floats) -> Floats:
        """Return the prices p [t, r] that the duals of (5) are.

        Parameters
        ----------
        duals : array [row]
            The engine's duals.
        """
        rows = -np.asarray(duals)[: self.capacity_rows]
        prices: Floats = np.maximum(0.0, rows.reshape(instance.horizon, len(instance.resources)))
        return prices


class _LpBuilder:
    """A program that grows column by column and row by row."""

    def __init__(self, instance: DmlrsInstance) -> None:
        capacity = arrays(instance).capacity_milli.sum(axis=0) / 1000
        self.row_lower = [-np.inf] * (instance.horizon * len(capacity))
        self.row_upper = np.tile(capacity, instance.horizon).tolist()
        self.capacity_rows = len(self.row_upper)
        self.cost: list[float] = []
        self.upper: list[float] = []
        self.entries: list[tuple[int, int, float]] = []

    def column(self, cost: float = 0.0, upper: float = 1.0) -> int:
        self.cost.append(cost)
        self.upper.append(upper)
        return len(self.cost) - 1

    def row(self, terms: list[tuple[int, float]], lower: float, upper: float) -> None:
        at = len(self.row_lower)
        self.row_lower.append(lower)
        self.row_upper.append(upper)
        self.entries += [(at, column, value) for column, value in terms]

    def add_demand(self, column: int, slot: int, demand: Floats) -> None:
        """Enter what a column demands of a slot in the rows of (5)."""
        base = (slot - 1) * len(demand)
        self.entries += [(base + r, column, float(d)) for r, d in enumerate(demand) if d]

    def finish(self) -> FluidLp:
        rows, columns, values = zip(*self.entries, strict=True) if self.entries else ((), (), ())
        shape = len(self.row_lower), len(self.cost)
        matrix = sparse.csr_array((values, (rows, columns)), shape=shape)
        lower = np.zeros(len(self.cost))
        program = LinearProgram(
            np.array(self.cost, dtype=float),
            lower,
            np.array(self.upper, dtype=float),
            matrix,
            np.array(self.row_lower),
            np.array(self.row_upper),
        )
        return FluidLp(program, self.capacity_rows)


def full_width_modes(instance: DmlrsInstance, i: int) -> list[tuple[float, Floats]]:
    """Return progress and demand [r] of each mode in which job i runs at full width.

    n workers have n / gamma PSs here, which is at most m(n).

    Parameters
    ----------
    i : int
        Index of the job.
    """
    view = arrays(instance)
    unit_demand = view.worker_demand[i] + view.ps_demand[i] / view.ratio[i]
    limits = {
        INTERNAL: int(machine_limits(instance).internal[i].max()),
        EXTERNAL: max_external_workers(instance, i),
    }
    return [(n / view.needed[i, mode], n * unit_demand) for mode, n in limits.items() if n]


def compact_columns(instance: DmlrsInstance) -> int:
    """Return an upper limit on the number of columns of the compact program."""
    T = instance.horizon
    pairs = zip(instance.jobs, first_completions(instance), strict=True)
    return sum(3 * (T - job.arrival + 1) + T - first + 1 for job, first in pairs if first <= T)


def disaggregated_columns(instance: DmlrsInstance) -> int:
    """Return an upper limit on the number of columns of the disaggregated program."""
    T = instance.horizon
    pairs = zip(instance.jobs, first_completions(instance), strict=True)
    return sum(1 + 2 * (f - job.arrival + 1) for job, first in pairs for f in range(first, T + 1))


def compact(instance: DmlrsInstance) -> FluidLp:
    """Return the compact fluid program: about 4 columns for each job and slot from its arrival."""
    view, builder = arrays(instance), _LpBuilder(instance)
    for i, first in enumerate(first_completions(instance)):
        if first > instance.horizon:
            continue
        arrival = int(view.arrival[i])
        utility = np.append(view.utility[i, : instance.horizon - arrival + 1], 0.0)
        completed = {  # Y_t: sum_f u(f) (Y_f - Y_f-1)
            t: builder.column(float(utility[t - arrival + 1] - utility[t - arrival]))
            for t in range(first, instance.horizon + 1)
        }
        previous: list[tuple[int, float]] = []
        modes = full_width_modes(instance, i)
        for t in range(arrival, instance.horizon + 1):
            work = builder.column(upper=np.inf if t < instance.horizon else 2.0)
            used = [builder.column() for _ in modes]
            for column, (_, demand) in zip(used, modes, strict=True):
                builder.add_demand(column, t, demand)
            advance_terms = [(q, -advance) for q, (advance, _) in zip(used, modes, strict=True)]
            builder.row(
                [(work, 1.0), *previous, *advance_terms], -np.inf, 0.0
            )  # W_t <= W_t-1 + advance
            completing = [(completed[instance.horizon], -1.0)]
            if t in completed:
                builder.row([(work, 1.0), (completed[t], -1.0)], 0.0, np.inf)
            if t - 1 in completed:
                completing.append((completed[t - 1], 1.0))
                builder.row([(completed[t], 1.0), (completed[t - 1], -1.0)], 0.0, np.inf)
            builder.row([*((q, 1.0) for q in used), *completing], -np.inf, 0.0)
            previous = [(work, -1.0)]
    return builder.finish()


def disaggregated(instance: DmlrsInstance) -> FluidLp:
    """Return the fluid program disaggregated by completion slot.

    It has sum_i sum_f (1 + 2 (f - a_i + 1)) columns; tighter than the compact one, and slow for
    long horizons.
    """
    view, builder = arrays(instance), _LpBuilder(instance)
    for i, first in enumerate(first_completions(instance)):
        arrival, modes = int(view.arrival[i]), full_width_modes(instance, i)
        completions = []
        for f in range(first, instance.horizon + 1):
            y = builder.column(-float(view.utility[i, f - arrival]))
            completions.append((y, 1.0))
            work = [(y, -1.0)]
            for t in range(arrival, f + 1):
                used = [builder.column() for _ in modes]
                for column, (advance, demand) in zip(used, modes, strict=True):
                    builder.add_demand(column, t, demand)
                    work.append((column, advance))
                builder.row([(y, -1.0), *((q, 1.0) for q in used)], -np.inf, 0.0)
            builder.row(work, 0.0, np.inf)
        if completions:
            builder.row(completions, -np.inf, 1.0)
    return builder.finish()
