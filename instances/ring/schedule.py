"""Schedules of family `ring`: first and last slot, and workers by server of each job."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from typing import Any

from schedgap.instances.ring.instance import RingInstance


@dataclass(frozen=True, slots=True)
class Run:
    """The run of a job: slots start..end, and workers by server, absent if 0."""

    start: int  # a_j, first active slot, from 1
    end: int  # last active slot
    placement: Mapping[str, int]  # y_js by server id
    gpus: Mapping[str, tuple[int, ...]] | None = None  # GPU numbers from 0, by server id

    @property
    def slots(self) -> int:
        """rho_j, the execution time in slots."""
        return self.end - self.start + 1

    def to_data(self, job: str) -> dict[str, object]:
        """Return the run as in a solution file.

        `job`: id of the job.
        """
        placement = {server: int(count) for server, count in self.placement.items()}
        data = {"job": job, "start": int(self.start), "end": int(self.end), "placement": placement}
        if self.gpus is not None:
            data["gpus"] = {server: [int(g) for g in held] for server, held in self.gpus.items()}
        return data


@dataclass(frozen=True, slots=True)
class RingSchedule:
    """The runs of all jobs by job id; `facts` are further keys such as order, theta, kappa."""

    runs: Mapping[str, Run]
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def makespan(self) -> int:
        """Last slot of the last job."""
        return max(run.end for run in self.runs.values())

    def value(self, instance: RingInstance) -> int:
        """Return the makespan; for use in searches, as the rules recompute it."""
        return self.makespan

    def to_data(self, instance: RingInstance) -> dict[str, object]:
        """Return the schedule of a solution file; jobs in the order of the instance."""
        jobs = [self.runs[job.id].to_data(job.id) for job in instance.jobs if job.id in self.runs]
        return {"jobs": jobs, **self.facts}

    @classmethod
    def from_data(cls, instance: RingInstance, data: Mapping[str, Any]) -> "RingSchedule":
        """Return the schedule in a verified solution file.

        `data`: JSON data of the schedule.
        """
        runs = {}
        for row in data["jobs"]:
            gpus = row.get("gpus")
            held = None if gpus is None else {s: tuple(numbers) for s, numbers in gpus.items()}
            runs[row["job"]] = Run(row["start"], row["end"], dict(row["placement"]), held)
        facts = {key: value for key, value in data.items() if key != "jobs"}
        return cls(runs, facts)

    def numbered(self, instance: RingInstance) -> "RingSchedule":
        """Return the schedule with GPU numbers; each job, by start, takes the lowest free ones.

        This always succeeds if the counts fit, because it is the greedy colouring of intervals.
        """
        free = {server.id: list(range(server.gpus)) for server in instance.servers}  # heaps
        held: list[tuple[int, str, int]] = []  # heap of (last slot, server, GPU)
        runs: dict[str, Run] = {}
        for job, run in sorted(self.runs.items(), key=lambda item: item[1].start):
            while held and held[0][0] < run.start:
                _, server, gpu = heappop(held)
                heappush(free[server], gpu)
            gpus = {
                server: tuple(heappop(free[server]) for _ in range(count))
                for server, count in run.placement.items()
            }
            for server, numbers in gpus.items():
                for gpu in numbers:
                    heappush(held, (run.end, server, gpu))
            runs[job] = replace(run, gpus=gpus)
        return replace(self, runs=runs)
