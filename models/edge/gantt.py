"""Gantt chart of an `edge` schedule: lanes for each server, a bar for each run on it."""

from collections.abc import Mapping

from schedgap.instances.edge import EdgeInstance, EdgeSchedule, Placement, Server
from schedgap.models.family import Bar, Chart
from schedgap.models.gantt import Span, dominant_share, stack


def chart(instance: EdgeInstance, schedule: Mapping[str, object]) -> Chart:
    """Return the chart: servers in list order, each with one lane per concurrent job.

    Slot t is drawn from t - 1 to t. The text of a bar gives the workers of the job on the server
    and says whether its parameter server is there; its height is the share of the server's workers
    of the type, or of its parameter servers if that is larger.

    `schedule`: a verified schedule as plain JSON data.
    """
    placed = EdgeSchedule.from_data(instance, schedule)
    types = {job.id: (job.worker_type, job.ps_type) for job in instance.jobs}
    servers = {server.id: server for server in instance.servers}
    spans: dict[str, list[Span]] = {server.id: [] for server in instance.servers}
    for job in placed.placements:
        for run in placed.segments(job):
            for server in dict.fromkeys([*run.workers, run.ps_server]):
                text = f"{job} on {server}: {_counts(run, server, *types[job])}"
                share = _share(run, servers[server], *types[job])
                spans[server].append(Span(run.start - 1, run.completion, job, text, share))
    lanes: list[str] = []
    bars: list[Bar] = []
    for server, on_server in spans.items():
        server_lanes, server_bars = stack(server, on_server)
        lanes += server_lanes
        bars += server_bars
    return Chart(tuple(lanes), tuple(bars), "slot")


def _share(run: Placement, server: Server, worker_type: str, ps_type: str) -> float:
    """Return the larger share of a server's workers and parameter servers that a run uses."""
    used = {"workers": float(run.workers.get(server.id, 0))}
    used["ps"] = float(run.ps_server == server.id)
    capacity = {
        "workers": float(server.workers.get(worker_type, 0)),
        "ps": float(server.parameter_servers.get(ps_type, 0)),
    }
    return dominant_share(used, capacity)


def _counts(run: Placement, server: str, worker_type: str, ps_type: str) -> str:
    """Return the units of a run on a server in words, for example '2 workers gpu, PS cpu'."""
    workers = run.workers.get(server, 0)
    parts = [f"{workers} worker{'s' if workers > 1 else ''} {worker_type}"] if workers else []
    parts += [f"PS {ps_type}"] if server == run.ps_server else []
    parts += [f"overhead {run.overhead}"] if run.overhead else []
    return ", ".join(parts)
