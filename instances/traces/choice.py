"""Choice of the jobs of a trace and the machines of a cluster for an instance."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from schedgap.errors import UsageError
from schedgap.instances.generate import Request
from schedgap.instances.traces.records import TraceJob, TraceMachine


def choose(
    request: Request, refuse: Callable[[TraceJob], str | None]
) -> tuple[tuple[TraceJob, ...], str]:
    """Return consecutive usable jobs of the trace by arrival, and a sentence for `meta.source`.

    The settings `first` and `jobs` say which ones. If there are too few, that is an error only if
    the user has set `jobs`. Times between arrivals are multiplied by the pace of the request.

    `request`: input of the preset, with a trace of jobs. `refuse`: returns the reason why a job
    cannot be used, or None.

    Raises
    ------
    UsageError
        If there are too few usable jobs.
    """
    trace, first, number = request.jobs, request.values["first"], request.values["jobs"]
    assert trace is not None
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
    if not chosen or ("jobs" in request.given and len(chosen) < number):
        asked = f"jobs={number}" + (f" from first={first} on" if first > 1 else "")
        raise UsageError(f"{trace.file}: {len(usable)} usable jobs, not enough for {asked}{gone}")
    span = f"{first}-{first + len(chosen) - 1} of {len(usable)}"
    paced = tuple(replace(job, arrival=job.arrival * request.pace) for job in chosen)
    return paced, f"jobs {span} by arrival from {trace.file} ({trace.format}){gone}"


@dataclass(frozen=True, slots=True)
class Taken:
    """Jobs taken from a trace, with all their data or only with their arrivals."""

    jobs: tuple[TraceJob, ...]
    sentence: str  # description of the choice, stored as `meta.source`
    whole: bool  # whether all their data are used
    timed: bool  # whether they have durations

    @property
    def work(self) -> list[str]:
        """What `meta.source` says of the work of the jobs; nothing if only arrivals are taken."""
        if not self.whole:
            return []
        return ["work (GPUs x running time)"] if self.timed else ["GPUs, no running times"]


def choose_by_take(request: Request) -> Taken:
    """Return consecutive usable jobs of the trace by arrival, as the setting `take` says.

    With `all`, jobs without GPUs are left out and, if any job has a duration, jobs without one.

    `request`: input of the preset, with a trace of jobs.

    Raises
    ------
    UsageError
        If there are too few usable jobs.
    """
    assert request.jobs is not None
    whole = request.values["take"] == "all"
    timed = whole and any(job.running_time for job in request.jobs.jobs)

    def refuse(job: TraceJob) -> str | None:
        if whole and not job.gpus:
            return "without GPU"
        return "without running time" if timed and not job.running_time else None

    jobs, sentence = choose(request, refuse)
    return Taken(jobs, sentence, whole, timed)


def draw_machines(
    request: Request,
    setting: str,
    *,
    kind: str = "servers",
    usable: Callable[[TraceMachine], bool] = lambda machine: True,
) -> tuple[tuple[TraceMachine, ...], str]:
    """Draw machines of the file without replacement; also return a text for `meta.source`.

    If the file has too few machines, that is an error only if the user has set their number.

    `request`: input of the preset, with a file of machines. `setting`: the setting with the number
    of machines. `usable`: whether a machine can be used.

    Raises
    ------
    UsageError
        If there are too few usable machines.
    """
    cluster, number = request.machines, request.values[setting]
    assert cluster is not None
    machines = [machine for machine in cluster.machines if usable(machine)]
    if not machines or (setting in request.given and number > len(machines)):
        raise UsageError(
            f"{cluster.file}: {len(machines)} usable machines, not enough for {setting}={number}"
        )
    number = min(number, len(machines))
    drawn = sorted(request.random.permutation(len(machines))[:number].tolist())
    source = f"{number} of {len(machines)} {kind} from {cluster.file} ({cluster.format})"
    return tuple(machines[place] for place in drawn), source


def volume(minibatches: int, chunks: int, batches: int) -> tuple[int, int, int]:
    """Return epochs, chunks and mini-batches per chunk whose product is about a given number.

    `minibatches`: the product to approximate, >= 1. `chunks`, `batches`: upper limits on chunks and
    on mini-batches per chunk, >= 1.
    """
    chunks = min(chunks, minibatches)
    batches = min(batches, max(1, minibatches // chunks))
    return max(1, round(minibatches / (chunks * batches))), chunks, batches
