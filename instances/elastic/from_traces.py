"""Instances of family `elastic` whose jobs or servers come from public files.

A job of a trace has an arrival, a number of requested GPUs, and perhaps a weight. The job may use
at least as many workers as GPUs. If the job has a duration, it is scaled: one worker per GPU, of
the slowest type and on one server, take exactly this time. For this, epochs, chunks and batches are
drawn and limited to the size of the job. Then its training times are multiplied by a factor. If the
trace has no durations, all work is drawn.

A server of a file has GPUs, CPUs and memory; an EC2 size is drawn for its bandwidth.

Draws: the servers, then their bandwidths, from the one stream of the request. Types and jobs are
drawn as in preset `paper`, each quantity from a separate stream.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from schedgap.instances.elastic.workload import (
    EC2,
    Draft,
    Draws,
    Kinds,
    Units,
    by_speed,
    draw_jobs,
)
from schedgap.instances.generate import Request, uniform
from schedgap.instances.traces import TraceJob
from schedgap.instances.traces.choice import choose_by_take, draw_machines, volume

REPLACED: Mapping[str, Sequence[str]] = {"jobs": ("arrival_span", "capacity_jobs")}
GIB = 2**30 / 1e9  # GB


def servers_of(request: Request) -> tuple[Kinds, str]:
    """Draw machines of the file without replacement; also return a text for `meta.source`."""
    machines, source = draw_machines(request, "servers")
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
    return servers, f"{source}: GPUs, CPUs, memory; bandwidth drawn"


def traced_jobs(
    request: Request, draws: Draws, workers: Kinds, ps: Kinds, units: Units, slot_seconds: float
) -> tuple[list[Draft], str]:
    """Return the jobs of the trace, and a text for `meta.source`.

    `request`: input of the preset, with a trace of jobs. `draws`: random numbers by name of a
    quantity. `workers`, `ps`: JSON data of the worker types and PS types. `units`: units of the
    drawn times and sizes. `slot_seconds`: length of a slot.
    """
    value, taken = request.values, choose_by_take(request)
    jobs, whole, timed = taken.jobs, taken.whole, taken.timed
    batch = value["objective"] == "scheduled_weight"
    slowest = by_speed(workers)[0]
    drafts = []
    drawn = draw_jobs(request, draws, workers, ps, [1] * len(jobs))
    for job, draft in zip(jobs, drawn, strict=True):
        slots_later = int((job.arrival - jobs[0].arrival) / slot_seconds)
        draft = replace(draft, arrival=1 if batch else 1 + slots_later)
        if whole:
            weight = job.weight or draft.weight
            draft = replace(draft, id=job.id, weight=weight, chunks=max(draft.chunks, job.gpus))
        if timed:
            draft = _sized(draft, job, job.running_time / slot_seconds, units, slowest)
        drafts.append(draft)
    fields = [] if batch else ["arrival"]
    fields += ["weight"] if whole and jobs[0].weight else []
    return drafts, f"{taken.sentence}: {', '.join(fields + taken.work) or 'their number'}"


def _sized(draft: Draft, job: TraceJob, slots: float, units: Units, slowest: int) -> Draft:
    """Return a job that takes `slots` slots with `job.gpus` workers of the slowest type."""
    train = draft.training[slowest] * units.train
    update = min(draft.update) * units.update
    work = max(job.gpus, round(job.gpus * slots / (train + update))) if train + update else 1
    epochs, chunks, batches = volume(work, draft.chunks, draft.batches)
    each = job.gpus * slots / (epochs * chunks * batches)  # slots per mini-batch
    scale = (each - update) / train if train and each > update else 1.0
    return replace(draft, epochs=epochs, chunks=chunks, batches=batches, scale=scale)
