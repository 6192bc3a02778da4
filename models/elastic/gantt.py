"""Gantt chart of an `elastic` schedule: lanes for each server, with a bar for each job on it."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule, Placement
from schedgap.models.family import Bar, Chart, Link
from schedgap.models.gantt import dominant_share


def chart(instance: ElasticInstance, schedule: Mapping[str, Any]) -> Chart:
    """Return the chart: servers in list order, each with one lane per job that runs on it at once.

    `schedule`: plain JSON data of a valid schedule.

    Notes
    -----
    Slot t is drawn from t - 1 to t. The text of a bar says how many workers and PSs the job has on
    the server; its height is the largest share of a resource of the server that they use. A dotted
    line leads from each segment of a preempted job to the next.
    """
    placed = ElasticSchedule.from_data(instance, schedule)
    runs_on: dict[str, list[tuple[Placement, str, str]]] = {
        server.id: [] for server in instance.servers
    }
    for job in placed.placements:
        segments = placed.segments(job)
        for number, run in enumerate(segments, 1):
            note = f", segment {number} of {len(segments)}" if len(segments) > 1 else ""
            if number > 1 and placed.restart_slots:
                note += f" (from slot {run.start + placed.restart_slots} on, after the restart)"
            for server in {**run.workers, **run.ps}:
                runs_on[server].append((run, job, note))
    lanes: list[str] = []
    bars: list[Bar] = []
    lane_of: dict[tuple[str, int, str], str] = {}  # job, start, server -> lane
    for server, runs in runs_on.items():
        free: list[int] = []  # end of the last run on each lane of this server
        names: list[str] = []
        for run, job, note in sorted(runs, key=lambda item: item[0].start):
            row = next((k for k, end in enumerate(free) if end <= run.start), len(free))
            if row == len(free):
                free.append(0)
                names.append(f"{server} ({row + 1})" if row else server)
            free[row] = run.end
            lane_of[job, run.start, server] = names[row]
            text = f"{job}{note} on {server}: {_counts(run, server)}"
            share = _share(instance, run, server)
            bars.append(Bar(names[row], run.start - 1, run.end - 1, job, text, share=share))
        lanes += names or [server]
    links = [
        Link(
            job,
            lane_of[job, first.start, here],
            first.end - 1,
            lane_of[job, then.start, there],
            then.start - 1,
        )
        for job in placed.placements
        for first, then in pairwise(placed.segments(job))
        for here, there in [_nearest(first, then, list(runs_on))]
    ]  # fmt: skip
    return Chart(tuple(lanes), tuple(bars), "slot", tuple(links))


def _nearest(first: Placement, then: Placement, servers: list[str]) -> tuple[str, str]:
    """Return the servers that a link between segments joins: one in common, or each first one."""
    before, after = (
        [server for server in servers if server in {**run.workers, **run.ps}]
        for run in (first, then)
    )
    common = next((server for server in before if server in after), None)
    return (common, common) if common else (before[0], after[0])


def _share(instance: ElasticInstance, run: Placement, server: str) -> float:
    """Return the largest share of a resource of a server that a run uses."""
    capacity = next(one.capacity for one in instance.servers if one.id == server)
    used = dict.fromkeys(capacity, 0.0)
    for kinds, kind, count in (
        (instance.worker_types, run.worker_type, run.workers.get(server, 0)),
        (instance.ps_types, run.ps_type, run.ps.get(server, 0)),
    ):
        demand = next((one.demand for one in kinds if one.id == kind), {})
        for name in capacity:
            used[name] += count * demand.get(name, 0.0)
    return dominant_share(used, capacity)


def _counts(run: Placement, server: str) -> str:
    """Return what a run uses on a server in words, such as '2 workers w1, 1 PS p1'."""
    workers, ps = run.workers.get(server, 0), run.ps.get(server, 0)
    parts = [f"{workers} worker{'s' if workers > 1 else ''} {run.worker_type}"] if workers else []
    parts += [f"{ps} PS{'s' if ps > 1 else ''} {run.ps_type}"] if ps else []
    return ", ".join(parts)
