"""Algorithm 2: the schedule of largest payoff for a job at the prices of its arrival."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from schedgap.errors import ScaleError
from schedgap.instances.dmlrs import Plan
from schedgap.instances.dmlrs.compiled import Floats, Ints
from schedgap.models.dmlrs.algorithms import dynamic_program
from schedgap.models.dmlrs.algorithms.dynamic_program import CheapestPlans, OptionRow, undominated
from schedgap.models.dmlrs.slot_options import JobAtArrival, SlotOption, SlotState

POSITIVE = 1e-9  # relative to the utility; smaller payoffs count as rounding errors
MAX_QUANTA = 20_000

OptionsOfSlot = Callable[[SlotState], list[SlotOption]]  # what a job can have in a slot
DynamicProgram = Literal["exact", "grid", "literal"]


@dataclass(eq=False)
class PricedCluster:
    """The cluster with its load and prices, at the arrival of a job."""

    capacity: Ints  # [h, r] thousandths
    load: Ints  # [t - 1, h, r] rho, thousandths
    price: Floats  # [t - 1, h, r]

    def options(self, job: JobAtArrival, options: OptionsOfSlot) -> list[OptionRow]:
        """Return the undominated options of each slot from the arrival on.

        Slots with the same load and prices share one list.

        Parameters
        ----------
        job : JobAtArrival
            The arriving job.
        options : callable
            From the state of a slot to all its options.
        """
        rows: list[OptionRow] = []
        by_state: dict[tuple[bytes, bytes], OptionRow] = {}
        for t in range(job.arrival - 1, len(self.load)):
            key = self.load[t].tobytes(), self.price[t].tobytes()
            if key not in by_state:
                slot = SlotState(job, self.capacity - self.load[t], self.price[t])
                by_state[key] = undominated(job, options(slot))
            rows.append(by_state[key])
        return rows

    def allocate(self, job: JobAtArrival, plan: Plan) -> None:
        """Add the demand of a job to the load.

        Parameters
        ----------
        job : JobAtArrival
            An admitted job.
        plan : mapping
            Workers and PSs by slot, from 1, and machine.
        """
        for slot, counts in plan.items():
            for h, (workers, ps) in counts.items():
                self.load[slot - 1, h] += workers * job.worker + ps * job.ps


class BestSchedule(NamedTuple):
    """The largest payoff of a job, a plan that attains it, and the costs of all completions."""

    payoff: float  # lambda_i, 0 where none is positive
    plan: Plan | None  # pi*_i, None where none is positive
    cost: Floats  # [k] Theta(a + k, V), inf if impossible; empty if no completion pays


def best_schedule(
    cluster: PricedCluster,
    job: JobAtArrival,
    options: OptionsOfSlot,
    volume: int,
    *,
    dp: DynamicProgram = "grid",
    quantum: int | None = None,
    grid: int = 2000,
) -> BestSchedule:
    """Return the schedule with the largest payoff at the prices of a cluster.

    `cluster`: load and prices at the arrival. `options`: from the state of a slot to the options of
    the job there. `volume`: V, its samples. `dp`, `quantum`, `grid`: Algorithm 3, as in `pd_ors`.

    The result has no plan if no payoff is positive.

    Notes
    -----
    Source: Algorithm 2, with one pass of Algorithm 3 for all t~. Ties: the earliest completion.
    """
    if job.first > len(cluster.load) or not job.utility[0] > 0:
        return BestSchedule(0.0, None, np.zeros(0))
    rows = cluster.options(job, options)
    if dp == "exact":
        cheapest = dynamic_program.exact(job, rows)
    elif dp == "grid":
        cheapest = dynamic_program.on_grid(job, rows, grid)
    else:
        cheapest = _in_quanta(job, rows, volume, quantum or math.ceil(volume / 2000))
    payoff, last = 0.0, None  # A2 L1
    for k, cost in enumerate(cheapest.cost):  # A2 L2-L3 (E27: inf before f0)
        if job.utility[k] - cost > max(payoff, POSITIVE * job.utility[k]):
            payoff, last = float(job.utility[k] - cost), k
    if last is None:
        return BestSchedule(0.0, None, cheapest.cost)
    offsets = cheapest.plans[last]
    plan = {job.arrival + k: option.counts for k, option in offsets.items()}
    return BestSchedule(payoff, plan, cheapest.cost)


def _in_quanta(
    job: JobAtArrival, rows: Sequence[OptionRow], volume: int, quantum: int
) -> CheapestPlans:
    """Return Theta(t~, V) of all t~ in quanta; ScaleError if there are too many."""
    if volume / quantum > MAX_QUANTA:
        raise ScaleError(
            f"a job of {volume} samples in quanta of {quantum}: at most {MAX_QUANTA} quanta"
        )
    return dynamic_program.in_quanta(job, rows, volume, quantum)
