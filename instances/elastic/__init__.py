"""Family `elastic`: elastic parameter-server and Ring-AllReduce jobs on servers."""

from typing import TYPE_CHECKING

from schedgap import lazy
from schedgap.instances.elastic.instance import (
    ElasticInstance,
    Job,
    PsType,
    Server,
    WorkerType,
)
from schedgap.instances.elastic.schedule import ElasticSchedule, Placement

if TYPE_CHECKING:  # these load NumPy, which reading and verifying a file can do without
    from schedgap.instances.elastic.compiled import ElasticArrays as ElasticArrays
    from schedgap.instances.elastic.compiled import arrays as arrays
else:
    __getattr__, __dir__ = lazy.attributes(__name__)

__all__ = [
    "ElasticArrays",
    "ElasticInstance",
    "ElasticSchedule",
    "Job",
    "Placement",
    "PsType",
    "Server",
    "WorkerType",
    "arrays",
]
