"""The verifier and the Gantt chart: they import no method."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import schedgap.extend as sg
from schedgap.template.instance import Placement, TemplateInstance, TemplateSchedule


def check(
    instance: TemplateInstance, schedule: Any, options: Mapping[str, Any]
) -> Iterator[sg.Violation]:
    """Yield every violation of a rule; InputError if the form is wrong."""
    placed = sg.validate(TemplateSchedule, schedule, "schedule").jobs
    time = {job.id: job.time for job in instance.jobs}
    names = [row.job for row in placed]
    for job in dict.fromkeys([*time, *names]):
        if (count := names.count(job)) != (job in time):
            yield sg.Violation("V1", (job,), 1, f"job '{job}' is placed {count} times")
    for row in placed:
        if row.machine > instance.machines:
            yield sg.Violation("V2", (row.job,), 1, f"there is no machine {row.machine}")
    known = [row for row in placed if row.job in time]
    for machine in dict.fromkeys(row.machine for row in known):
        runs = sorted((*span(instance, row), row.job) for row in known if row.machine == machine)
        for (_, end, one), (start, _, other) in pairwise(runs):
            if start < end:
                both = f"jobs '{one}' and '{other}' overlap on machine {machine}"
                yield sg.Violation("V3", (one, other), end - start, both)


def span(instance: TemplateInstance, placed: Placement) -> tuple[int, int]:
    """Return start and end of a job."""
    job = next(job for job in instance.jobs if job.id == placed.job)
    return placed.start, placed.start + job.time


def objective(instance: TemplateInstance, schedule: Any) -> float:
    """Return the makespan."""
    placed = sg.validate(TemplateSchedule, schedule).jobs
    return float(max(span(instance, row)[1] for row in placed))


def chart(instance: TemplateInstance, schedule: Any) -> sg.Chart:
    """Return a lane for each machine and a bar for each job."""
    placed = sg.validate(TemplateSchedule, schedule).jobs
    bars = [
        sg.Bar(f"machine {row.machine}", *span(instance, row), row.job, row.job) for row in placed
    ]
    return sg.Chart(tuple(f"machine {m + 1}" for m in range(instance.machines)), (*bars,), "slot")
