"""Instances and schedules, and the draws of random instances."""

from functools import cached_property
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

import schedgap.extend as sg

Start = Annotated[int, Field(ge=0, le=10**12)]
Length = Annotated[int, Field(ge=1, le=10**6)]
Machines = Annotated[int, Field(ge=1, le=1000)]


class Job(sg.Record):
    """One job, which runs without interruption on one machine."""

    id: sg.Id
    time: Length
    """Slots that it takes on any machine."""


class TemplateInstance(sg.Instance):
    """Jobs, and machines that are all alike."""

    title: ClassVar[str] = "jobs on identical machines, makespan"

    family: Literal["template"]
    machines: Machines
    jobs: sg.NonEmpty[Job]

    @model_validator(mode="after")
    def _unique(self) -> Self:
        sg.require_unique((job.id for job in self.jobs), "jobs")
        return self

    @cached_property
    def time(self) -> dict[str, int]:
        """Slots that a job takes, in the order of the file."""
        return {job.id: job.time for job in self.jobs}


class Placement(sg.Record):
    """Where and when a job starts; machines count from 1."""

    job: sg.Id
    machine: Machines
    start: Start


class TemplateSchedule(sg.Schedule):
    """A placement for each job."""

    jobs: sg.Many[Placement]


def draw(request: sg.Request) -> sg.Generated:
    """Draw independent jobs with times from a range of integers."""
    values = request.values
    least, most = values["times"]
    times = request.random.integers(least, most + 1, size=values["jobs"]).tolist()
    jobs = [{"id": f"j{k}", "time": time} for k, time in enumerate(times, 1)]
    return sg.Generated({"machines": values["machines"], "jobs": jobs}, "random jobs", "slot")
