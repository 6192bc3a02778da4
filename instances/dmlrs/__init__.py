"""Family `dmlrs`: admission and placement of parameter-server jobs for utility."""

from schedgap.instances.dmlrs.arrays import (
    EXTERNAL,
    INTERNAL,
    DmlrsArrays,
    arrays,
    sample_slots,
    worker_slots,
)
from schedgap.instances.dmlrs.instance import (
    STEP,
    DmlrsInstance,
    Job,
    Machine,
    PriceParameters,
    Sigmoid,
    Table,
)
from schedgap.instances.dmlrs.schedule import Allocation, Counts, DmlrsSchedule, Plan

__all__ = [
    "EXTERNAL",
    "INTERNAL",
    "STEP",
    "Allocation",
    "Counts",
    "DmlrsArrays",
    "DmlrsInstance",
    "DmlrsSchedule",
    "Job",
    "Machine",
    "Plan",
    "PriceParameters",
    "Sigmoid",
    "Table",
    "arrays",
    "sample_slots",
    "worker_slots",
]
