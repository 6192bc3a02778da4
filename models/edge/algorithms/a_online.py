"""Algorithm 1, A_online: batches at doubling times, each scheduled in the slots up to the next.

At tau_i = 1, 2, 4, 8, ... the jobs that have arrived before and do not run yet are a batch; those
that A_maxsche accepts run within the slots tau_i + 1..2 tau_i. E13-E16 are errata of the paper as
numbered in `paper.toml`.

Events, with their keys next to `line` and `event`; `time` is tau_i, jobs are given by id. Events
of `a_maxsche` stand between `round` and `wait`, and its `accept` is how a job is placed.

- `round` (A1 L5): `time`, `number`, `batch`: round i begins with J_i. Rounds without jobs are left
  out.
- `wait` (A1 L12): `time`, `number`, `jobs`: the round is planned; jobs left for the next one.
- `unplaced` (A1 L13): `jobs`: there are no more rounds; jobs that were not placed or came too late.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from schedgap.errors import UsageError
from schedgap.instances.edge import EdgeInstance, EdgeSchedule, Placement
from schedgap.models.edge.algorithms.a_maxsche import (
    Event,
    Network,
    Recorder,
    RevealedJob,
    RoundPlacements,
    reveal,
    round_event,
    serve_round,
    variant_of,
)
from schedgap.models.edge.algorithms.unplaced import complete_or_partial
from schedgap.models.edge.decisions import no_batches
from schedgap.models.method import AlgorithmRun, MethodResult, RunContext
from schedgap.models.online import Arriving

Serve = Callable[[Sequence[RevealedJob], int], RoundPlacements]  # a function of J_i and tau_i


class JobStream(Arriving[RevealedJob]):
    """The jobs of an instance in order of arrival; a job with arrival a is known from slot a on."""

    def __init__(self, instance: EdgeInstance) -> None:
        """Sort the jobs by arrival, then by place in the list."""
        super().__init__([job.arrival for job in instance.jobs], lambda j: reveal(instance, j))


class PlannedRound(NamedTuple):
    """A round i of A_online with its batch."""

    number: int  # i
    tau: int
    batch: tuple[RevealedJob, ...]  # J_i
    accepted: RoundPlacements


@dataclass(frozen=True, slots=True, eq=False)
class OnlineSchedule:
    """The schedule of an online algorithm, its rounds, and the ids of the jobs left unplaced."""

    schedule: EdgeSchedule
    rounds: tuple[PlannedRound, ...]
    left: tuple[str, ...]

    def rounds_data(self) -> list[dict[str, object]]:
        """Return the rounds as plain JSON data."""
        return [
            {
                "tau": planned.tau,
                "batch": _ids(planned.batch),
                "served": list(planned.accepted.placements),
                **planned.accepted.note,
            }
            for planned in self.rounds
        ]


def run_rounds(
    arrivals: JobStream, horizon: int, serve: Serve, *, record: Recorder | None = None
) -> OnlineSchedule:
    """Schedule jobs in batches as they arrive.

    `arrivals`: the jobs, none of them revealed yet. `horizon`: T; a round starts before it.
    `serve`: a_maxsche, or an exact method in its place. `record`: receives every event listed in
    the docstring of the module.

    Notes
    -----
    Source: Algorithm 1. Guarantee: none. Slots 1 and 2 are never used (E13). A job is left unplaced
    if it arrives too late for the last round or fits into none (E15, E16).
    """
    placed: dict[str, Placement] = {}  # A1 L1
    waiting: list[RevealedJob] = []
    rounds: list[PlannedRound] = []
    i = 1
    while (tau := 2 ** (i - 1)) < horizon:  # A1 L2 (E15)
        waiting += arrivals.until(tau - 1)  # A1 L3-L5: arrival < tau_i (E14)
        if not waiting and arrivals.all_here():
            break
        if waiting:
            if record is not None:
                record(round_event("A1 L5", "round", tau, number=i, batch=_ids(waiting)))
            accepted = serve(waiting, tau)  # A1 L6-L7
            for name, run in accepted.placements.items():  # A1 L8
                arrivals.may_start(run.start)
                placed[name] = run  # A1 L9-L10
            rounds.append(PlannedRound(i, tau, tuple(waiting), accepted))
            waiting = [job for job in waiting if job.data.id not in placed]  # A1 L11-L12
            if record is not None:
                record(round_event("A1 L12", "wait", tau, number=i, jobs=_ids(waiting)))
        i += 1
    # A1 L13
    waiting += arrivals.until(max(arrivals.now, horizon))
    left = tuple(_ids(waiting))
    if record is not None:
        record({"line": "A1 L13", "event": "unplaced", "jobs": list(left)})
    return OnlineSchedule(EdgeSchedule(placed), tuple(rounds), left)


def _ids(jobs: Sequence[RevealedJob]) -> list[str]:
    return [job.data.id for job in jobs]


def a_online(
    instance: EdgeInstance, *, events: bool = False, variant: str = "a-online"
) -> AlgorithmRun:
    """Run A_online with A_maxsche on an instance.

    Parameters
    ----------
    instance : EdgeInstance
        Without `batch_round`.
    events : bool
        Whether to return the events listed in the docstrings of this module and of `a_maxsche`.
    variant : str
        One of `a_maxsche.VARIANTS`.

    Returns
    -------
    AlgorithmRun
        `schedule` has the jobs that were placed. `trace`: `rounds` with `tau`, `batch` and
        `served`, and `left`, the ids of the jobs that were not.

    Raises
    ------
    UsageError
        If the instance is a batch, or the variant unknown.

    Notes
    -----
    Source: Algorithms 1 and 2. Guarantee: none. No job is used before it arrives.
    """
    if reason := no_batches(instance):
        raise UsageError(f"a_online {reason}")
    chosen = variant_of(variant)
    network = Network.of(instance, chosen)
    log: list[Event] = []
    record = log.append if events else None

    def serve(batch: Sequence[RevealedJob], tau: int) -> RoundPlacements:
        return serve_round(network, batch, tau, chosen, record=record)[0]

    run = run_rounds(JobStream(instance), instance.horizon, serve, record=record)
    trace = {"rounds": run.rounds_data(), "left": list(run.left)}
    return AlgorithmRun(run.schedule, tuple(log), trace)


def run_variant(name: str, instance: EdgeInstance, call: RunContext) -> MethodResult:
    """Run a variant of A_online as a method; the trace has its rounds.

    `name`: one of `a_maxsche.VARIANTS`.
    """
    run = a_online(instance, variant=name)
    return complete_or_partial(instance, run.schedule, {"rounds": run.trace["rounds"]})
