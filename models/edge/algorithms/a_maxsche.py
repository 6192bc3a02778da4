"""Algorithm 2, A_maxsche: of a batch of jobs as many as prices let in, in one round.

Prices start at 0 and grow with use; a job is run when its cheapest schedule costs less than 1. The
variants differ where the paper leaves a choice, or where it is not what the problem allows. E17,
E22, ... are the paper's errata as numbered in `paper.py`.

Events, with their keys beside `line` and `event`. `time` is tau_i, at whose end all is decided;
`start`, `completion`, `first`, `last` are slots, the last one included; prices are those of one
unit for one slot, beside the weight 1 of a job; servers, jobs and types go by their ids.

- `open` (A2 L1): `time`, `first`, `last`, `worker`, `worker_full`, `ps`, `ps_full`: the slots of
  the round, and the prices of workers and PSs on an idle server and on one that is used up.
- `accept` (A2 L17): `time`, `job`, `cost`, `start`, `completion`, `workers`, `ps_server`: the
  cheapest schedule costs less than 1 and is run; `workers` is how many there are on which server.
- `leave` (A2 L15): `time`, `job`, `cost`: the cheapest one costs 1 or more; None: there is none.
- `raise` (A2 L18): `time`, `job`, `server`, `resource`, `type`, `first`, `last`, `from`, `to`: what
  the job does to the price of a `worker` or a `ps` on a server, one event for each stretch of
  slots in which it is the same.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np

from schedgap.errors import ScaleError, UsageError
from schedgap.instances.edge import EdgeInstance, EdgeSchedule, Job, Placement, arrays
from schedgap.models.edge.algorithms.cheapest_schedule import (
    DECIMALS,
    Ints,
    Key,
    Market,
    Offer,
    earliest_first,
    fewest_first,
)
from schedgap.models.edge.algorithms.cost_c_cost_d import printed_schedule
from schedgap.models.edge.algorithms.guarantees import dual_value
from schedgap.models.edge.algorithms.prices import MOST_CELLS, RoundMarket, Scale, scale
from schedgap.models.edge.decisions import only_batches
from schedgap.models.edge.modes import Mode, all_modes, least_slots, most_workers
from schedgap.models.method import AlgorithmRun

Event = Mapping[str, Any]
Note = Callable[[Event], None]  # what is told each event of a run

MOST_NUMBERS = 10_000  # of workers of a job, where Algorithm 2 is to try them all


class Variant(NamedTuple):
    """How A_maxsche chooses.

    `ready`: a server takes part when the data are there before tau_i, as printed; with `model` at
    the start of the round, slot tau_i + 1, which is all that (2i) asks for (E22); with `start` at
    the start of the job, which may then be in any slot of the round (E17). `key` decides between
    equal costs, `priced` whether there are costs at all. `printed`: Algorithms 3 and 4 as printed,
    instead of schedules of least cost (E23, E26-E28).
    """

    ready: Literal["before", "model", "start"] = "before"
    key: Key = fewest_first
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
    """Return a variant by the name of its method; UsageError for an unknown one."""
    if name not in VARIANTS:
        raise UsageError(f"no variant '{name}' of A_online; there are {', '.join(VARIANTS)}")
    return VARIANTS[name]


@dataclass(frozen=True, eq=False)
class Arrived:
    """A job as it is known from its arrival on, and what follows from its own data."""

    place: int  # in the list of jobs
    job: Job
    worker_type: int  # u_j, v_j by index
    ps_type: int
    ready: Ints  # [s] a_j + Delta_js, slot
    needed: tuple[int, int]  # worker-slots, split and together
    modes: tuple[Mode, ...]
    most: int  # workers: D_j, or as many as there are

    @cached_property
    def every_number(self) -> tuple[Mode, ...]:
        """All D_u of Algorithm 2, whether or not fewer workers do as well."""
        if self.most > MOST_NUMBERS:
            raise ScaleError(
                f"job {self.job.id} may have 1 to {self.most} workers: every number is tried as "
                f"printed, at most {MOST_NUMBERS} of them"
            )
        return tuple(
            Mode(n, -(-self.needed[together] // n), together)
            for n in range(1, self.most + 1)
            for together in (True, False)
        )

    @property
    def longest(self) -> int:
        """Slots of its longest mode."""
        return max((mode.duration for mode in self.modes), default=0)


def arrived(instance: EdgeInstance, j: int) -> Arrived:
    """Return the job with index j."""
    view = arrays(instance)
    return Arrived(
        j,
        instance.jobs[j],
        int(view.worker_type[j]),
        int(view.ps_type[j]),
        view.ready[j],
        (int(view.needed[j, 0]), int(view.needed[j, 1])),
        all_modes(instance, j),
        most_workers(instance, j, together=False),
    )


@dataclass(frozen=True, slots=True)
class Served:
    """The runs of the jobs that a round takes, by job id, and what there is to say of it."""

    placements: Mapping[str, Placement]
    note: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """What is known before any job: servers, types, T and the scales of prices."""

    instance: EdgeInstance
    theta: Scale

    @classmethod
    def of(cls, instance: EdgeInstance, variant: Variant) -> "Network":
        """Return what A_maxsche needs of an instance beside its jobs.

        Raises
        ------
        ScaleError
            When some job needs a round of more slots than can be priced.
        """
        servers, shortest = len(instance.servers), least_slots(instance)
        if shortest * servers > MOST_CELLS:
            raise ScaleError(
                f"a job needs {shortest} slots or more, on {servers} servers too many to price: at "
                f"most {MOST_CELLS:.2g} pairs are kept"
            )
        return cls(instance, scale(instance) if variant.priced else Scale(0.0, 0.0))

    def placement(self, offer: Offer, tau: int) -> Placement:
        """Return a schedule of the round after tau in real slots, by ids of servers."""
        ids = [server.id for server in self.instance.servers]
        start = tau + 1 + offer.start
        workers = {ids[s]: count for s, count in offer.workers.items()}
        return Placement(start, start + offer.duration - 1, workers, ids[offer.ps])


def happened(line: str, event: str, tau: int, **keys: Any) -> Event:
    """Return an event of the round after tau."""
    return {"line": line, "event": event, "time": tau, **keys}


def serve_round(
    network: Network,
    jobs: Sequence[Arrived],
    tau: int,
    variant: Variant = VARIANTS["a-online"],
    *,
    last: int | None = None,
    note: Note | None = None,
) -> tuple[Served, RoundMarket]:
    """Run jobs whose cheapest schedule costs less than 1, one after the other.

    Parameters
    ----------
    jobs : sequence of Arrived
        J_i, in the order of the loop.
    tau : int
        tau_i; the round has the slots tau_i + 1..min(2 tau_i, T).
    last : int, optional
        Another last slot of the round.
    note : callable, optional
        Told every event, as the docstring of the module lists them.

    Returns
    -------
    Served
        J_i^s with their runs.
    RoundMarket
        The market as they leave it.

    Notes
    -----
    Source: Algorithm 2. No guarantee (see `guarantees`). Costs count to 9 decimals.
    Ties: see `Variant.key`; then the first servers of the list.
    """
    last = min(2 * tau, network.instance.horizon) if last is None else last
    slots = _slots(jobs, tau, last)
    market = RoundMarket.empty(arrays(network.instance), network.theta, slots)  # A2 L1
    if note is not None:
        worker, ps = network.theta  # theta - 1, the price of what is used up
        full = {"worker_full": worker, "ps_full": ps}
        note(happened("A2 L1", "open", tau, first=tau + 1, last=last, worker=0.0, ps=0.0, **full))
    served: dict[str, Placement] = {}  # J_i^s
    for each in jobs:  # A2 L2
        offered = market.of(each.worker_type, each.ps_type)
        best = _cheapest(offered, each, tau, variant)  # A2 L3-L14 (E18, E20)
        if best is not None and 1 - round(best.cost, DECIMALS) > 0:  # A2 L15 (E19)
            served[each.job.id] = run = network.placement(best, tau)  # A2 L16-L17
            if note is not None:
                note(_accepted(each.job.id, run, best.cost, tau))
                for event in _raised(network, market, each, best, tau):
                    note(event)
            market.take(each.worker_type, each.ps_type, best)  # A2 L18
        elif note is not None:
            cost = None if best is None else best.cost
            note(happened("A2 L15", "leave", tau, job=each.job.id, cost=cost))
        # A2 L19-L20
    # A2 L21
    return Served(served), market


def _accepted(job: str, run: Placement, cost: float, tau: int) -> Event:
    """Return the event of a job that is run."""
    placed = run.to_data()
    del placed["colocated"]  # it follows from the rest
    return happened("A2 L17", "accept", tau, job=job, cost=cost, **placed)


def _raised(
    network: Network, market: RoundMarket, each: Arrived, best: Offer, tau: int
) -> Iterator[Event]:
    """Yield the events of all prices that a schedule is about to raise."""
    types = {"worker": each.job.worker_type, "ps": each.job.ps_type}
    slot = tau + 1 + best.start
    for resource, s, before, after in market.rises(each.worker_type, each.ps_type, best):
        where: dict[str, object] = {
            "job": each.job.id,
            "server": network.instance.servers[s].id,
            "resource": resource,
            "type": types[resource],
        }
        changed = (np.diff(before) != 0) | (np.diff(after) != 0)
        for k, end in pairwise([0, *(np.flatnonzero(changed) + 1).tolist(), best.duration]):
            if after[k] > before[k]:
                where |= {"first": slot + k, "last": slot + end - 1}
                prices = {"from": float(before[k]), "to": float(after[k])}
                yield happened("A2 L18", "raise", tau, **where, **prices)


def _cheapest(market: Market, job: Arrived, tau: int, variant: Variant) -> Offer | None:
    """Return l*: over ends and numbers of workers, on one server or several, the cheapest."""
    first = job.ready - (tau + 1)  # [s] in slots of the round
    never = market.workers.slots
    if variant.ready == "before":
        first = np.where(job.ready < tau, 0, never)
    elif variant.ready == "model":
        first = np.where(job.ready <= tau + 1, 0, never)
    if variant.printed:
        return printed_schedule(market, job.every_number, first <= 0)
    opening = variant.ready != "start"  # one start: the loop over ends is dead (E17)
    return market.cheapest(job.modes, first, key=variant.key, opening=opening)


def _slots(jobs: Sequence[Arrived], tau: int, last: int) -> int:
    """Return how many slots of a round can matter: after all jobs one by one, all is free again."""
    ready = max((int(each.ready.max()) for each in jobs), default=0)
    needed = max(0, ready - tau - 1) + sum(each.longest for each in jobs)
    return max(1, min(last - tau, needed))


def a_maxsche(
    instance: EdgeInstance, *, events: bool = False, variant: str = "a-online"
) -> AlgorithmRun:
    """Run A_maxsche on an instance that is a batch: as many of its jobs as prices let in.

    Parameters
    ----------
    instance : EdgeInstance
        With `batch_round`; jobs that arrive too late for the round are not looked at.
    events : bool
        Whether to tell what was done, step by step; the docstring of the module lists the events.
    variant : str
        One of `VARIANTS`.

    Returns
    -------
    AlgorithmRun
        `trace` has `jobs`, how many were looked at, and `dual_value`, the most that any schedule
        can run as the final prices prove it (G1); None where they prove nothing.

    Raises
    ------
    UsageError
        When the instance is no batch, or the variant unknown.

    Notes
    -----
    Source: Algorithm 2. No guarantee (see `guarantees`). Jobs in order of arrival, then of the
    list.
    """
    if reason := only_batches(instance):
        raise UsageError(f"a_maxsche {reason}")
    chosen = variant_of(variant)
    able = [j for j, job in enumerate(instance.jobs) if instance.may_run(job)]
    able.sort(key=lambda j: instance.jobs[j].arrival)
    tau = instance.window[0] - 1
    batch = [arrived(instance, j) for j in able]
    log: list[Event] = []
    note = log.append if events else None
    served, market = serve_round(Network.of(instance, chosen), batch, tau, chosen, note=note)
    trace = {"dual_value": dual_value(instance, market), "jobs": len(batch)}
    return AlgorithmRun(EdgeSchedule(served.placements), tuple(log), trace)
