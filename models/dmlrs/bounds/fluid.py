"""Fluid relaxation of DMLRS (ours): all machines merged, workers and PSs divisible.

q_it in [0, 1] is the fraction of a mode's full width that job i uses in slot t. The program tracks
each job's work W_it and the fraction Y_it of it that is complete by t, with W >= Y. The duals of
the capacity rows are what it is for: `pricing` turns them into a bound without trusting the engine.

References
----------
J. P. Sousa, L. A. Wolsey, "A time indexed formulation of non-preemptive single machine scheduling
problems", Mathematical Programming 54 (1992): time-indexed programs, whose relaxation this adapts
to jobs of variable width that may be interrupted.
"""

from dataclasses import dataclass

import numpy as np

from schedgap.instances.dmlrs import DmlrsInstance, arrays
from schedgap.instances.dmlrs.compiled import Floats
from schedgap.models.dmlrs.throughput import first_completions, mode_limits
from schedgap.solvers.programs.arrays import LinearProgram
from schedgap.solvers.programs.builder import Block, ProgramBuilder


@dataclass(frozen=True, slots=True, eq=False)
class FluidRelaxation:
    """A fluid program, minimising minus the sum of utilities; the rows of (5) come first."""

    program: LinearProgram
    capacity: Block  # [t - 1, r] rows of (5)

    def prices(self, duals: Floats) -> Floats:
        """Return the prices p [t - 1, r] that the duals of (5) are.

        `duals` [row]: the engine's duals.
        """
        prices: Floats = np.maximum(0.0, -self.capacity.extract(duals))
        return prices


def full_width_modes(instance: DmlrsInstance, i: int) -> list[tuple[float, Floats]]:
    """Return progress and demand [r] of each mode in which job i runs at full width.

    n workers have n / gamma PSs here, which is at most m(n).
    """
    view = arrays(instance)
    unit_demand = view.worker_demand[i] + view.ps_demand[i] / view.ratio[i]
    limits = enumerate(mode_limits(instance, i))
    return [(n / view.needed[i, mode], n * unit_demand) for mode, n in limits if n]


def columns(instance: DmlrsInstance) -> int:
    """Return an upper limit on the number of columns of the program."""
    T = instance.horizon
    pairs = zip(instance.jobs, first_completions(instance), strict=True)
    return sum(3 * (T - job.arrival + 1) + T - first + 1 for job, first in pairs if first <= T)


def build(instance: DmlrsInstance, *, names: bool = False) -> FluidRelaxation:
    """Return the fluid program: about 4 columns for each job and slot from its arrival.

    `names`: whether columns and rows have names.
    """
    view, T = arrays(instance), instance.horizon
    builder, total = ProgramBuilder(), view.capacity_milli.sum(axis=0) / 1000
    capacity = builder.rows("capacity", (T, len(total)), upper=total)  # (5)
    for i, first in enumerate(first_completions(instance)):
        if first > T:
            continue
        arrival, modes = int(view.arrival[i]), full_width_modes(instance, i)
        slots, lead = np.arange(T - arrival + 1), first - arrival
        # Y_t costs u(t + 1) - u(t), because sum_f u(f) (Y_f - Y_f-1) = sum_t Y_t (u(t) - u(t + 1))
        utility = np.append(view.utility[i, lead : T - arrival + 1], 0.0)
        Y = builder.columns(f"Y[{i}]", T - first + 1, cost=np.diff(utility), upper=1).positions
        upper = np.ones((len(slots), 1 + len(modes)))
        upper[:, 0] = np.where(slots < slots[-1], np.inf, 2.0)
        own = builder.columns(f"W_q[{i}]", upper.shape, upper=upper).positions
        W, q = own[:, 0], own[:, 1:]
        demand = np.array([each for _, each in modes])  # [mode, r]
        used = demand.any(axis=0)
        own_rows = capacity.positions[arrival - 1 :, None, used]
        builder.add(own_rows, q[:, :, None], demand[:, used])
        # rows of a slot: the first two kinds below, in slots before f0; then also the last two
        count = 2 + (slots >= lead) + (slots > lead)
        begin = np.cumsum(count) - count
        end, late, later = begin + count - 1, begin[lead:] + 1, begin[lead + 1 :] + 2
        at_least = np.isin(np.arange(count.sum()), np.concatenate([late, later]))
        progress = np.array([advance for advance, _ in modes])
        builder.rows(
            f"job[{i}]",
            len(at_least),
            # W_t <= W_t-1 + sum of progress q
            (begin, W, 1), (begin[1:], W[:-1], -1), (begin[:, None], q, -progress),
            # sum of q <= Y_T - Y_t-1
            (end[:, None], q, 1), (end, Y[-1], -1), (end[lead + 1 :], Y[:-1], 1),
            (late, W[lead:], 1), (late, Y, -1),  # W_t >= Y_t
            (later, Y[1:], 1), (later, Y[:-1], -1),  # Y_t >= Y_t-1
            lower=np.where(at_least, 0.0, -np.inf),
            upper=np.where(at_least, np.inf, 0.0),
        )  # fmt: skip
    return FluidRelaxation(builder.program(names=names), capacity)
