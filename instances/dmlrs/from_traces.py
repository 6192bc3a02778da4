"""Instances of family `dmlrs` whose jobs or machines come from public files.

A job of a trace brings its arrival and the GPUs that it asks for: each is a worker, and it may use
as many workers at least. Where the file tells CPUs and memory of the job, the workers share them.
Where it tells a running time, the job takes just that inside one machine with as many workers as it
has GPUs: samples follow from the drawn time of one, then time and bandwidths are stretched to make
it exact. A trace without running times brings no work; all of it is drawn.

A machine of a file brings GPUs, CPUs and memory.

Order of draws: which machines; all that a job could need, job by job.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from schedgap.errors import UsageError
from schedgap.instances.dmlrs.instance import MOST_SLOTS, MOST_WORKERS
from schedgap.instances.dmlrs.workload import Draft, Records, finishing_job, paper_job
from schedgap.instances.generate import Request, check_settings
from schedgap.instances.traces import TraceJob
from schedgap.instances.traces.choice import choose_by_take, draw_machines

NEEDED = {"first": "jobs", "take": "jobs"}  # settings that mean nothing without a file
REPLACED: Mapping[str, Sequence[str]] = {
    "machines": ("capacity_gpu", "capacity_cpu", "capacity_memory")
}
MOST_SAMPLES = 10**9


def check_files(request: Request) -> None:
    """Refuse a setting that a file replaces, or one that means nothing without its file."""
    check_settings(request, NEEDED, REPLACED)


def machines_of(request: Request) -> tuple[Records, str]:
    """Return machines of a file in its order, drawn without repetition, and their source."""
    assert request.machines is not None
    machines, told = draw_machines(
        request.machines,
        request.random,
        number=request.values["machines"],
        setting="machines",
        exact="machines" in request.given,
        kind="machines",
    )
    records = []
    for machine in machines:
        capacity = {
            "gpu": float(machine.gpus),
            "cpu": round(machine.cpus, 3),
            "memory": round(machine.memory_gb, 3),
            "storage": float(request.values["capacity_storage"]),
        }
        records.append({"id": machine.id, "capacity": capacity})
    return records, f"{told}: GPUs, CPUs, memory"


def traced_jobs(request: Request, seconds: float) -> tuple[list[Draft], str, int]:
    """Return the jobs of a trace, what `meta.source` says of them, and the horizon.

    A horizon that is not asked for is as long as the preset's, from the last arrival on, and long
    enough for every job whose work the trace tells.
    """
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
    arrivals = [1 + int((job.arrival - jobs[0].arrival) / seconds) for job in jobs]
    asked = "horizon" in request.given
    horizon = value["horizon"] if asked else arrivals[-1] + value["horizon"] - 1
    if arrivals[-1] > horizon:
        raise UsageError(f"option horizon={horizon}: job {jobs[-1].id} arrives in {arrivals[-1]}")
    drafts = []
    for n, (job, arrival) in enumerate(zip(jobs, arrivals, strict=True), 1):
        if timed:
            draft = _sized(paper_job(request, f"j{n}", arrival, seconds), job, seconds)
        else:
            draft = finishing_job(request, f"j{n}", horizon, seconds, arrival)
        drafts.append(_asking(draft, job) if whole else draft)
    if timed and not asked:
        horizon = max(horizon, *(draft.arrival + draft.least_slots - 1 for draft in drafts))
    if horizon > MOST_SLOTS:
        raise UsageError(
            f"option slot_seconds={seconds:g}: the jobs take {horizon} slots, the horizon is at "
            f"most {MOST_SLOTS}"
        )
    brought = ["arrival"]
    if whole:
        brought += ["work (GPUs x running time)"] if timed else ["GPUs, no running times"]
        brought += ["CPUs and memory of workers"] if all(_tells_more(job) for job in jobs) else []
    return drafts, f"{taken.sentence}: {', '.join(brought)}", horizon


def _tells_more(job: TraceJob) -> bool:
    return bool(job.cpus and job.memory_gb)


def _sized(draft: Draft, job: TraceJob, seconds: float) -> Draft:
    """Return a job that takes the trace's time inside a machine with `job.gpus` workers."""
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


def _asking(draft: Draft, job: TraceJob) -> Draft:
    """Return a job whose workers have a GPU each, and their share of what the trace's job has."""
    worker = {**draft.worker, "gpu": 1.0}
    if _tells_more(job):
        assert job.cpus is not None and job.memory_gb is not None
        worker["cpu"] = round(job.cpus / job.gpus, 3)
        worker["memory"] = round(job.memory_gb / job.gpus, 3)
    batch = min(MOST_WORKERS, max(draft.batch, job.gpus))
    return replace(draft, id=job.id, batch=batch, worker=worker)
