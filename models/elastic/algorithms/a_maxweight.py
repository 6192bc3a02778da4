"""Algorithm 3, A_maxweight: maximise the weight of a batch that completes by a deadline, by prices.

Prices start at 0 and grow exponentially with use, (11); a job is served when its weight exceeds the
price of its cheapest schedule. E8, E15, E21 are the paper's errata as numbered in `paper.toml`.

Events, one dict each. Weights, costs and prices are in the unit of the jobs' weights. A price is
per slot and unit of demand as given in the file. Slots count from the start of the batch, from 1.

- `batch` (A3 L1): the cluster is free and all prices are 0. `deadline`; `jobs`, those that have a
  mode, in the order of the loop.
- `accept` (A3 L10): the weight of a job exceeds the cost of its cheapest schedule. `job`, `weight`,
  `cost`, and the run: `start`, `duration`, `worker_type`, `workers`, with PSs `ps_type`, `ps`.
- `prices` (A3 L14): the price increases caused by the accepted job. `job`; `rises`, a list of
  `server`, `resource`, slots `first` to `last`, price `before` and `after`.
- `leave` (A3 L9): a job is rejected. `job`, `weight`, `cost`, null where no schedule fits.
- `batch_end` (A3 L16): `served` and `left`, job ids, and `weight`, the served jobs' weight.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge

from schedgap.errors import UsageError
from schedgap.instances.elastic import ElasticInstance, ElasticSchedule, Job
from schedgap.models.elastic.algorithms.pricing import PricedRun, PricedServers
from schedgap.models.elastic.modes import ElasticCluster, Mode, cluster, mode_columns, modes
from schedgap.models.elastic.placement import Floats, Rule, ps_numbers
from schedgap.models.method import AlgorithmRun

WeightRatio = Annotated[
    float | None,
    "bound F on weight over consumption; default: the smallest valid one",
    Ge(1e-9),
]
RatioFactor = Annotated[float, "F is multiplied by this", Ge(1e-12)]
Normalise = Annotated[bool, "divide demands by mean capacities, scale weights (ours, E8)"]
Order = Annotated[
    Literal["arrival", "density"],
    "jobs of a batch by arrival, or by weight over least volume (ours, E15)",
]
Tie = Annotated[
    Literal["order", "volume"],
    "ties in cost: first in the printed order, or least volume, then earliest end (ours, E21)",
]
Log = list[Mapping[str, Any]]  # events, in order

ModesOf = Callable[[ElasticCluster, Job], tuple[Mode, ...]]  # the modes that a job may take


@dataclass(frozen=True, eq=False)
class ArrivedJob:
    """A job that has arrived, with its modes."""

    place: int  # index in the list of jobs
    job: Job
    modes: tuple[Mode, ...]

    @cached_property
    def shortest(self) -> float:
        """Duration of the fastest mode in slots; infinite when the job can never run."""
        return min((mode.duration for mode in self.modes), default=np.inf)


@dataclass(frozen=True, slots=True, eq=False)
class MaxWeightConstants:
    """What the paper assumes to be known beforehand: T, F, and the scales of weights and demands.

    With `normalise`, an amount is divided by the mean capacity of its resource over all servers.
    Weights are multiplied by `kappa`, so no weight is below the consumption of its job (E8).
    """

    horizon: int  # T
    F: float
    kappa: float
    per_unit: Floats  # [r] factor of a demand as given in the file; 0 without any capacity
    lam: float  # lambda of (11)

    def volumes(self, view: ElasticCluster, of: Sequence[Mode]) -> Floats:
        """Return the volume of each mode: the scaled sum of all its demands times its duration.

        `of`: the modes. A central one has one PS, a split one as many as serve all its workers.
        """
        m, p, workers, central, duration = mode_columns(of)
        size = workers * _total(view.worker_demand, self.per_unit)[m]
        if not view.is_ring:
            split = ps_numbers(view.worker_bandwidth[m], view.ps_bandwidth[p], workers)
            size += np.where(central, 1.0, split) * _total(view.ps_demand, self.per_unit)[p]
        volumes: Floats = size * duration
        return volumes

    def least_volume(self, view: ElasticCluster, of: Sequence[Mode]) -> float:
        """Return v_min, the least volume of a job's modes.

        `of`: the modes of the job; those that exceed the horizon do not count if others do not.
        """
        return float(self.volumes(view, _within(of, self.horizon)).min())


def arrived_job(instance: ElasticInstance, j: int, modes_of: ModesOf | None = None) -> ArrivedJob:
    """Return a job of the instance with its modes.

    `modes_of`: which modes the job may use; by default all of them.
    """
    job = instance.jobs[j]
    own = modes(instance, j) if modes_of is None else modes_of(cluster(instance), job)
    return ArrivedJob(j, job, own)


def constants(
    instance: ElasticInstance,
    *,
    F: WeightRatio = None,
    F_factor: RatioFactor = 1.0,
    normalise: Normalise = True,
    modes_of: ModesOf | None = None,
) -> MaxWeightConstants:
    """Return the constants of A_maxweight for an instance.

    Parameters
    ----------
    F : float, optional
        Upper limit on weight per unit of consumption; by default the least that the jobs allow.
    F_factor : float
        F is multiplied by this.
    normalise : bool
        Scale amounts and weights (ours); False is the literal reading, sums of unlike units.
    modes_of : callable, optional
        Which modes a job may use; by default all of them.

    Notes
    -----
    Source: (11) and the assumptions below it; lambda = 2 T H R F + 1, logarithms to base 2.
    """
    view = cluster(instance)
    mean = (view.capacity / view.scale).mean(axis=0)
    with np.errstate(divide="ignore"):
        per_unit = np.where(mean > 0, 1 / mean, 0.0) if normalise else np.ones(len(mean))
    unscaled = MaxWeightConstants(instance.horizon, 1.0, 1.0, per_unit, 1.0)
    ranges = volume_ranges(instance, unscaled, modes_of)
    kappa = 1.0
    if normalise:
        kappa = max((largest / weight for weight, _, largest in ranges), default=1.0)
    if F is None:
        F = max((kappa * weight / smallest for weight, smallest, _ in ranges), default=1.0)
    F *= F_factor
    H, R = view.capacity.shape
    lam = 2 * instance.horizon * H * R * F + 1
    return MaxWeightConstants(instance.horizon, F, kappa, per_unit, lam)


def volume_ranges(
    instance: ElasticInstance, const: MaxWeightConstants, modes_of: ModesOf | None = None
) -> list[tuple[float, float, float]]:
    """Return the weight, and the least and largest volume of a mode, of each job that has modes.

    Modes that exceed the horizon do not count if others do not.
    """
    found, view = [], cluster(instance)
    for j, job in enumerate(instance.jobs):
        job_modes = _within(arrived_job(instance, j, modes_of).modes, instance.horizon)
        if job_modes:
            volumes = const.volumes(view, job_modes)
            found.append((job.weight, float(volumes.min()), float(volumes.max())))
    return found


def gamma(const: MaxWeightConstants) -> float:
    """Return 2 log lambda, the ratio that Theorem 3 claims for A_maxweight."""
    return 2 * math.log2(const.lam)


def _within(of: Sequence[Mode], horizon: int) -> Sequence[Mode]:
    """Return the modes that end within the horizon; all modes if none does."""
    return [mode for mode in of if mode.duration <= horizon] or of


def _total(demand: Floats, per_unit: Floats) -> Floats:
    """Return the scaled sum of the demands of each type [k, r]; term by term, whatever its size."""
    return np.array([sum(row) for row in (demand * per_unit).tolist()])


@dataclass(frozen=True, slots=True, eq=False)
class ServedBatch:
    """Result of A_maxweight: the served jobs with their schedules, and the final prices."""

    served: tuple[tuple[ArrivedJob, PricedRun], ...]
    prices: Floats  # [h, r, t] price per unit as given in the file and slot, over kappa
    deadline: int

    @property
    def weight(self) -> float:
        """Total weight of the served jobs."""
        return math.fsum(arrived.job.weight for arrived, _ in self.served)


def serve_batch(
    view: ElasticCluster,
    jobs: Sequence[ArrivedJob],
    deadline: int,
    const: MaxWeightConstants,
    *,
    rule: Rule = "exact",
    order: Order = "arrival",
    tie: Tie = "order",
    log: Log | None = None,
) -> ServedBatch:
    """Serve the jobs whose weight exceeds the price of their cheapest schedule, one by one.

    Parameters
    ----------
    view : ElasticCluster
        The servers and types.
    jobs : sequence of ArrivedJob
        phi; in the order that breaks ties. All may run from slot 1 on.
    deadline : int
        tau >= 2: start + duration of a served job is at most this.
    const : MaxWeightConstants
        T, F and scales.
    rule : "exact" or "repaired"
        Optimal split placements (ours), or Algorithm 4's with its errors corrected (E19).
    order : "arrival" or "density"
        Of the loop over jobs: as given, or by weight over least volume, greatest first (E15).
    tie : "order" or "volume"
        Among schedules of equal cost: the first in the order of enumeration, as printed; or the
        least volume, then the earliest end. The second is ours: at zero prices the first types
        always win (E21).
    log : list, optional
        Receives the events.

    Returns
    -------
    ServedBatch
        The served jobs with their schedules, in the order of the loop, and the final prices.

    Notes
    -----
    Source: Algorithm 3. Guarantee: 2 log lambda (Theorem 3), on assumptions that can fail; see
    `guarantees`. Costs that differ by less than 1e-9, relative to costs above 1, count as equal.
    """
    priced = PricedServers.empty(view, deadline - 1)  # A3 L1: x = 0, beta = 0, delta = 0 (E35)
    served: list[tuple[ArrivedJob, PricedRun]] = []  # J_i^s
    able = [arrived for arrived in jobs if arrived.modes]
    if order == "density":
        able.sort(
            key=lambda one: (-one.job.weight / const.least_volume(view, one.modes), one.place)
        )
    tell(log, "A3 L1", "batch", deadline=deadline, jobs=ids_of(able))
    for arrived in able:  # A3 L2
        best = _cheapest(priced, arrived, deadline, const, rule, tie)  # A3 L3-L7
        if best is not None and const.kappa * arrived.job.weight - best.cost > 0:  # A3 L8-L9
            served.append((arrived, best))  # A3 L10-L12
            before = None if log is None else priced.price.copy()
            _commit(priced, best, const)  # A3 L13-L14
            if log is not None and before is not None:
                _tell_accept(log, priced, before, arrived, best, const)
        else:
            cost = None if best is None else best.cost / const.kappa
            tell(log, "A3 L9", "leave", job=arrived.job.id, weight=arrived.job.weight, cost=cost)
    # A3 L15-L16
    prices = np.moveaxis(priced.price[:-1], 0, 2) / const.kappa
    batch = ServedBatch(tuple(served), prices, deadline)
    taken = dict.fromkeys(ids_of(arrived for arrived, _ in served))
    left = [name for name in ids_of(able) if name not in taken]
    tell(log, "A3 L16", "batch_end", served=[*taken], left=left, weight=batch.weight)
    return batch


def ids_of(jobs: Iterable[ArrivedJob]) -> list[str]:
    """Return the ids of jobs."""
    return [arrived.job.id for arrived in jobs]


def tell(log: Log | None, line: str, event: str, **words: Any) -> None:
    """Append an event to a log, if there is one."""
    if log is not None:
        log.append({"line": line, "event": event, **words})


def _cheapest(
    priced: PricedServers,
    job: ArrivedJob,
    deadline: int,
    const: MaxWeightConstants,
    rule: Rule,
    tie: Tie,
) -> PricedRun | None:
    """Return l_j: the central schedule, or a split one that costs less (E14: l, not l_j)."""
    volumes = None
    if tie == "volume":
        volumes = [float(f"{volume:.9g}") for volume in const.volumes(priced.view, job.modes)]
    # A3 L3-L7: A_mincost2 and A_mincost1, or A_RAmincost1 and 2, in one call. Central modes come
    # first, so a split schedule has to cost less.
    return priced.cheapest(job.modes, 1, deadline, rule=rule, volumes=volumes)


def _commit(priced: PricedServers, run: PricedRun, const: MaxWeightConstants) -> None:
    """Add the usage of a schedule to beta, and raise the prices that it affects by (11)."""
    servers, free = priced.free_beside(run)
    capacity = priced.view.capacity[servers]
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(capacity > 0, (capacity - free) / capacity, 0.0)  # beta / C
    price = (const.lam**share - 1) * const.per_unit  # (11); as a price of demand as given
    priced.change(run.start, run.end - 1, servers, price, free)


def _tell_accept(
    log: Log,
    priced: PricedServers,
    before: Floats,
    arrived: ArrivedJob,
    run: PricedRun,
    const: MaxWeightConstants,
) -> None:
    """Log that a job is served, and the price increases that follow.

    `before` [t, h, r]: the prices until then.
    """
    view, job, kappa = priced.view, arrived.job, const.kappa
    placement = view.place(run.mode, run.start, run.workers, run.ps).to_data()
    cost = run.cost / kappa
    tell(log, "A3 L10", "accept", job=job.id, weight=job.weight, cost=cost, **placement)
    old, new = (price[run.start - 1 : run.end - 1] / kappa for price in (before, priced.price))
    rises = [
        {"server": server, "resource": resource, **rise}
        for h, server in enumerate(view.servers)
        for r, resource in enumerate(view.resources)
        for rise in _rises(old[:, h, r].tolist(), new[:, h, r].tolist(), run.start)
    ]
    tell(log, "A3 L14", "prices", job=job.id, rises=rises)


def _rises(before: list[float], after: list[float], start: int) -> Iterator[dict[str, float]]:
    """Yield the increases of one price from slot `start` on; consecutive equal ones are joined."""
    for (old, new), slots in groupby(range(len(before)), key=lambda t: (before[t], after[t])):
        if old != new:
            indices = list(slots)
            yield {
                "first": start + indices[0],
                "last": start + indices[-1],
                "before": old,
                "after": new,
            }


def split_windows(instance: ElasticInstance) -> Iterator[tuple[Floats, Floats]]:
    """Yield, for each job of a batch, the costs of its split schedules by two rules.

    The prices are those that A_maxweight has when it comes to the job.

    `instance`: with objective `scheduled_weight`.

    A pair has two arrays [k] for each mode and start: the least cost of a placement, (13), and the
    cost that Algorithm 4 finds. E16 and E17 are corrected. Costs are infinite where none is found.
    """
    view, jobs = batch_of(instance)
    const, deadline = constants(instance), instance.deadline
    if deadline is None:
        raise UsageError("A_maxweight needs objective scheduled_weight")
    priced = PricedServers.empty(view, deadline - 1)
    for arrived in jobs:
        costs: dict[Rule, list[Floats]] = {"exact": [np.empty(0)], "repaired": [np.empty(0)]}
        for mode in arrived.modes:
            starts = np.arange(1, deadline - mode.duration + 1)
            if len(starts) and not mode.central:
                for rule, known in costs.items():
                    known.append(priced.costs(mode, starts, rule=rule))
        yield np.concatenate(costs["exact"]), np.concatenate(costs["repaired"])
        best = _cheapest(priced, arrived, deadline, const, "exact", "order")
        if best is not None and const.kappa * arrived.job.weight > best.cost:
            _commit(priced, best, const)


def batch_of(instance: ElasticInstance) -> tuple[ElasticCluster, tuple[ArrivedJob, ...]]:
    """Return the cluster of an instance and all its jobs in list order, as a batch."""
    view = cluster(instance)
    return view, tuple(arrived_job(instance, j) for j in range(len(instance.jobs)))


def schedule_of(view: ElasticCluster, batch: ServedBatch) -> ElasticSchedule:
    """Return the schedule of the served jobs.

    `batch`: result of `serve_batch`.
    """
    return ElasticSchedule(
        {
            arrived.job.id: view.place(offer.mode, offer.start, offer.workers, offer.ps)
            for arrived, offer in batch.served
        }
    )


def a_maxweight(
    instance: ElasticInstance,
    *,
    events: bool = False,
    placement: Rule = "exact",
    F: WeightRatio = None,
    F_factor: RatioFactor = 1.0,
    normalise: Normalise = True,
    order: Order = "arrival",
    tie: Tie = "order",
) -> AlgorithmRun:
    """Solve a batch problem: serve each job whose weight exceeds its cost under rising prices.

    Parameters
    ----------
    instance : ElasticInstance
        With objective `scheduled_weight`.
    events : bool
        Return the events; see the module's description.
    placement, order, tie
        As `rule`, `order` and `tie` of `serve_batch`.
    F, F_factor, normalise
        As in `constants`.

    Returns
    -------
    AlgorithmRun
        Its `trace`: `kappa`, `F` and `gamma`, the ratio that Theorem 3 claims.

    Raises
    ------
    UsageError
        If the instance has no deadline.

    Notes
    -----
    Source: Algorithm 3, line by line in `serve_batch`.
    """
    if instance.deadline is None:
        raise UsageError("a_maxweight needs objective scheduled_weight")
    view, jobs = batch_of(instance)
    const = constants(instance, F=F, F_factor=F_factor, normalise=normalise)
    log: Log | None = [] if events else None
    batch = serve_batch(
        view, jobs, instance.deadline, const, rule=placement, order=order, tie=tie, log=log
    )
    trace = {"kappa": const.kappa, "F": const.F, "gamma": gamma(const)}
    return AlgorithmRun(schedule_of(view, batch), tuple(log or ()), trace)
