"""The jobs of each worker type as an instance of their own (ours): bounds on these sum up to one.

Worker types meet in nothing but PSs, so a schedule of all jobs is one of each part.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from schedgap.instances.edge import EdgeInstance, arrays
from schedgap.models.edge.bounds.job_alone import job_bound
from schedgap.models.edge.decisions import problem


def jobs_by_type(instance: EdgeInstance) -> dict[int, tuple[int, ...]]:
    """Return the jobs of each worker type that has some, all by index."""
    kinds = arrays(instance).worker_type.tolist()
    return {
        kind: tuple(j for j, other in enumerate(kinds) if other == kind)
        for kind in sorted(set(kinds))
    }


def part_of(instance: EdgeInstance, jobs: Sequence[int]) -> EdgeInstance:
    """Return an instance of some of the jobs, in their order."""
    data = instance.to_data()
    return EdgeInstance.from_data(data | {"jobs": [data["jobs"][j] for j in jobs]})


def certified(
    instance: EdgeInstance,
    data: Mapping[str, Any],
    check: Callable[[EdgeInstance, Mapping[str, Any]], float],
) -> float:
    """Return the sum of what `check` finds the certificates of parts to prove.

    The jobs of a part without a certificate count each as if alone.
    """
    kinds = {instance.worker_types[kind]: jobs for kind, jobs in jobs_by_type(instance).items()}
    parts = {name: part_of(instance, jobs) for name, jobs in kinds.items()}
    if strange := set(data["parts"]) - set(parts):
        raise ValueError(f"no jobs of worker type {min(strange)}")
    alone = sum(job_bound(problem(p)) for name, p in parts.items() if name not in data["parts"])
    return alone + sum(check(parts[name], each) for name, each in data["parts"].items())
