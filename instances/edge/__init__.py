"""Family `edge`: parameter-server jobs on edge servers and clouds with transfer delays."""

from schedgap.instances.edge.arrays import EdgeArrays, arrays, batch_seconds, work
from schedgap.instances.edge.instance import EdgeInstance, Job, PriceCaps, Server
from schedgap.instances.edge.schedule import EdgeSchedule, Placement

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
