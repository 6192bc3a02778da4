"""The verifier and the Gantt chart: they import no method."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import schedgap.extend as sg
from allox_family.instance import AlloxInstance, AlloxSchedule, Placement


def check(
    instance: AlloxInstance, schedule: Any, options: Mapping[str, Any]
) -> Iterator[sg.Violation]:
    """Yield every violation of a rule; InputError if the form is wrong."""
    placed = sg.validate(AlloxSchedule, schedule, "schedule").jobs
    arrival = {job.id: job.arrival for job in instance.jobs}
    names = [each.job for each in placed]
    for job in dict.fromkeys([*arrival, *names]):
        if (count := names.count(job)) != (job in arrival):
            yield sg.Violation("V1", (job,), 1, f"job '{job}' is placed {count} times")
    for each in placed:
        if each.machine not in instance.machines:
            yield sg.Violation("V2", (each.job,), 1, f"there is no machine '{each.machine}'")
        if each.start < (first := arrival.get(each.job, 0)):
            early = f"job '{each.job}' starts before it arrives"
            yield sg.Violation("V3", (each.job,), first - each.start, early)
    known = [each for each in placed if each.job in arrival]
    for machine in instance.machines:
        runs = sorted(
            (*span(instance, each), each.job) for each in known if each.machine == machine
        )
        for (_, end, one), (start, _, other) in pairwise(runs):
            if start < end:
                both = f"jobs '{one}' and '{other}' overlap on {machine}"
                yield sg.Violation("V4", (one, other), end - start, both)


def span(instance: AlloxInstance, placed: Placement) -> tuple[int, int]:
    """Return start and end of a job."""
    job = next(job for job in instance.jobs if job.id == placed.job)
    return placed.start, placed.start + (job.gpu if placed.machine[0] == "g" else job.cpu)


def objective(instance: AlloxInstance, schedule: Any) -> float:
    """Return the sum over the jobs of the time from arrival to completion."""
    placed = sg.validate(AlloxSchedule, schedule).jobs
    ends = sum(span(instance, each)[1] for each in placed)
    return float(ends - sum(job.arrival for job in instance.jobs))


def chart(instance: AlloxInstance, schedule: Any) -> sg.Chart:
    """Return a lane for each machine and a bar for each job."""
    placed = sg.validate(AlloxSchedule, schedule).jobs
    bars = [sg.Bar(each.machine, *span(instance, each), each.job, each.job) for each in placed]
    return sg.Chart((*instance.machines,), (*bars,), "slot")
