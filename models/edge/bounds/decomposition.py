"""Decomposition by worker type: bounds on the jobs of each type add up to a bound on all jobs.

References
----------
None needed: worker types share only the PSs. A schedule of all jobs contains a schedule for the
jobs of each type, so the sum of their optima is a lower bound on the optimum.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from schedgap.instances.edge import EdgeInstance, arrays
from schedgap.models.edge.bounds.job_alone import job_bound
from schedgap.models.edge.decisions import compiled


def jobs_by_type(instance: EdgeInstance) -> dict[int, tuple[int, ...]]:
    """Return the jobs of each worker type that has some, all by index."""
    types = arrays(instance).worker_type.tolist()
    return {
        kind: tuple(j for j, other in enumerate(types) if other == kind)
        for kind in sorted(set(types))
    }


def restricted_to(instance: EdgeInstance, jobs: Sequence[int]) -> EdgeInstance:
    """Return the instance with only some of its jobs.

    `jobs`: indices, in the order of the new instance.
    """
    data = instance.to_data()
    return EdgeInstance.from_data(data | {"jobs": [data["jobs"][j] for j in jobs]})


def certified_bound(
    instance: EdgeInstance,
    data: Mapping[str, Any],
    check: Callable[[EdgeInstance, Mapping[str, Any]], float],
) -> float:
    """Return the sum of the bounds that the certificates of worker types prove.

    `data`: `parts`: a certificate for each worker type; the jobs of other types count as alone.
    `check`: returns the bound of a certificate on an instance.

    Raises
    ------
    ValueError
        If there is a certificate for a worker type without jobs.
    """
    jobs_of = {instance.worker_types[kind]: jobs for kind, jobs in jobs_by_type(instance).items()}
    parts = {name: restricted_to(instance, jobs) for name, jobs in jobs_of.items()}
    if unknown := set(data["parts"]) - set(parts):
        raise ValueError(f"no jobs of worker type {min(unknown)}")
    alone = sum(job_bound(compiled(p)) for name, p in parts.items() if name not in data["parts"])
    return alone + sum(check(parts[name], each) for name, each in data["parts"].items())
