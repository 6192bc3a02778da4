"""Family `hare`: tasks of synchronised training rounds on heterogeneous GPUs."""

from typing import TYPE_CHECKING

from schedgap import lazy
from schedgap.instances.hare.instance import Gpu, GpuKind, HareInstance, Job, Switching, Task

if TYPE_CHECKING:  # these load NumPy, which reading and verifying a file can do without
    from schedgap.instances.hare.compiled import HareArrays as HareArrays
    from schedgap.instances.hare.compiled import arrays as arrays
    from schedgap.instances.hare.schedule import HareSchedule as HareSchedule
else:
    __getattr__, __dir__ = lazy.attributes(__name__)

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
