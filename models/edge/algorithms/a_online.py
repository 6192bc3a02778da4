"""Algorithm 1, A_online: batches at doubling times, each served in the slots up to the next.

At tau_i = 1, 2, 4, 8, ... the jobs that have arrived before and do not run yet are a batch; those
that A_maxsche takes run within the slots tau_i + 1..2 tau_i. E13-E16 are the paper's errata as
numbered in `paper.py`.

Events, with their keys beside `line` and `event`; `time` is tau_i, jobs go by their ids. Those of
`a_maxsche` stand between `round` and `wait`, and its `accept` is how a job is placed.

- `round` (A1 L5): `time`, `number`, `batch`: round i begins with J_i. Rounds without jobs are left
  out.
- `wait` (A1 L12): `time`, `number`, `jobs`: the round is planned; who is left for the next one.
- `unplaced` (A1 L13): `jobs`: there are no more rounds; who has found no place, or came too late.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from schedgap.errors import UsageError
from schedgap.instances.edge import EdgeInstance, EdgeSchedule, Placement
from schedgap.models.edge.algorithms.a_maxsche import (
    Arrived,
    Event,
    Network,
    Note,
    Served,
    arrived,
    happened,
    serve_round,
    variant_of,
)
from schedgap.models.edge.algorithms.unplaced import deliver
from schedgap.models.edge.decisions import no_batches, no_schedule
from schedgap.models.method import AlgorithmRun, MethodResult, RunContext
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
                "batch": _ids(each.batch),
                "served": list(each.served.placements),
                **each.served.note,
            }
            for each in self.rounds
        ]


def run_rounds(
    arrivals: Arrivals, horizon: int, serve: Serve, *, note: Note | None = None
) -> OnlineRun:
    """Schedule jobs in batches, as they arrive.

    Parameters
    ----------
    arrivals : Arrivals
        The jobs, none of which has been handed out.
    horizon : int
        T; a round starts before it.
    serve : callable
        What A_maxsche does, or an exact method in its place.
    note : callable, optional
        Told every event, as the docstring of the module lists them.

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
            if note is not None:
                note(happened("A1 L5", "round", tau, number=i, batch=_ids(waiting)))
            served = serve(waiting, tau)  # A1 L6-L7
            for name, run in served.placements.items():  # A1 L8
                arrivals.may_start(run.start)
                placed[name] = run  # A1 L9-L10
            rounds.append(Round(i, tau, tuple(waiting), served))
            waiting = [each for each in waiting if each.job.id not in placed]  # A1 L11-L12
            if note is not None:
                note(happened("A1 L12", "wait", tau, number=i, jobs=_ids(waiting)))
        i += 1
    # A1 L13
    waiting += arrivals.until(max(arrivals.now, horizon))
    left = tuple(_ids(waiting))
    if note is not None:
        note({"line": "A1 L13", "event": "unplaced", "jobs": list(left)})
    return OnlineRun(EdgeSchedule(placed), tuple(rounds), left)


def _ids(jobs: Sequence[Arrived]) -> list[str]:
    return [each.job.id for each in jobs]


def a_online(
    instance: EdgeInstance, *, events: bool = False, variant: str = "a-online"
) -> AlgorithmRun:
    """Run A_online with A_maxsche on an instance.

    Parameters
    ----------
    instance : EdgeInstance
        Without `batch_round`.
    events : bool
        Whether to tell what was done, step by step; the docstrings of this module and of
        `a_maxsche` list the events.
    variant : str
        One of `a_maxsche.VARIANTS`.

    Returns
    -------
    AlgorithmRun
        `schedule` has the jobs that found a place. `trace`: `rounds` with `tau`, `batch` and
        `served`, and `left`, the jobs without a place, by ids.

    Raises
    ------
    UsageError
        When the instance is a batch, or the variant unknown.

    Notes
    -----
    Source: Algorithms 1 and 2. Guarantee: none. A job is not looked at before it arrives.
    """
    if reason := no_batches(instance):
        raise UsageError(f"a_online {reason}")
    chosen = variant_of(variant)
    network = Network.of(instance, chosen)
    log: list[Event] = []
    note = log.append if events else None

    def serve(batch: Sequence[Arrived], tau: int) -> Served:
        return serve_round(network, batch, tau, chosen, note=note)[0]

    run = run_rounds(Arrivals(instance), instance.horizon, serve, note=note)
    trace = {"rounds": run.trace(), "left": list(run.left)}
    return AlgorithmRun(run.schedule, tuple(log), trace)


def run_variant(name: str, instance: EdgeInstance, call: RunContext) -> MethodResult:
    """Run the method of A_online in one of the variants; its trace has the rounds."""
    if reason := no_schedule(instance):
        return MethodResult(infeasible=True, note=reason)
    run = a_online(instance, variant=name)
    return deliver(instance, run.schedule, {"rounds": run.trace["rounds"]})
