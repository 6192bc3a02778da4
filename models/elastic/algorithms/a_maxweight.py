"""Algorithm 3, A_maxweight: of a batch of jobs the weight that completes by a deadline, by prices.

Prices start at 0 and grow exponentially with use, (11); a job is served when its weight exceeds the
price of its cheapest schedule. E8, E15, E21 are the paper's errata as numbered in `paper.py`.

Events, one dict each. Weights, costs and prices are in the unit of the jobs' weights, a price per
unit of demand as given in the file and slot; slots count from the start of the batch, from 1.

- `batch` (A3 L1): all is free and all prices are 0. `deadline`; `jobs`, those that can run at all,
  in the order of the loop.
- `accept` (A3 L10): a job weighs more than its cheapest schedule costs. `job`, `weight`, `cost`,
  and the run: `start`, `duration`, `worker_type`, `workers`, with PSs `ps_type`, `ps`.
- `prices` (A3 L14): what the job just accepted changes. `job`; `rises`, a list of `server`,
  `resource`, slots `first` to `last`, price `before` and `after`.
- `leave` (A3 L9): a job is left. `job`, `weight`, `cost`, null where no schedule fits.
- `batch_end` (A3 L16): `served` and `left`, job ids, and `weight`, that of the served.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal

import numpy as np

from schedgap.errors import UsageError
from schedgap.instances.elastic import ElasticInstance, ElasticSchedule, Job
from schedgap.models.elastic.algorithms.pricing import PricedCluster, PricedRun
from schedgap.models.elastic.modes import ElasticCluster, Mode, cluster, modes
from schedgap.models.elastic.placement import Floats, Ints, Rule, tie_margin
from schedgap.models.method import AlgorithmRun

Order = Literal["arrival", "density"]
Tie = Literal["order", "volume"]
Log = list[Mapping[str, Any]]  # events, in order

ModesOf = Callable[[ElasticCluster, Job], tuple[Mode, ...]]  # which modes a job may take


@dataclass(frozen=True, eq=False)
class ArrivedJob:
    """A job as it is known from its arrival on, and what follows from its own data."""

    place: int  # in the list of jobs
    job: Job
    modes: tuple[Mode, ...]

    def shortest(self) -> float:
        """Least duration, in slots; infinite when the job can never run."""
        return min((mode.duration for mode in self.modes), default=np.inf)


@dataclass(frozen=True, slots=True, eq=False)
class MaxWeightConstants:
    """What the paper takes as known beforehand: T, F, and the scales of weights and demands.

    With `normalise`, an amount is divided by the mean capacity of its resource over all servers,
    and weights are multiplied by `kappa`, so that no weight is below what the job consumes (E8).
    """

    horizon: int  # T
    F: float
    kappa: float
    per_unit: Floats  # [r] factor of a demand as given in the file; 0 where there is no capacity
    lam: float  # lambda of (11)

    def volumes(self, view: ElasticCluster, of: Sequence[Mode]) -> Floats:
        """Return the scaled sum of all demands times duration, for each mode.

        One PS for a central mode; else as many as serve all workers.
        """
        worker = _total(view.worker_demand, self.per_unit)
        ps = _total(view.ps_demand, self.per_unit)
        volumes = []
        for mode in of:
            size = mode.workers * worker[mode.worker_type]
            if mode.ps_type is not None:
                size += (1 if mode.central else view.demand(mode).most_ps()) * ps[mode.ps_type]
            volumes.append(size * mode.duration)
        return np.array(volumes)

    def least_volume(self, view: ElasticCluster, of: Sequence[Mode]) -> float:
        """Return v_min of a job with these modes."""
        return float(self.volumes(view, _within(of, self.horizon)).min())


def arrived_job(instance: ElasticInstance, j: int, modes_of: ModesOf | None = None) -> ArrivedJob:
    """Return the job with index j, and its modes: all of them, or those that `modes_of` allows."""
    job = instance.jobs[j]
    own = modes(instance, j) if modes_of is None else modes_of(cluster(instance), job)
    return ArrivedJob(j, job, own)


def constants(
    instance: ElasticInstance,
    *,
    F: float | None = None,
    normalise: bool = True,
    modes_of: ModesOf | None = None,
) -> MaxWeightConstants:
    """Return the constants of A_maxweight for an instance.

    Parameters
    ----------
    F : float, optional
        Greatest weight for a unit of consumption; else the least that the instance's jobs allow.
    normalise : bool
        Scale amounts and weights (ours); False is the literal reading, sums of unlike units.
    modes_of : callable, optional
        Which modes a job may take; all of them by default.

    Notes
    -----
    Source: (11) and the assumptions below it; lambda = 2 T H R F + 1, logarithms to base 2.
    """
    view = cluster(instance)
    mean = (view.capacity / view.scale).mean(axis=0)
    with np.errstate(divide="ignore"):
        per_unit = np.where(mean > 0, 1 / mean, 0.0) if normalise else np.ones(len(mean))
    bare = MaxWeightConstants(instance.horizon, 1.0, 1.0, per_unit, 1.0)
    spans = []  # weight, v_min, v_max
    for j, job in enumerate(instance.jobs):
        own = _within(arrived_job(instance, j, modes_of).modes, instance.horizon)
        if own:
            volumes = bare.volumes(view, own)
            spans.append((job.weight, float(volumes.min()), float(volumes.max())))
    kappa = max((most / weight for weight, _, most in spans), default=1.0) if normalise else 1.0
    if F is None:
        F = max((kappa * weight / least for weight, least, _ in spans), default=1.0)
    H, R = view.capacity.shape
    lam = 2 * instance.horizon * H * R * F + 1
    return MaxWeightConstants(instance.horizon, F, kappa, per_unit, lam)


def gamma(const: MaxWeightConstants) -> float:
    """Return 2 log lambda, the ratio that Theorem 3 claims for A_maxweight."""
    return 2 * math.log2(const.lam)


def _within(of: Sequence[Mode], horizon: int) -> Sequence[Mode]:
    """Modes that end within the horizon; all of a job that has none."""
    return [mode for mode in of if mode.duration <= horizon] or of


def _total(demand: Floats, per_unit: Floats) -> list[float]:
    """Scaled sum of the demands of each type [k, r]."""
    return [sum(row) for row in (demand * per_unit).tolist()]


@dataclass(frozen=True, slots=True, eq=False)
class ServedBatch:
    """What A_maxweight made of a batch: the schedules of the served jobs, and the final prices."""

    served: tuple[tuple[ArrivedJob, PricedRun], ...]
    prices: Floats  # [h, r, t] price per unit as given in the file and slot, over kappa
    deadline: int

    @property
    def weight(self) -> float:
        """Weight of the served jobs."""
        return math.fsum(each.job.weight for each, _ in self.served)


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
    """Serve jobs whose weight exceeds the price of their cheapest schedule, one after the other.

    Parameters
    ----------
    jobs : sequence of Arrived
        phi; in the order that breaks ties. All may run from slot 1 on.
    deadline : int
        tau >= 2: start + duration of a served job is at most this.
    fixed : Constants
        T, F and scales.
    rule : "exact" or "repaired"
        Cheapest split placements (ours), or those of Algorithm 4 with its slips mended (E19).
    order : "arrival" or "density"
        Of the loop over jobs: as given, or by weight over least volume, greatest first (E15).
    tie : "order" or "volume"
        Among schedules of equal cost: the first in the order of enumeration, as printed; or the
        least volume, then the earliest end (ours: at zero prices the first types always win, E21).
    log : list, optional
        Where the events go.

    Returns
    -------
    Batch
        The served jobs with their schedules, in the order of the loop, and the final prices.

    Notes
    -----
    Source: Algorithm 3. Guarantee: 2 log lambda (Theorem 3), on assumptions that can fail; see
    `guarantees`. A cost counts as less when it is less by 1e-9, relative to values over 1.
    """
    market = PricedCluster.empty(view, deadline - 1)  # A3 L1: x = 0, beta = 0, delta = 0 (E35)
    served: list[tuple[ArrivedJob, PricedRun]] = []  # J_i^s
    able = _in_order(view, jobs, const, order)
    if log is not None:
        ids = [each.job.id for each in able]
        log.append({"line": "A3 L1", "event": "batch", "deadline": deadline, "jobs": ids})
    for each in able:  # A3 L2
        best = _cheapest(market, each, deadline, const, rule, tie)  # A3 L3-L7
        if best is not None and const.kappa * each.job.weight - best.cost > 0:  # A3 L8-L9
            served.append((each, best))  # A3 L10-L12
            if log is not None:
                _tell_accept(log, market, each, best, const)
            _commit(market, best, const)  # A3 L13-L14
        elif log is not None:
            cost = None if best is None else best.cost / const.kappa
            words = {"job": each.job.id, "weight": each.job.weight, "cost": cost}
            log.append({"line": "A3 L9", "event": "leave", **words})
    # A3 L15-L16
    prices = np.moveaxis(market.price[:-1], 0, 2) / const.kappa
    found = ServedBatch(tuple(served), prices, deadline)
    if log is not None:
        taken = [each.job.id for each, _ in served]
        left = [name for name in ids if name not in taken]
        words = {"served": taken, "left": left, "weight": found.weight}
        log.append({"line": "A3 L16", "event": "batch_end", **words})
    return found


def _in_order(
    view: ElasticCluster, jobs: Sequence[ArrivedJob], const: MaxWeightConstants, order: Order
) -> list[ArrivedJob]:
    """Jobs that can run at all, in the order of the loop."""
    able = [each for each in jobs if each.modes]
    if order == "density":
        density = {each.place: _density(view, each, const) for each in able}
        able.sort(key=lambda each: (-density[each.place], each.place))
    return able


def _density(view: ElasticCluster, job: ArrivedJob, const: MaxWeightConstants) -> float:
    """Weight by least volume, which is not 0: every worker takes bandwidth."""
    return job.job.weight / const.least_volume(view, job.modes)


def _cheapest(
    market: PricedCluster,
    job: ArrivedJob,
    deadline: int,
    const: MaxWeightConstants,
    rule: Rule,
    tie: Tie,
) -> PricedRun | None:
    """Return l_j: the central schedule, or a split one that costs less (E14: l, not l_j)."""
    view = market.view
    if tie == "volume":
        volumes = [float(f"{volume:.9g}") for volume in const.volumes(view, job.modes)]
        return market.cheapest(job.modes, 1, deadline, rule=rule, volumes=volumes)
    central = [mode for mode in job.modes if mode.central]
    split = [mode for mode in job.modes if not mode.central]
    best = market.cheapest(central, 1, deadline, rule=rule)  # A3 L3: A_mincost2, A_RAmincost1
    below = np.inf if best is None else best.cost - tie_margin(best.cost)
    other = market.cheapest(  # A3 L4: A_mincost1, A_RAmincost2
        split, 1, deadline, rule=rule, below=below
    )
    return best if other is None else other  # A3 L5-L7


def _commit(market: PricedCluster, offer: PricedRun, const: MaxWeightConstants) -> None:
    """Take what the schedule uses, beta, and raise the prices there by (11)."""
    servers, price, free = _after(market, offer, const)
    market.change(offer.start, offer.end - 1, servers, price, free)


def _after(
    market: PricedCluster, offer: PricedRun, const: MaxWeightConstants
) -> tuple[Ints, Floats, Floats]:
    """Return the servers of a schedule, and their prices and free amounts [t, h, r] with it."""
    view, mode = market.view, offer.mode
    servers = np.array(sorted({*offer.workers, *offer.ps}))
    used = np.zeros((len(servers), view.capacity.shape[1]))
    for k, h in enumerate(servers.tolist()):
        used[k] += offer.workers.get(h, 0) * view.worker_units[mode.worker_type]
        if mode.ps_type is not None:
            used[k] += offer.ps.get(h, 0) * view.ps_units[mode.ps_type]
    slots = slice(offer.start - 1, offer.end - 1)
    capacity = view.capacity[servers]
    free = market.free[slots, servers] - used
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(capacity > 0, (capacity - free) / capacity, 0.0)  # beta / C
    price = (const.lam**share - 1) * const.per_unit  # (11); as a price of demand as given
    return servers, price, free


def _tell_accept(
    log: Log, market: PricedCluster, each: ArrivedJob, offer: PricedRun, const: MaxWeightConstants
) -> None:
    """Log a job that is served, and how the prices will rise for it."""
    view, job, kappa = market.view, each.job, const.kappa
    run = view.place(offer.mode, offer.start, offer.workers, offer.ps).to_data()
    words = {"job": job.id, "weight": job.weight, "cost": offer.cost / kappa, **run}
    log.append({"line": "A3 L10", "event": "accept", **words})
    servers, price, _ = _after(market, offer, const)
    before = market.price[offer.start - 1 : offer.end - 1, servers] / kappa
    rises = [
        {"server": view.servers[h], "resource": view.resources[r], **rise}
        for k, h in enumerate(servers.tolist())
        for r in range(price.shape[2])
        for rise in _rises(before[:, k, r].tolist(), (price[:, k, r] / kappa).tolist(), offer.start)
    ]
    log.append({"line": "A3 L14", "event": "prices", "job": job.id, "rises": rises})


def _rises(before: list[float], after: list[float], start: int) -> Iterator[dict[str, float]]:
    """Yield the rises of one price from slot `start` on; slots in a row that agree are one."""
    for (old, new), slots in groupby(range(len(before)), key=lambda t: (before[t], after[t])):
        if old != new:
            rows = list(slots)
            yield {"first": start + rows[0], "last": start + rows[-1], "before": old, "after": new}


def batch_of(instance: ElasticInstance) -> tuple[ElasticCluster, tuple[ArrivedJob, ...]]:
    """Return the cluster of an instance and all its jobs in list order, as a batch."""
    view = cluster(instance)
    return view, tuple(arrived_job(instance, j) for j in range(len(instance.jobs)))


def schedule_of(view: ElasticCluster, batch: ServedBatch) -> ElasticSchedule:
    """Return the schedule of the served jobs."""
    return ElasticSchedule(
        {
            each.job.id: view.place(offer.mode, offer.start, offer.workers, offer.ps)
            for each, offer in batch.served
        }
    )


def a_maxweight(
    instance: ElasticInstance,
    *,
    events: bool = False,
    placement: Rule = "exact",
    F: float | None = None,
    normalise: bool = True,
    order: Order = "arrival",
    tie: Tie = "order",
) -> AlgorithmRun:
    """Of a batch problem, serve the jobs that weigh more than rising prices ask for them.

    Parameters
    ----------
    instance : ElasticInstance
        With objective `scheduled_weight`.
    events : bool
        Report what was done, step by step; see above.
    placement, order, tie
        As `rule`, `order` and `tie` of `serve_batch`.
    F, normalise
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
    const = constants(instance, F=F, normalise=normalise)
    log: Log | None = [] if events else None
    batch = serve_batch(
        view, jobs, instance.deadline, const, rule=placement, order=order, tie=tie, log=log
    )
    trace = {"kappa": const.kappa, "F": const.F, "gamma": gamma(const)}
    return AlgorithmRun(schedule_of(view, batch), tuple(log or ()), trace)
