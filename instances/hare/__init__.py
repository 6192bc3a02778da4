"""Family `hare`: tasks of synchronised training rounds on heterogeneous GPUs."""

from schedgap.instances.hare.arrays import HareArrays, arrays
from schedgap.instances.hare.instance import Gpu, GpuKind, HareInstance, Job, Switching, Task
from schedgap.instances.hare.schedule import HareSchedule

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
