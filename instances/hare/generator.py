"""The presets of family `hare`: worked examples, small random instances, the paper's workloads.

Order of draws (PCG64; uniform integers and permutations only). `small`, `medium`: rounds and tasks
per round of all jobs, again until the number of tasks fits; then times, arrivals, weights.
`paper`, `testbed`: models, rounds, tasks per round, arrivals, weights. Each line is one vector over
all jobs, whatever a trace supplies, so that a trace never shifts the other draws.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from schedgap.errors import UsageError
from schedgap.instances.generate import Generator, Made, Preset, Request, apportion
from schedgap.instances.hare import examples
from schedgap.instances.hare.workload import (
    CLASSES,
    KIND_MEMORY,
    KINDS,
    MODELS,
    Model,
    models_of,
)
from schedgap.instances.settings import Option

TRIES = 10_000  # draws of the shape before a range of tasks counts as out of reach
MIXES = {  # shares of the kinds
    "low": {"V100": 1},
    "middle": {"K80": 1, "V100": 1},
    "high": dict.fromkeys(KINDS, 1),
    "testbed": {"K80": 1, "M60": 2, "T4": 4, "V100": 8},
}
ROUNDS = {"CV": (20, 40), "NLP": (30, 60), "Speech": (20, 40), "Rec": (10, 20)}


@dataclass(frozen=True, slots=True)
class Draft:
    """A job before it is written down; all times in one unit, by kind."""

    id: str
    arrival: float
    weight: float
    rounds: int
    tasks: int
    training: Mapping[str, float]
    sync: Mapping[str, float]
    model: str | None = None

    def to_data(self) -> dict[str, Any]:
        """Return the job of an instance file; synchronisation times that are all 0 are absent."""
        data: dict[str, Any] = {
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


# --- small instances with whole times ---------------------------------------------------------


def small(request: Request) -> Made:
    """Return jobs with whole times on a fast and a slow kind of GPUs.

    Each job's time on the fast kind is uniform over the lower part of `times`, on the slow kind
    uniform between that and `speed_ratio` times it: machines are unrelated, not just slower.
    """
    value, random = request.values, request.random
    jobs = value["jobs"]
    rounds, tasks = _shape(request)
    low, high = value["times"]
    fast = random.integers(low, max(low, high // value["speed_ratio"]), jobs, endpoint=True)
    slow = random.integers(fast, np.minimum(high, fast * value["speed_ratio"]), endpoint=True)
    sync = np.minimum(_uniform(random, value["synchronization"], jobs), fast)
    arrival = _arrivals(random, value["arrival_span"], jobs)
    weight = _uniform(random, value["weights"], jobs)
    drafts = [
        Draft(
            id=f"J{n + 1}",
            arrival=int(arrival[n]),
            weight=int(weight[n]),
            rounds=int(rounds[n]),
            tasks=int(tasks[n]),
            training={"fast": int(fast[n]), "slow": int(slow[n])},
            sync={"fast": int(sync[n]), "slow": int(sync[n])},
        )
        for n in range(jobs)
    ]
    kinds = dict(zip(("fast", "slow"), apportion(value["gpus"], (1, 1)), strict=True))
    kinds = {kind: count for kind, count in kinds.items() if count}
    fields = {**cluster(kinds), "jobs": [draft_data(draft, kinds) for draft in drafts]}
    return Made(fields, f"drawn with seed {request.seed}: whole times, two kinds of GPUs", "slot")


def _shape(request: Request) -> tuple[Any, Any]:
    """Draw rounds and tasks per round [n] until the number of tasks lies in the range `tasks`.

    The preset's range counts only for the preset's shape: a user who sets the shape gets it.
    """
    value, random = request.values, request.random
    bounded = "tasks" in request.given or not request.given & {"jobs", "rounds", "tasks_per_round"}
    low, high = value["tasks"] if bounded else (0, np.inf)
    for _ in range(TRIES):
        rounds = _uniform(random, value["rounds"], value["jobs"])
        tasks = _uniform(random, value["tasks_per_round"], value["jobs"])
        if low <= rounds @ tasks <= high:
            return rounds, tasks
    raise UsageError(
        f"no instance of {low}-{high} tasks in {TRIES} draws:"
        " change tasks, jobs, rounds or tasks_per_round"
    )


# --- the paper's workloads ---------------------------------------------------------------------


def paper(request: Request) -> Made:
    """Return the workload of Section 7.1: models of Table 2 on K80, M60, T4 and V100."""
    value, random = request.values, request.random
    jobs = value["jobs"]
    models = draw_models(request, jobs)
    rounds = [int(random.integers(*value[_rounds_key(m.job_class)], endpoint=True)) for m in models]
    sizes = value["tasks_per_round"]
    tasks = [sizes[k] for k in random.integers(0, len(sizes), jobs)]
    arrival = _arrivals(random, round(1000 * value["arrival_span"]), jobs) / 1000
    weight = _uniform(random, value["weights"], jobs)
    kinds = mix_of(request)
    drafts = []
    for n, model in enumerate(models):
        training = training_times(request, model, kinds)
        sync = synchronization_time(request, model, training)
        drafts.append(
            Draft(
                id=f"J{n + 1}",
                arrival=float(arrival[n]),
                weight=int(weight[n]),
                rounds=rounds[n],
                tasks=tasks[n],
                training=training,
                sync=dict.fromkeys(kinds, sync),
                model=model.name,
            )
        )
    source = (
        f"drawn with seed {request.seed}: models and batch sizes of Table 2, times on V100 from"
        " Table 3, other speeds, model sizes, rounds and arrivals of our choice"
    )
    fields = {**cluster(kinds, memory=True), "jobs": [draft.to_data() for draft in drafts]}
    if value["switching"]:
        fields["switching"] = switching({model.name for model in models})
    return Made(fields, source, "s")


def draw_models(request: Request, jobs: int) -> list[Model]:
    """Draw each job's model: classes in exact shares, in random order; uniform within a class."""
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
    order = request.random.permutation(jobs)
    within = request.random.integers(0, 2**31, jobs)
    choices = [models_of(classes[k]) for k in order]
    return [models[int(k) % len(models)] for models, k in zip(choices, within, strict=True)]


def training_times(request: Request, model: Model, kinds: Mapping[str, int]) -> dict[str, float]:
    """Return T^c by kind in seconds, in whole milliseconds."""
    value = request.values
    on_v100 = value["batches_per_task"] * value["batch_factor"] * model.batch_ms
    return {
        kind: max(1, round(on_v100 * model.speedups["V100"] / model.speedups[kind])) / 1000
        for kind in kinds
    }


def synchronization_time(request: Request, model: Model, training: Mapping[str, float]) -> float:
    """Return T^s in seconds: parameters to the server and back, at most the least T^c."""
    exchange = 2 * 8 * model.size_mb / request.values["bandwidth"]  # Mbit by Gbit/s: ms
    return min(round(exchange) / 1000, *training.values())


def mix_of(request: Request) -> dict[str, int]:
    """Return the number of GPUs of each kind that has any."""
    mix = request.values["mix"]
    shares = MIXES[mix] if isinstance(mix, str) else mix
    unknown = [kind for kind in shares if kind not in KINDS]
    if unknown:
        raise UsageError(f"option mix: no speeds for kind '{unknown[0]}': {', '.join(KINDS)}")
    counts = apportion(request.values["gpus"], list(shares.values()))
    return {kind: count for kind, count in zip(shares, counts, strict=True) if count}


def cluster(kinds: Mapping[str, int], *, memory: bool = False) -> dict[str, Any]:
    """Return `gpu_kinds` and `gpus` for a number of GPUs by kind."""
    known = {kind: KIND_MEMORY[kind] for kind in kinds if memory and kind in KIND_MEMORY}
    return {
        "gpu_kinds": [
            {"id": kind} | ({"memory_gb": known[kind]} if kind in known else {}) for kind in kinds
        ],
        "gpus": [
            {"id": f"{kind}-{m}", "kind": kind}
            for kind, count in kinds.items()
            for m in range(1, count + 1)
        ],
    }


def switching(names: set[str]) -> dict[str, Any]:
    """Return Table 3 for these models, in seconds."""
    table = {}
    for name, model in MODELS.items():
        if name in names:
            default, pipeswitch, hare = (round(ms / 1000, 8) for ms in model.switching_ms)
            table[name] = {
                "default": default,
                "pipeswitch": pipeswitch,
                "hare": hare,
                "memory_gb": model.memory_gb,
            }
    return {"models": table}


def draft_data(draft: Draft, kinds: Sequence[str] | Mapping[str, int]) -> dict[str, Any]:
    """Return a draft's job with times for these kinds only."""
    training = {kind: draft.training[kind] for kind in kinds}
    return replace(draft, training=training, sync={k: draft.sync[k] for k in kinds}).to_data()


def _uniform(random: np.random.Generator, bounds: tuple[int, int], size: int) -> Any:
    return random.integers(*bounds, size, endpoint=True)


def _arrivals(random: np.random.Generator, span: int, jobs: int) -> Any:
    """[n] sorted uniform integers: a Poisson process on the span, given its number of arrivals."""
    return np.sort(random.integers(0, span, jobs, endpoint=True))


def _rounds_key(job_class: str) -> str:
    return f"rounds_{job_class.lower()}"


# --- presets -----------------------------------------------------------------------------------


def _options(table: Sequence[Option], **defaults: Any) -> tuple[Option, ...]:
    return tuple(replace(o, default=defaults.get(o.name, o.default)) for o in table)


SMALL = (
    Option("jobs", "int", 6, "number of jobs", least=1, most=100_000),
    Option("gpus", "int", 4, "number of GPUs, half of them fast", least=1, most=1000),
    Option("rounds", "range", (1, 3), "rounds of a job", least=1),
    Option("tasks_per_round", "range", (1, 2), "tasks of each round of a job", least=1),
    Option("tasks", "range", (12, 20), "tasks of all jobs; redrawn until they fit", least=1),
    Option("times", "range", (1, 10), "training times", least=1),
    Option("speed_ratio", "int", 2, "most that the slow kind is slower by", least=1, most=1000),
    Option(
        "synchronization", "range", (0, 2), "synchronization times, capped by training", least=0
    ),
    Option("arrival_span", "int", 10, "arrivals lie in 0..this", least=0),
    Option("weights", "range", (1, 5), "weights of jobs", least=0),
)
PAPER = (
    Option("jobs", "int", 200, "number of jobs", least=1, most=100_000),
    Option("gpus", "int", 160, "number of GPUs", least=1, most=100_000),
    Option(
        "mix", "shares", "high", "kinds of GPUs and their shares (Fig. 16)", tuple(MIXES), least=0
    ),
    Option(
        "shares",
        "shares",
        None,
        "shares of CV, NLP, Speech, Rec; the rest equal (Fig. 17)",
        least=0,
    ),
    *(
        Option(_rounds_key(name), "range", ROUNDS[name], f"rounds of a {name} job", least=1)
        for name in CLASSES
    ),
    Option("tasks_per_round", "list", (1, 2, 4, 8), "uniform among these", least=1),
    Option("batches_per_task", "int", 20, "mini-batches of a task", least=1),
    Option("batch_factor", "float", 1.0, "batch size over Table 2's (Fig. 19)", least=1e-3),
    Option("bandwidth", "float", 25.0, "Gbit/s to the parameter server (Fig. 18)", least=1e-3),
    Option("arrival_span", "float", 600.0, "seconds in which all jobs arrive", least=0),
    Option("weights", "range", (1, 5), "weights of jobs", least=0),
    Option("switching", "bool", False, "add the switching times of Table 3"),
)


def _example(name: str, make: Any, *options: Option) -> Preset:
    summary = make.__doc__.partition("\n")[0].removeprefix("Return ")
    return Preset(name, summary, make, options, seeded=False)


GENERATOR = Generator(
    (
        _example("toy", examples.toy),
        Preset("small", "6 jobs on 4 GPUs, 12-20 tasks: solved in seconds", small, SMALL),
        Preset(
            "medium",
            "12 jobs on 8 GPUs, 60-80 tasks: bounds within a few per cent",
            small,
            _options(
                SMALL,
                jobs=12,
                gpus=8,
                rounds=(1, 4),
                tasks_per_round=(1, 3),
                tasks=(60, 80),
                arrival_span=20,
            ),
        ),
        Preset(
            "testbed",
            "40 jobs on the 15 GPUs of Section 7.2",
            paper,
            _options(PAPER, jobs=40, gpus=15, mix="testbed"),
        ),
        Preset("paper", "200 jobs on 160 GPUs, about 23,000 tasks (Section 7.3)", paper, PAPER),
        _example("fig4", examples.fig4),
        _example("ce1", examples.ce1),
        _example("ce2", examples.ce2, Option("lights", "int", 10, "light jobs", least=1)),
        _example("ce3", examples.ce3),
        _example("ce4", examples.ce4),
    ),
    default="small",
    default_with_files="paper",
)
