"""Random instances of family `dmlrs`: small ones, and the paper's workload; see `presets.toml`.

Order of draws (PCG64, uniform integers only): job by job, see `workload`. A job that cannot finish
is drawn again completely. For files, see `from_traces`.
"""

from dataclasses import replace

from schedgap.errors import UsageError
from schedgap.instances.dmlrs import workload
from schedgap.instances.dmlrs.from_traces import REPLACED, machines_of, traced_jobs
from schedgap.instances.dmlrs.instance import MOST_SLOTS
from schedgap.instances.dmlrs.workload import RESOURCES, Draft
from schedgap.instances.generate import Generated, Request, check_settings, slot_unit


def small(request: Request) -> Generated:
    """Return a few jobs on equal machines, whose work is a fraction of what the horizon admits."""
    value = request.values
    resources = RESOURCES[: value["resources"]]
    names = [f"j{n}" for n in range(1, value["jobs"] + 1)]
    drawn = [workload.small_job(request, name, resources) for name in names]
    jobs, horizon = _paced(request, drawn)
    fields = {
        "horizon": horizon,
        "ps_rule": value["ps_rule"],
        "resources": list(resources),
        "machines": workload.equal_machines(request, resources),
        "jobs": [job.to_data() for job in jobs],
    }
    return Generated(fields, f"drawn with seed {request.seed}: ranges of our choice", "slot")


def paper(request: Request) -> Generated:
    """Return the paper's workload, or one whose jobs or machines come from files."""
    check_settings(request, REPLACED)
    value, sources = request.values, []
    seconds, horizon = value["slot_seconds"], value["horizon"]
    if value["internal"][1] < value["external"][0]:
        raise UsageError("option internal: must be larger than external")
    if request.machines is None:
        machines = workload.equal_machines(request, RESOURCES)
    else:
        machines, sentence = machines_of(request)
        sources.append(sentence)
    if request.jobs is None:
        drafts = [
            workload.finishing_job(request, f"j{n}", horizon, seconds, 0)
            for n in range(1, value["jobs"] + 1)
        ]
        drafts, horizon = _paced(request, drafts)
        drafts.sort(key=lambda draft: draft.arrival)
        drafts = [replace(draft, id=f"j{n}") for n, draft in enumerate(drafts, 1)]
    else:
        drafts, sentence, horizon = traced_jobs(request, seconds)
        sources.insert(0, sentence)
    sources.append(
        f"{'all else ' if sources else ''}drawn with seed {request.seed}: the paper's ranges; "
        "capacities, bandwidths and arrivals of our choice"
    )
    fields = {
        "horizon": horizon,
        "ps_rule": value["ps_rule"],
        "resources": list(RESOURCES),
        "machines": machines,
        "jobs": [draft.to_data() for draft in drafts],
    }
    return Generated(fields, "; ".join(sources), slot_unit(seconds))


def _paced(request: Request, drafts: list[Draft]) -> tuple[list[Draft], int]:
    """Return the jobs with the request's pace of arrivals, and the horizon.

    A horizon that the user has not set grows by as many slots as the last arrival is later.
    """
    paced = [replace(draft, arrival=request.paced(draft.arrival)) for draft in drafts]
    last, before = (max((job.arrival for job in of), default=1) for of in (paced, drafts))
    horizon = request.values["horizon"]
    if "horizon" not in request.given:
        horizon += max(0, last - before)
        if horizon > MOST_SLOTS:
            text = f"arrivals up to slot {last}, but the horizon is at most {MOST_SLOTS}"
            raise UsageError(f"option load: needs {text}: take longer slots or fewer jobs")
        return paced, horizon
    if last > horizon:
        raise UsageError(f"option horizon={horizon}: under the load, a job arrives in slot {last}")
    return paced, horizon
