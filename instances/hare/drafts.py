"""Generated jobs and clusters of family `hare`."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from schedgap.errors import UsageError
from schedgap.instances.generate import Request, apportion, uniform
from schedgap.instances.hare.workload import CLASSES, KIND_MEMORY, Model, models_of

Speed = Callable[[Model, str], float]  # speedup of a model on a GPU kind over K80


@dataclass(frozen=True, slots=True)
class Draft:
    """A generated job; all times are in one unit, those of tasks by GPU kind."""

    id: str
    arrival: float
    weight: float
    rounds: int
    tasks: int
    training: Mapping[str, float]
    sync: Mapping[str, float]
    model: str | None = None  # name of its model in the file
    like: Model | None = None  # model of Table 2 that gives its switching times

    def to_data(self) -> dict[str, object]:
        """Return the job as in an instance file, without synchronization times if all are 0."""
        data: dict[str, object] = {
            "id": self.id,
            "arrival": self.arrival,
            "weight": self.weight,
            "model": self.model,
            "rounds": self.rounds,
            "tasks_per_round": self.tasks,
            "training_time": dict(self.training),
            "synchronization_time": dict(self.sync) if any(self.sync.values()) else None,
        }
        return {key: value for key, value in data.items() if value is not None}

    def in_milliseconds(self) -> "Draft":
        """Return the job with seconds rounded to milliseconds; training takes at least one."""
        return replace(
            self,
            arrival=round(self.arrival, 3),
            training={kind: max(0.001, round(t, 3)) for kind, t in self.training.items()},
            sync={kind: round(t, 3) for kind, t in self.sync.items()},
        )

    def in_slots(self, seconds: float) -> "Draft":
        """Return the job with seconds converted to slots and rounded up.

        Parameters
        ----------
        seconds : float
            Length of a slot.
        """
        return replace(
            self,
            arrival=math.ceil(self.arrival / seconds),
            training={kind: max(1, math.ceil(t / seconds)) for kind, t in self.training.items()},
            sync={kind: math.ceil(t / seconds) for kind, t in self.sync.items()},
        )


def instance_of(
    request: Request, kinds: Mapping[str, int], drafts: Sequence[Draft], source: str
) -> tuple[dict[str, object], str, str]:
    """Return the fields, the source and the time unit of an instance.

    Parameters
    ----------
    request : Request
        Input of the preset.
    kinds : mapping
        Number of GPUs by kind.
    drafts : sequence of Draft
        Jobs with times in seconds.
    source : str
        Text for `meta.source`.
    """
    seconds, unit = request.values["slot_seconds"], "s"
    if seconds is None:
        drafts = [draft.in_milliseconds() for draft in drafts]
    else:
        drafts = [draft.in_slots(seconds) for draft in drafts]
        unit = "s" if seconds == 1 else f"slot of {seconds:g} s"
    fields = {**cluster(kinds), "jobs": [draft.to_data() for draft in drafts]}
    if request.values["switching"]:
        fields["switching"] = switching(drafts, seconds or 1.0)
        source += "; switching times of Table 3"
    return fields, source, unit


def cluster(kinds: Mapping[str, int]) -> dict[str, object]:
    """Return `gpu_kinds`, with memory if it is known, and `gpus`.

    Parameters
    ----------
    kinds : mapping
        Number of GPUs by kind.
    """
    return {
        "gpu_kinds": [
            {"id": kind} | ({"memory_gb": KIND_MEMORY[kind]} if kind in KIND_MEMORY else {})
            for kind in kinds
        ],
        "gpus": [
            {"id": f"{kind}-{m}", "kind": kind}
            for kind, count in kinds.items()
            for m in range(1, count + 1)
        ],
    }


def switching(drafts: Sequence[Draft], seconds: float) -> dict[str, object]:
    """Return the switching times of Table 3 for the models of jobs.

    Parameters
    ----------
    drafts : sequence of Draft
        The jobs.
    seconds : float
        Length of the time unit.
    """
    table = {}
    for draft in drafts:
        if draft.model is not None and draft.like is not None and draft.model not in table:
            times = [round(ms / 1000 / seconds, 8) for ms in draft.like.switching_ms]
            table[draft.model] = dict(
                zip(("default", "pipeswitch", "hare"), times, strict=True),
                memory_gb=draft.like.memory_gb,
            )
    return {"models": table}


# --- draws ---------------------------------------------------------------------------------------


def arrivals(random: np.random.Generator, span: int, jobs: int) -> list[int]:
    """Draw sorted uniform integers: a Poisson process with a given number of arrivals.

    Parameters
    ----------
    random : numpy.random.Generator
        Source of random numbers.
    span : int
        Latest possible arrival, >= 0.
    jobs : int
        Number of arrivals.
    """
    return sorted(uniform(random, (0, span), jobs))


def draw_models(request: Request, jobs: int) -> list[Model]:
    """Draw the models: classes in exact shares and random order, models uniform in a class.

    Parameters
    ----------
    request : Request
        Input of the preset.
    jobs : int
        Number of jobs.
    """
    given = request.values["shares"] or {}
    unknown = [name for name in given if name not in CLASSES]
    if unknown:
        raise UsageError(
            f"option shares: no class '{unknown[0]}': choose among {', '.join(CLASSES)}"
        )
    rest = 1 - sum(given.values())
    others = len(CLASSES) - len(given)
    if rest < -1e-9 or (not others and rest > 1e-9):
        raise UsageError("option shares: the shares of the classes must sum to 1")
    shares = [given.get(name, max(0.0, rest) / max(1, others)) for name in CLASSES]
    counts = apportion(jobs, shares)
    classes = [name for name, count in zip(CLASSES, counts, strict=True) for _ in range(count)]
    order = request.random.permutation(jobs).tolist()
    within = uniform(request.random, (0, 2**31 - 1), jobs)
    choices = [models_of(classes[k]) for k in order]
    return [models[k % len(models)] for models, k in zip(choices, within, strict=True)]


def draw_rounds(request: Request, models: Sequence[Model]) -> list[int]:
    """Draw the number of rounds of each job, from the range of its class.

    Parameters
    ----------
    request : Request
        Input of the preset.
    models : sequence of Model
        Models of the jobs.
    """
    ranges = [request.values[f"rounds_{model.job_class.lower()}"] for model in models]
    return [uniform(request.random, bounds, 1)[0] for bounds in ranges]


def draw_jobs(request: Request, kinds: Mapping[str, int], speed: Speed) -> list[Draft]:
    """Draw the jobs: models, rounds, tasks per round, arrivals, weights, in this order.

    Parameters
    ----------
    request : Request
        Input of the preset.
    kinds : mapping
        Number of GPUs by kind.
    speed : callable
        Speedup of a model on a GPU kind over K80.
    """
    value, random, jobs = request.values, request.random, request.values["jobs"]
    models = draw_models(request, jobs)
    rounds = draw_rounds(request, models)
    sizes = value["tasks_per_round"]
    tasks = [sizes[k] for k in uniform(random, (0, len(sizes) - 1), jobs)]
    arrival = arrivals(random, round(1000 * value["arrival_span"]), jobs)
    weight = uniform(random, value["weights"], jobs)
    drafts = []
    for n, model in enumerate(models):
        training = training_times(request, model, kinds, speed)
        # equal on all kinds, and at most the shortest training time, as the paper assumes
        sync = min(exchange_time(request, model), *training.values())
        drafts.append(
            Draft(
                id=f"J{n + 1}",
                arrival=arrival[n] / 1000,
                weight=weight[n],
                rounds=rounds[n],
                tasks=tasks[n],
                training=training,
                sync=dict.fromkeys(kinds, sync),
                model=model.name,
                like=model,
            )
        )
    return drafts


def training_times(
    request: Request, model: Model, kinds: Mapping[str, int], speed: Speed
) -> dict[str, float]:
    """Return T^c by kind in seconds: `batches_per_task` mini-batches of size `batch_factor` B_0.

    Parameters
    ----------
    request : Request
        Input of the preset.
    model : Model
        The model.
    kinds : mapping
        Number of GPUs by kind.
    speed : callable
        Speedup of a model on a GPU kind over K80.
    """
    on_v100 = request.values["batches_per_task"] * request.values["batch_factor"] * model.batch_ms
    return {kind: on_v100 * model.speedups["V100"] / speed(model, kind) / 1000 for kind in kinds}


def exchange_time(request: Request, model: Model) -> float:
    """Return the seconds to send the parameters to the server and back.

    Parameters
    ----------
    request : Request
        Input of the preset.
    model : Model
        The model.
    """
    megabits = 2 * 8 * model.size_mb
    return float(megabits / (1000 * request.values["bandwidth"]))


def table_speed(model: Model, kind: str) -> float:
    """Return the speedup over K80 of a model on a GPU kind of the paper.

    Parameters
    ----------
    model : Model
        The model.
    kind : str
        One of `KINDS`.
    """
    return model.speedups[kind]
