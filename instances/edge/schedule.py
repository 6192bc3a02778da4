"""Schedules of family `edge`: slots, workers by server, and PS of each job."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from schedgap.instances.edge.instance import EdgeInstance


@dataclass(frozen=True, slots=True)
class Placement:
    """One run of a job: slots start..completion, workers by server, and server of the PS."""

    start: int  # h_j, first slot, from 1
    completion: int  # c_j, LAST slot
    workers: Mapping[str, int]  # y_js by server id; absent if 0
    ps_server: str  # id
    overhead: int = 0  # slots without progress at the start of a segment

    @property
    def slots(self) -> int:
        """Number of slots."""
        return self.completion - self.start + 1

    @property
    def number(self) -> int:
        """Number of workers on all servers."""
        return sum(self.workers.values())

    @property
    def colocated(self) -> bool:
        """xi_j of (2f): whether all workers are on the server of the PS."""
        return set(self.workers) == {self.ps_server}

    def to_data(self, *, segment: bool = False) -> dict[str, object]:
        """Return the run as in a solution file.

        `segment`: whether it is a segment of a preemptive schedule.
        """
        data: dict[str, object] = {
            "start": int(self.start),
            "end" if segment else "completion": int(self.completion),
            "workers": {server: int(count) for server, count in self.workers.items()},
            "ps_server": self.ps_server,
        }
        extra = {"overhead": int(self.overhead)} if segment else {"colocated": self.colocated}
        return data | extra

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> "Placement":
        """Return a run or segment in a verified solution file.

        `data`: JSON data of the run or segment.
        """
        return cls(
            data["start"],
            data["end"] if "end" in data else data["completion"],
            dict(data["workers"]),
            data["ps_server"],
            data.get("overhead", 0),
        )


@dataclass(frozen=True, slots=True)
class EdgeSchedule:
    """The runs of the scheduled jobs by job id; in a preemptive schedule, a tuple for each job.

    `relaxed` names the rules of program (2) that the schedule need not obey: `2c-2d` (preemptive),
    `2i` (without transfer delays).
    """

    placements: Mapping[str, Placement | tuple[Placement, ...]]
    relaxed: tuple[str, ...] = ()

    def segments(self, job: str) -> tuple[Placement, ...]:
        """Return the runs of a job in order of time; one unless the schedule is preemptive.

        `job`: id of a scheduled job.
        """
        runs = self.placements[job]
        return (runs,) if isinstance(runs, Placement) else tuple(runs)

    def to_data(self, instance: EdgeInstance) -> dict[str, object]:
        """Return the schedule of a solution file; jobs in the order of the instance."""
        jobs: dict[str, object] = {}
        for job in instance.jobs:
            found = self.placements.get(job.id)
            if isinstance(found, Placement):
                jobs[job.id] = found.to_data()
            elif found is not None:
                jobs[job.id] = {"segments": [run.to_data(segment=True) for run in found]}
        return {"relaxed": list(self.relaxed), "jobs": jobs} if self.relaxed else {"jobs": jobs}

    @classmethod
    def from_data(cls, instance: EdgeInstance, data: Mapping[str, Any]) -> "EdgeSchedule":
        """Return the schedule in a verified solution file.

        `data`: JSON data of the schedule.
        """
        placements: dict[str, Placement | tuple[Placement, ...]] = {}
        for name, job in data["jobs"].items():
            if "segments" in job:
                placements[name] = tuple(map(Placement.from_data, job["segments"]))
            else:
                placements[name] = Placement.from_data(job)
        return cls(placements, tuple(data.get("relaxed", ())))

    def completion(self, job: str) -> int:
        """Return c_j, the last slot of the last run.

        `job`: id of a scheduled job.
        """
        return max(run.completion for run in self.segments(job))

    def value(self, instance: EdgeInstance) -> int:
        """Return sum c_j - a_j, or the number of jobs; for searches, as the rules recompute it."""
        jobs = [job for job in instance.jobs if job.id in self.placements]
        if instance.is_batch:
            return len(jobs)
        return sum(self.completion(job.id) - job.arrival for job in jobs)

    def flow_time(self, instance: EdgeInstance) -> int:
        """Return sum c_j + 1 - a_j, which, unlike the paper's objective, counts the last slot."""
        jobs = [job for job in instance.jobs if job.id in self.placements]
        return sum(self.completion(job.id) + 1 - job.arrival for job in jobs)
