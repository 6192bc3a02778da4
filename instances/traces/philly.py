"""Microsoft's Philly trace, one line for each job: arrival, duration, GPUs, virtual cluster.

Source: Jeon et al., USENIX ATC 2019. Lines are not sorted by time, and some occur twice.
"""

from datetime import UTC, datetime

from schedgap.instances.traces.records import TraceJob
from schedgap.instances.traces.table import MOST_GPUS, Row, with_header

COLUMNS = ("timestamp", "duration", "num_gpus", "gpu_time", "cluster")


def jobs(text: str) -> tuple[list[TraceJob], dict[str, int]]:
    """Return the jobs in file order, and the number of lines left out by reason.

    The id of a job is the number of its line. `gpu_time` (duration times GPUs) is ignored.
    """
    found: dict[tuple[str, ...], TraceJob] = {}
    lines = 0
    for row in with_header(text, COLUMNS):
        lines += 1
        found.setdefault(
            tuple(row.cells[name] for name in COLUMNS),
            TraceJob(
                id=f"line{row.line}",
                arrival=_seconds(row),
                gpus=row.whole("num_gpus", most=MOST_GPUS),
                duration=row.number("duration"),
                group=row.text("cluster"),
            ),
        )
    return list(found.values()), {"exact duplicates": lines - len(found)}


def _seconds(row: Row) -> float:
    """Return the seconds since 1970 of a date and time, which is read as UTC."""
    word = row.text("timestamp")
    try:
        return datetime.fromisoformat(word).replace(tzinfo=UTC).timestamp()
    except ValueError:
        raise row.error("timestamp", f"not a date and time, got {word[:40]!a}") from None
