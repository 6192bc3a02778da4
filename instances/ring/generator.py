"""Random instances of family `ring`: small ones, and the paper's workload; see `presets.toml`.

Order of draws (PCG64, uniform integers and permutations only). Presets based on `small`: servers,
then sizes, rates, slots and data of all jobs. Presets based on `paper` have three streams
(`workload.stream`), so another number of servers leaves the jobs as they are: sizes of the
servers; order of the sizes of the jobs; for each job the time per iteration and the number of
iterations. For files, see `from_traces`.
"""

import math
from collections.abc import Sequence

from schedgap.errors import UsageError
from schedgap.instances.generate import Generated, Request, check_settings
from schedgap.instances.ring import workload
from schedgap.instances.ring.from_traces import (
    MINUTE,
    REPLACED,
    servers_of,
    traced_jobs,
)
from schedgap.instances.ring.workload import Draft


def small(request: Request) -> Generated:
    """Return jobs of a few slots on a few servers."""
    source = f"drawn with seed {request.seed}: small whole numbers"
    return Generated(workload.small(request), source, "slot")


def paper(request: Request) -> Generated:
    """Return the workload of Section 7, or one whose jobs or servers come from files."""
    check_settings(request, REPLACED, slot_seconds="jobs")
    sources, horizon, seconds = [], request.values["horizon"], MINUTE
    if request.machines is None:
        servers = workload.drawn_servers(request)
    else:
        servers, sentence = servers_of(request)
        sources.append(sentence)
    gpus = sum(server["gpus"] for server in servers)
    if request.jobs is None:
        drafts = _drawn_jobs(request, gpus)
        if request.values["load"] is not None and "horizon" not in request.given:
            horizon = max(horizon, _enough(drafts, gpus))
    else:
        drafts, sentence, seconds, slots = traced_jobs(request, gpus)
        sources.insert(0, sentence)
        if "horizon" not in request.given:
            horizon = max(horizon, slots)
    sources.append(
        f"{'all else ' if sources else ''}drawn with seed {request.seed}: the ranges of Section 7; "
        "bandwidths, gradients and latency of our choice"
    )
    fields = workload.calibrated(request, servers, drafts, seconds)
    minutes = seconds / MINUTE
    unit = f"slot of {minutes:g} min" if minutes >= 1 else f"slot of {seconds:g} s"
    return Generated({"horizon": horizon, **fields}, "; ".join(sources), unit)


def _drawn_jobs(request: Request, gpus: int) -> list[Draft]:
    drafts, random = [], workload.stream(request, "lengths")
    for n, size in enumerate(workload.drawn_sizes(request), 1):
        length, iterations = workload.drawn_lengths(request.values["extra_share"], random)
        drafts.append(Draft(f"j{n}", size, iterations, length))
    largest = max(draft.gpus for draft in drafts)
    if largest > gpus:
        raise UsageError(
            f"option servers: a job requests {largest} GPUs, but the cluster has {gpus}: "
            "take more servers or another seed"
        )
    return drafts


def _enough(drafts: Sequence[Draft], gpus: int) -> int:
    """Return a number of slots that is sufficient for nearly every list schedule, as for traces."""
    lengths = [draft.iterations * draft.iteration_slots for draft in drafts]
    work = sum(draft.gpus * slots for draft, slots in zip(drafts, lengths, strict=True))
    return math.ceil(4 * (work / gpus + max(lengths)))
