"""Gantt chart of a `dmlrs` schedule: lanes for each machine, a bar for each stay of a job on it."""

from collections.abc import Callable, Mapping
from typing import Any

from schedgap.instances.dmlrs import Allocation, DmlrsInstance, DmlrsSchedule
from schedgap.models.family import Chart
from schedgap.models.gantt import Span, dominant_share, stack


def chart(instance: DmlrsInstance, schedule: Mapping[str, Any]) -> Chart:
    """Return the chart: machines in list order, each with one lane per job that it holds at a time.

    Slot t is drawn from t - 1 to t. A bar lasts as long as the job's workers and PSs on the machine
    stay the same; its text gives their numbers, and its height is the largest share of a resource
    of the machine that they use.

    `schedule`: a valid schedule, as in a solution file.
    """
    rows = DmlrsSchedule.from_data(instance, schedule).allocations
    rows_of: dict[str, list[Allocation]] = {machine.id: [] for machine in instance.machines}
    for row in sorted(rows, key=lambda row: (row.job, row.slot)):
        rows_of[row.machine].append(row)
    lanes: list[str] = []
    bars = []
    for machine in instance.machines:
        spans = _spans(rows_of[machine.id], _shares(instance, machine.capacity))
        machine_lanes, machine_bars = stack(machine.id, spans)
        lanes += machine_lanes
        bars += machine_bars
    return Chart(tuple(lanes), tuple(bars), "slot")


def _shares(
    instance: DmlrsInstance, capacity: Mapping[str, float]
) -> Callable[[Allocation], float]:
    """Return the function from a row to the largest share of a resource that it uses."""
    jobs = {job.id: job for job in instance.jobs}

    def share(row: Allocation) -> float:
        job = jobs[row.job]
        used = {
            name: row.workers * job.worker_demand.get(name, 0) + row.ps * job.ps_demand.get(name, 0)
            for name in capacity
        }
        return dominant_share(used, capacity)

    return share


def _spans(rows: list[Allocation], share: Callable[[Allocation], float]) -> list[Span]:
    """Return the stays on one machine, from its rows in order of job and slot."""
    spans: list[Span] = []
    previous: Allocation | None = None
    for row in rows:
        text = f"{row.job}: {_counts(row)}"
        continues = previous is not None and (row.job, row.slot, row.workers, row.ps) == (
            previous.job, previous.slot + 1, previous.workers, previous.ps,
        )  # fmt: skip
        start = spans.pop().start if continues else row.slot - 1
        spans.append(Span(start, row.slot, row.job, text, share(row)))
        previous = row
    return spans


def _counts(row: Allocation) -> str:
    """Return the counts as text, such as '2 workers, 1 PS'."""
    words = []
    for count, name in ((row.workers, "worker"), (row.ps, "PS")):
        if count:
            words.append(f"{count} {name}{'s' if count > 1 else ''}")
    return ", ".join(words)
