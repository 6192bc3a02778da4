"""Algorithm 1, A_online: batches at doubling times, each served in the slots up to the next.

At tau_i = 1, 2, 4, 8, ... the jobs that have arrived before and do not run yet are a batch; those
that A_maxsche takes run within the slots tau_i + 1..2 tau_i. E13-E16 are the paper's errata as
numbered in `paper.py`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from schedgap.instances.edge import EdgeInstance, EdgeSchedule, Placement
from schedgap.models.edge.algorithms.a_maxsche import (
    VARIANTS,
    Arrived,
    Network,
    Served,
    Variant,
    a_maxsche,
    arrived,
)
from schedgap.models.edge.algorithms.unplaced import deliver
from schedgap.models.edge.decisions import no_schedule
from schedgap.models.method import MethodResult, RunContext
from schedgap.models.online import Arriving

Serve = Callable[[Sequence[Arrived], int], Served]  # (J_i, tau_i) -> what runs in the round


class Arrivals(Arriving[Arrived]):
    """The jobs of an instance, one by one; a job of arrival a is known from slot a on."""

    def __init__(self, instance: EdgeInstance) -> None:
        """Sort the jobs by arrival, then by place in the list."""
        super().__init__([job.arrival for job in instance.jobs], lambda j: arrived(instance, j))


class Round(NamedTuple):
    """One round i of A_online with a batch."""

    number: int  # i
    tau: int
    batch: tuple[Arrived, ...]  # J_i
    served: Served


@dataclass(frozen=True, slots=True, eq=False)
class OnlineRun:
    """The runs of an online algorithm, its rounds, and the ids of the jobs that found no place."""

    schedule: EdgeSchedule
    rounds: tuple[Round, ...]
    left: tuple[str, ...]

    def trace(self) -> list[dict[str, Any]]:
        """Return the rounds as plain data."""
        return [
            {
                "tau": each.tau,
                "batch": [job.job.id for job in each.batch],
                "served": list(each.served.placements),
                **each.served.note,
            }
            for each in self.rounds
        ]


def a_online(arrivals: Arrivals, horizon: int, serve: Serve) -> OnlineRun:
    """Schedule jobs in batches, as they arrive.

    Parameters
    ----------
    horizon : int
        T; a round starts before it.
    serve : callable
        What A_maxsche does, or an exact method in its place.

    Notes
    -----
    Source: Algorithm 1. Guarantee: none. Slots 1 and 2 are never used (E13). A job is left over
    when it arrives too late for the last round, or never fits into one (E15, E16).
    """
    placed: dict[str, Placement] = {}  # A1 L1
    waiting: list[Arrived] = []
    rounds: list[Round] = []
    i = 1
    while (tau := 2 ** (i - 1)) < horizon:  # A1 L2 (E15)
        waiting += arrivals.until(tau - 1)  # A1 L3-L5: arrival < tau_i (E14)
        if not waiting and arrivals.all_here():
            break
        if waiting:
            served = serve(waiting, tau)  # A1 L6-L7
            for name, run in served.placements.items():  # A1 L8
                arrivals.may_start(run.start)
                placed[name] = run  # A1 L9-L10
            rounds.append(Round(i, tau, tuple(waiting), served))
            waiting = [each for each in waiting if each.job.id not in placed]  # A1 L11-L12
        i += 1
    # A1 L13
    waiting += arrivals.until(max(arrivals.now, horizon))
    return OnlineRun(EdgeSchedule(placed), tuple(rounds), tuple(each.job.id for each in waiting))


def run_online(instance: EdgeInstance, variant: Variant = VARIANTS["a-online"]) -> OnlineRun:
    """Run A_online with A_maxsche on an instance."""
    network = Network.of(instance, variant)

    def serve(batch: Sequence[Arrived], tau: int) -> Served:
        return a_maxsche(network, batch, tau, variant)[0]

    return a_online(Arrivals(instance), instance.horizon, serve)


def run_named(instance: EdgeInstance, name: str) -> OnlineRun:
    """Run A_online in one of the variants, by its method's name."""
    return run_online(instance, VARIANTS[name])


def run_variant(name: str, instance: EdgeInstance, call: RunContext) -> MethodResult:
    """Run the method of A_online in one of the variants; its trace has the rounds."""
    if reason := no_schedule(instance):
        return MethodResult(infeasible=True, note=reason)
    run = run_named(instance, name)
    return deliver(instance, run.schedule, {"rounds": run.trace()})
