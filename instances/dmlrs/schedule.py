"""A schedule of family `dmlrs`: who is admitted, and workers and PSs by job, slot and machine."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from schedgap.instances.dmlrs.instance import DmlrsInstance

Counts = Mapping[int, tuple[int, int]]  # workers and PSs by index of the machine
Plan = Mapping[int, Counts]  # of one job, by slot


class Allocation(NamedTuple):
    """What one job holds on one machine in one slot; not both counts are 0."""

    job: str
    slot: int
    machine: str
    workers: int
    ps: int


@dataclass(frozen=True, slots=True)
class DmlrsSchedule:
    """Ids of the admitted jobs, and all that they hold, in the order of the instance."""

    admitted: tuple[str, ...] = ()
    allocations: tuple[Allocation, ...] = ()

    def to_data(self, instance: DmlrsInstance) -> dict[str, Any]:
        """Return the schedule of a solution file."""
        return {
            "admitted": list(self.admitted),
            "allocations": [row._asdict() for row in self.allocations],
        }

    @classmethod
    def from_data(cls, instance: DmlrsInstance, data: Mapping[str, Any]) -> "DmlrsSchedule":
        """Return the schedule that a verified solution file holds."""
        rows = tuple(Allocation(**row) for row in data["allocations"])
        return cls(tuple(data["admitted"]), rows)

    @classmethod
    def of_plans(cls, instance: DmlrsInstance, plans: Mapping[int, Plan]) -> "DmlrsSchedule":
        """Return the schedule of the jobs that have a plan, by index.

        Slots without a worker are left out, as (6) knows none and (2) lets no PS stand alone.
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
        """Return the plans of the admitted jobs, by index of job, slot, index of machine."""
        place = {job.id: i for i, job in enumerate(instance.jobs)}
        machine = {each.id: h for h, each in enumerate(instance.machines)}
        found: dict[int, dict[int, dict[int, tuple[int, int]]]] = {
            place[name]: {} for name in self.admitted
        }
        for row in self.allocations:
            slot = found[place[row.job]].setdefault(row.slot, {})
            slot[machine[row.machine]] = row.workers, row.ps
        return found

    def value(self, instance: DmlrsInstance) -> float:
        """Return the sum of utilities; for searching only, the rules recompute."""
        last: dict[str, int] = {}
        for row in self.allocations:
            if row.workers:
                last[row.job] = max(last.get(row.job, 0), row.slot)
        chosen = set(self.admitted)
        return sum(
            job.utility.at(last[job.id] - job.arrival) for job in instance.jobs if job.id in chosen
        )
