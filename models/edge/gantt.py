"""The Gantt chart of an `edge` schedule: lanes for each server, a bar for each job on it."""

from collections.abc import Mapping
from typing import Any

from schedgap.instances.edge import EdgeInstance, EdgeSchedule, Placement
from schedgap.models.family import Bar, Chart
from schedgap.models.gantt import Span, stack


def chart(instance: EdgeInstance, schedule: Mapping[str, Any]) -> Chart:
    """Return servers in list order, each with as many lanes as jobs run on it at once.

    Slot t is drawn from t - 1 to t. A bar's text says how many workers the job has there, and
    whether its parameter server is there.
    """
    placed = EdgeSchedule.from_data(instance, schedule)
    kinds = {job.id: (job.worker_type, job.ps_type) for job in instance.jobs}
    held: dict[str, list[Span]] = {server.id: [] for server in instance.servers}
    for job in placed.placements:
        for run in placed.segments(job):
            for server in dict.fromkeys([*run.workers, run.ps_server]):
                text = f"{job} on {server}: {_counts(run, server, *kinds[job])}"
                held[server].append(Span(run.start - 1, run.completion, job, text))
    lanes: list[str] = []
    bars: list[Bar] = []
    for server, spans in held.items():
        of_server, on_them = stack(server, spans)
        lanes += of_server
        bars += on_them
    return Chart(tuple(lanes), tuple(bars), "slot")


def _counts(run: Placement, server: str, worker_type: str, ps_type: str) -> str:
    """Return what a run holds on a server in words, such as '2 workers gpu, PS cpu'."""
    workers = run.workers.get(server, 0)
    parts = [f"{workers} worker{'s' if workers > 1 else ''} {worker_type}"] if workers else []
    parts += [f"PS {ps_type}"] if server == run.ps_server else []
    parts += [f"overhead {run.overhead}"] if run.overhead else []
    return ", ".join(parts)
