"""The instance file of family `hare`."""

from collections.abc import Collection, Iterator
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from schedgap.instances.instance import Instance
from schedgap.instances.records import (
    Count,
    Id,
    NonEmpty,
    NonNegative,
    Positive,
    Record,
    problem,
    require_unique,
)

MOST_TASKS = 2_000_000  # of a whole instance; more would not fit the memory of anything downstream
Times = dict[str, Positive]  # by GPU id or kind id; a GPU's own id wins
Delays = dict[str, NonNegative]


class GpuKind(Record):
    """A kind of GPUs, such as V100. `memory_gb` serves the switching mode `hare-memory` only."""

    id: Id
    memory_gb: Positive | None = None


class Gpu(Record):
    """One GPU; its place in the list breaks ties."""

    id: Id
    kind: Id


class Task(Record):
    """One data batch: T^c occupies the GPU, T^s delays the barrier and leaves the GPU free."""

    training_time: Times
    synchronization_time: Delays | None = None


class Job(Record):
    """One training job: a chain of rounds, each a set of tasks between two barriers.

    Either compact (`rounds`, `tasks_per_round`, `training_time`, all tasks alike) or explicit
    (`task_rounds`).
    """

    id: Id
    arrival: NonNegative  # a_n, in meta.time_unit
    weight: NonNegative  # w_n
    model: Id | None = None
    rounds: Count | None = None
    tasks_per_round: Count | None = None
    training_time: Times | None = None
    synchronization_time: Delays | None = None
    task_rounds: Annotated[tuple[NonEmpty[Task], ...], Field(strict=False, min_length=1)] | None = (
        None
    )

    @model_validator(mode="after")
    def _one_shape(self) -> Self:
        compact = ("rounds", "tasks_per_round", "training_time", "synchronization_time")
        given = [key for key in compact if getattr(self, key) is not None]
        if self.task_rounds is not None:
            if given:
                raise problem(f"both '{given[0]}' and 'task_rounds'")
            return self
        for key in compact[:3]:
            if key not in given:
                raise problem(
                    "missing key"
                    if given
                    else "need 'rounds', 'tasks_per_round' and 'training_time', or 'task_rounds'",
                    *([key] if given else []),
                )
        return self

    @property
    def number_of_tasks(self) -> int:
        """All tasks of all rounds."""
        if self.task_rounds is not None:
            return sum(map(len, self.task_rounds))
        assert self.rounds is not None and self.tasks_per_round is not None
        return self.rounds * self.tasks_per_round

    @property
    def number_of_rounds(self) -> int:
        """R_n."""
        return len(self.task_rounds) if self.task_rounds is not None else self.rounds or 0

    @cached_property
    def alike(self) -> Task | None:
        """The one task of the compact shape, or None for an explicit job."""
        if self.training_time is None:
            return None
        return Task(
            training_time=self.training_time, synchronization_time=self.synchronization_time
        )

    def tasks_of(self, round_index: int) -> tuple[Task, ...]:
        """Return D_r for r = 0, 1, ..."""
        if self.task_rounds is not None:
            return self.task_rounds[round_index]
        assert self.alike is not None and self.tasks_per_round is not None
        return (self.alike,) * self.tasks_per_round

    def times(self) -> Iterator[tuple[tuple[str | int, ...], Task]]:
        """Yield each distinct task record with its JSON path inside the job."""
        if self.alike is not None:
            yield (), self.alike
        for r, tasks in enumerate(self.task_rounds or ()):
            for i, task in enumerate(tasks):
                yield ("task_rounds", r, i), task


class ModelSwitching(Record):
    """Switching times of one model, in meta.time_unit, and the memory that it needs."""

    default: NonNegative
    pipeswitch: NonNegative
    hare: NonNegative
    memory_gb: Positive


class Switching(Record):
    """What it costs to bring a model onto a GPU; it never changes the core problem."""

    models: dict[str, ModelSwitching]


class HareInstance(Instance):
    """Jobs of synchronised rounds on heterogeneous GPUs; minimise weighted completion time.

    Source: Chen, Li, Wu, Guo, "Hare", HPDC 2022, Section 5.1 and Table 1.
    """

    title: ClassVar[str] = "tasks of synchronised training rounds on heterogeneous GPUs"

    family: Literal["hare"]
    gpu_kinds: NonEmpty[GpuKind]
    gpus: NonEmpty[Gpu]
    jobs: NonEmpty[Job]
    switching: Switching | None = None

    @model_validator(mode="after")
    def _cross_field_rules(self) -> Self:
        self._check_gpus()
        known = {kind.id for kind in self.gpu_kinds} | {gpu.id for gpu in self.gpus}
        require_unique((job.id for job in self.jobs), "jobs")
        total = 0
        for n, job in enumerate(self.jobs):
            for path, task in job.times():
                self._check_times(task.training_time, known, "jobs", n, *path, "training_time")
                if task.synchronization_time is not None:
                    self._check_times(
                        task.synchronization_time, known, "jobs", n, *path, "synchronization_time"
                    )
            total += job.number_of_tasks
            if total > MOST_TASKS:
                raise problem(
                    f"too large: more than {MOST_TASKS} tasks in all",
                    "jobs", n, "task_rounds" if job.task_rounds is not None else "rounds",
                )  # fmt: skip
            if self.switching is not None:
                if job.model is None:
                    raise problem("missing key: 'switching' needs it", "jobs", n, "model")
                if job.model not in self.switching.models:
                    raise problem("no entry in switching.models", "jobs", n, "model")
        unit = self.meta.get("time_unit")
        if not isinstance(unit, str) or not unit:
            raise problem(
                "missing key: name the unit of all times, such as 's'", "meta", "time_unit"
            )
        return self

    def _check_gpus(self) -> None:
        require_unique((kind.id for kind in self.gpu_kinds), "gpu_kinds")
        require_unique((gpu.id for gpu in self.gpus), "gpus")
        kinds = {kind.id for kind in self.gpu_kinds}
        for m, gpu in enumerate(self.gpus):
            if gpu.id in kinds:
                raise problem(f"'{gpu.id}' is both a GPU and a kind", "gpus", m, "id")
            if gpu.kind not in kinds:
                raise problem(f"unknown kind '{gpu.kind}'", "gpus", m, "kind")
        used = {gpu.kind for gpu in self.gpus}
        for k, kind in enumerate(self.gpu_kinds):
            if kind.id not in used:
                raise problem(f"no GPU of kind '{kind.id}'", "gpu_kinds", k)

    def _check_times(
        self, times: dict[str, float], known: Collection[str], *path: str | int
    ) -> None:
        for key in times:
            if key not in known:
                raise problem("unknown GPU or kind", *path, key)
        for gpu in self.gpus:
            if gpu.id not in times and gpu.kind not in times:
                raise problem(f"no value for GPU '{gpu.id}' (kind '{gpu.kind}')", *path)

    @property
    def time_unit(self) -> str:
        """The unit of every time of this instance."""
        return str(self.meta["time_unit"])

    @property
    def number_of_tasks(self) -> int:
        """All tasks of all jobs, |D|."""
        return sum(job.number_of_tasks for job in self.jobs)

    def summary(self) -> dict[str, str]:
        """Return jobs, tasks, GPUs by kind, and the time unit."""
        kinds: dict[str, int] = {}
        for gpu in self.gpus:
            kinds[gpu.kind] = kinds.get(gpu.kind, 0) + 1
        mix = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
        return {
            "jobs": str(len(self.jobs)),
            "tasks": str(self.number_of_tasks),
            "GPUs": f"{len(self.gpus)} ({mix})",
            "time unit": self.time_unit,
        }


def time_on(times: dict[str, Any], gpu: Gpu) -> float:
    """Return the value for a GPU: its own key first, then its kind's."""
    return float(times[gpu.id] if gpu.id in times else times[gpu.kind])
