"""Gantt chart of a `ring` schedule: lanes for each server, with a bar for each job on it."""

from collections.abc import Mapping

from schedgap.instances.ring import RingInstance, RingSchedule, Run
from schedgap.models.family import Bar, Chart
from schedgap.models.gantt import Span, stack


def chart(instance: RingInstance, schedule: Mapping[str, object]) -> Chart:
    """Return the chart: servers in list order; the height of a bar is its share of the GPUs.

    Slot t is drawn from t - 1 to t. The text of a bar gives the number of workers on the server
    and, for a ring over several servers, on how many. Which GPUs of a server a job has is not
    said; where no gap is high enough for a bar, it is on a further lane of the server.

    `schedule`: plain JSON data of a verified schedule.
    """
    parsed = RingSchedule.from_data(instance, schedule)
    gpus = {server.id: server.gpus for server in instance.servers}
    spans_on: dict[str, list[Span]] = {server.id: [] for server in instance.servers}
    for job, run in parsed.runs.items():
        for server in run.placement:
            share = run.placement[server] / gpus[server]
            text = _text(job, run, server)
            spans_on[server].append(Span(run.start - 1, run.end, job, text, share))
    lanes: list[str] = []
    bars: list[Bar] = []
    for server, spans in spans_on.items():
        server_lanes, server_bars = stack(server, spans, together=True)
        lanes += server_lanes
        bars += server_bars
    return Chart(tuple(lanes), tuple(bars), "slot")


def _text(job: str, run: Run, server: str) -> str:
    """Return the text of a bar, for example 'j1 on s2: 3 of 4 workers, ring over 2 servers'."""
    count, total = run.placement[server], sum(run.placement.values())
    if len(run.placement) == 1:
        return f"{job} on {server}: {count} worker{'s' if count > 1 else ''}"
    return f"{job} on {server}: {count} of {total} workers, ring over {len(run.placement)} servers"
