"""Instances and schedules of AlloX, and the generator of random instances."""

from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

import schedgap.extend as sg

Slot = Annotated[int, Field(ge=0, le=10**6)]
Positive = Annotated[int, Field(ge=1, le=10**6)]
Machines = Annotated[int, Field(ge=1, le=1000)]


class Job(sg.Record):
    """One job, which runs without interruption on one machine; times in slots."""

    id: sg.Id
    arrival: Slot
    cpu: Positive
    """Slots that it takes on a CPU."""
    gpu: Positive
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
    def machines(self) -> tuple[str, ...]:
        """The names of the machines; their order breaks ties."""
        counts = (("cpu", self.cpus), ("gpu", self.gpus))
        return tuple(f"{kind}-{m + 1}" for kind, count in counts for m in range(count))

    @cached_property
    def time(self) -> dict[tuple[str, str], int]:
        """Slots that a job takes on a machine."""
        return {
            (job.id, machine): job.gpu if machine.startswith("gpu") else job.cpu
            for job in self.jobs
            for machine in self.machines
        }

    @cached_property
    def arrival(self) -> dict[str, int]:
        """Slot in which a job arrives, in the order of the jobs."""
        return {job.id: job.arrival for job in self.jobs}

    def summary(self) -> dict[str, str]:
        """The size of the instance, for tables."""
        return {"jobs": f"{len(self.jobs)}", "CPUs": f"{self.cpus}", "GPUs": f"{self.gpus}"}


class Placement(sg.Record):
    """Where and when a job starts."""

    job: sg.Id
    machine: sg.Id
    start: Slot


class AlloxSchedule(sg.Record):
    """A placement for each job."""

    jobs: sg.Many[Placement]

    def to_data(self, instance: AlloxInstance) -> dict[str, Any]:
        """The `schedule` of a solution file."""
        return self.model_dump(mode="json")


def draw(request: sg.Request) -> sg.Generated:
    """Draw independent jobs, uniformly from ranges of whole numbers."""
    values, jobs = request.values, []
    for k in range(values["jobs"]):
        ranges = values["length"], values["speedup"], (0, values["span"])
        gpu, speedup, arrival = (int(request.random.integers(a, b + 1)) for a, b in ranges)
        jobs.append({"id": f"j{k + 1}", "arrival": arrival, "cpu": gpu * speedup, "gpu": gpu})
    machines = {"cpus": values["cpus"], "gpus": values["gpus"]}
    return sg.Generated({**machines, "jobs": jobs}, "random jobs (ours)", "slot")


OPTIONS = (
    sg.Option("jobs", "int", 8, "number of jobs", least=1, most=1000),
    sg.Option("cpus", "int", 2, "number of CPUs", least=1, most=1000),
    sg.Option("gpus", "int", 1, "number of GPUs", least=1, most=1000),
    sg.Option("length", "range", (1, 5), "slots on a GPU", least=1, most=1000),
    sg.Option("speedup", "range", (1, 10), "time on a CPU over time on a GPU", least=1, most=1000),
    sg.Option("span", "int", 0, "last slot in which a job arrives", least=0, most=10**5),
)
ARRIVALS = sg.with_defaults(OPTIONS, span=15)
GENERATOR = sg.Generator(
    (sg.Preset("queued", "all jobs are in the queue at slot 0", draw, OPTIONS),
     sg.Preset("arrivals", "jobs arrive over time", draw, ARRIVALS)),
    default="queued",
)  # fmt: skip
