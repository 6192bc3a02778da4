"""Symmetry (ours): servers and jobs that differ in name only; an order of them loses no optimum.

Both orders may be asked for at once: to rename equal jobs leaves the servers' totals alone, and the
reverse. They survive the fixing by reduced costs, which removes no improving schedule at all.
"""

from typing import Any

from schedgap.models.edge.decisions import Problem
from schedgap.models.edge.placements import Run


def equal_servers(view: Problem) -> list[tuple[int, int]]:
    """Return neighbours among servers with equal capacities that are ready alike for all jobs."""
    ready = [task.ready for task in view.tasks]
    seen: dict[bytes, int] = {}
    pairs = []
    for s in range(len(view.workers)):
        key = b"".join(
            [view.workers[s].tobytes(), view.ps[s].tobytes(), *(r[s].tobytes() for r in ready)]
        )
        if key in seen:
            pairs.append((seen[key], s))
        seen[key] = s
    return pairs


def equal_jobs(view: Problem) -> list[tuple[int, int]]:
    """Return neighbours among jobs that differ in nothing but their names."""
    seen: dict[tuple[Any, ...], int] = {}
    pairs = []
    for task in view.tasks:
        key = (
            task.arrival,
            task.worker_type,
            task.ps_type,
            task.ready.tobytes(),
            task.modes,
        )
        if key in seen:
            pairs.append((seen[key], task.job))
        seen[key] = task.job
    return pairs


def in_order(view: Problem, runs: list[Run]) -> list[Run]:
    """Return a schedule's runs with equal jobs and equal servers renamed into their order."""
    place = {run.group.job: run for run in runs}
    for chain in _chains(equal_jobs(view)):
        placed = sorted((place[j] for j in chain if j in place), key=lambda run: run.group.start)
        jobs = [j for j in chain if j in place]
        for j, run in zip(jobs, placed, strict=True):
            place[j] = run._replace(group=run.group._replace(job=j))
    used = [0] * len(view.workers)
    for run in runs:
        for s, count in run.workers:
            used[s] += count
    name = list(range(len(used)))
    for chain in _chains(equal_servers(view)):
        for s, old in zip(chain, sorted(chain, key=lambda s: -used[s]), strict=True):
            name[old] = s
    return [
        run._replace(
            workers=tuple(sorted((name[s], count) for s, count in run.workers)),
            host=name[run.host],
        )
        for _, run in sorted(place.items())
    ]


def _chains(pairs: list[tuple[int, int]]) -> list[list[int]]:
    """Join pairs (a, b), (b, c), ... of neighbours."""
    chains: dict[int, list[int]] = {}
    for a, b in pairs:
        chain = chains.pop(a, [a])
        chains[b] = [*chain, b]
    return list(chains.values())
