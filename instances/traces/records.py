"""Jobs, machines and rates as returned by the readers of all formats, times in seconds."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class TraceJob:
    """One job of a trace; None for data that the format does not have."""

    id: str
    arrival: float  # seconds, from the origin of the trace
    gpus: int  # requested; 0 for a job without GPUs
    duration: float | None = None  # running time in seconds
    model: str | None = None  # name in the trace
    batch_size: int | None = None
    steps: int | None = None  # total number of mini-batches (iterations)
    step_time: float | None = None  # seconds per step
    stage_times: tuple[
        float, ...
    ] = ()  # seconds of the stages of a step, in the order of the trace
    weight: float | None = None
    group: str | None = None  # such as a virtual cluster
    cpus: float | None = None
    memory_gb: float | None = None
    gpu_share: float = 1.0  # fraction of each requested GPU
    gpu_kinds: tuple[str, ...] = ()  # allowed kinds; empty if any is

    @property
    def running_time(self) -> float:
        """Running time on the requested GPUs in seconds, or 0 if unknown."""
        if self.duration:
            return self.duration * self.gpu_share
        return (self.steps or 0) * (self.step_time or 0.0)


@dataclass(frozen=True, slots=True)
class TraceMachine:
    """One machine (server) of a cluster."""

    id: str
    kind: str  # kind of its GPUs
    gpus: int
    cpus: float
    memory_gb: float
    switch: int | None = None  # index of its network switch


@dataclass(frozen=True, slots=True)
class Jobs:
    """The jobs of a file by arrival, ties in file order; `left_out` counts rows by reason."""

    format: str
    file: str  # name without folders
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

    `steps_per_second[kind, consolidated][job_type, gpus]` is 0 if the job does not run. In
    unconsolidated measurements, the workers are spread over servers.
    """

    format: str
    file: str
    steps_per_second: Mapping[tuple[str, bool], Mapping[tuple[str, int], float]]

    @property
    def kinds(self) -> tuple[str, ...]:
        """GPU kinds in file order."""
        return tuple(dict.fromkeys(kind for kind, _ in self.steps_per_second))
