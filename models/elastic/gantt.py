"""Gantt chart of an `elastic` schedule: lanes for each server, with a bar for each job on it."""

from collections.abc import Mapping
from itertools import pairwise, product
from typing import Any

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule, Placement
from schedgap.models.family import Bar, Chart, Link
from schedgap.models.gantt import Span, dominant_share, stack


def chart(instance: ElasticInstance, schedule: Mapping[str, Any]) -> Chart:
    """Return the chart: servers in list order, each with one lane per job that runs on it at once.

    `schedule`: plain JSON data of a valid schedule.

    Notes
    -----
    Slot t is drawn from t - 1 to t. The text of a bar says how many workers and PSs the job has on
    the server. Its height is the largest share of a resource of the server that they use; bandwidth
    counts only if they use nothing else. A dotted line leads from each segment of a preempted job
    to the next.
    """
    placed = ElasticSchedule.from_data(instance, schedule)
    spans_on: dict[str, list[Span]] = {server.id: [] for server in instance.servers}
    for job in placed.placements:
        segments = placed.segments(job)
        for number, run in enumerate(segments, 1):
            note = f", segment {number} of {len(segments)}" if len(segments) > 1 else ""
            if number > 1 and placed.restart_slots:
                note += f" (from slot {run.start + placed.restart_slots} on, after the restart)"
            for server in {**run.workers, **run.ps}:
                text = f"{job}{note} on {server}: {_counts(run, server)}"
                share = _share(instance, run, server)
                spans_on[server].append(Span(run.start - 1, run.end - 1, job, text, share))
    lanes: list[str] = []
    bars: list[Bar] = []
    bars_of: dict[tuple[str, float], list[tuple[str, Bar]]] = {}  # job, start -> by server
    for server, spans in spans_on.items():
        server_lanes, server_bars = stack(server, spans)
        lanes += server_lanes
        bars += server_bars
        for bar in server_bars:
            bars_of.setdefault((bar.group, bar.start), []).append((server, bar))
    links = []
    for job in placed.placements:
        for segments in pairwise(placed.segments(job)):
            # On a common server, or from the first server of one to the first of the other.
            ends = product(*(bars_of[job, run.start - 1] for run in segments))
            (_, first), (_, then) = min(ends, key=lambda pair: pair[0][0] != pair[1][0])
            links.append(Link(job, first.lane, first.end, then.lane, then.start))
    return Chart(tuple(lanes), tuple(bars), "slot", tuple(links))


def _share(instance: ElasticInstance, run: Placement, server: str) -> float:
    """Return the largest share of a resource of a server that a run uses; see `chart`."""
    capacity = next(one.capacity for one in instance.servers if one.id == server)
    used = dict.fromkeys(instance.resources, 0.0)
    for kinds, kind, count in (
        (instance.worker_types, run.worker_type, run.workers.get(server, 0)),
        (instance.ps_types, run.ps_type, run.ps.get(server, 0)),
    ):
        for name, amount in next((one.demand for one in kinds if one.id == kind), {}).items():
            used[name] += count * amount
    bandwidth = {instance.bandwidth_resource: used.pop(instance.bandwidth_resource)}
    return dominant_share(used if any(used.values()) else bandwidth, capacity)


def _counts(run: Placement, server: str) -> str:
    """Return what a run uses on a server in words, such as '2 workers w1, 1 PS p1'."""
    workers, ps = run.workers.get(server, 0), run.ps.get(server, 0)
    parts = [f"{workers} worker{'s' if workers > 1 else ''} {run.worker_type}"] if workers else []
    parts += [f"{ps} PS{'s' if ps > 1 else ''} {run.ps_type}"] if ps else []
    return ", ".join(parts)
