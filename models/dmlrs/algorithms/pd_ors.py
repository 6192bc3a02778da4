"""Algorithm 1, PD-ORS: admit a job if its utility exceeds the cost of its best schedule."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge, Le

from schedgap.instances.dmlrs import DmlrsInstance, DmlrsSchedule, Plan, arrays
from schedgap.models.dmlrs.algorithms import slot_placements
from schedgap.models.dmlrs.algorithms.best_schedule import (
    DynamicProgram,
    OptionsOfSlot,
    PricedCluster,
    best_schedule,
)
from schedgap.models.dmlrs.algorithms.events import EventLog
from schedgap.models.dmlrs.algorithms.prices import (
    PriceFloor,
    PriceRange,
    PriceSource,
    declared,
    of_jobs,
)
from schedgap.models.dmlrs.algorithms.rounding import Gain, Rounding
from schedgap.models.dmlrs.slot_options import (
    JobAtArrival,
    SlotOption,
    SlotState,
    job_at_arrival,
)
from schedgap.models.method import AlgorithmRun
from schedgap.models.online import Arriving
from schedgap.solvers.children.clock import Clock

Across = Literal["round", "round-hull", "greedy", "exact"]


class Arrivals(Arriving[JobAtArrival]):
    """The jobs of an instance, one by one; a job of arrival a is known before slot a."""

    def __init__(self, instance: DmlrsInstance) -> None:
        """Sort the jobs by arrival, then by position in the list."""
        super().__init__(
            [job.arrival - 1 for job in instance.jobs], lambda j: job_at_arrival(instance, j)
        )


def pd_ors(
    instance: DmlrsInstance,
    *,
    events: bool = False,
    prices: PriceSource = None,
    price_floor: PriceFloor = 0.0,
    dp: Annotated[
        DynamicProgram, "Algorithm 3: exact, on a grid, or in quanta of samples"
    ] = "grid",
    quantum: Annotated[
        int | None, "samples per quantum, with dp=literal; else V / 2000", Ge(1)
    ] = None,
    grid: Annotated[
        int, "number of grid steps of a job's work, with dp=grid", Ge(1), Le(100_000)
    ] = 2000,
    literal_13: Annotated[bool, "(13) as printed: the duration minus the arrival"] = False,
    gain: Annotated[
        Gain,
        "G_delta before the rounding: a number, or the gain that protects packing or cover rows",
        Ge(0.01),
        Le(100),
    ] = "one",
    delta: Annotated[float, "probability with which the rounding may fail", Ge(1e-9), Le(1)] = 1.0,
    rounds: Annotated[int, "S, most draws for each number of workers", Ge(1), Le(10_000)] = 20,
    ps_row: Annotated[bool, "a row for PSs in (23)-(26); as printed there is none"] = True,
    across: Across = "round",
    options: OptionsOfSlot | None = None,
    seed: int = 0,
    clock: Clock | None = None,
) -> AlgorithmRun:
    """Admit or reject the jobs one by one, each with its best schedule at the current prices.

    Parameters
    ----------
    events : bool
        Whether to record the steps, as in `algorithms.events`.
    prices : str, optional
        U and L as the instance declares them, from the jobs seen so far (`running`), or from all
        jobs (`oracle`, which no online algorithm knows); None is declared if they are, else
        running.
    price_floor : float
        Lower limit on L, >= 0.
    dp : str
        Algorithm 3: exact, with `grid` steps of the work, or literally, in quanta of samples.
    quantum : int, optional
        Samples, with dp=literal; by default V / 2000.
    grid : int
        Steps of the work, with dp=grid; >= 1.
    literal_13 : bool
        Whether (13) is taken as printed: the duration minus the arrival.
    gain, delta, rounds, ps_row
        Options of the randomised rounding, as in `Rounding`.
    across : str
        Options across machines by randomised rounding, also of a program with the hull of each
        machine, greedily, or the cheapest ones. Only the first is the paper's.
    options : Callable, optional
        What a job can have in a slot; by default Algorithm 4, on a machine or across.
    seed : int
        Seed of the rounding.
    clock : Clock, optional
        When it expires, the remaining jobs are not considered.

    Returns
    -------
    AlgorithmRun
        In its trace `payoffs`, lambda_i of each job considered, in order, 0 if rejected;
        `max_unit_utility` and `min_unit_utility`, U and L at the end; `rounding`, its counts.

    Notes
    -----
    Source: Algorithm 1. Guarantee: none that holds without its assumptions (see `guarantees`).
    Ties: jobs by arrival, then list; the earliest completion.
    """
    view, T = arrays(instance), instance.horizon
    capacity = view.capacity_milli
    load = np.zeros((T, *capacity.shape), dtype=np.int64)  # A1 L1
    cluster = PricedCluster(capacity, load, np.zeros(load.shape))
    ranges = _RunningRange(instance, prices, price_floor, literal=literal_13)
    rounding = Rounding(
        np.random.default_rng(seed), gain, delta, rounds, ps_row, hull=across == "round-hull"
    )
    external_options: dict[str, OptionsOfSlot] = {
        "round": rounding,
        "round-hull": rounding,
        "greedy": slot_placements.external_greedy,
        "exact": slot_placements.external_exact,
    }
    external = external_options[across]
    options_of_slot = options or partial(slot_options, external=external)
    counts = rounding.counts if external is rounding else {}
    arrivals = Arrivals(instance)
    plans: dict[int, Plan] = {}
    payoffs: dict[str, float] = {}
    log = EventLog(instance) if events else None
    if log is not None:
        log.prices_range(1, ranges.current)
    for now in range(T):
        for job in arrivals.until(now):  # A1 L2
            if clock is not None and clock.expired():
                break
            cluster.price = ranges.after_arrival(job).price(cluster.load, capacity)  # A1 L3 (E26)
            data = instance.jobs[job.index]
            if log is not None:
                log.arrives(job, ranges.current)
            best = best_schedule(
                cluster, job, options_of_slot, data.volume, dp=dp, quantum=quantum, grid=grid
            )
            payoffs[data.id] = best.payoff
            if log is not None:
                log.evaluates(job, best, counts)
            if best.plan is None:  # A1 L4
                if log is not None:
                    log.rejects(job, best)
                continue
            arrivals.may_start(min(best.plan))
            plans[job.index] = best.plan  # A1 L3
            cluster.allocate(job, best.plan)
            if log is not None:
                after = ranges.current.price(cluster.load, capacity)
                log.admits(job, best.payoff, best.plan, cluster.price, after)
    if log is not None and len(payoffs) < len(instance.jobs):
        log.stops([job for job in instance.jobs if job.id not in payoffs])
    return AlgorithmRun(
        DmlrsSchedule.of_plans(instance, plans),
        tuple(log.events) if log is not None else (),
        _trace(instance, payoffs, ranges.current, counts),
    )


def slot_options(slot: SlotState, external: OptionsOfSlot) -> list[SlotOption]:
    """Return what a job can have in a slot: for each n the cheapest machine, and n across machines.

    `slot`: state of the slot for the job. `external`: options across machines; `Rounding` has
    Algorithm 4, lines 8-11.

    Notes
    -----
    Source: Algorithm 4. The cheaper of both is chosen for each amount of work, by Algorithm 3.
    """
    return [*slot_placements.internal(slot), *external(slot)]  # A4 L12


def stop_note(instance: DmlrsInstance, run: AlgorithmRun) -> str:
    """Return a note on the jobs that a stopped run has not considered; '' if there are none.

    `run`: a run of `pd_ors` on the instance.
    """
    jobs = len(instance.jobs)
    left = jobs - len(run.trace["payoffs"])
    return f"stopped: {left} of {jobs} jobs not looked at" if left else ""


def _trace(
    instance: DmlrsInstance,
    payoffs: Mapping[str, float],
    last: PriceRange,
    counts: Mapping[str, int],
) -> dict[str, Any]:
    """Return payoffs, price range and counts of the rounding as plain data."""
    return {
        "payoffs": payoffs,
        "max_unit_utility": dict(zip(instance.resources, last.largest.tolist(), strict=True)),
        "min_unit_utility": last.smallest,
        **({"rounding": dict(counts)} if counts else {}),
    }


class _RunningRange:
    """The range of the prices, as it is known when a job arrives."""

    def __init__(
        self, instance: DmlrsInstance, prices: PriceSource, floor: float, *, literal: bool
    ) -> None:
        self._instance, self._floor, self._literal = instance, floor, literal
        self._capacity = arrays(instance).capacity_milli
        self._arrived: list[JobAtArrival] = []
        fixed = None
        if prices in (None, "declared"):
            fixed = declared(instance, floor)
        elif prices == "oracle":
            fixed = self._of([job_at_arrival(instance, j) for j in range(len(instance.jobs))])
        self._fixed = fixed is not None
        self.current = fixed if fixed is not None else self._of([])

    def after_arrival(self, job: JobAtArrival) -> PriceRange:
        """Return the range that holds for a job that has just arrived."""
        if not self._fixed:
            self._arrived.append(job)
            self.current = self._of(self._arrived)
        return self.current

    def _of(self, jobs: Sequence[JobAtArrival]) -> PriceRange:
        """Return the range (13), (14) of the jobs that can be completed."""
        T = self._instance.horizon
        candidates = [job for job in jobs if job.first <= T]
        return of_jobs(candidates, T, self._capacity, floor=self._floor, literal=self._literal)
