"""Which jobs of a trace, and which machines of a cluster, an instance takes."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from schedgap.errors import UsageError
from schedgap.instances.settings import Option
from schedgap.instances.traces.records import Jobs, Machines, TraceJob, TraceMachine

TAKE = Option(
    "take",
    "choice",
    "all",
    "of the jobs of a file: all, or only their arrivals",
    choices=("all", "arrivals"),
)


def choose(
    trace: Jobs,
    refuse: Callable[[TraceJob], str | None],
    *,
    first: int,
    number: int,
    exact: bool,
) -> tuple[tuple[TraceJob, ...], str]:
    """Return consecutive usable jobs by arrival, and a sentence for `meta.source`.

    Parameters
    ----------
    trace : Jobs
    refuse : callable
        Says in a few words why a job cannot serve, or None.
    first, number : int
        Place of the first one among the usable jobs, from 1, and how many to take.
    exact : bool
        Raise UsageError when there are fewer than `number`; else take what there is.
    """
    left_out = dict(trace.left_out)
    usable = []
    for job in trace.jobs:
        reason = refuse(job)
        if reason is None:
            usable.append(job)
        else:
            left_out[reason] = left_out.get(reason, 0) + 1
    reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(left_out.items()))
    gone = f"; left out: {reasons}" if reasons else ""
    if not usable:
        raise UsageError(f"{trace.file}: no job can be used{gone}")
    chosen = usable[first - 1 : first - 1 + number]
    if not chosen or (exact and len(chosen) < number):
        asked = f"jobs={number}" + (f" from first={first} on" if first > 1 else "")
        raise UsageError(f"{trace.file}: {len(usable)} usable jobs, not enough for {asked}{gone}")
    span = f"{first}-{first + len(chosen) - 1} of {len(usable)}"
    return tuple(chosen), f"jobs {span} by arrival from {trace.file} ({trace.format}){gone}"


@dataclass(frozen=True, slots=True)
class Taken:
    """Jobs of a trace that bring all they have, or only their arrivals."""

    jobs: tuple[TraceJob, ...]
    sentence: str  # for `meta.source`
    whole: bool  # all they have
    timed: bool  # they have running times


def choose_by_take(trace: Jobs, take: str, *, first: int, number: int, exact: bool) -> Taken:
    """Return consecutive jobs by arrival under a setting `take`; the rest as in `choose`.

    With `all`, jobs without GPU are left out, and where any job has a running time, those without.
    """
    whole = take == "all"
    timed = whole and any(job.running_time for job in trace.jobs)

    def refuse(job: TraceJob) -> str | None:
        if whole and not job.gpus:
            return "without GPU"
        return "without running time" if timed and not job.running_time else None

    jobs, sentence = choose(trace, refuse, first=first, number=number, exact=exact)
    return Taken(jobs, sentence, whole, timed)


def draw_machines(
    cluster: Machines,
    random: np.random.Generator,
    *,
    number: int,
    setting: str,
    exact: bool,
    kind: str = "servers",
    usable: Callable[[TraceMachine], bool] = lambda machine: True,
) -> tuple[tuple[TraceMachine, ...], str]:
    """Return machines drawn without repetition, in the file's order, and words for `meta.source`.

    Parameters
    ----------
    number : int
        How many, the value of `setting`.
    exact : bool
        Raise UsageError when there are fewer; else take what there is.
    kind : str
        What the family calls them.
    usable : callable
        Whether a machine can serve at all.
    """
    machines = [machine for machine in cluster.machines if usable(machine)]
    if not machines or (exact and number > len(machines)):
        raise UsageError(
            f"{cluster.file}: {len(machines)} usable machines, not enough for {setting}={number}"
        )
    number = min(number, len(machines))
    drawn = sorted(random.permutation(len(machines))[:number].tolist())
    told = f"{number} of {len(machines)} {kind} from {cluster.file} ({cluster.format})"
    return tuple(machines[place] for place in drawn), told


def volume(minibatches: int, chunks: int, batches: int) -> tuple[int, int, int]:
    """Return epochs, chunks and mini-batches of a chunk that make about so many mini-batches.

    Chunks and mini-batches of a chunk are at most as given; all three are at least 1.
    """
    chunks = min(chunks, minibatches)
    batches = min(batches, max(1, minibatches // chunks))
    return max(1, round(minibatches / (chunks * batches))), chunks, batches
