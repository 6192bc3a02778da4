"""The picture of a `dmlrs` schedule: lanes for each machine, a bar for each stay of a job on it."""

from collections.abc import Mapping
from typing import Any

from schedgap.instances.dmlrs import Allocation, DmlrsInstance, DmlrsSchedule
from schedgap.models.family import Chart
from schedgap.models.gantt import Span, stack


def chart(instance: DmlrsInstance, schedule: Mapping[str, Any]) -> Chart:
    """Return machines in list order, each with as many lanes as jobs hold something on it at once.

    Slot t is drawn from t - 1 to t. A bar lasts as long as the job's workers and PSs on the machine
    stay the same; its text says how many.
    """
    rows = DmlrsSchedule.from_data(instance, schedule).allocations
    held: dict[str, list[Allocation]] = {machine.id: [] for machine in instance.machines}
    for row in sorted(rows, key=lambda row: (row.job, row.slot)):
        held[row.machine].append(row)
    lanes: list[str] = []
    bars = []
    for machine, own in held.items():
        of_machine, on_them = stack(machine, _spans(own))
        lanes += of_machine
        bars += on_them
    return Chart(tuple(lanes), tuple(bars), "slot")


def _spans(rows: list[Allocation]) -> list[Span]:
    """Return the stays on one machine; rows are by job and slot."""
    spans: list[Span] = []
    before: Allocation | None = None
    for row in rows:
        text = f"{row.job}: {_counts(row)}"
        same = before is not None and (row.job, row.slot, row.workers, row.ps) == (
            before.job, before.slot + 1, before.workers, before.ps,
        )  # fmt: skip
        start = spans.pop().start if same else row.slot - 1
        spans.append(Span(start, row.slot, row.job, text))
        before = row
    return spans


def _counts(row: Allocation) -> str:
    """Return such as '2 workers, 1 PS'."""
    parts = []
    for count, name in ((row.workers, "worker"), (row.ps, "PS")):
        if count:
            parts.append(f"{count} {name}{'s' if count > 1 else ''}")
    return ", ".join(parts)
