"""Which jobs of a trace an instance takes."""

from collections.abc import Callable

from schedgap.errors import UsageError
from schedgap.instances.traces.records import Jobs, TraceJob


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


def volume(minibatches: int, chunks: int, batches: int) -> tuple[int, int, int]:
    """Return epochs, chunks and mini-batches of a chunk that make about so many mini-batches.

    Chunks and mini-batches of a chunk are at most as given; all three are at least 1.
    """
    chunks = min(chunks, minibatches)
    batches = min(batches, max(1, minibatches // chunks))
    return max(1, round(minibatches / (chunks * batches))), chunks, batches
