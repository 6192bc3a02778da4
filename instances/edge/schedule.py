"""A schedule of family `edge`: for each job its slots, its workers by server, its PS."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from schedgap.instances.edge.instance import EdgeInstance


@dataclass(frozen=True, slots=True)
class Placement:
    """One run of a job: slots start..completion, and what it holds on which servers."""

    start: int  # h_j, first slot, from 1
    completion: int  # c_j, LAST slot
    workers: Mapping[str, int]  # y_js by server id; servers with none are left out
    ps_server: str  # id
    overhead: int = 0  # slots at its beginning without progress; of a segment only

    @property
    def slots(self) -> int:
        """Number of slots."""
        return self.completion - self.start + 1

    @property
    def number(self) -> int:
        """Workers on all servers."""
        return sum(self.workers.values())

    @property
    def colocated(self) -> bool:
        """xi_j by (2f): all workers are on the server of the PS."""
        return set(self.workers) == {self.ps_server}

    def to_data(self, *, segment: bool = False) -> dict[str, Any]:
        """Return the run, or the segment of a preemptive one, as it stands in a solution file."""
        data: dict[str, Any] = {
            "start": int(self.start),
            "end" if segment else "completion": int(self.completion),
            "workers": {server: int(count) for server, count in self.workers.items()},
            "ps_server": self.ps_server,
        }
        extra = {"overhead": int(self.overhead)} if segment else {"colocated": self.colocated}
        return data | extra

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> "Placement":
        """Return the run or the segment that a verified solution file holds."""
        return cls(
            data["start"],
            data["end"] if "end" in data else data["completion"],
            dict(data["workers"]),
            data["ps_server"],
            data.get("overhead", 0),
        )


@dataclass(frozen=True, slots=True)
class EdgeSchedule:
    """The runs of the scheduled jobs by job id; of a preemptive schedule a tuple of each job's.

    `relaxed` names the rules of program (2) that it leaves out: `2c-2d` (preemptive), `2i` (without
    transfer delays).
    """

    placements: Mapping[str, Placement | tuple[Placement, ...]]
    relaxed: tuple[str, ...] = ()

    def segments(self, job: str) -> tuple[Placement, ...]:
        """Return the runs of a job in order of time; one unless the schedule is preemptive."""
        found = self.placements[job]
        return (found,) if isinstance(found, Placement) else tuple(found)

    def to_data(self, instance: EdgeInstance) -> dict[str, Any]:
        """Return the schedule of a solution file; jobs in the order of the instance."""
        jobs: dict[str, Any] = {}
        for job in instance.jobs:
            found = self.placements.get(job.id)
            if isinstance(found, Placement):
                jobs[job.id] = found.to_data()
            elif found is not None:
                jobs[job.id] = {"segments": [run.to_data(segment=True) for run in found]}
        return {"relaxed": list(self.relaxed), "jobs": jobs} if self.relaxed else {"jobs": jobs}

    @classmethod
    def from_data(cls, instance: EdgeInstance, data: Mapping[str, Any]) -> "EdgeSchedule":
        """Return the schedule that a verified solution file holds."""
        placements: dict[str, Placement | tuple[Placement, ...]] = {}
        for name, job in data["jobs"].items():
            if "segments" in job:
                placements[name] = tuple(map(Placement.from_data, job["segments"]))
            else:
                placements[name] = Placement.from_data(job)
        return cls(placements, tuple(data.get("relaxed", ())))

    def completion(self, job: str) -> int:
        """c_j, the last slot of the last run."""
        return max(run.completion for run in self.segments(job))

    def value(self, instance: EdgeInstance) -> int:
        """Return sum c_j - a_j, or the number of jobs; for searching only, the rules recompute."""
        jobs = [job for job in instance.jobs if job.id in self.placements]
        if instance.is_batch:
            return len(jobs)
        return sum(self.completion(job.id) - job.arrival for job in jobs)

    def flow_time(self, instance: EdgeInstance) -> int:
        """Return sum c_j + 1 - a_j: with the last slot counted, which the paper's value omits."""
        jobs = [job for job in instance.jobs if job.id in self.placements]
        return sum(self.completion(job.id) + 1 - job.arrival for job in jobs)
