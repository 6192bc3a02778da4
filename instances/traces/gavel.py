"""Gavel's job traces and measured rates.

Source: Narayanan et al., OSDI 2020; the layout with 12 columns is Shockwave's (Zheng et al., NSDI
2023). A job type is a model with its batch size, such as `LM (batch size 40)`.
"""

import re
from collections.abc import Iterator
from typing import Any

from schedgap.errors import InputError
from schedgap.instances.records import LARGEST, SMALLEST, json_path, parse_json
from schedgap.instances.traces.records import TraceJob
from schedgap.instances.traces.table import MOST_GPUS, without_header

_START = ("job_type", "command")
LAYOUTS = (
    (*_START, "steps_argument", "needs_data", "total_steps", "arrival", "gpus"),
    (*_START, "directory", "steps_argument", "needs_data", "total_steps", "gpus", "weight", "slo",
     "arrival"),
    (*_START, "directory", "steps_argument", "needs_data", "total_steps", "gpus", "mode", "weight",
     "slo", "duration", "arrival"),
)  # fmt: skip
KEY = re.compile(r"\('([^']{1,200})', ([1-9]\d{0,5})\)", re.ASCII)  # ('job type', GPUs)
SPREAD = "_unconsolidated"


def jobs(text: str) -> tuple[list[TraceJob], dict[str, int]]:
    """Return the jobs in file order; equal lines are different jobs, because there is no id."""
    found = []
    for row in without_header(text, LAYOUTS, "\t"):
        job_type = row.text("job_type")
        batch = re.search(r"\(batch size (\d{1,9})\)", job_type, re.ASCII)
        found.append(
            TraceJob(
                id=f"line{row.line}",
                arrival=row.number("arrival"),
                gpus=row.whole("gpus", most=MOST_GPUS),
                duration=row.number("duration") if "duration" in row.cells else None,
                model=job_type,
                batch_size=int(batch[1]) if batch else None,
                steps=row.whole("total_steps", least=1),
                weight=row.number("weight") if "weight" in row.cells else None,
            )
        )
    return found, {}


def rates(text: str) -> dict[tuple[str, bool], dict[tuple[str, int], float]]:
    """Return the steps per second of each job type running alone.

    The keys are (GPU kind, whether consolidated) and then (job type, GPUs). Rates of two jobs that
    share a GPU are ignored.
    """
    data = parse_json(text)
    if not isinstance(data, dict) or not data:
        raise InputError("need one JSON object of GPU kinds")
    found: dict[tuple[str, bool], dict[tuple[str, int], float]] = {}
    for name, table in data.items():
        if not isinstance(table, dict):
            raise InputError("need an object of job types", path=name)
        kind = name.removesuffix(SPREAD)
        found[kind.upper(), kind == name] = dict(_alone(name, table))
    return found


def _alone(name: str, table: dict[str, Any]) -> Iterator[tuple[tuple[str, int], float]]:
    for key, entry in table.items():
        path = (name, key)
        parts = KEY.fullmatch(key)
        if parts is None:
            raise InputError("need ('job type', GPUs) as key", path=json_path(path))
        rate = entry.get("null") if isinstance(entry, dict) else None
        if isinstance(rate, bool) or not isinstance(rate, (int, float)):
            raise InputError("need a number: the rate alone", path=json_path((*path, "null")))
        if not (rate == 0 or SMALLEST <= rate <= LARGEST):
            span = f"must be 0 or {SMALLEST:g} to {LARGEST:g}"
            raise InputError(span, path=json_path((*path, "null")))
        yield (parts[1], int(parts[2])), float(rate)
