"""Algorithm 2, A_maxsche: accept jobs of a batch in one round while prices allow.

Prices start at 0 and rise with utilization; a job is accepted if its cheapest schedule costs less
than 1. The variants differ where the paper leaves a choice or is more restrictive than the problem.
E17, E22, ... are errata of the paper as numbered in `paper.toml`.

Events, with their keys next to `line` and `event`. `time` is tau_i, at whose end the round is
decided; `start`, `completion`, `first`, `last` are slots, the last one inclusive; prices are per
unit and slot, to be compared with the weight 1 of a job; servers, jobs and types are given by id.

- `open` (A2 L1): `time`, `first`, `last`, `worker`, `worker_full`, `ps`, `ps_full`: the slots of
  the round, and the prices of workers and PSs on an idle server and on a full one.
- `accept` (A2 L17): `time`, `job`, `cost`, `start`, `completion`, `workers`, `ps_server`: the
  cheapest schedule costs less than 1 and is run; `workers` are counts by server.
- `leave` (A2 L15): `time`, `job`, `cost`: the cheapest schedule costs 1 or more; None: none fits.
- `raise` (A2 L18): `time`, `job`, `server`, `resource`, `type`, `first`, `last`, `from`, `to`: how
  the job changes the price of a `worker` or a `ps` on a server, one event for each interval of
  slots with equal prices.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from schedgap.errors import ScaleError, UsageError
from schedgap.instances.edge import EdgeInstance, EdgeSchedule, Job, Placement, arrays
from schedgap.models.edge.algorithms.cheapest_schedule import (
    DECIMALS,
    Ints,
    PricedPlacement,
    PricingProblem,
    TieBreak,
    earliest_first,
    fewest_first,
)
from schedgap.models.edge.algorithms.cost_c_cost_d import printed_schedule
from schedgap.models.edge.algorithms.guarantees import dual_value
from schedgap.models.edge.algorithms.prices import MAX_CELLS, PriceScale, RoundPrices, price_scale
from schedgap.models.edge.decisions import only_batches
from schedgap.models.edge.modes import JobMode, all_modes, longest_job_slots, max_workers
from schedgap.models.method import AlgorithmRun

Event = Mapping[str, object]
Recorder = Callable[[Event], None]  # receives each event of a run

MAX_NUMBERS = 10_000  # numbers of workers of a job that Algorithm 2 tries as printed


class Variant(NamedTuple):
    """A variant of A_maxsche.

    `ready`: a server takes part if the data are there before tau_i, as printed; with `model` at the
    start of the round, slot tau_i + 1, which is all that (2i) requires (E22); with `start` at the
    start of the job, which may then be any slot of the round (E17). `key`: breaks ties between
    equal costs. `priced`: whether prices are positive at all. `printed`: Algorithms 3 and 4 as
    printed instead of cheapest schedules (E23, E26-E28).
    """

    ready: Literal["before", "model", "start"] = "before"
    key: TieBreak = fewest_first
    priced: bool = True
    printed: bool = False


VARIANTS: Mapping[str, Variant] = {
    "a-online": Variant(),
    "a-online-model": Variant(ready="model"),
    "a-online-earliest": Variant(key=earliest_first),
    "a-online-any": Variant(ready="start", key=earliest_first),
    "a-online-no-price": Variant(key=earliest_first, priced=False),
    "a-online-printed": Variant(printed=True),
}


def variant_of(name: str) -> Variant:
    """Return a variant by the name of its method.

    `name`: a key of `VARIANTS`.

    Raises
    ------
    UsageError
        If there is no such variant.
    """
    if name not in VARIANTS:
        raise UsageError(f"no variant '{name}' of A_online; there are {', '.join(VARIANTS)}")
    return VARIANTS[name]


@dataclass(frozen=True, eq=False)
class RevealedJob:
    """A job as an online algorithm knows it from its arrival on."""

    index: int  # position in the instance
    data: Job
    worker_type: int  # u_j, v_j by index
    ps_type: int
    ready: Ints  # [s] a_j + Delta_js, slot
    needed: tuple[int, int]  # worker-slots, split and colocated
    modes: tuple[JobMode, ...]
    limit: int  # workers at most: D_j, or all of the network

    @cached_property
    def every_number(self) -> tuple[JobMode, ...]:
        """All D_u of Algorithm 2, dominated or not; ScaleError if there are too many."""
        if self.limit > MAX_NUMBERS:
            raise ScaleError(
                f"job {self.data.id} may have 1 to {self.limit} workers: every number is tried as "
                f"printed, at most {MAX_NUMBERS} of them"
            )
        return tuple(
            self.mode(n, colocated) for n in range(1, self.limit + 1) for colocated in (True, False)
        )

    def mode(self, workers: int, colocated: bool) -> JobMode:
        """Return the mode with a number of workers, dominated or not.

        `workers`: at least 1. `colocated`: whether all workers are on the server of the PS.
        """
        return JobMode(workers, -(-self.needed[colocated] // workers), colocated)

    @property
    def longest(self) -> int:
        """Duration of its longest mode, in slots."""
        return max((mode.duration for mode in self.modes), default=0)


def reveal(instance: EdgeInstance, job: int) -> RevealedJob:
    """Return one job as an online algorithm knows it.

    `job`: index in the instance.
    """
    view = arrays(instance)
    return RevealedJob(
        job,
        instance.jobs[job],
        int(view.worker_type[job]),
        int(view.ps_type[job]),
        view.ready[job],
        (int(view.needed[job, 0]), int(view.needed[job, 1])),
        all_modes(instance, job),
        max_workers(instance, job, colocated=False),
    )


@dataclass(frozen=True, slots=True)
class RoundPlacements:
    """The runs of the jobs accepted in a round, by job id, and what is reported of the round."""

    placements: Mapping[str, Placement]
    note: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """What is known before any job arrives: servers, types, T and the scales of prices."""

    instance: EdgeInstance
    theta: PriceScale

    @classmethod
    def of(cls, instance: EdgeInstance, variant: Variant) -> "Network":
        """Return what A_maxsche needs of an instance apart from its jobs.

        `variant`: says whether there are prices.

        Raises
        ------
        ScaleError
            If some job needs a round with more slots than can be priced.
        """
        servers, shortest = len(instance.servers), longest_job_slots(instance)
        if shortest * servers > MAX_CELLS:
            raise ScaleError(
                f"a job needs {shortest} slots or more, on {servers} servers too many to price: at "
                f"most {MAX_CELLS:.2g} pairs are kept"
            )
        return cls(instance, price_scale(instance) if variant.priced else PriceScale(0.0, 0.0))

    def placement(self, placed: PricedPlacement, tau: int) -> Placement:
        """Return a schedule in slots of the horizon and ids of servers.

        `tau`: tau_i; slot 0 of the round is slot tau_i + 1.
        """
        ids = [server.id for server in self.instance.servers]
        start = tau + 1 + placed.start
        workers = {ids[s]: count for s, count in placed.workers.items()}
        return Placement(start, start + placed.duration - 1, workers, ids[placed.ps])


def round_event(line: str, event: str, tau: int, **keys: object) -> Event:
    """Return an event of the round after tau.

    `line`: line of the pseudocode, such as `A2 L1`. `tau`: tau_i. `**keys`: further keys of the
    event.
    """
    return {"line": line, "event": event, "time": tau, **keys}


def serve_round(
    network: Network,
    jobs: Sequence[RevealedJob],
    tau: int,
    variant: Variant = VARIANTS["a-online"],
    *,
    last: int | None = None,
    record: Recorder | None = None,
) -> tuple[RoundPlacements, RoundPrices]:
    """Accept jobs whose cheapest schedule costs less than 1, one after the other.

    `network`: servers and prices. `jobs`: j_i, in the order of the loop. `tau`: tau_i; the round
    has the slots tau_i + 1..min(2 tau_i, T). `variant`: how schedules are chosen. `last`: another
    last slot of the round. `record`: receives every event listed in the docstring of the module.

    Return J_i^s with their runs, and the prices at the end.

    Notes
    -----
    Source: Algorithm 2. No guarantee (see `guarantees`). Costs are rounded to 9 decimals.
    Ties: see `Variant.key`; then the first servers of the list.
    """
    last = min(2 * tau, network.instance.horizon) if last is None else last
    slots = _relevant_slots(jobs, tau, last)
    prices = RoundPrices.empty(arrays(network.instance), network.theta, slots)  # A2 L1
    if record is not None:
        worker, ps = network.theta  # theta - 1, the price on a full server
        full = {"worker_full": worker, "ps_full": ps}
        record(
            round_event("A2 L1", "open", tau, first=tau + 1, last=last, worker=0.0, ps=0.0, **full)
        )
    accepted: dict[str, Placement] = {}  # J_i^s
    for job in jobs:  # A2 L2
        problem = prices.pricing_problem(job.worker_type, job.ps_type)
        best = _cheapest(problem, job, tau, variant)  # A2 L3-L14 (E18, E20)
        if best is not None and 1 - round(best.cost, DECIMALS) > 0:  # A2 L15 (E19)
            accepted[job.data.id] = run = network.placement(best, tau)  # A2 L16-L17
            if record is not None:
                record(_accept_event(job.data.id, run, best.cost, tau))
                for event in _raise_events(network, prices, job, best, tau):
                    record(event)
            prices.accept(job.worker_type, job.ps_type, best)  # A2 L18
        elif record is not None:
            cost = None if best is None else best.cost
            record(round_event("A2 L15", "leave", tau, job=job.data.id, cost=cost))
        # A2 L19-L20
    # A2 L21
    return RoundPlacements(accepted), prices


def _accept_event(job: str, run: Placement, cost: float, tau: int) -> Event:
    """Return the event of an accepted job."""
    placed = run.to_data()
    del placed["colocated"]  # follows from the other keys
    return round_event("A2 L17", "accept", tau, job=job, cost=cost, **placed)


def _raise_events(
    network: Network, prices: RoundPrices, job: RevealedJob, best: PricedPlacement, tau: int
) -> Iterator[Event]:
    """Yield the events of all prices that an accepted schedule will raise."""
    types = {"worker": job.data.worker_type, "ps": job.data.ps_type}
    slot = tau + 1 + best.start
    for resource, s, before, after in prices.rises(job.worker_type, job.ps_type, best):
        where: dict[str, object] = {
            "job": job.data.id,
            "server": network.instance.servers[s].id,
            "resource": resource,
            "type": types[resource],
        }
        changed = (np.diff(before) != 0) | (np.diff(after) != 0)
        for k, end in pairwise([0, *(np.flatnonzero(changed) + 1).tolist(), best.duration]):
            if after[k] > before[k]:
                where |= {"first": slot + k, "last": slot + end - 1}
                change = {"from": float(before[k]), "to": float(after[k])}
                yield round_event("A2 L18", "raise", tau, **where, **change)


def _cheapest(
    problem: PricingProblem, job: RevealedJob, tau: int, variant: Variant
) -> PricedPlacement | None:
    """Return l*: the cheapest schedule over ends and numbers of workers, colocated or split."""
    first = job.ready - (tau + 1)  # [s] in slots of the round
    never = problem.workers.slots
    if variant.ready == "before":
        first = np.where(job.ready < tau, 0, never)
    elif variant.ready == "model":
        first = np.where(job.ready <= tau + 1, 0, never)
    if variant.printed:
        return printed_schedule(problem, job.every_number, first <= 0)
    first_slot_only = variant.ready != "start"  # one start: the loop over ends has no effect (E17)
    return problem.cheapest(job.modes, first, key=variant.key, first_slot_only=first_slot_only)


def _relevant_slots(jobs: Sequence[RevealedJob], tau: int, last: int) -> int:
    """Return a number of slots of the round that suffices for all jobs one after the other."""
    ready = max((int(job.ready.max()) for job in jobs), default=0)
    needed = max(0, ready - tau - 1) + sum(job.longest for job in jobs)
    return max(1, min(last - tau, needed))


def a_maxsche(
    instance: EdgeInstance, *, events: bool = False, variant: str = "a-online"
) -> AlgorithmRun:
    """Run A_maxsche on a batch.

    Parameters
    ----------
    instance : EdgeInstance
        With `batch_round`; jobs that arrive too late for the round are ignored.
    events : bool
        Whether to return the events listed in the docstring of the module.
    variant : str
        One of `VARIANTS`.

    Returns
    -------
    AlgorithmRun
        `trace` has `jobs`, the number of jobs considered, and `dual_value`, an upper bound on the
        jobs of any schedule that the final prices prove (G1); None if they prove nothing.

    Raises
    ------
    UsageError
        If the instance is not a batch, or the variant unknown.

    Notes
    -----
    Source: Algorithm 2. No guarantee (see `guarantees`). Jobs by arrival, then in list order.
    """
    if reason := only_batches(instance):
        raise UsageError(f"a_maxsche {reason}")
    chosen = variant_of(variant)
    able = [j for j, job in enumerate(instance.jobs) if instance.may_run(job)]
    able.sort(key=lambda j: instance.jobs[j].arrival)
    tau = instance.window[0] - 1
    batch = [reveal(instance, j) for j in able]
    log: list[Event] = []
    record = log.append if events else None
    network = Network.of(instance, chosen)
    accepted, prices = serve_round(network, batch, tau, chosen, record=record)
    trace = {"dual_value": dual_value(instance, prices), "jobs": len(batch)}
    return AlgorithmRun(EdgeSchedule(accepted.placements), tuple(log), trace)
