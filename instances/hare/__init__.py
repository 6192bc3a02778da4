"""Family `hare`: tasks of synchronised training rounds on heterogeneous GPUs."""

from typing import TYPE_CHECKING

from schedgap import lazy
from schedgap.instances.hare.instance import Gpu, GpuKind, HareInstance, Job, Switching, Task

if TYPE_CHECKING:
    from schedgap.instances.hare.compiled import HareArrays, arrays
    from schedgap.instances.hare.schedule import HareSchedule
else:  # these load NumPy, which reading and verifying a file can do without
    __getattr__, __dir__ = lazy.attributes(
        __name__,
        dict.fromkeys(("HareArrays", "arrays"), "schedgap.instances.hare.compiled")
        | {"HareSchedule": "schedgap.instances.hare.schedule"},
    )

__all__ = [
    "Gpu",
    "GpuKind",
    "HareArrays",
    "HareInstance",
    "HareSchedule",
    "Job",
    "Switching",
    "Task",
    "arrays",
]
