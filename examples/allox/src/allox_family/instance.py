"""Instances and schedules of AlloX, and the draws of random instances."""

from functools import cached_property
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

import schedgap.extend as sg

Slot = Annotated[int, Field(ge=0, le=10**12)]
Length = Annotated[int, Field(ge=1, le=10**6)]
Machines = Annotated[int, Field(ge=1, le=1000)]


class Job(sg.Record):
    """One job, which runs without interruption on one machine; times in slots."""

    id: sg.Id
    arrival: Slot
    cpu: Length
    """Slots that it takes on a CPU."""
    gpu: Length
    """Slots that it takes on a GPU."""


class AlloxInstance(sg.Instance):
    """Jobs, and machines of two kinds."""

    title: ClassVar[str] = "jobs that run on a CPU or on a GPU, total completion time"

    family: Literal["allox"]
    cpus: Machines
    gpus: Machines
    jobs: sg.NonEmpty[Job]

    @model_validator(mode="after")
    def _unique(self) -> Self:
        sg.require_unique((job.id for job in self.jobs), "jobs")
        return self

    @cached_property
    def machines(self) -> dict[str, str]:
        """The kind of each machine, by its name; the order breaks ties."""
        counts = {"cpu": self.cpus, "gpu": self.gpus}
        return {f"{kind}-{m + 1}": kind for kind, count in counts.items() for m in range(count)}

    @cached_property
    def time(self) -> dict[tuple[str, str], int]:
        """Slots that a job takes on a machine."""
        machines = self.machines.items()
        return {(job.id, m): getattr(job, kind) for job in self.jobs for m, kind in machines}

    @cached_property
    def arrival(self) -> dict[str, int]:
        """Slot in which a job arrives, in the order of the jobs."""
        return {job.id: job.arrival for job in self.jobs}


class Placement(sg.Record):
    """Where and when a job starts."""

    job: sg.Id
    machine: sg.Id
    start: Slot


class AlloxSchedule(sg.Schedule):
    """A placement for each job."""

    jobs: sg.Many[Placement]


def draw(request: sg.Request) -> sg.Generated:
    """Draw independent jobs, uniformly from ranges of integers."""
    values, jobs = request.values, []
    for k in range(values["jobs"]):
        ranges = values["length"], values["speedup"], (0, values["span"])
        gpu, speedup, arrival = (int(request.random.integers(a, b + 1)) for a, b in ranges)
        jobs.append({"id": f"j{k + 1}", "arrival": arrival, "cpu": gpu * speedup, "gpu": gpu})
    fields = {"cpus": values["cpus"], "gpus": values["gpus"], "jobs": jobs}
    return sg.Generated(fields, "random jobs (ours)", "slot")
