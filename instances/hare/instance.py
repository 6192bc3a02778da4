"""The instance file of family `hare`."""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

from pydantic import ConfigDict, model_validator
from pydantic.config import JsonDict

from schedgap.instances.instance import Instance
from schedgap.instances.records import (
    Absent,
    Count,
    Id,
    Keyed,
    NonEmpty,
    NonNegative,
    Positive,
    Record,
    field_error,
    require_unique,
)

MOST_TASKS = 2_000_000  # tasks of an instance; with more, later steps would run out of memory
Times = Keyed[Positive]  # key: GPU id or kind id; the GPU id takes precedence
Delays = Keyed[NonNegative]


class GpuKind(Record):
    """A GPU kind, such as V100."""

    id: Id
    memory_gb: Absent[Positive] = None
    """Memory of one GPU in GB; used only by the switching mode `hare-memory`."""


class Gpu(Record):
    """One GPU; its position in the list breaks ties."""

    id: Id
    kind: Id


class Task(Record):
    """One data batch: T^c occupies the GPU; T^s delays the barrier but leaves the GPU free."""

    training_time: Times
    """T^c by GPU or kind, in meta.time_unit, > 0."""
    synchronization_time: Absent[Delays] = None
    """T^s by GPU or kind, in meta.time_unit; 0 if absent."""


COMPACT, OPTIONAL = ("rounds", "tasks_per_round", "training_time"), ("synchronization_time",)
ONE_SHAPE: JsonDict = {  # part of the JSON Schema
    "oneOf": [
        {"required": list(COMPACT), "not": {"required": ["task_rounds"]}},
        {
            "required": ["task_rounds"],
            "not": {"anyOf": [{"required": [key]} for key in (*COMPACT, *OPTIONAL)]},
        },
    ]
}


class Job(Record):
    """One training job: a chain of rounds, each of which is a set of tasks between two barriers.

    A job is either compact (`rounds`, `tasks_per_round`, `training_time`, `synchronization_time`;
    all tasks are equal) or explicit (`task_rounds`).
    """

    model_config = ConfigDict(json_schema_extra=ONE_SHAPE)

    id: Id
    arrival: NonNegative
    """a_n, in meta.time_unit; no task starts earlier."""
    weight: NonNegative
    """w_n in the objective."""
    model: Absent[Id] = None
    """Name of the trained model; required by `switching`."""
    rounds: Absent[Count] = None
    """R_n."""
    tasks_per_round: Absent[Count] = None
    """|D_r| of every round."""
    training_time: Absent[Times] = None
    """T^c of every task by GPU or kind, in meta.time_unit, > 0."""
    synchronization_time: Absent[Delays] = None
    """T^s of every task by GPU or kind, in meta.time_unit; 0 if absent."""
    task_rounds: Absent[NonEmpty[NonEmpty[Task]]] = None
    """The tasks of each round."""

    @model_validator(mode="after")
    def _one_shape(self) -> Self:
        given = [key for key in (*COMPACT, *OPTIONAL) if getattr(self, key) is not None]
        if given and self.task_rounds is not None:
            raise field_error(f"both '{given[0]}' and 'task_rounds'")
        if not given and self.task_rounds is None:
            raise field_error(
                "need 'rounds', 'tasks_per_round' and 'training_time', or 'task_rounds'"
            )
        for key in COMPACT:
            if given and key not in given:
                raise field_error("missing key", key)
        return self

    @property
    def number_of_tasks(self) -> int:
        """Number of tasks of all rounds."""
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
        """The common task of a compact job, or None for an explicit job."""
        if self.training_time is None:
            return None
        return Task.model_construct(  # validated as part of the job
            training_time=self.training_time, synchronization_time=self.synchronization_time
        )

    def tasks_of(self, round_index: int) -> tuple[Task, ...]:
        """Return D_r, the tasks of a round.

        `round_index`: r, from 0.
        """
        if self.task_rounds is not None:
            return self.task_rounds[round_index]
        assert self.alike is not None and self.tasks_per_round is not None
        return (self.alike,) * self.tasks_per_round

    def times(self) -> Iterator[tuple[tuple[str | int, ...], Task, int]]:
        """Yield each distinct task with its JSON path in the job and the number of such tasks."""
        if self.alike is not None:
            yield (), self.alike, self.number_of_tasks
        for r, tasks in enumerate(self.task_rounds or ()):
            for i, task in enumerate(tasks):
                yield ("task_rounds", r, i), task, 1


class ModelSwitching(Record):
    """Switching times of one model, in meta.time_unit, and its memory."""

    default: NonNegative
    """Without any optimization."""
    pipeswitch: NonNegative
    """With PipeSwitch."""
    hare: NonNegative
    """With the paper's executor."""
    memory_gb: Positive
    """GPU memory of the model, in GB."""


class Switching(Record):
    """Times to load models onto a GPU; no effect on the problem itself."""

    models: Keyed[ModelSwitching]


def _require_time_unit(schema: dict[str, Any]) -> None:
    """State in the JSON Schema that `meta` must name the unit of all times."""
    schema["required"].append("meta")
    schema["properties"]["meta"] |= {
        "required": ["time_unit"],
        "properties": {"time_unit": {"type": "string", "minLength": 1}},
    }


class HareInstance(Instance):
    """Jobs of synchronised rounds on heterogeneous GPUs; minimize weighted completion time.

    Source: Chen, Li, Wu, Guo, "Hare", HPDC 2022, Section 5.1 and Table 1.
    """

    title: ClassVar[str] = "tasks of synchronised training rounds on heterogeneous GPUs"

    model_config = ConfigDict(json_schema_extra=_require_time_unit)

    family: Literal["hare"]
    gpu_kinds: NonEmpty[GpuKind]
    """The kinds in `gpus`; there is a GPU of each."""
    gpus: NonEmpty[Gpu]
    """M; no GPU has the id of a kind."""
    jobs: NonEmpty[Job]
    """N."""
    switching: Absent[Switching] = None
    """For replays with switching times; every job then needs a `model`."""

    @model_validator(mode="after")
    def _cross_field_rules(self) -> Self:
        self._check_gpus()
        require_unique((job.id for job in self.jobs), "jobs")
        self._check_times()
        total = 0
        for n, job in enumerate(self.jobs):
            total += job.number_of_tasks
            if total > MOST_TASKS:
                shape = "rounds" if job.task_rounds is None else "task_rounds"
                raise field_error(
                    f"too large: more than {MOST_TASKS} tasks in all", "jobs", n, shape
                )
            if self.switching is not None:
                if job.model is None:
                    raise field_error("missing key: 'switching' needs it", "jobs", n, "model")
                if job.model not in self.switching.models:
                    raise field_error("no entry in switching.models", "jobs", n, "model")
        if "time_unit" not in self.meta:
            raise field_error(
                "missing key: name the unit of all times, such as 's'", "meta", "time_unit"
            )
        unit = self.meta["time_unit"]
        if not isinstance(unit, str) or not unit:
            raise field_error("need a string that is not empty", "meta", "time_unit")
        return self

    def _check_gpus(self) -> None:
        require_unique((kind.id for kind in self.gpu_kinds), "gpu_kinds")
        require_unique((gpu.id for gpu in self.gpus), "gpus")
        kinds = {kind.id for kind in self.gpu_kinds}
        for m, gpu in enumerate(self.gpus):
            if gpu.id in kinds:
                raise field_error(f"'{gpu.id}' is both a GPU and a kind", "gpus", m, "id")
            if gpu.kind not in kinds:
                raise field_error(f"unknown kind '{gpu.kind}'", "gpus", m, "kind")
        used = {gpu.kind for gpu in self.gpus}
        for k, kind in enumerate(self.gpu_kinds):
            if kind.id not in used:
                raise field_error(f"no GPU of kind '{kind.id}'", "gpu_kinds", k)

    def _check_times(self) -> None:
        """Raise an error for a time object with an unknown key or without a value for some GPU."""
        known = {kind.id for kind in self.gpu_kinds} | {gpu.id for gpu in self.gpus}
        accepted: set[frozenset[str]] = set()  # sets of keys that were checked already
        for n, job in enumerate(self.jobs):
            for path, task, _ in job.times():
                for name in ("training_time", "synchronization_time"):
                    times = getattr(task, name)
                    if times is None or frozenset(times) in accepted:
                        continue
                    where = ("jobs", n, *path, name)
                    for key in times:
                        if key not in known:
                            raise field_error("unknown GPU or kind", *where, key)
                    for gpu in self.gpus:
                        if gpu.id not in times and gpu.kind not in times:
                            raise field_error(
                                f"no value for GPU '{gpu.id}' (kind '{gpu.kind}')", *where
                            )
                    accepted.add(frozenset(times))

    @property
    def time_unit(self) -> str:
        """The unit of all times of the instance."""
        return str(self.meta["time_unit"])

    @property
    def number_of_tasks(self) -> int:
        """Number of tasks of all jobs."""
        return sum(job.number_of_tasks for job in self.jobs)

    def warnings(self) -> tuple[str, ...]:
        """Return a line if some T^s exceeds T^c, which the paper excludes."""
        for n, job in enumerate(self.jobs):
            for _, task, _ in job.times():
                for gpu in self.gpus:
                    sync = time_on(task.synchronization_time or {gpu.kind: 0.0}, gpu)
                    if sync > time_on(task.training_time, gpu):
                        return (
                            f"jobs[{n}]: synchronization takes longer than training on"
                            f" '{gpu.id}'; the guarantee assumes that it never does",
                        )
        return ()

    def demands(self) -> tuple[str, list[float]]:
        """Return the number of tasks of each job."""
        return "tasks", [float(job.number_of_tasks) for job in self.jobs]

    def summary(self) -> dict[str, str]:
        """Return jobs, tasks, GPUs by kind, and the time unit."""
        kinds = Counter(gpu.kind for gpu in self.gpus)
        mix = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
        return {
            "jobs": str(len(self.jobs)),
            "tasks": str(self.number_of_tasks),
            "GPUs": f"{len(self.gpus)} ({mix})",
            "time unit": self.time_unit,
        }


def time_on(times: Mapping[str, float], gpu: Gpu) -> float:
    """Return the value for a GPU, by its id or else by its kind.

    `times`: values by GPU id or kind id.
    """
    return float(times[gpu.id] if gpu.id in times else times[gpu.kind])
