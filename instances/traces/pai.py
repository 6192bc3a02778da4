"""Machines of Alibaba's PAI cluster of 2020 (Weng et al., NSDI 2022); the file has no header."""

from schedgap.instances.traces.records import TraceMachine
from schedgap.instances.traces.table import with_ids, without_header

COLUMNS = ("machine", "gpu_type", "cap_cpu", "cap_mem", "cap_gpu")


def machines(text: str) -> list[TraceMachine]:
    """Return the machines in file order; those without GPUs have the kind `CPU`."""
    return [
        TraceMachine(
            id=name,
            kind=row.text("gpu_type"),
            gpus=row.whole("cap_gpu", most=10_000),
            cpus=row.number("cap_cpu"),
            memory_gb=row.number("cap_mem"),
        )
        for name, row in with_ids(without_header(text, (COLUMNS,), ","), "machine")
    ]
