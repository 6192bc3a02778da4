"""Fluid relaxations of DMLRS (ours): all machines as one, workers and PSs divisible.

q_it in [0, 1] is the part of a mode's full width that job i uses in slot t. The compact program
follows each job's work W_it and the part Y_it of it that is complete by t, with W >= Y; the
disaggregated one has its own q for each slot f of completion. Prices of the capacity rows are
their use: `pricing` makes them a bound again, without the engine.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from schedgap.instances.dmlrs import EXTERNAL, INTERNAL, DmlrsInstance, arrays
from schedgap.instances.dmlrs.compiled import Floats
from schedgap.models.dmlrs.throughput import external_width, first_completions, widths
from schedgap.solvers.programs.arrays import LinearProgram


@dataclass(frozen=True, slots=True, eq=False)
class Fluid:
    """A fluid program, minimising minus the sum of utilities; rows of (5) are the first ones."""

    program: LinearProgram
    capacity_rows: int  # T R, by slot, then resource

    def prices(self, instance: DmlrsInstance, duals: Floats) -> Floats:
        """Return p [t, r] of the engine's duals [row]."""
        rows = -np.asarray(duals)[: self.capacity_rows]
        found: Floats = np.maximum(0.0, rows.reshape(instance.horizon, len(instance.resources)))
        return found


class _Rows:
    """A program that grows column by column and row by row."""

    def __init__(self, instance: DmlrsInstance) -> None:
        total = arrays(instance).capacity_milli.sum(axis=0) / 1000
        self.row_lower = [-np.inf] * (instance.horizon * len(total))
        self.row_upper = np.tile(total, instance.horizon).tolist()
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

    def takes(self, column: int, slot: int, demand: Floats) -> None:
        """Enter what a column demands of a slot in the rows of (5)."""
        base = (slot - 1) * len(demand)
        self.entries += [(base + r, column, float(d)) for r, d in enumerate(demand) if d]

    def fluid(self) -> Fluid:
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
        return Fluid(program, self.capacity_rows)


def full_widths(instance: DmlrsInstance, i: int) -> list[tuple[float, Floats]]:
    """Return advance and demand [r] of each mode that job i has at its full width.

    Of n workers n / gamma PSs, where m(n) may be more.
    """
    view = arrays(instance)
    each = view.worker_demand[i] + view.ps_demand[i] / view.ratio[i]
    most = {
        INTERNAL: int(widths(instance).internal[i].max()),
        EXTERNAL: external_width(instance, i),
    }
    return [(n / view.needed[i, mode], n * each) for mode, n in most.items() if n]


def compact_columns(instance: DmlrsInstance) -> int:
    """Return how many columns the compact program has at most."""
    T = instance.horizon
    pairs = zip(instance.jobs, first_completions(instance), strict=True)
    return sum(3 * (T - job.arrival + 1) + T - first + 1 for job, first in pairs if first <= T)


def disaggregated_columns(instance: DmlrsInstance) -> int:
    """Return how many columns the disaggregated program has at most."""
    T = instance.horizon
    pairs = zip(instance.jobs, first_completions(instance), strict=True)
    return sum(1 + 2 * (f - job.arrival + 1) for job, first in pairs for f in range(first, T + 1))


def compact(instance: DmlrsInstance) -> Fluid:
    """Return the compact fluid program.

    Notes
    -----
    Columns: about 4 for each job and slot from its arrival on.
    """
    view, rows = arrays(instance), _Rows(instance)
    for i, first in enumerate(first_completions(instance)):
        if first > instance.horizon:
            continue
        arrival = int(view.arrival[i])
        worth = np.append(view.utility[i, : instance.horizon - arrival + 1], 0.0)
        done = {  # Y_t: sum_f u(f) (Y_f - Y_f-1)
            t: rows.column(float(worth[t - arrival + 1] - worth[t - arrival]))
            for t in range(first, instance.horizon + 1)
        }
        before: list[tuple[int, float]] = []
        modes = full_widths(instance, i)
        for t in range(arrival, instance.horizon + 1):
            work = rows.column(upper=np.inf if t < instance.horizon else 2.0)
            used = [rows.column() for _ in modes]
            for column, (_, demand) in zip(used, modes, strict=True):
                rows.takes(column, t, demand)
            moved = [(q, -advance) for q, (advance, _) in zip(used, modes, strict=True)]
            rows.row([(work, 1.0), *before, *moved], -np.inf, 0.0)  # W_t <= W_t-1 + advance
            left = [(done[instance.horizon], -1.0)]
            if t in done:
                rows.row([(work, 1.0), (done[t], -1.0)], 0.0, np.inf)
            if t - 1 in done:
                left.append((done[t - 1], 1.0))
                rows.row([(done[t], 1.0), (done[t - 1], -1.0)], 0.0, np.inf)
            rows.row([*((q, 1.0) for q in used), *left], -np.inf, 0.0)
            before = [(work, -1.0)]
    return rows.fluid()


def disaggregated(instance: DmlrsInstance) -> Fluid:
    """Return the fluid program with parts of its own for each slot of completion.

    Notes
    -----
    Columns: sum_i sum_f (1 + 2 (f - a_i + 1)); tighter than the compact one, and slow for long
    horizons.
    """
    view, rows = arrays(instance), _Rows(instance)
    for i, first in enumerate(first_completions(instance)):
        arrival, modes = int(view.arrival[i]), full_widths(instance, i)
        chosen = []
        for f in range(first, instance.horizon + 1):
            y = rows.column(-float(view.utility[i, f - arrival]))
            chosen.append((y, 1.0))
            work = [(y, -1.0)]
            for t in range(arrival, f + 1):
                used = [rows.column() for _ in modes]
                for column, (advance, demand) in zip(used, modes, strict=True):
                    rows.takes(column, t, demand)
                    work.append((column, advance))
                rows.row([(y, -1.0), *((q, 1.0) for q in used)], -np.inf, 0.0)
            rows.row(work, 0.0, np.inf)
        if chosen:
            rows.row(chosen, -np.inf, 1.0)
    return rows.fluid()
