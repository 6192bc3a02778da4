"""Family `elastic`: elastic parameter-server and Ring-AllReduce jobs on servers."""

from schedgap.instances.elastic.instance import (
    ElasticInstance,
    Job,
    PsType,
    Server,
    WorkerType,
)
from schedgap.instances.elastic.schedule import ElasticSchedule, Placement

__all__ = [
    "ElasticInstance",
    "ElasticSchedule",
    "Job",
    "Placement",
    "PsType",
    "Server",
    "WorkerType",
]
