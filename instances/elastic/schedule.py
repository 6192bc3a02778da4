"""Schedules of family `elastic`: start, duration, types, and counts by server of each job."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from schedgap.instances.elastic.instance import ElasticInstance

Mode = Literal["nonpreemptive", "preemptive"]


@dataclass(frozen=True, slots=True)
class Placement:
    """One run of a job: slots start..start + duration - 1, types, workers and PSs by server."""

    start: int  # slot, from 1
    duration: int  # slots
    worker_type: str  # id
    ps_type: str | None  # id; None for rings
    workers: Mapping[str, int]  # y_jhm by server id; absent if 0
    ps: Mapping[str, int] = field(default_factory=dict)  # s_jhp by server id; empty for rings

    @property
    def end(self) -> int:
        """start + duration, the completion time as in the paper, which is one slot late."""
        return self.start + self.duration

    @property
    def is_central(self) -> bool:
        """q_j: whether all containers are on one server."""
        return len({*self.workers, *self.ps}) == 1

    def to_data(self) -> dict[str, object]:
        """Return the run as in a solution file."""
        data: dict[str, object] = {
            "start": int(self.start),
            "duration": int(self.duration),
            "worker_type": self.worker_type,
            "workers": {server: int(count) for server, count in self.workers.items()},
        }
        if self.ps_type is not None:
            data["ps_type"] = self.ps_type
            data["ps"] = {server: int(count) for server, count in self.ps.items()}
        return data

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> "Placement":
        """Return a run in a verified solution file.

        `data`: JSON data of the run.
        """
        return cls(
            data["start"],
            data["duration"],
            data["worker_type"],
            data.get("ps_type"),
            dict(data["workers"]),
            dict(data.get("ps", {})),
        )


@dataclass(frozen=True, slots=True)
class ElasticSchedule:
    """The runs of the scheduled jobs by job id; in a preemptive schedule, a tuple for each job."""

    placements: Mapping[str, Placement | tuple[Placement, ...]]
    mode: Mode = "nonpreemptive"
    restart_slots: int = 0  # slots lost by every segment but the first; only if preemptive

    def segments(self, job: str) -> tuple[Placement, ...]:
        """Return the runs of a job in order of time; one unless the schedule is preemptive.

        `job`: id of a scheduled job.
        """
        runs = self.placements[job]
        return (runs,) if isinstance(runs, Placement) else tuple(runs)

    def to_data(self, instance: ElasticInstance) -> dict[str, object]:
        """Return the schedule of a solution file; jobs in the order of the instance."""
        jobs: dict[str, object] = {}
        for job in instance.jobs:
            if job.id in self.placements:
                runs = [run.to_data() for run in self.segments(job.id)]
                jobs[job.id] = {"segments": runs} if self.mode == "preemptive" else runs[0]
        if self.mode == "preemptive":
            return {"mode": self.mode, "restart_slots": self.restart_slots, "jobs": jobs}
        return {"mode": self.mode, "jobs": jobs}

    @classmethod
    def from_data(cls, instance: ElasticInstance, data: Mapping[str, Any]) -> "ElasticSchedule":
        """Return the schedule in a verified solution file.

        `data`: JSON data of the schedule.
        """
        jobs = data["jobs"]
        if data.get("mode") != "preemptive":
            return cls({name: Placement.from_data(job) for name, job in jobs.items()})
        return cls(
            {name: tuple(map(Placement.from_data, job["segments"])) for name, job in jobs.items()},
            "preemptive",
            data["restart_slots"],
        )

    def completion(self, job: str) -> int:
        """Return c_j = start + duration of the last run, in slots, as in the paper.

        `job`: id of a scheduled job.
        """
        return max(run.end for run in self.segments(job))

    def value(self, instance: ElasticInstance) -> float:
        """Return sum w_j c_j, or the scheduled weight; for searches, as the rules recompute it."""
        jobs = [job for job in instance.jobs if job.id in self.placements]
        if instance.is_batch:
            return math.fsum(job.weight for job in jobs)
        return math.fsum(job.weight * self.completion(job.id) for job in jobs)
