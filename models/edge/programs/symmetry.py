"""Symmetry breaking: jobs or servers that differ only in name are put in order.

Both orders may be imposed at once: renaming equal jobs does not change the totals of the servers,
and renaming equal servers does not change starts.
"""

from collections.abc import Hashable, Iterable

from schedgap.models.edge.decisions import CompiledInstance
from schedgap.models.edge.placements import PlacedRun


def equal_servers(view: CompiledInstance) -> list[tuple[int, int]]:
    """Return consecutive pairs of servers with equal capacities and ready slots."""
    return _consecutive(
        (
            s,
            (
                view.workers[s].tobytes(),
                view.ps[s].tobytes(),
                *(task.ready[s].tobytes() for task in view.tasks),
            ),
        )
        for s in range(len(view.workers))
    )


def equal_jobs(view: CompiledInstance) -> list[tuple[int, int]]:
    """Return consecutive pairs of jobs that differ only in name, by index in the instance."""
    return _consecutive(
        (
            task.job,
            (task.arrival, task.worker_type, task.ps_type, task.ready.tobytes(), task.modes),
        )
        for task in view.tasks
    )


def _consecutive(keyed: Iterable[tuple[int, Hashable]]) -> list[tuple[int, int]]:
    """Return consecutive pairs of items with equal keys."""
    last: dict[Hashable, int] = {}
    pairs = []
    for item, key in keyed:
        if key in last:
            pairs.append((last[key], item))
        last[key] = item
    return pairs


def in_order(view: CompiledInstance, runs: list[PlacedRun]) -> list[PlacedRun]:
    """Return the runs of a schedule with equal jobs and equal servers renamed into their order.

    Equal jobs are ordered by start, equal servers by workers used, descending.

    `runs`: at most one for each job.
    """
    run_of = {run.job: run for run in runs}
    for chain in _chains(equal_jobs(view)):
        jobs = [j for j in chain if j in run_of]
        by_start = sorted((run_of[j] for j in jobs), key=lambda run: run.start)
        for j, run in zip(jobs, by_start, strict=True):
            run_of[j] = run._replace(mode_start=run.mode_start._replace(job=j))
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
        for _, run in sorted(run_of.items())
    ]


def _chains(pairs: list[tuple[int, int]]) -> list[list[int]]:
    """Join pairs (a, b), (b, c), ... into chains."""
    chains: dict[int, list[int]] = {}
    for a, b in pairs:
        chain = chains.pop(a, [a])
        chains[b] = [*chain, b]
    return list(chains.values())
