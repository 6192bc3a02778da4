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
from schedgap.instances.traces.choice import choose_by_take, draw_machines, volume

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
    machines, told = draw_machines(
        request.machines,
        request.random,
        number=request.values["edge_servers"],
        setting="edge_servers",
        exact="edge_servers" in request.given,
        kind="edge servers",
    )
    types, ps = worker_types(request), ps_types(request)
    kinds = uniform(request.random, (0, len(types) - 1), len(machines))
    servers = []
    for machine, kind in zip(machines, kinds, strict=True):
        shares = apportion(math.floor(machine.cpus), [1.0] * len(ps))
        servers.append(
            {
                "id": machine.id,
                "kind": "edge",
                "workers": {types[kind]: machine.gpus},
                "parameter_servers": dict(zip(ps, shares, strict=True)),
            }
        )
    told = f"{told}: GPUs as workers, CPUs as parameter servers"
    return [*servers, cloud(request)], told


def traced_volumes(request: Request) -> tuple[list[Volume], str]:
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
    jobs, whole, timed, seconds = taken.jobs, taken.whole, taken.timed, value["slot_seconds"]
    volumes = []
    for job, drawn in zip(jobs, drawn_volumes(request, len(jobs)), strict=True):
        made = replace(drawn, arrival=1 + int((job.arrival - jobs[0].arrival) / seconds))
        if whole:
            made = replace(made, id=job.id, chunks=max(made.chunks, job.gpus))
        if timed:
            made = _sized(made, job)
        volumes.append(made)
    brought = ["arrival"]
    if whole:
        brought += ["work (GPUs x running time)"] if timed else ["GPUs, no running times"]
    return volumes, f"{taken.sentence}: {', '.join(brought)}"


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
