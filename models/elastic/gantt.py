"""The picture of an `elastic` schedule: lanes for each server, a bar for each job on it."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from schedgap.instances.elastic import ElasticInstance, ElasticSchedule, Placement
from schedgap.models.family import Bar, Chart, Link


def chart(instance: ElasticInstance, schedule: Mapping[str, Any]) -> Chart:
    """Return servers in list order, each with as many lanes as jobs run on it at once.

    Slot t is drawn from t - 1 to t. A bar's text says how many workers and PSs the job has there.
    A dotted line leads from each segment of a preempted job to the next.
    """
    placed = ElasticSchedule.from_data(instance, schedule)
    held: dict[str, list[tuple[Placement, str, str]]] = {each.id: [] for each in instance.servers}
    for job in placed.placements:
        segments = placed.segments(job)
        for number, run in enumerate(segments, 1):
            told = f", segment {number} of {len(segments)}" if len(segments) > 1 else ""
            if number > 1 and placed.restart_slots:
                told += f" (from slot {run.start + placed.restart_slots} on, after the restart)"
            for server in {**run.workers, **run.ps}:
                held[server].append((run, job, told))
    lanes: list[str] = []
    bars: list[Bar] = []
    at: dict[tuple[str, int, str], str] = {}  # job, start, server -> lane
    for server, runs in held.items():
        free: list[int] = []  # end of the last run on each lane of this server
        names: list[str] = []
        for run, job, told in sorted(runs, key=lambda item: item[0].start):
            row = next((k for k, end in enumerate(free) if end <= run.start), len(free))
            if row == len(free):
                free.append(0)
                names.append(f"{server} ({row + 1})" if row else server)
            free[row] = run.end
            at[job, run.start, server] = names[row]
            text = f"{job}{told} on {server}: {_counts(run, server)}"
            bars.append(Bar(names[row], run.start - 1, run.end - 1, job, text))
        lanes += names or [server]
    links = [
        Link(
            job,
            at[job, first.start, here],
            first.end - 1,
            at[job, then.start, there],
            then.start - 1,
        )
        for job in placed.placements
        for first, then in pairwise(placed.segments(job))
        for here, there in [_nearest(first, then, list(held))]
    ]  # fmt: skip
    return Chart(tuple(lanes), tuple(bars), "slot", tuple(links))


def _nearest(first: Placement, then: Placement, servers: list[str]) -> tuple[str, str]:
    """Return a server of each of two segments: one that both have, else the first of each."""
    before, after = (
        [server for server in servers if server in {**run.workers, **run.ps}]
        for run in (first, then)
    )
    both = next((server for server in before if server in after), None)
    return (both, both) if both else (before[0], after[0])


def _counts(run: Placement, server: str) -> str:
    """Return what a run holds on a server in words, such as '2 workers w1, 1 PS p1'."""
    workers, ps = run.workers.get(server, 0), run.ps.get(server, 0)
    parts = [f"{workers} worker{'s' if workers > 1 else ''} {run.worker_type}"] if workers else []
    parts += [f"{ps} PS{'s' if ps > 1 else ''} {run.ps_type}"] if ps else []
    return ", ".join(parts)
