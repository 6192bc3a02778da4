"""Instances of family `ring` whose jobs or servers come from public files.

A job of a trace brings the GPUs that it asks for and its running time, which is what it takes
inside one server; its iterations where the file has them and one does not take longer than the
paper's do, else those are drawn. All jobs are there at once: arrivals only say which jobs are
taken. A server brings its number of GPUs.

Order of draws: which servers; a time of an iteration and a number of iterations for each job.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from schedgap.errors import UsageError
from schedgap.instances.generate import Request, check_settings
from schedgap.instances.ring.instance import MOST_GPUS, MOST_SLOTS
from schedgap.instances.ring.workload import ITERATION_TIME, Draft, drawn_lengths
from schedgap.instances.traces import TraceJob
from schedgap.instances.traces.choice import choose, draw_machines

NEEDED = {"first": "jobs", "slot_seconds": "jobs"}  # settings that mean nothing without a file
REPLACED: Mapping[str, Sequence[str]] = {"jobs": ("job_gpus",), "machines": ("server_gpus",)}
MOST_ITERATIONS = 10**9
MINUTE = 60.0


def check_files(request: Request) -> None:
    """Refuse a setting that a file replaces, or one that means nothing without its file."""
    check_settings(request, NEEDED, REPLACED)


def servers_of(request: Request) -> tuple[list[dict[str, Any]], str]:
    """Return machines of a file in its order, drawn without repetition, and their source."""
    assert request.machines is not None
    machines, told = draw_machines(
        request.machines,
        request.random,
        number=request.values["servers"],
        setting="servers",
        exact="servers" in request.given,
        kind="servers with GPUs",
        usable=lambda machine: 1 <= machine.gpus <= MOST_GPUS,
    )
    return [{"id": machine.id, "gpus": machine.gpus} for machine in machines], told


def traced_jobs(request: Request, gpus: int) -> tuple[list[Draft], str, float, int]:
    """Return jobs of a trace for a cluster of so many GPUs.

    Returns
    -------
    list of Draft
    str
        What `meta.source` says of them.
    float
        Seconds of a slot: those asked for, else as few minutes as a horizon can be counted in.
    int
        Slots that are enough for any list schedule, or nearly so: four times what the longest job
        and the work of all GPUs take.
    """
    trace, value = request.jobs, request.values
    assert trace is not None

    def refuse(job: TraceJob) -> str | None:
        if not job.gpus:
            return "without GPU"
        if job.gpus > gpus:
            return f"for more than {gpus} GPUs"
        if job.gpu_share < 1:
            return "for a part of a GPU"
        return None if job.running_time else "without running time"

    jobs, sentence = choose(
        trace, refuse, first=value["first"], number=value["jobs"], exact="jobs" in request.given
    )
    work = sum(job.gpus * job.running_time for job in jobs) / gpus
    enough = 4 * (work + max(job.running_time for job in jobs))  # seconds
    seconds = value["slot_seconds"] or MINUTE * math.ceil(enough / MINUTE / MOST_SLOTS)
    if enough > seconds * MOST_SLOTS:
        raise UsageError(
            f"option slot_seconds={seconds:g}: the jobs take {enough / seconds:.0f} slots or so, "
            f"the horizon is at most {MOST_SLOTS}"
        )
    drafts, counted = [], 0
    longest = ITERATION_TIME[1] * (1 - value["extra_share"])
    for job in jobs:
        length, _ = drawn_lengths(request)
        slots = max(1.0, job.running_time / seconds)
        iterations = round(slots / length)
        if job.steps and slots / job.steps <= longest:
            iterations, counted = min(job.steps, MOST_ITERATIONS), counted + 1
        drafts.append(Draft(job.id, job.gpus, iterations, slots / iterations))
    told = f"{sentence}: GPUs, running time, iterations of {counted} of {len(jobs)}"
    return drafts, told, seconds, math.ceil(enough / seconds)
