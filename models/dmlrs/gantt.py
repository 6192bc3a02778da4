"""Gantt chart of a `dmlrs` schedule: lanes for each machine, a bar for each stay of a job on it."""

from collections.abc import Mapping
from typing import Any

from schedgap.instances.dmlrs import Allocation, DmlrsInstance, DmlrsSchedule
from schedgap.models.family import Chart
from schedgap.models.gantt import Span, stack


def chart(instance: DmlrsInstance, schedule: Mapping[str, Any]) -> Chart:
    """Return the chart: machines in list order, each with one lane per job that it holds at a time.

    Slot t is drawn from t - 1 to t. A bar lasts as long as the job's workers and PSs on the machine
    stay the same; its text gives their numbers.

    Parameters
    ----------
    schedule : mapping
        A valid schedule, as in a solution file.
    """
    rows = DmlrsSchedule.from_data(instance, schedule).allocations
    rows_of: dict[str, list[Allocation]] = {machine.id: [] for machine in instance.machines}
    for row in sorted(rows, key=lambda row: (row.job, row.slot)):
        rows_of[row.machine].append(row)
    lanes: list[str] = []
    bars = []
    for machine, machine_rows in rows_of.items():
        machine_lanes, machine_bars = stack(machine, _spans(machine_rows))
        lanes += machine_lanes
        bars += machine_bars
    return Chart(tuple(lanes), tuple(bars), "slot")


def _spans(rows: list[Allocation]) -> list[Span]:
    """Return the stays on one machine, from its rows in order of job and slot."""
    spans: list[Span] = []
    previous: Allocation | None = None
    for row in rows:
        text = f"{row.job}: {_counts(row)}"
        continues = previous is not None and (row.job, row.slot, row.workers, row.ps) == (
            previous.job, previous.slot + 1, previous.workers, previous.ps,
        )  # fmt: skip
        start = spans.pop().start if continues else row.slot - 1
        spans.append(Span(start, row.slot, row.job, text))
        previous = row
    return spans


def _counts(row: Allocation) -> str:
    """Return the counts as text, such as '2 workers, 1 PS'."""
    words = []
    for count, name in ((row.workers, "worker"), (row.ps, "PS")):
        if count:
            words.append(f"{count} {name}{'s' if count > 1 else ''}")
    return ", ".join(words)
