"""Servers, container types and jobs of generated `elastic` instances, and the draws behind them.

From the paper (Section 7): families of EC2 servers, ranges of all data of jobs and containers
except memory, and the slot of an hour. Our choice: sizes and mix of the servers, memory, arrivals,
and that a type with more GPUs (then vCPUs) trains faster.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
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
EC2_WORKERS = {  # types of Fig. 9, from slow to fast: GPUs, vCPUs, GiB; E30
    "p2.xlarge": (1, 4, 61),
    "p2.2xlarge": (2, 8, 122),
    "p3.2xlarge": (1, 8, 61),
    "p3.4xlarge": (2, 16, 122),
}
Kinds = list[dict[str, Any]]  # JSON data: id, and capacity or demand
STREAMS = (
    *("servers", "worker types", "PS types", "arrivals", "weights", "epochs", "chunks"),
    *("batches_per_chunk", "gradient", "train_time", "update_time"),
)
Draws = Callable[[str], np.random.Generator]  # maps a name in STREAMS to its random numbers


def separate_draws(request: Request) -> Draws:
    """Return a stream of random numbers for each quantity: none depends on another's number.

    The first n jobs or servers are then the same whatever is drawn with and after them.

    `request`: input of the preset; its seed counts.
    """
    return cache(
        lambda name: np.random.Generator(np.random.PCG64([request.seed, STREAMS.index(name)]))
    )


def common_draws(request: Request) -> Draws:
    """Return the one stream of the request for all quantities."""
    return lambda name: request.random


@dataclass(frozen=True, slots=True)
class Units:
    """Units of the drawn integers: a drawn 1 is this much in the instance."""

    train: float  # slots
    update: float  # slots
    gradient: float  # bandwidth units times slots

    @classmethod
    def of_slot(cls, seconds: float) -> "Units":
        """Return the units thousandths of an hour, milliseconds, and MB at Mbit/s.

        `seconds`: length of a slot.
        """
        return cls(3.6 / seconds, 0.001 / seconds, 8 / seconds)


SMALL_UNITS = Units(0.05, 0.01, 0.1)


@dataclass(frozen=True, slots=True)
class Draft:
    """A generated job; times are drawn integers, and `scale` multiplies the training times."""

    id: str
    arrival: int  # slot
    weight: float
    epochs: int
    chunks: int
    batches: int
    gradient: int
    training: tuple[int, ...]  # index: worker type
    update: tuple[int, ...]  # index: PS type; one number for rings
    scale: float = 1.0

    def to_data(self, workers: Kinds, ps: Kinds, units: Units) -> dict[str, object]:
        """Return the job as in an instance file.

        `workers`, `ps`: JSON data of the worker types and PS types. `units`: units of the drawn
        times and sizes.
        """
        train = [round(number * units.train * self.scale, 12) for number in self.training]
        update = [round(number * units.update, 12) for number in self.update]
        return {
            "id": self.id,
            "arrival": self.arrival,
            "weight": self.weight,
            "epochs": self.epochs,
            "chunks": self.chunks,
            "batches_per_chunk": self.batches,
            "gradient_size": round(self.gradient * units.gradient, 12),
            "train_time": _by_id(workers, train),
            "update_time": _by_id(ps, update) if ps else update[0],
        }


def _by_id(kinds: Kinds, values: Sequence[float]) -> dict[str, float]:
    return {kind["id"]: value for kind, value in zip(kinds, values, strict=True)}


# --- servers and types -----------------------------------------------------------------------


def cloud_servers(random: np.random.Generator, number: int) -> Kinds:
    """Draw EC2 servers, uniformly over the sizes.

    `random`: source of random numbers. `number`: number of servers.
    """
    sizes = list(EC2)
    drawn = [sizes[k] for k in uniform(random, (0, len(sizes) - 1), number)]
    return [
        {"id": f"{size}-{h}", "capacity": dict(zip(CLOUD, EC2[size], strict=True))}
        for h, size in enumerate(drawn, 1)
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
    """Draw worker types: 1-4 GPUs, 1-16 vCPUs, 0.1-5 Gbit/s, 4 GiB a GPU and 0-12 GiB.

    `random`: source of random numbers. `number`: number of types.
    """
    gpus, cpus = uniform(random, (1, 4), number), uniform(random, (1, 16), number)
    memory, bandwidth = uniform(random, (0, 12), number), uniform(random, (1, 50), number)
    rows = [(gpus[m], cpus[m], 4 * gpus[m] + memory[m], 100 * bandwidth[m]) for m in range(number)]
    return _kinds("w", CLOUD, rows)


def ec2_workers(random: np.random.Generator) -> Kinds:
    """Return the four EC2 sizes of Fig. 9 as worker types; only bandwidths of 0.1-5 Gbit/s drawn.

    `random`: source of random numbers.
    """
    bandwidth = uniform(random, (1, 50), len(EC2_WORKERS))
    return [
        {"id": size, "demand": dict(zip(CLOUD, (*amounts, 100 * speed), strict=True))}
        for (size, amounts), speed in zip(EC2_WORKERS.items(), bandwidth, strict=True)
    ]


def cloud_ps(random: np.random.Generator, number: int) -> Kinds:
    """Draw PS types: no GPU, 1-16 vCPUs, 4-16 GiB, 5-20 Gbit/s.

    `random`: source of random numbers. `number`: number of types.
    """
    cpus, memory = uniform(random, (1, 16), number), uniform(random, (4, 16), number)
    bandwidth = uniform(random, (50, 200), number)
    return _kinds("p", CLOUD[1:], [(cpus[p], memory[p], 100 * bandwidth[p]) for p in range(number)])


def small_workers(random: np.random.Generator, number: int) -> Kinds:
    """Draw worker types: 1-2 GPUs, 1-2 CPUs, bandwidth 1-2.

    `random`: source of random numbers. `number`: number of types.
    """
    columns = [uniform(random, (1, 2), number) for _ in SMALL]
    return _kinds("w", SMALL, list(zip(*columns, strict=True)))


def small_ps(random: np.random.Generator, number: int) -> Kinds:
    """Draw PS types: 1-2 CPUs, bandwidth 2-4.

    `random`: source of random numbers. `number`: number of types.
    """
    columns = [uniform(random, (1, 2), number), uniform(random, (2, 4), number)]
    return _kinds("p", SMALL[1:], list(zip(*columns, strict=True)))


def _kinds(letter: str, resources: Sequence[str], rows: Sequence[Sequence[float]]) -> Kinds:
    return [
        {"id": f"{letter}{k}", "demand": dict(zip(resources, row, strict=True))}
        for k, row in enumerate(rows, 1)
    ]


# --- jobs ------------------------------------------------------------------------------------


def by_speed(workers: Kinds) -> list[int]:
    """Return the worker types from slow to fast: by GPUs, CPUs, and list order.

    The EC2 sizes of Fig. 9 are in this order as listed: a GPU of a P3 is faster than two of a P2.

    `workers`: JSON data of the worker types.
    """

    def power(m: int) -> tuple[float, float]:
        demand: Mapping[str, float] = workers[m]["demand"]
        return demand["gpu"], demand["cpu"]

    if [kind["id"] for kind in workers] == list(EC2_WORKERS):
        return list(range(len(workers)))
    return sorted(range(len(workers)), key=power)


def draw_arrivals(request: Request, random: np.random.Generator, number: int) -> list[int]:
    """Draw arrivals of jobs, uniform over the arrival span, unsorted; all 1 in a batch problem.

    `random`: source of random numbers. `number`: number of jobs.
    """
    value = request.values
    last = value["arrival_span"] or max(1, value["horizon"] // 2)
    arrival = [request.paced(slot) for slot in uniform(random, (1, last), number)]
    return [1] * number if value["objective"] == "scheduled_weight" else arrival


def draw_jobs(
    request: Request, draws: Draws, workers: Kinds, ps: Kinds, arrival: Sequence[int]
) -> list[Draft]:
    """Draw the jobs: each quantity for all jobs, then times job by job.

    The training times of a job are one draw for each worker type, the longest for the slowest type.

    `draws`: random numbers by name of a quantity. `workers`, `ps`: JSON data of the worker types
    and PS types. `arrival`: arrivals of the jobs.
    """
    value = request.values
    names = ("weights", "epochs", "chunks", "batches_per_chunk", "gradient")
    columns = [uniform(draws(name), value[name], len(arrival)) for name in names]
    order, drafts = by_speed(workers), []
    for j, (slot, *numbers) in enumerate(zip(arrival, *columns, strict=True), 1):
        weight, epochs, chunks, batches, gradient = numbers
        drawn = uniform(draws("train_time"), value["train_time"], len(workers))
        by_type = sorted(zip(order, sorted(drawn, reverse=True), strict=True))
        training = tuple(time for _, time in by_type)
        update = tuple(uniform(draws("update_time"), value["update_time"], len(ps) or 1))
        times = training, update
        drafts.append(Draft(f"J{j}", slot, weight, epochs, chunks, batches, gradient, *times))
    return drafts
