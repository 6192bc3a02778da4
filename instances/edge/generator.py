"""Random instances of family `edge`: small ones, and the paper's workload; see `presets.toml`.

Only uniform integers are drawn (PCG64), each quantity from a separate stream (see
`workload.STREAMS`). For files, see `from_traces`.
"""

from collections.abc import Sequence
from typing import Any

from schedgap.errors import UsageError
from schedgap.instances.edge import workload
from schedgap.instances.edge.from_traces import REPLACED, servers_of, traced_jobs
from schedgap.instances.edge.workload import Records
from schedgap.instances.generate import Generated, Request, check_settings, slot_unit

ROOM = 4  # horizon over the last slot of a simple schedule, as guarantee G2 asks for
ROOM_AFTER = 8  # horizon over the last arrival: BatchSche waits 4 tau, and tau is up to twice that


def small(request: Request) -> Generated:
    """Return jobs of a given total load on a few servers with all types."""
    servers = workload.small_servers(request)
    jobs = workload.small_jobs(request, servers)
    return _generated(request, servers, jobs, [f"drawn with seed {request.seed}"])


def paper(request: Request) -> Generated:
    """Return the workload of Section VI, or one whose jobs or servers come from files."""
    check_settings(request, REPLACED)
    sources = []
    if request.machines is None:
        servers = workload.drawn_servers(request)
    else:
        servers, sentence = servers_of(request)
        sources.append(sentence)
    if request.jobs is None:
        drafts = workload.drawn_jobs(request, request.values["jobs"])
    else:
        drafts, sentence = traced_jobs(request)
        sources.insert(0, sentence)
    jobs = workload.paper_jobs(request, drafts, servers)
    sources.append(
        f"{'all else ' if sources else ''}drawn with seed {request.seed}: the ranges of Section VI;"
        " capacities, arrival horizon and cloud of our choice"
    )
    return _generated(request, servers, jobs, sources)


def _generated(
    request: Request, servers: Records, jobs: Records, sources: Sequence[str]
) -> Generated:
    """Return the instance; a horizon that the user has not set is doubled until it is long enough.

    Long enough is `ROOM` times the last slot of a simple schedule, and `ROOM_AFTER` times the last
    arrival. The rounds of A_online double, so it may need several times as long as a schedule that
    knows all jobs.
    """
    value = request.values
    horizon, seconds = value["horizon"], float(value["slot_seconds"])
    if "horizon" not in request.given:
        last = max(job["arrival"] for job in jobs)
        enough = max(ROOM * workload.last_end(servers, jobs, seconds), ROOM_AFTER * last)
        while horizon < enough:
            horizon *= 2
    late = next((job for job in jobs if job["arrival"] > horizon), None)
    if late is not None:
        text = f"job {late['id']} arrives in slot {late['arrival']}"
        raise UsageError(f"option horizon={horizon}: {text}")
    fields: dict[str, Any] = {
        "horizon": horizon,
        "slot_seconds": seconds,
        "worker_types": workload.worker_types(request),
        "ps_types": workload.ps_types(request),
        "servers": servers,
        "jobs": jobs,
    }
    caps = {"worker": value["worker_price_cap"], "parameter_server": value["ps_price_cap"]}
    if set(caps.values()) != {1.0}:
        fields["price_caps"] = caps
    if value["batch_round"] is not None:
        if 2 ** (value["batch_round"] - 1) >= horizon:
            raise UsageError(
                f"option batch_round={value['batch_round']}: the round starts after the horizon"
                f" {horizon}"
            )
        fields["batch_round"] = value["batch_round"]
    return Generated(fields, "; ".join(sources), slot_unit(seconds))
