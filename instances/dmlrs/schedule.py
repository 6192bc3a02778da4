"""Schedules of family `dmlrs`: admitted jobs, and workers and PSs by job, slot and machine."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from schedgap.instances.dmlrs.instance import DmlrsInstance

Counts = Mapping[int, tuple[int, int]]  # machine index -> workers, PSs
Plan = Mapping[int, Counts]  # slot -> counts, of one job


class Allocation(NamedTuple):
    """Workers and PSs of one job on one machine in one slot; not both are 0."""

    job: str
    slot: int
    machine: str
    workers: int
    ps: int


@dataclass(frozen=True, slots=True)
class DmlrsSchedule:
    """Ids of the admitted jobs and their allocations, in the order of the instance."""

    admitted: tuple[str, ...] = ()
    allocations: tuple[Allocation, ...] = ()

    def to_data(self, instance: DmlrsInstance) -> dict[str, object]:
        """Return the schedule of a solution file."""
        return {
            "admitted": list(self.admitted),
            "allocations": [row._asdict() for row in self.allocations],
        }

    @classmethod
    def from_data(cls, instance: DmlrsInstance, data: Mapping[str, Any]) -> "DmlrsSchedule":
        """Return the schedule in a verified solution file.

        `data`: JSON data of the schedule.
        """
        rows = tuple(Allocation(**row) for row in data["allocations"])
        return cls(tuple(data["admitted"]), rows)

    @classmethod
    def of_plans(cls, instance: DmlrsInstance, plans: Mapping[int, Plan]) -> "DmlrsSchedule":
        """Return the schedule given by plans of the admitted jobs.

        Slots without a worker are left out: (2) allows no PS without workers.

        `plans`: plan by job index.
        """
        rows = []
        for i in sorted(plans):
            for slot in sorted(plans[i]):
                counts = plans[i][slot]
                if not any(workers for workers, _ in counts.values()):
                    continue
                for h in sorted(counts):
                    if any(counts[h]):
                        workers, ps = map(int, counts[h])
                        names = instance.jobs[i].id, int(slot), instance.machines[h].id
                        rows.append(Allocation(*names, workers, ps))
        return cls(tuple(instance.jobs[i].id for i in sorted(plans)), tuple(rows))

    def plans(self, instance: DmlrsInstance) -> dict[int, dict[int, dict[int, tuple[int, int]]]]:
        """Return the plans of the admitted jobs, by job index, slot and machine index."""
        place = {job.id: i for i, job in enumerate(instance.jobs)}
        machine = {machine.id: h for h, machine in enumerate(instance.machines)}
        plans_by_job: dict[int, dict[int, dict[int, tuple[int, int]]]] = {
            place[name]: {} for name in self.admitted
        }
        for row in self.allocations:
            slot = plans_by_job[place[row.job]].setdefault(row.slot, {})
            slot[machine[row.machine]] = row.workers, row.ps
        return plans_by_job

    def value(self, instance: DmlrsInstance) -> float:
        """Return the sum of utilities; for use in searches, as the rules recompute it."""
        last: dict[str, int] = {}
        for row in self.allocations:
            if row.workers:
                last[row.job] = max(last.get(row.job, 0), row.slot)
        chosen = set(self.admitted)
        return sum(
            job.utility.at(last[job.id] - job.arrival) for job in instance.jobs if job.id in chosen
        )
