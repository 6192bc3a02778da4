"""Jobs and clusters of generated `hare` instances, and the draws behind them.

`models.toml` has Tables 2 and 3.
"""

import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from schedgap.errors import UsageError
from schedgap.instances.generate import Request, apportion, uniform

CLASSES = ("CV", "NLP", "Speech", "Rec")
KINDS = ("K80", "M60", "T4", "V100")


class Measured(NamedTuple):
    """An average switching time, and its share in switching and training together."""

    milliseconds: float
    percent: float

    @property
    def training(self) -> float:
        """The training time in milliseconds that the two numbers imply, t (1 - p) / p."""
        return self.milliseconds * (100 - self.percent) / self.percent


@dataclass(frozen=True, slots=True)
class Model:
    """One model of `models.toml`, which explains the fields."""

    name: str
    job_class: str
    batch_size: int
    batch_ms: float
    speedups: Mapping[str, float]
    size_mb: float
    switching: Mapping[str, Measured]

    @property
    def memory_gb(self) -> float:
        """Memory for weights, gradients and optimizer state, plus 1 GB for activations."""
        return round(4 * self.size_mb / 1000 + 1, 3)

    def switching_times(self, seconds: float = 1.0) -> dict[str, float]:
        """Return the switching times in a unit of so many seconds, and the memory."""
        times = {
            scheme: round(cell.milliseconds / 1000 / seconds, 8)
            for scheme, cell in self.switching.items()
        }
        return times | {"memory_gb": self.memory_gb}


_TABLES = tomllib.loads(Path(__file__).with_name("models.toml").read_text(encoding="utf-8"))
KIND_MEMORY: dict[str, float] = _TABLES["memory_gb"]
STAND_INS: dict[str, str] = _TABLES["stand_ins"]
MODELS: dict[str, Model] = {}
for _name, _row in _TABLES["models"].items():
    _cells = {scheme: Measured(*cell) for scheme, cell in _row.pop("switching").items()}
    MODELS[_name] = Model(name=_name, switching=_cells, **_row)


def stand_in(name: str | None) -> Model | None:
    """Return the model of Table 2 that is similar to a model in a trace, or None.

    `name`: name of the model in the trace.
    """
    lower = (name or "").lower()
    return next((MODELS[like] for part, like in STAND_INS.items() if part in lower), None)


# --- jobs and clusters -------------------------------------------------------------------------

Speed = Callable[[Model], Mapping[str, float]]  # speedups of a model over K80 by kind of GPU


# Fields of a job in a file, with times in seconds. A job of `paper` also has `like`: this model of
# Table 2 gives its switching times.
Draft = dict[str, Any]
_ORDER = "id", "arrival", "weight", "model", "rounds", "tasks_per_round", "training_time"


def in_units(draft: Draft, slot: float | None) -> Draft:
    """Return a job as in a file: its seconds in slots, rounded up, or rounded to milliseconds.

    Training takes at least a slot or a millisecond. Synchronization times are left out if all are
    0. `slot`: its length in seconds, or None.
    """

    def whole(seconds: float) -> float:
        return round(seconds, 3) if slot is None else math.ceil(seconds / slot)

    least = 0.001 if slot is None else 1
    job = {key: draft[key] for key in _ORDER if key in draft}
    job["arrival"] = whole(job["arrival"])
    job["training_time"] = {on: max(least, whole(t)) for on, t in job["training_time"].items()}
    sync = {on: whole(t) for on, t in draft["synchronization_time"].items()}
    return job | ({"synchronization_time": sync} if any(sync.values()) else {})


def instance_of(
    request: Request, kinds: Mapping[str, int], drafts: Sequence[Draft], source: str
) -> tuple[dict[str, object], str, str]:
    """Return the fields, the source and the time unit of an instance.

    `kinds`: number of GPUs by kind. `drafts`: jobs with times in seconds. `source`: text for
    `meta.source`.
    """
    slot = request.values["slot_seconds"]
    fields = {**cluster(kinds), "jobs": [in_units(draft, slot) for draft in drafts]}
    if request.values["switching"]:
        likes: dict[str, Model] = {}
        for draft in drafts:
            likes.setdefault(draft["model"], draft["like"])
        table = {name: like.switching_times(slot or 1.0) for name, like in likes.items()}
        fields["switching"] = {"models": table}
        source += "; switching times of Table 3"
    return fields, source, "s" if slot in (None, 1) else f"slot of {slot:g} s"


def cluster(kinds: Mapping[str, int]) -> dict[str, object]:
    """Return `gpu_kinds`, with memory if it is known, and `gpus`.

    `kinds`: number of GPUs by kind.
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


# --- draws ---------------------------------------------------------------------------------------


STREAMS = ("classes", "changes", "models", "rounds", "tasks", "arrivals", "weights")
FINE = 2**31  # draws that are scaled to a range are uniform integers below this


def stream(request: Request, name: str) -> np.random.Generator:
    """Return the random numbers of one property of the jobs, independent of all others.

    Thus a setting that changes one property leaves the others as they are. The first jobs that are
    drawn are the same whatever their number.

    `name`: one of `STREAMS`.
    """
    return np.random.Generator(np.random.PCG64([request.seed, STREAMS.index(name)]))


def scaled(draw: int, low: int, high: int) -> int:
    """Return the integer from `low` to `high` at the quantile `draw` / 2^31.

    `draw`: uniform, from 0 to 2^31 - 1. `low`, `high`: smallest and largest result.
    """
    return low + draw * (high - low + 1) // FINE


def draw_models(request: Request, jobs: int) -> list[Model]:
    """Draw the models: classes in exact shares and random order, models uniform in a class.

    With equal shares the classes are a random permutation of all four in every four jobs. Other
    shares change the class of as few jobs as possible, those with the smallest random keys.

    `jobs`: number of jobs.
    """
    classes = _classes(request, jobs)
    within = uniform(stream(request, "models"), (0, FINE - 1), jobs)
    of_class = {name: [m for m in MODELS.values() if m.job_class == name] for name in CLASSES}
    choices = [of_class[name] for name in classes]
    return [models[k % len(models)] for models, k in zip(choices, within, strict=True)]


def _classes(request: Request, jobs: int) -> list[str]:
    """Draw the class of each job."""
    counts = apportion(jobs, _shares(request))
    random = stream(request, "classes")
    blocks = [random.permutation(len(CLASSES)).tolist() for _ in range(0, jobs, len(CLASSES))]
    classes: list[int] = [k for block in blocks for k in block][:jobs]
    keys = uniform(stream(request, "changes"), (0, FINE - 1), jobs)
    surplus = [classes.count(k) - count for k, count in enumerate(counts)]
    missing = iter([k for k, more in enumerate(surplus) for _ in range(-more)])
    for n in sorted(range(jobs), key=lambda n: (keys[n], n)):
        if surplus[classes[n]] > 0:
            surplus[classes[n]] -= 1
            classes[n] = next(missing)
    return [CLASSES[k] for k in classes]


def _shares(request: Request) -> list[float]:
    """Return the share of each class; those that are not given are equal."""
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
    return [given.get(name, max(0.0, rest) / max(1, others)) for name in CLASSES]


def draw_rounds(request: Request, models: Sequence[Model]) -> list[int]:
    """Draw the number of rounds of each job, from the range of its class.

    `models`: models of the jobs.
    """
    ranges = [request.values[f"rounds_{model.job_class.lower()}"] for model in models]
    draws = uniform(stream(request, "rounds"), (0, FINE - 1), len(models))
    return [scaled(draw, *bounds) for draw, bounds in zip(draws, ranges, strict=True)]


def draw_jobs(request: Request, speed: Speed) -> list[Draft]:
    """Draw the jobs, each property from a separate stream, and sort them by arrival.

    `speed`: speedups of a model over K80 by kind of GPU.
    """
    value, jobs = request.values, request.values["jobs"]
    models = draw_models(request, jobs)
    rounds = draw_rounds(request, models)
    sizes, span = value["tasks_per_round"], round(1000 * value["arrival_span"])
    tasks = [sizes[k] for k in uniform(stream(request, "tasks"), (0, len(sizes) - 1), jobs)]
    draws = uniform(stream(request, "arrivals"), (0, FINE - 1), jobs)
    arrival = [scaled(draw, 0, span) for draw in draws]
    weight = uniform(stream(request, "weights"), value["weights"], jobs)
    drafts = []
    for place, n in enumerate(sorted(range(jobs), key=lambda n: (arrival[n], n)), start=1):
        model = models[n]
        # A job trains on the same data whatever its batch size: with batches of twice the size it
        # has half as many rounds. An integer number of rounds holds all the data.
        count = max(1, math.floor(rounds[n] / value["batch_factor"] + 0.5))
        batch = rounds[n] / count  # size of a batch over B_0
        times = training_times(request, model, speed(model))
        training = {kind: batch * time for kind, time in times.items()}
        sync = exchange_times(request, model)
        if value["sync_cap"]:  # equal on all kinds, and at most the shortest training time
            sync = min(sync, *training.values())
        drafts.append(
            {
                "id": f"J{place}",
                "arrival": arrival[n] / 1000 * request.pace,
                "weight": weight[n],
                "rounds": count,
                "tasks_per_round": tasks[n],
                "training_time": training,
                "synchronization_time": dict.fromkeys(training, sync),
                "model": model.name,
                "like": model,
            }
        )
    return drafts


def training_times(request: Request, model: Model, speeds: Mapping[str, float]) -> dict[str, float]:
    """Return T^c by kind in seconds: `batches_per_task` mini-batches of size B_0.

    `speeds`: speedups of the model over K80 by kind of GPU.
    """
    on_v100 = request.values["batches_per_task"] * model.batch_ms
    work = on_v100 * model.speedups["V100"]
    return {kind: work / speed / 1000 for kind, speed in speeds.items()}


def exchange_time(request: Request, model: Model) -> float:
    """Return the seconds to send the parameters to the server and back."""
    megabits = 2 * 8 * model.size_mb
    return float(megabits / (1000 * request.values["bandwidth"]))


def exchange_times(request: Request, model: Model) -> float:
    """Return the seconds of all exchanges of a task: one per mini-batch by default."""
    count = request.values["exchanges"] or request.values["batches_per_task"]
    return float(count * exchange_time(request, model))
