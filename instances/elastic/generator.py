"""Random instances of family `elastic`: small ones, and the paper's workload; see `presets.toml`.

Order of draws (PCG64, uniform integers only): servers, worker types, PS types, arrivals, then the
jobs (see `workload.draw_jobs`). In preset `paper` each of `workload.STREAMS` has a separate stream.
So an instance with more jobs or servers contains all jobs and servers of a smaller one. It differs
in nothing else. For files, see `from_traces`.
"""

from collections.abc import Callable, Sequence

import numpy as np

from schedgap.errors import UsageError
from schedgap.instances.elastic import capacity, workload
from schedgap.instances.elastic.from_traces import REPLACED, servers_of, traced_jobs
from schedgap.instances.elastic.workload import Draft, Kinds, Units
from schedgap.instances.generate import Generated, Request, check_settings, slot_unit

HOUR = 3600.0


def small(request: Request) -> Generated:
    """Return jobs on a few servers, with resources in small integers."""
    servers = workload.small_servers(request)
    workers = workload.small_workers(request.random, request.values["worker_types"])
    ps = _ps_types(request, request.random, workload.small_ps)
    arrivals = sorted(workload.draw_arrivals(request, request.random, request.values["jobs"]))
    drafts = workload.draw_jobs(request, workload.common_draws(request), workers, ps, arrivals)
    source = f"drawn with seed {request.seed}: small whole numbers"
    fields = _fields(request, servers, workers, ps, drafts, workload.SMALL_UNITS)
    return Generated(fields, source, "slot")


def paper(request: Request) -> Generated:
    """Return the workload of Section 7, or one whose jobs or servers come from files."""
    check_settings(request, REPLACED)
    seconds = request.values["slot_seconds"] or HOUR
    units, draws = Units.of_slot(seconds), workload.separate_draws(request)
    if request.machines is None:
        servers, sources = workload.cloud_servers(draws("servers"), request.values["servers"]), []
    else:
        servers, sentence = servers_of(request)
        sources = [sentence]
    workers = _cloud_workers(request, draws("worker types"))
    ps = _ps_types(request, draws("PS types"), workload.cloud_ps)
    if "capacity_jobs" in request.given and request.values["capacity_fraction"] is None:
        raise UsageError("option capacity_jobs: only with capacity_fraction")
    if request.jobs is None:
        number = request.values["jobs"]
        most = max(number, request.values["capacity_jobs"] or number)
        arrivals = workload.draw_arrivals(request, draws("arrivals"), most)
        drawn = workload.draw_jobs(request, draws, workers, ps, arrivals)
        drafts = sorted(drawn[:number], key=lambda draft: draft.arrival)
        asking = drawn[: request.values["capacity_jobs"] or number]
    else:
        drafts, sentence = traced_jobs(request, draws, workers, ps, units, seconds)
        asking = drafts
        sources.insert(0, sentence)
    ours = ["memory of containers"]
    ours += ["sizes of the EC2 families"] if request.machines is None else []
    ours += ["arrivals"] if request.jobs is None else []
    sources.append(
        f"{'all else ' if sources else ''}drawn with seed {request.seed}: the ranges of Section 7; "
        f"of our choice: {', '.join(ours)}"
    )
    sizes = capacity.catalogue() if request.machines is None else None
    fields = _fields(request, servers, workers, ps, drafts, units, asking, sizes)
    return Generated(fields, "; ".join(sources), slot_unit(seconds))


def _cloud_workers(request: Request, random: np.random.Generator) -> Kinds:
    """Draw the worker types, or take the EC2 sizes of Fig. 9."""
    if request.values["workers"] == "drawn":
        return workload.cloud_workers(random, request.values["worker_types"])
    if "worker_types" in request.given:
        raise UsageError("option worker_types: with workers=ec2 there are four")
    return workload.ec2_workers(random)


def _ps_types(request: Request, random: np.random.Generator, draw: Callable[..., Kinds]) -> Kinds:
    """Draw the PS types; rings have none."""
    if request.values["architecture"] == "ring_allreduce":
        if "ps_types" in request.given:
            raise UsageError("option ps_types: Ring-AllReduce has no parameter servers")
        return []
    return draw(random, request.values["ps_types"])


def _fields(
    request: Request,
    servers: Kinds,
    workers: Kinds,
    ps: Kinds,
    drafts: Sequence[Draft],
    units: Units,
    asking: Sequence[Draft] | None = None,
    sizes: capacity.Sizes | None = None,
) -> dict[str, object]:
    """Return the fields of an instance; raise UsageError if no job fits on the servers.

    `asking`: the servers are scaled to `capacity_fraction` of what these jobs ask for, by default
    all. `sizes`: as in `capacity.scaled`.
    """
    value = request.values

    def data(of: Sequence[Draft]) -> list[dict[str, object]]:
        return [draft.to_data(workers, ps, units) for draft in of]

    jobs = data(drafts)
    if (part := value["capacity_fraction"]) is not None:
        whole = jobs if asking is None else data(asking)
        servers = capacity.scaled(servers, workers, ps, whole, part, sizes=sizes)
    if not capacity.runs_somewhere(servers, workers, ps):
        needs = "a worker" if not ps else "a worker and its parameter servers"
        raise UsageError(f"no server has room for {needs}: change servers, capacity or the seed")
    horizon = value["horizon"]
    if "horizon" not in request.given:  # a trace may have later arrivals
        horizon = max(horizon, *(draft.arrival for draft in drafts))
    fields = {
        "architecture": value["architecture"],
        "objective": value["objective"],
        "horizon": horizon,
        "horizon_policy": value["horizon_policy"],
        "resources": list(servers[0]["capacity"]),
        "bandwidth_resource": "bandwidth",
        "servers": servers,
        "worker_types": workers,
        "ps_types": ps,
        "jobs": jobs,
    }
    if value["objective"] == "scheduled_weight":
        fields["deadline"] = value["deadline"] or horizon
    elif "deadline" in request.given:
        raise UsageError("option deadline: only with objective=scheduled_weight")
    return fields
