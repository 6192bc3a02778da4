"""Pods and nodes of Alibaba's GPU cluster trace of 2023, "openb" (Weng et al., USENIX ATC 2023)."""

from schedgap.instances.traces.records import TraceJob, TraceMachine
from schedgap.instances.traces.table import MOST_GPUS, Row, with_header, with_ids

POD_COLUMNS = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
NODE_COLUMNS = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
MIB = 2**20 / 1e9  # GB


def jobs(text: str) -> tuple[list[TraceJob], dict[str, int]]:
    """Return the pods in file order; a pod that was never scheduled has no duration.

    If the file has no times, as in a sample of requests, all pods arrive at 0.
    """
    found = [
        TraceJob(
            id=name,
            arrival=row.number("creation_time") if "creation_time" in row.cells else 0.0,
            gpus=row.whole("num_gpu", most=MOST_GPUS),
            duration=_duration(row),
            cpus=row.number("cpu_milli", scale=1000.0),
            memory_gb=row.number("memory_mib") * MIB,
            gpu_share=row.number("gpu_milli", scale=1000.0),
            gpu_kinds=tuple(filter(None, row.cells.get("gpu_spec", "").split("|"))),
        )
        for name, row in with_ids(with_header(text, POD_COLUMNS), "name")
    ]
    return found, {}


def _duration(row: Row) -> float | None:
    if not (row.maybe("scheduled_time") and row.maybe("deletion_time")):
        return None
    start, end = row.number("scheduled_time"), row.number("deletion_time")
    if end < start:
        raise row.error("deletion_time", f"before scheduled_time ({end:g} < {start:g})")
    return end - start


def machines(text: str) -> list[TraceMachine]:
    """Return the nodes in file order; a node without GPUs may have no model."""
    return [
        TraceMachine(
            id=name,
            gpus=(gpus := row.whole("gpu", most=10_000)),
            kind=row.text("model") if gpus else "CPU",
            cpus=row.number("cpu_milli", scale=1000.0),
            memory_gb=row.number("memory_mib") * MIB,
        )
        for name, row in with_ids(with_header(text, NODE_COLUMNS), "sn")
    ]
