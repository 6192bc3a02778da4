"""Family `edge`: parameter-server jobs on edge servers and clouds with transfer delays."""

from typing import TYPE_CHECKING

from schedgap import lazy
from schedgap.instances.edge.instance import EdgeInstance, Job, PriceCaps, Server
from schedgap.instances.edge.schedule import EdgeSchedule, Placement

if TYPE_CHECKING:
    from schedgap.instances.edge.compiled import EdgeArrays, arrays, batch_seconds, work
else:  # these load NumPy, which reading and verifying a file can do without
    __getattr__, __dir__ = lazy.attributes(
        __name__,
        dict.fromkeys(
            ("EdgeArrays", "arrays", "batch_seconds", "work"), "schedgap.instances.edge.compiled"
        ),
    )

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
