"""Family `edge`: parameter-server jobs on edge servers and clouds with transfer delays."""

from typing import TYPE_CHECKING

from schedgap import lazy
from schedgap.instances.edge.instance import EdgeInstance, Job, PriceCaps, Server
from schedgap.instances.edge.schedule import EdgeSchedule, Placement

if TYPE_CHECKING:  # these load NumPy, which reading and verifying a file can do without
    from schedgap.instances.edge.compiled import EdgeArrays as EdgeArrays
    from schedgap.instances.edge.compiled import arrays as arrays
    from schedgap.instances.edge.compiled import batch_seconds as batch_seconds
    from schedgap.instances.edge.compiled import work as work
else:
    __getattr__, __dir__ = lazy.attributes(__name__)

__all__ = [
    "EdgeArrays",
    "EdgeInstance",
    "EdgeSchedule",
    "Job",
    "Placement",
    "PriceCaps",
    "Server",
    "arrays",
    "batch_seconds",
    "work",
]
