"""The picture of a `ring` schedule: lanes for each server, a bar for each job on it."""

from collections.abc import Mapping
from typing import Any

from schedgap.instances.ring import RingInstance, RingSchedule, Run
from schedgap.models.family import Bar, Chart
from schedgap.models.gantt import Span, stack


def chart(instance: RingInstance, schedule: Mapping[str, Any]) -> Chart:
    """Return servers in list order, each with as many lanes as jobs run on it at once.

    Slot t is drawn from t - 1 to t. A bar's text says how many of its workers a job has there, and
    whether its ring goes on to other servers, where it may meet others.
    """
    placed = RingSchedule.from_data(instance, schedule)
    held: dict[str, list[Span]] = {server.id: [] for server in instance.servers}
    for job, run in placed.runs.items():
        for server in run.placement:
            held[server].append(Span(run.start - 1, run.end, job, _text(job, run, server)))
    lanes: list[str] = []
    bars: list[Bar] = []
    for server, spans in held.items():
        of_server, on_them = stack(server, spans)
        lanes += of_server
        bars += on_them
    return Chart(tuple(lanes), tuple(bars), "slot")


def _text(job: str, run: Run, server: str) -> str:
    """Return such words as 'j1 on s2: 3 of 4 workers, ring over 2 servers'."""
    here, in_all = run.placement[server], sum(run.placement.values())
    if len(run.placement) == 1:
        return f"{job} on {server}: {here} worker{'s' if here > 1 else ''}"
    return f"{job} on {server}: {here} of {in_all} workers, ring over {len(run.placement)} servers"
