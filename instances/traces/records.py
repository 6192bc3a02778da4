"""What the readers return, whatever the format: jobs, machines and rates in seconds and counts."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class TraceJob:
    """One job of a trace; None where the format does not say."""

    id: str
    arrival: float  # seconds, from the trace's own origin
    gpus: int  # asked for; 0 for a job that needs none
    duration: float | None = None  # seconds of running
    model: str | None = None  # as the trace spells it
    batch_size: int | None = None
    steps: int | None = None  # mini-batches (iterations) in all
    step_time: float | None = None  # seconds for one of them
    stage_times: tuple[float, ...] = ()  # seconds of its stages, in the trace's order
    weight: float | None = None
    group: str | None = None  # such as a virtual cluster
    cpus: float | None = None
    memory_gb: float | None = None
    gpu_share: float = 1.0  # of each GPU asked for
    gpu_kinds: tuple[str, ...] = ()  # allowed ones; empty is any

    @property
    def running_time(self) -> float:
        """Seconds that the job runs on its GPUs, 0 where nothing tells."""
        if self.duration:
            return self.duration * self.gpu_share
        return (self.steps or 0) * (self.step_time or 0.0)


@dataclass(frozen=True, slots=True)
class TraceMachine:
    """One machine (a server) of a cluster."""

    id: str
    kind: str  # of its GPUs
    gpus: int
    cpus: float
    memory_gb: float
    switch: int | None = None  # index of its network switch


@dataclass(frozen=True, slots=True)
class Jobs:
    """The jobs of a file by arrival (ties in file order). `left_out`: reason -> number of rows."""

    format: str
    file: str  # its name without folders
    jobs: tuple[TraceJob, ...]
    left_out: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Machines:
    """The machines of a file, in its order."""

    format: str
    file: str
    machines: tuple[TraceMachine, ...]


@dataclass(frozen=True, slots=True)
class Rates:
    """Measured steps per second of a whole job.

    `steps_per_second[kind, consolidated][job_type, gpus]`; 0 means that it does not run.
    Unconsolidated: the workers are spread over servers.
    """

    format: str
    file: str
    steps_per_second: Mapping[tuple[str, bool], Mapping[tuple[str, int], float]]

    @property
    def kinds(self) -> tuple[str, ...]:
        """GPU kinds in the file's order."""
        return tuple(dict.fromkeys(kind for kind, _ in self.steps_per_second))
