"""The picture of an `elastic` schedule: lanes for each server, a bar for each job on it."""

from collections.abc import Mapping
from typing import Any

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule, Placement
from schedgap.models.family import Bar, Chart
from schedgap.models.lanes import Span, stack


def chart(instance: ElasticInstance, schedule: Mapping[str, Any]) -> Chart:
    """Return servers in list order, each with as many lanes as jobs run on it at once.

    Slot t is drawn from t - 1 to t. A bar's text says how many workers and PSs the job has there.
    """
    placed = ElasticSchedule.from_data(instance, schedule)
    held: dict[str, list[Span]] = {server.id: [] for server in instance.servers}
    for job in placed.placements:
        for run in placed.segments(job):
            for server in {**run.workers, **run.ps}:
                text = f"{job} on {server}: {_counts(run, server)}"
                held[server].append(Span(run.start - 1, run.end - 1, job, text))
    lanes: list[str] = []
    bars: list[Bar] = []
    for server, spans in held.items():
        of_server, on_them = stack(server, spans)
        lanes += of_server
        bars += on_them
    return Chart(tuple(lanes), tuple(bars), "slot")


def _counts(run: Placement, server: str) -> str:
    """Return what a run holds on a server in words, such as '2 workers w1, 1 PS p1'."""
    workers, ps = run.workers.get(server, 0), run.ps.get(server, 0)
    parts = [f"{workers} worker{'s' if workers > 1 else ''} {run.worker_type}"] if workers else []
    parts += [f"{ps} PS{'s' if ps > 1 else ''} {run.ps_type}"] if ps else []
    return ", ".join(parts)
