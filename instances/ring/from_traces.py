"""Instances of family `ring` whose jobs or servers come from public files.

A job of a trace has a number of requested GPUs and a duration, which is its time inside one server.
Its iterations are read from the file if one of them takes no longer than in the paper; otherwise
they are drawn. All jobs are available at the start; arrivals only decide which jobs are taken. A
server has its number of GPUs.

Machines are drawn from the seed itself. Drawn servers, and the time per iteration and the number of
iterations of each job, have separate streams (`workload.stream`).
"""

import math
from collections.abc import Mapping, Sequence

from schedgap.errors import UsageError
from schedgap.instances.generate import Request
from schedgap.instances.ring.instance import MOST_GPUS, MOST_SLOTS
from schedgap.instances.ring.workload import ITERATION_TIME, Draft, drawn_lengths, stream
from schedgap.instances.traces import TraceJob
from schedgap.instances.traces.choice import choose, draw_machines

REPLACED: Mapping[str, Sequence[str]] = {"jobs": ("job_gpus",), "machines": ("server_gpus",)}
MOST_ITERATIONS = 10**9
MINUTE = 60.0


def servers_of(request: Request) -> tuple[list[dict[str, object]], str]:
    """Draw machines of the file without replacement; also return a text for `meta.source`."""
    machines, source = draw_machines(
        request,
        "servers",
        kind="servers with GPUs",
        usable=lambda machine: 1 <= machine.gpus <= MOST_GPUS,
    )
    return [{"id": machine.id, "gpus": machine.gpus} for machine in machines], source


def traced_jobs(request: Request, gpus: int) -> tuple[list[Draft], str, float, int]:
    """Return the jobs of the trace.

    `request`: input of the preset, with a trace of jobs. `gpus`: number of GPUs of the cluster.

    Also return the text for `meta.source`, the length of a slot in seconds, and a number of slots.
    The length is the setting, or else the smallest number of minutes with which the horizon is not
    too long. The number of slots is sufficient for nearly every list schedule: four times the sum
    of the longest duration and the average work per GPU.
    """
    value = request.values

    def refuse(job: TraceJob) -> str | None:
        if not job.gpus:
            return "without GPU"
        if job.gpus > gpus:
            return f"for more than {gpus} GPUs"
        if job.gpu_share < 1:
            return "for a part of a GPU"
        return None if job.running_time else "without running time"

    jobs, sentence = choose(request, refuse)
    work = sum(job.gpus * job.running_time for job in jobs) / gpus
    enough = 4 * (work + max(job.running_time for job in jobs))  # seconds
    seconds = value["slot_seconds"] or MINUTE * math.ceil(enough / MINUTE / MOST_SLOTS)
    if enough > seconds * MOST_SLOTS:
        raise UsageError(
            f"option slot_seconds={seconds:g}: the jobs take about {enough / seconds:.0f} slots, "
            f"the horizon is at most {MOST_SLOTS}"
        )
    drafts, counted, random = [], 0, stream(request, "lengths")
    longest = ITERATION_TIME[1] * (1 - value["extra_share"])
    for job in jobs:
        length, _ = drawn_lengths(value["extra_share"], random)
        slots = max(1.0, job.running_time / seconds)
        iterations = round(slots / length)
        if job.steps and slots / job.steps <= longest:
            iterations, counted = min(job.steps, MOST_ITERATIONS), counted + 1
        drafts.append(Draft(job.id, job.gpus, iterations, slots / iterations))
    source = f"{sentence}: GPUs, running time, iterations of {counted} of {len(jobs)}"
    return drafts, source, seconds, math.ceil(enough / seconds)
