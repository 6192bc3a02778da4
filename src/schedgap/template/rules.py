"""The verifier and the Gantt chart: they import no method."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import schedgap.extend as sg
from schedgap.template.instance import Placement, TemplateInstance, TemplateSchedule


def check(
    instance: TemplateInstance, schedule: Any, options: Mapping[str, Any]
) -> Iterator[sg.Violation]:
    """Yield every violation of a rule; InputError for what is no schedule at all."""
    placed = sg.validate(TemplateSchedule, schedule, "schedule").jobs
    time = {job.id: job.time for job in instance.jobs}
    names = [each.job for each in placed]
    for job in dict.fromkeys([*time, *names]):
        if (count := names.count(job)) != (job in time):
            yield sg.Violation("V1", (job,), 1, f"job '{job}' is placed {count} times")
    for each in placed:
        if each.machine > instance.machines:
            yield sg.Violation("V2", (each.job,), 1, f"there is no machine {each.machine}")
    known = [each for each in placed if each.job in time]
    for machine in dict.fromkeys(each.machine for each in known):
        runs = sorted(
            (*span(instance, each), each.job) for each in known if each.machine == machine
        )
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
    return float(max(span(instance, each)[1] for each in placed))


def chart(instance: TemplateInstance, schedule: Any) -> sg.Chart:
    """Return a lane for each machine and a bar for each job."""
    placed = sg.validate(TemplateSchedule, schedule).jobs
    bars = [
        sg.Bar(f"machine {each.machine}", *span(instance, each), each.job, each.job)
        for each in placed
    ]
    return sg.Chart(tuple(f"machine {m + 1}" for m in range(instance.machines)), (*bars,), "slot")
