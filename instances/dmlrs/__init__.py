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

if TYPE_CHECKING:
    from schedgap.instances.dmlrs.compiled import (
        EXTERNAL,
        INTERNAL,
        DmlrsArrays,
        arrays,
        sample_slots,
        worker_slots,
    )
else:  # these load NumPy, which reading and verifying a file can do without
    __getattr__, __dir__ = lazy.attributes(
        __name__,
        dict.fromkeys(
            ("EXTERNAL", "INTERNAL", "DmlrsArrays", "arrays", "sample_slots", "worker_slots"),
            "schedgap.instances.dmlrs.compiled",
        ),
    )

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
