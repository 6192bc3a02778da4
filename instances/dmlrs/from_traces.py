"""Instances of family `dmlrs` whose jobs or machines come from public files.

A job of a trace has an arrival and a number of requested GPUs. Each GPU is one worker, and the job
may use at least that many workers. If the file has the CPUs and memory of the job, its workers
share them. If it has a duration, the job is scaled so that it takes exactly this time on one
machine with one worker per GPU. The number of samples follows from the drawn time per sample. This
time and the bandwidths are then multiplied by a factor that makes the duration exact. If the trace
has no durations, all work is drawn.

A machine of a file has GPUs, CPUs and memory.

Order of draws: the machines; then all data of a job, job by job.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from schedgap.errors import UsageError
from schedgap.instances.dmlrs.instance import MOST_SLOTS, MOST_WORKERS
from schedgap.instances.dmlrs.workload import Draft, Records, finishing_job, paper_job
from schedgap.instances.generate import Request
from schedgap.instances.traces import TraceJob
from schedgap.instances.traces.choice import choose_by_take, draw_machines

REPLACED: Mapping[str, Sequence[str]] = {
    "jobs": ("arrive_within",),
    "machines": ("capacity_gpu", "capacity_cpu", "capacity_memory"),
}
MOST_SAMPLES = 10**9


def machines_of(request: Request) -> tuple[Records, str]:
    """Draw machines of the file without replacement; also return a text for `meta.source`."""
    machines, source = draw_machines(request, "machines", kind="machines")
    records = []
    for machine in machines:
        capacity = {
            "gpu": float(machine.gpus),
            "cpu": round(machine.cpus, 3),
            "memory": round(machine.memory_gb, 3),
            "storage": float(request.values["capacity_storage"]),
        }
        records.append({"id": machine.id, "capacity": capacity})
    return records, f"{source}: GPUs, CPUs, memory"


def traced_jobs(request: Request, seconds: float) -> tuple[list[Draft], str, int]:
    """Return the jobs of the trace, a text for `meta.source`, and the horizon in slots.

    If the user has not set the horizon, it is the preset's number of slots from the last arrival
    on. It is also long enough for every job with a duration.

    `request`: input of the preset, with a trace of jobs. `seconds`: length of a slot.
    """
    value, taken = request.values, choose_by_take(request)
    jobs, whole, timed = taken.jobs, taken.whole, taken.timed
    arrivals = [1 + int((job.arrival - jobs[0].arrival) / seconds) for job in jobs]
    is_set = "horizon" in request.given
    horizon = value["horizon"] if is_set else arrivals[-1] + value["horizon"] - 1
    if arrivals[-1] > horizon:
        late = f"job {jobs[-1].id} arrives in slot {arrivals[-1]}"
        raise UsageError(f"option horizon={horizon}: {late}")
    drafts = []
    for n, (job, arrival) in enumerate(zip(jobs, arrivals, strict=True), 1):
        if timed:
            draft = _sized(paper_job(request, f"j{n}", arrival, seconds), job, seconds)
        else:
            draft = finishing_job(request, f"j{n}", horizon, seconds, arrival)
        drafts.append(_with_demands(draft, job) if whole else draft)
    if timed and not is_set:
        horizon = max(horizon, *(draft.arrival + draft.least_slots - 1 for draft in drafts))
    if horizon > MOST_SLOTS:
        raise UsageError(
            f"option slot_seconds={seconds:g}: the jobs take {horizon} slots, the horizon is at "
            f"most {MOST_SLOTS}"
        )
    fields = ["arrival", *taken.work]
    if whole and all(_has_resources(job) for job in jobs):
        fields.append("CPUs and memory of workers")
    return drafts, f"{taken.sentence}: {', '.join(fields)}", horizon


def _has_resources(job: TraceJob) -> bool:
    return bool(job.cpus and job.memory_gb)


def _sized(draft: Draft, job: TraceJob, seconds: float) -> Draft:
    """Return a job that takes the duration in the trace on one machine with `job.gpus` workers."""
    draft = replace(draft, batch=min(MOST_WORKERS, max(draft.batch, job.gpus)))
    work = job.gpus * job.running_time / seconds  # worker-slots
    whole = draft.worker_slots(draft.internal)
    samples = round(draft.samples * work / whole)
    draft = replace(draft, samples=min(MOST_SAMPLES, max(1, samples)))
    stretch = work / draft.worker_slots(draft.internal)
    return replace(
        draft,
        time=draft.time * stretch,
        internal=draft.internal / stretch,
        external=draft.external / stretch,
    )


def _with_demands(draft: Draft, job: TraceJob) -> Draft:
    """Return a job whose workers have one GPU each, and their share of the trace's resources."""
    worker = {**draft.worker, "gpu": 1.0}
    if _has_resources(job):
        assert job.cpus is not None and job.memory_gb is not None
        worker["cpu"] = round(job.cpus / job.gpus, 3)
        worker["memory"] = round(job.memory_gb / job.gpus, 3)
    batch = min(MOST_WORKERS, max(draft.batch, job.gpus))
    return replace(draft, id=job.id, batch=batch, worker=worker)
