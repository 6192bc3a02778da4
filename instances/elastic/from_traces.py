"""Instances of family `elastic` whose jobs or servers come from public files.

A job of a trace brings its arrival, its weight where it has one, and the GPUs that it asks for; it
may use as many workers at least. Where it has a running time, its work is such that as many workers
as it has GPUs, of the slowest type, on one server, take just that time: epochs, chunks and batches
are drawn and cut to the size of the job, then its training times are stretched. A trace without
running times brings no work; all of it is drawn.

A server of a file brings GPUs, CPUs and memory; its bandwidth is that of a drawn EC2 size.

Order of draws: which servers, their bandwidths; worker and PS types; all that a job could need.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from schedgap.instances.elastic.workload import EC2, Draft, Kinds, Units, by_speed, draw_jobs
from schedgap.instances.generate import Request, check_settings, uniform
from schedgap.instances.traces import TraceJob
from schedgap.instances.traces.choice import choose_by_take, draw_machines, volume

NEEDED = {"first": "jobs", "take": "jobs"}  # settings that mean nothing without a file
REPLACED: Mapping[str, Sequence[str]] = {"jobs": ("arrival_span",)}
GIB = 2**30 / 1e9  # GB


def check_files(request: Request) -> None:
    """Refuse a setting that a file replaces, or one that means nothing without its file."""
    check_settings(request, NEEDED, REPLACED)


def servers_of(request: Request) -> tuple[Kinds, str]:
    """Return machines of a file in its order, drawn without repetition, and their source."""
    assert request.machines is not None
    machines, told = draw_machines(
        request.machines,
        request.random,
        number=request.values["servers"],
        setting="servers",
        exact="servers" in request.given,
    )
    bandwidths = [size[3] for size in EC2.values()]
    kinds = uniform(request.random, (0, len(bandwidths) - 1), len(machines))
    servers = []
    for machine, kind in zip(machines, kinds, strict=True):
        capacity = {
            "gpu": machine.gpus,
            "cpu": machine.cpus,
            "memory": round(machine.memory_gb / GIB, 3),
            "bandwidth": bandwidths[kind],
        }
        servers.append({"id": machine.id, "capacity": capacity})
    return servers, f"{told}: GPUs, CPUs, memory; bandwidth drawn"


def traced_jobs(
    request: Request, workers: Kinds, ps: Kinds, units: Units, slot_seconds: float
) -> tuple[list[Draft], str]:
    """Return the jobs of a trace, and what `meta.source` says of them."""
    trace, value = request.jobs, request.values
    assert trace is not None
    taken = choose_by_take(
        trace,
        value["take"],
        first=value["first"],
        number=value["jobs"],
        exact="jobs" in request.given,
    )
    jobs, whole, timed = taken.jobs, taken.whole, taken.timed
    batch = value["objective"] == "scheduled_weight"
    slowest = by_speed(workers)[0]
    drafts = []
    for job, draft in zip(jobs, draw_jobs(request, workers, ps, len(jobs)), strict=True):
        late = int((job.arrival - jobs[0].arrival) / slot_seconds)
        draft = replace(draft, arrival=1 if batch else 1 + late)
        if whole:
            weight = job.weight or draft.weight
            draft = replace(draft, id=job.id, weight=weight, chunks=max(draft.chunks, job.gpus))
        if timed:
            draft = _sized(draft, job, job.running_time / slot_seconds, units, slowest)
        drafts.append(draft)
    brought = [] if batch else ["arrival"]
    if whole:
        brought += ["weight"] if jobs[0].weight else []
        brought += ["work (GPUs x running time)"] if timed else ["GPUs, no running times"]
    return drafts, f"{taken.sentence}: {', '.join(brought) or 'their number'}"


def _sized(draft: Draft, job: TraceJob, slots: float, units: Units, slowest: int) -> Draft:
    """Return a draft whose work takes so many slots with `job.gpus` workers of the slowest type."""
    train = draft.training[slowest] * units.train
    update = min(draft.update) * units.update
    work = max(job.gpus, round(job.gpus * slots / (train + update))) if train + update else 1
    epochs, chunks, batches = volume(work, draft.chunks, draft.batches)
    each = job.gpus * slots / (epochs * chunks * batches)  # slots of a mini-batch
    scale = (each - update) / train if train and each > update else 1.0
    return replace(draft, epochs=epochs, chunks=chunks, batches=batches, scale=scale)
