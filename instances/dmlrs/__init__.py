"""Family `dmlrs`: admission and placement of parameter-server jobs for utility."""

from typing import TYPE_CHECKING

from schedgap import lazy
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

if TYPE_CHECKING:  # these load NumPy, which reading and verifying a file can do without
    from schedgap.instances.dmlrs.compiled import EXTERNAL as EXTERNAL
    from schedgap.instances.dmlrs.compiled import INTERNAL as INTERNAL
    from schedgap.instances.dmlrs.compiled import DmlrsArrays as DmlrsArrays
    from schedgap.instances.dmlrs.compiled import arrays as arrays
    from schedgap.instances.dmlrs.compiled import sample_slots as sample_slots
    from schedgap.instances.dmlrs.compiled import worker_slots as worker_slots
else:
    __getattr__, __dir__ = lazy.attributes(__name__)

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
