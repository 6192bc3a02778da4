"""Readers of public traces; the format of a file is recognised by its columns or given by name."""

import os
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from schedgap.errors import InputError, UsageError, choices
from schedgap.instances.traces import gavel, openb, pai, philly, tiresias
from schedgap.instances.traces.records import Jobs, Machines, Rates, TraceJob, TraceMachine
from schedgap.instances.traces.table import base_name, header_of, read_text

PathLike = str | os.PathLike[str]
JobReader = Callable[[str], tuple[list[TraceJob], dict[str, int]]]
MachineReader = Callable[[str], list[TraceMachine]]

JOB_FORMATS: dict[str, JobReader] = {
    "philly": philly.jobs,
    "tiresias": tiresias.jobs,
    "gavel": gavel.jobs,
    "openb-pods": openb.jobs,
}
MACHINE_FORMATS: dict[str, MachineReader] = {
    "openb-nodes": openb.machines,
    "pai-machines": pai.machines,
    "tiresias-cluster": tiresias.machines,
}
RATE_FORMATS = {"gavel-throughputs": gavel.rates}
FORMATS = (*JOB_FORMATS, *MACHINE_FORMATS, *RATE_FORMATS)
COLUMNS = {  # format with a header -> columns by which it is recognised
    "philly": philly.COLUMNS,
    "tiresias": tiresias.JOB_COLUMNS,
    "openb-pods": openb.POD_COLUMNS,
    "openb-nodes": openb.NODE_COLUMNS,
    "tiresias-cluster": tiresias.CLUSTER_COLUMNS,
}

__all__ = [
    "FORMATS",
    "JOB_FORMATS",
    "MACHINE_FORMATS",
    "RATE_FORMATS",
    "Jobs",
    "Machines",
    "Rates",
    "TraceJob",
    "TraceMachine",
    "read_jobs",
    "read_machines",
    "read_rates",
]


def recognize(text: str) -> str | None:
    """Return the format of a file, recognised by its first line, or None."""
    header = header_of(text)
    for name, columns in COLUMNS.items():
        if set(columns) <= set(header):
            return name
    if text.lstrip()[:1] == "{":
        return "gavel-throughputs"
    if "\t" in text.partition("\n")[0] and len(header) in map(len, gavel.LAYOUTS):
        return "gavel"
    if len(header) == len(pai.COLUMNS) and all(_is_number(cell) for cell in header[2:]):
        return "pai-machines"
    return None


def read_jobs(file: PathLike, format: str | None = None) -> Jobs:
    """Read the jobs of a trace, in order of arrival.

    `format`: one of `JOB_FORMATS`; by default recognised by the columns.

    Raises
    ------
    InputError
        If the file is invalid; names the file, the line and the column of the first fault.
    """
    name, (jobs, left_out) = _read(file, format, JOB_FORMATS, "jobs")
    counts = {reason: count for reason, count in left_out.items() if count}
    ordered = tuple(sorted(jobs, key=lambda job: job.arrival))  # stable: ties in file order
    return Jobs(name, base_name(file), ordered, counts)


def read_machines(file: PathLike, format: str | None = None) -> Machines:
    """Read the machines of a file, in its order; errors as in `read_jobs`.

    `format`: one of `MACHINE_FORMATS`; by default recognised by the columns.
    """
    name, machines = _read(file, format, MACHINE_FORMATS, "machines")
    return Machines(name, base_name(file), tuple(machines))


def read_rates(file: PathLike, format: str | None = None) -> Rates:
    """Read the measured rates of a file; errors as in `read_jobs`.

    `format`: one of `RATE_FORMATS`; by default recognised by the content.
    """
    name, table = _read(file, format, RATE_FORMATS, "rates")
    return Rates(name, base_name(file), table)


def _read(
    file: PathLike, format: str | None, formats: Mapping[str, Callable[[str], Any]], role: str
) -> tuple[str, Any]:
    if format is not None and format not in formats:
        raise UsageError(f"no format '{format}' for {role}: {choices(format, formats)}")
    text = read_text(file)
    name = format or recognize(text)
    if name is None or name not in formats:
        known = ", ".join(formats)
        problem = "of no known format" if name is None else f"of format {name}"
        raise InputError(f"{problem}: {role} can come from {known}", file=str(file))
    try:
        content = _parsed(formats[name], text)
    except InputError as error:
        raise error.inside(str(file)) from None
    if not (content[0] if isinstance(content, tuple) else content):
        raise InputError("no lines of data", file=str(file))
    return name, content


@lru_cache(maxsize=4)
def _parsed(reader: Callable[[str], Any], text: str) -> Any:
    """Return the content of a file, which many instances may share."""
    return reader(text)


def _is_number(cell: str) -> bool:
    try:
        return float(cell) >= 0
    except ValueError:
        return False
