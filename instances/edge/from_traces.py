"""Instances of family `edge` whose jobs or servers come from public files.

A job of a trace brings its arrival and the GPUs that it asks for; it may use as many workers at
least. Where it has a running time, its work is such that as many workers as it has GPUs, together
with their parameter server (PS), take just that time: epochs, chunks and mini-batches are drawn and
cut to the size of the job, then the seconds of a mini-batch are stretched. A trace without running
times brings no work; all of it is drawn.

A machine of a file becomes an edge server: its GPUs are workers of one drawn type, its CPUs are
PSs, shared evenly by the types.

Order of draws: which machines, their worker types; all that a job could need.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from schedgap.errors import UsageError
from schedgap.instances.edge.workload import (
    Records,
    Volume,
    cloud,
    drawn_volumes,
    ps_types,
    worker_types,
)
from schedgap.instances.generate import Request, apportion, check_settings, uniform
from schedgap.instances.traces import TraceJob
from schedgap.instances.traces.choice import choose, volume

TAKE = ("all", "arrivals")
NEEDED = {"first": "jobs", "take": "jobs"}  # settings that mean nothing without a file
REPLACED: Mapping[str, Sequence[str]] = {
    "jobs": ("arrival_horizon",),
    "machines": ("workers_per_server", "ps_per_server"),
}


def check_files(request: Request) -> None:
    """Refuse a setting that a file replaces, or one that means nothing without its file."""
    check_settings(request, NEEDED, REPLACED)


def servers_of(request: Request) -> tuple[Records, str]:
    """Return machines of a file in its order, drawn without repetition, the cloud, their source."""
    assert request.machines is not None
    machines, number = request.machines.machines, request.values["edge_servers"]
    file = request.machines.file
    if "edge_servers" in request.given and number > len(machines):
        raise UsageError(f"{file}: {len(machines)} machines, not enough for edge_servers={number}")
    number = min(number, len(machines))
    drawn = sorted(request.random.permutation(len(machines))[:number].tolist())
    types, ps = worker_types(request), ps_types(request)
    kinds = uniform(request.random, (0, len(types) - 1), number)
    servers = []
    for place, kind in zip(drawn, kinds, strict=True):
        machine = machines[place]
        shares = apportion(math.floor(machine.cpus), [1.0] * len(ps))
        servers.append(
            {
                "id": machine.id,
                "kind": "edge",
                "workers": {types[kind]: machine.gpus},
                "parameter_servers": dict(zip(ps, shares, strict=True)),
            }
        )
    return [*servers, cloud(request)], (
        f"{number} of {len(machines)} edge servers from {file} ({request.machines.format}): GPUs as"
        " workers, CPUs as parameter servers"
    )


def traced_volumes(request: Request) -> tuple[list[Volume], str]:
    """Return the jobs of a trace, and what `meta.source` says of them."""
    trace, value = request.jobs, request.values
    assert trace is not None
    whole = value["take"] == "all"
    timed = whole and any(job.running_time for job in trace.jobs)
    seconds = value["slot_seconds"]

    def refuse(job: TraceJob) -> str | None:
        if whole and not job.gpus:
            return "without GPU"
        return "without running time" if timed and not job.running_time else None

    jobs, sentence = choose(
        trace, refuse, first=value["first"], number=value["jobs"], exact="jobs" in request.given
    )
    volumes = []
    for job, drawn in zip(jobs, drawn_volumes(request, len(jobs)), strict=True):
        made = replace(drawn, arrival=1 + int((job.arrival - jobs[0].arrival) / seconds))
        if whole:
            made = replace(made, id=job.id, chunks=max(made.chunks, job.gpus))
        if timed:
            made = _sized(made, job)
        volumes.append(made)
    taken = ["arrival"]
    if whole:
        taken += ["work (GPUs x running time)"] if timed else ["GPUs, no running times"]
    return volumes, f"{sentence}: {', '.join(taken)}"


def _sized(drawn: Volume, job: TraceJob) -> Volume:
    """Return a job that takes the trace's time with `job.gpus` workers together with their PS."""
    work = job.gpus * job.running_time  # seconds of one worker
    count = max(job.gpus, round(work / (drawn.compute + drawn.update)))
    epochs, chunks, minibatches = volume(count, drawn.chunks, drawn.minibatches)
    each = work / (epochs * chunks * minibatches)  # seconds of a mini-batch
    update = min(drawn.update, each / 2)
    return replace(
        drawn,
        epochs=epochs,
        chunks=chunks,
        minibatches=minibatches,
        compute=each - update,
        update=update,
    )
