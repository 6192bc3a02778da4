"""Family `ring`: ring-all-reduce jobs on servers of GPUs, with contention on shared links."""

from schedgap.instances.ring.instance import Degradation, Job, RingInstance, Server
from schedgap.instances.ring.schedule import RingSchedule, Run

__all__ = ["Degradation", "Job", "RingInstance", "RingSchedule", "Run", "Server"]
