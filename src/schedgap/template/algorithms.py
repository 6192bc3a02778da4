"""The paper's algorithm, its guarantee, and the baseline."""

from collections.abc import Iterable
from typing import Any

from schedgap.template.instance import Placement, TemplateInstance, TemplateSchedule


def place(instance: TemplateInstance, order: Iterable[str]) -> TemplateSchedule:
    """Run jobs in an order, each on the machine that is free first."""
    free, placed = dict.fromkeys(range(1, instance.machines + 1), 0), []
    for job in order:
        machine = min(free, key=free.__getitem__)
        placed.append(Placement(job=job, machine=machine, start=free[machine]))
        free[machine] += instance.time[job]
    return TemplateSchedule(jobs=tuple(placed))


def longest_first(instance: TemplateInstance) -> TemplateSchedule:
    """Run the longest jobs first."""
    return place(instance, sorted(instance.time, key=instance.time.__getitem__, reverse=True))


def listed(instance: TemplateInstance) -> TemplateSchedule:
    """Run the jobs in the order of the file."""
    return place(instance, instance.time)


def longest_first_factor(instance: TemplateInstance) -> dict[str, Any]:
    """Return the guarantee of `longest_first` on an instance: 4/3 - 1/(3m) times the optimum."""
    factor = 4 / 3 - 1 / (3 * instance.machines)
    return {"claim": "4/3 - 1/(3m)", "factor": factor, "holds": True, "failed": []}
