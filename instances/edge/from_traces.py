"""Instances of family `edge` whose jobs or servers come from public files.

A job of a trace has an arrival and a number of requested GPUs; it may use at least that many
workers. If it has a duration, the job is scaled: one worker per GPU, on one server with their
parameter server (PS), take exactly this time. Epochs, chunks and mini-batches are drawn and limited
to the size of the job. Then the seconds per mini-batch are multiplied by a factor. If the trace has
no durations, all work is drawn.

A machine of a file becomes an edge server. Its GPUs are workers of one drawn type. Its CPUs are
PSs, divided evenly among the types.

The machines and jobs of the files are drawn first, everything else from the streams of `workload`.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from schedgap.instances.edge.workload import (
    Records,
    cloud,
    drawn,
    drawn_jobs,
    ps_types,
    worker_types,
)
from schedgap.instances.generate import Request, apportion
from schedgap.instances.traces import TraceJob
from schedgap.instances.traces.choice import choose_by_take, draw_machines, volume

REPLACED: Mapping[str, Sequence[str]] = {
    "jobs": ("arrival_horizon",),
    "machines": ("workers_per_server", "ps_per_server", "server_types"),
}


def servers_of(request: Request) -> tuple[Records, str]:
    """Draw machines of the file without replacement and add the cloud; also return a source."""
    machines, source = draw_machines(request, "edge_servers", kind="edge servers")
    types, ps = worker_types(request), ps_types(request)
    kinds = drawn(request, "server worker type", (0, len(types) - 1), len(machines))
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
    source = f"{source}: GPUs as workers, CPUs as parameter servers"
    return [*servers, cloud(request)], source


def traced_jobs(request: Request) -> tuple[Records, str]:
    """Return the jobs of the trace as `drawn_jobs` does, and a text for `meta.source`."""
    value, taken = request.values, choose_by_take(request)
    jobs, whole, timed, seconds = taken.jobs, taken.whole, taken.timed, value["slot_seconds"]
    drafts = drawn_jobs(request, len(jobs))
    for job, draft in zip(jobs, drafts, strict=True):
        draft["arrival"] = 1 + int((job.arrival - jobs[0].arrival) / seconds)
        if whole:
            draft |= {"id": job.id, "chunks": max(draft["chunks"], job.gpus)}
        if timed:
            draft |= _sized(draft, job)
    return drafts, f"{taken.sentence}: {', '.join(['arrival', *taken.work])}"


def _sized(draft: Mapping[str, Any], job: TraceJob) -> dict[str, Any]:
    """Return the work that takes the duration in the trace with `job.gpus` workers at their PS."""
    work = job.gpus * job.running_time  # worker-seconds
    each = draft["compute_seconds"] + draft["update_seconds"]  # seconds per mini-batch
    count = max(job.gpus, round(work / each))
    epochs, chunks, minibatches = volume(count, draft["chunks"], draft["minibatches_per_chunk"])
    each = work / (epochs * chunks * minibatches)
    update = min(draft["update_seconds"], each / 2)
    return {
        "epochs": epochs,
        "chunks": chunks,
        "minibatches_per_chunk": minibatches,
        "compute_seconds": each - update,
        "update_seconds": update,
    }
