"""Servers, container types and jobs of generated `elastic` instances, and the draws behind them.

From the paper (Section 7): families of EC2 servers, ranges of all job and container figures but
those of memory, the slot of an hour. Of our choice: sizes and mix of the servers, memory, arrivals,
and that a type with more GPUs (then vCPUs) trains faster.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from schedgap.instances.generate import Request, uniform

CLOUD = ("gpu", "cpu", "memory", "bandwidth")  # GPUs, vCPUs, GiB, Mbit/s
SMALL = ("gpu", "cpu", "bandwidth")
EC2 = {  # GPUs, vCPUs, GiB, Mbit/s
    "p3.2xlarge": (1, 8, 61, 10_000),
    "p3.8xlarge": (4, 32, 244, 10_000),
    "p3.16xlarge": (8, 64, 488, 25_000),
    "p2.xlarge": (1, 4, 61, 5_000),
    "p2.8xlarge": (8, 32, 488, 10_000),
    "p2.16xlarge": (16, 64, 732, 25_000),
    "g3.4xlarge": (1, 16, 122, 10_000),
    "g3.8xlarge": (2, 32, 244, 10_000),
    "g3.16xlarge": (4, 64, 488, 25_000),
}
Kinds = list[dict[str, Any]]  # of an instance file: id, and capacity or demand


@dataclass(frozen=True, slots=True)
class Units:
    """What one drawn whole number of a time, or of a gradient's size, is in the file."""

    train: float  # slots
    update: float  # slots
    gradient: float  # bandwidth units times slots

    @classmethod
    def of_slot(cls, seconds: float) -> "Units":
        """Return thousandths of an hour, milliseconds, and MB at Mbit/s, for a slot's length."""
        return cls(3.6 / seconds, 0.001 / seconds, 8 / seconds)


SMALL_UNITS = Units(0.05, 0.01, 0.1)


@dataclass(frozen=True, slots=True)
class Draft:
    """A job before it is written down; times as drawn, `scale` stretches those of training."""

    id: str
    arrival: int  # slot
    weight: float
    epochs: int
    chunks: int
    batches: int
    gradient: int
    training: tuple[int, ...]  # by worker type
    update: tuple[int, ...]  # by PS type; one number in the ring
    scale: float = 1.0

    def train_time(self, units: Units) -> list[float]:
        """Return v_jm by worker type, in slots."""
        return [round(number * units.train * self.scale, 12) for number in self.training]

    def update_time(self, units: Units) -> list[float]:
        """Return U_j^p by PS type, in slots; one number in the ring."""
        return [round(number * units.update, 12) for number in self.update]

    def to_data(self, workers: Kinds, ps: Kinds, units: Units) -> dict[str, Any]:
        """Return the job of an instance file."""
        update = self.update_time(units)
        return {
            "id": self.id,
            "arrival": self.arrival,
            "weight": self.weight,
            "epochs": self.epochs,
            "chunks": self.chunks,
            "batches_per_chunk": self.batches,
            "gradient_size": round(self.gradient * units.gradient, 12),
            "train_time": _by_id(workers, self.train_time(units)),
            "update_time": _by_id(ps, update) if ps else update[0],
        }


def _by_id(kinds: Kinds, values: Sequence[float]) -> dict[str, float]:
    return {kind["id"]: value for kind, value in zip(kinds, values, strict=True)}


# --- servers and types -----------------------------------------------------------------------


def cloud_servers(request: Request) -> Kinds:
    """Draw EC2 servers, uniformly over the sizes."""
    sizes = _pick(request.random, list(EC2), request.values["servers"])
    return [
        {"id": f"{size}-{h}", "capacity": dict(zip(CLOUD, EC2[size], strict=True))}
        for h, size in enumerate(sizes, 1)
    ]


def small_servers(request: Request) -> Kinds:
    """Draw servers of `gpus_per_server` GPUs, four CPUs each, and a bandwidth of 6 to 10."""
    number = request.values["servers"]
    gpus = uniform(request.random, request.values["gpus_per_server"], number)
    bandwidth = uniform(request.random, (6, 10), number)
    return [
        {"id": f"s{h + 1}", "capacity": {"gpu": gpu, "cpu": 4 * gpu, "bandwidth": bandwidth[h]}}
        for h, gpu in enumerate(gpus)
    ]


def cloud_workers(random: np.random.Generator, number: int) -> Kinds:
    """Draw worker types: 1-4 GPUs, 1-16 vCPUs, 0.1-5 Gbit/s, 4 GiB a GPU and 0-12 GiB."""
    gpus, cpus = uniform(random, (1, 4), number), uniform(random, (1, 16), number)
    memory, bandwidth = uniform(random, (0, 12), number), uniform(random, (1, 50), number)
    rows = [(gpus[m], cpus[m], 4 * gpus[m] + memory[m], 100 * bandwidth[m]) for m in range(number)]
    return _kinds("w", CLOUD, rows)


def cloud_ps(random: np.random.Generator, number: int) -> Kinds:
    """Draw PS types: no GPU, 1-16 vCPUs, 4-16 GiB, 5-20 Gbit/s."""
    cpus, memory = uniform(random, (1, 16), number), uniform(random, (4, 16), number)
    bandwidth = uniform(random, (50, 200), number)
    return _kinds("p", CLOUD[1:], [(cpus[p], memory[p], 100 * bandwidth[p]) for p in range(number)])


def small_workers(random: np.random.Generator, number: int) -> Kinds:
    """Draw worker types: 1-2 GPUs, 1-2 CPUs, bandwidth 1-2."""
    columns = [uniform(random, (1, 2), number) for _ in SMALL]
    return _kinds("w", SMALL, list(zip(*columns, strict=True)))


def small_ps(random: np.random.Generator, number: int) -> Kinds:
    """Draw PS types: 1-2 CPUs, bandwidth 2-4."""
    columns = [uniform(random, (1, 2), number), uniform(random, (2, 4), number)]
    return _kinds("p", SMALL[1:], list(zip(*columns, strict=True)))


def _kinds(letter: str, resources: Sequence[str], rows: Sequence[Sequence[float]]) -> Kinds:
    return [
        {"id": f"{letter}{k}", "demand": dict(zip(resources, row, strict=True))}
        for k, row in enumerate(rows, 1)
    ]


def _pick(random: np.random.Generator, choices: Sequence[str], number: int) -> list[str]:
    return [choices[k] for k in uniform(random, (0, len(choices) - 1), number)]


# --- jobs ------------------------------------------------------------------------------------


def by_speed(workers: Kinds) -> list[int]:
    """Return the worker types from slow to fast: by GPUs, then CPUs, then list order."""

    def power(m: int) -> tuple[float, float]:
        demand: Mapping[str, float] = workers[m]["demand"]
        return demand["gpu"], demand["cpu"]

    return sorted(range(len(workers)), key=power)


def draw_jobs(request: Request, workers: Kinds, ps: Kinds, number: int) -> list[Draft]:
    """Draw all of the jobs: arrivals, then each figure for all jobs, times job by job.

    A job's training times are as many draws as there are worker types, the longest for the slowest.
    """
    value, random = request.values, request.random
    last = value["arrival_span"] or max(1, value["horizon"] // 2)
    arrival = sorted(uniform(random, (1, last), number))
    if value["objective"] == "scheduled_weight":
        arrival = [1] * number
    names = ("weights", "epochs", "chunks", "batches_per_chunk", "gradient")
    weight, epochs, chunks, batches, gradient = (
        uniform(random, value[name], number) for name in names
    )
    order = by_speed(workers)
    drafts = []
    for j in range(number):
        drawn = sorted(uniform(random, value["train_time"], len(workers)), reverse=True)
        training = [0] * len(workers)
        for m, time in zip(order, drawn, strict=True):
            training[m] = time
        update = uniform(random, value["update_time"], len(ps) or 1)
        drafts.append(
            Draft(
                id=f"J{j + 1}",
                arrival=arrival[j],
                weight=weight[j],
                epochs=epochs[j],
                chunks=chunks[j],
                batches=batches[j],
                gradient=gradient[j],
                training=tuple(training),
                update=tuple(update),
            )
        )
    return drafts
