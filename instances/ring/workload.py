"""Jobs and constants of generated `ring` instances.

From the paper (Section 7): sizes of servers and jobs, and ranges of the time per iteration, of the
number of iterations and of their product. The paper also says that contention and overhead make a
job at most 15% longer. The paper does not give bandwidths, gradients and latencies. We choose them
by a job in a reference state, with `reference_crowd` rings on a server and as many servers. It is
slower than inside one server by exactly that share. Half of the share is due to contention, and
half to overhead.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from schedgap.errors import UsageError
from schedgap.instances.generate import Request, apportion, uniform

BATCH = 32  # samples
FORWARD = 0.4  # share of the forward pass in the time of both passes
LONE_GRADIENT = 0.25  # GB, gradients of a job with one GPU, which are not sent
MILLION = 10**6  # times per iteration are drawn in millionths of a slot
SLOTS = (50, 300)  # duration of a job inside one server
ITERATIONS = (1000, 6000)
ITERATION_TIME = (0.01, 0.05)  # slots, including the whole extra share
STREAMS = {"servers": 1, "sizes": 2, "lengths": 3}  # 0 would be the stream of the seed alone


@dataclass(frozen=True, slots=True)
class Draft:
    """A generated job."""

    id: str
    gpus: int
    iterations: int
    iteration_slots: float  # inside one server


def stream(request: Request, part: str) -> np.random.Generator:
    """Return the random numbers of one part of an instance; no other part changes them.

    `part`: one of `STREAMS`.
    """
    return np.random.Generator(np.random.PCG64([request.seed, STREAMS[part]]))


def drawn_servers(request: Request) -> list[dict[str, Any]]:
    """Draw servers, uniformly over the sizes; fewer servers are the first ones of more servers."""
    sizes = request.values["server_gpus"]
    drawn = uniform(stream(request, "servers"), (0, len(sizes) - 1), request.values["servers"])
    return [{"id": f"s{n}", "gpus": sizes[kind]} for n, kind in enumerate(drawn, 1)]


def drawn_sizes(request: Request) -> list[int]:
    """Return the number of GPUs of each job, in the given proportions and random order."""
    shares = request.values["job_gpus"]
    try:
        sizes = [int(name) for name in shares]
    except ValueError:
        sizes = [0]
    if min(sizes) < 1:
        raise UsageError("option job_gpus: need numbers of GPUs with their shares, as 1:80,2:14")
    counts = apportion(request.values["jobs"], list(shares.values()))
    listed = [size for size, count in zip(sizes, counts, strict=True) for _ in range(count)]
    order = stream(request, "sizes").permutation(len(listed)).tolist()
    return [listed[k] for k in order]


def drawn_lengths(share: float, random: np.random.Generator) -> tuple[float, int]:
    """Draw the time per iteration inside one server, in slots, and a number of iterations.

    `share`: the option `extra_share`. `random`: source of random numbers.
    """
    first, last = ITERATION_TIME
    most = int(last * (1 - share) * MILLION)
    if share >= 1 - first / last or most < first * MILLION:
        raise UsageError(f"option extra_share={share:g}: need a number < {1 - first / last:g}")
    (drawn,) = uniform(random, (int(first * MILLION), most), 1)
    fewest = max(ITERATIONS[0], -(-SLOTS[0] * MILLION // drawn))
    (iterations,) = uniform(random, (fewest, min(ITERATIONS[1], SLOTS[1] * MILLION // drawn)), 1)
    return drawn / MILLION, iterations


def calibrated(
    request: Request,
    servers: Sequence[dict[str, Any]],
    drafts: Sequence[Draft],
    slot_seconds: float,
) -> dict[str, Any]:
    """Return the fields of an instance whose jobs have the extra share in the reference state.

    `servers`: JSON data of the servers. `slot_seconds`: length of a slot.

    Raises
    ------
    UsageError
        If no gradients and latency achieve this with the given constants.
    """
    value = request.values
    between, within, speed = (
        value[name] * slot_seconds / 60
        for name in ("bandwidth_between", "bandwidth_within", "compute_speed")
    )
    half = (
        value["extra_share"] / (1 - value["extra_share"]) / 2
    )  # fraction of the time per iteration
    crowd = value["reference_crowd"]
    slower = _factor(value, crowd) / between - 1 / within  # slots per GB sent
    if within < between or slower <= 0:
        raise UsageError("option bandwidth_within: must be larger than bandwidth_between")
    overhead = min(
        (
            half * draft.iteration_slots / (min(draft.gpus, crowd) - 1)
            for draft in drafts
            if draft.gpus > 1
        ),
        default=0.0,
    )
    jobs = []
    for draft in drafts:
        chunk = half * draft.iteration_slots / (2 * slower)  # sent by each worker
        exchange = 2 * chunk / within + chunk / speed
        if draft.gpus == 1:
            exchange = 0.0
        passes = draft.iteration_slots - exchange - overhead
        if passes <= 0:
            raise UsageError(
                f"option extra_share={value['extra_share']:g}: exchange and overhead of job "
                f"{draft.id} leave no time for its passes"
            )
        gradient = chunk * draft.gpus / (draft.gpus - 1) if draft.gpus > 1 else LONE_GRADIENT
        jobs.append(
            {
                "id": draft.id,
                "gpus": draft.gpus,
                "iterations": draft.iterations,
                "gradient_size": gradient,
                "batch_size": BATCH,
                "forward_time_per_sample": FORWARD * passes / BATCH,
                "backward_time": (1 - FORWARD) * passes,
            }
            | ({"spread_factor": value["spread_factor"]} if value["spread_factor"] > 1 else {})
        )
    return {
        "servers": list(servers),
        "jobs": jobs,
        "bandwidth_between": between,
        "bandwidth_within": within,
        "compute_speed": speed,
        "contention_factor": value["xi"],
        "overhead_per_server": overhead,
        "degradation": {"kind": value["degradation"], "alpha": value["alpha"]},
        "rate_scale": value["rate_scale"],
    }


def _factor(value: Any, crowd: int) -> float:
    """Return f(alpha, k) of (7), k = max(1, xi p)."""
    k = max(1.0, value["xi"] * crowd)
    if value["degradation"] == "linear":
        return float(k + value["alpha"] * (k - 1))
    return float(k ** (1 + value["alpha"]))


def small(request: Request) -> dict[str, Any]:
    """Return a few jobs that take integer slots inside one server and lose much by spreading.

    An iteration inside one server takes 1 / rate slots. Of these, 3 c / 100 are for the exchange
    and reduction of c units of data, 0.01 for latency, and the rest for the passes. Two servers
    cost 0.03 c + 0.01 slots more, and a second ring on them another 0.05 (1 + alpha) c.
    """
    value, random = request.values, request.random
    number = value["jobs"]
    rooms = uniform(random, value["gpus_per_server"], value["servers"])
    low, high = value["job_gpus"]
    largest = sum(rooms)
    if low > largest:
        raise UsageError(f"option job_gpus: jobs of {low} GPUs, but the cluster has {largest}")
    sizes = uniform(random, (low, min(high, largest)), number)
    rates = uniform(random, value["rates"], number)
    slots = uniform(random, value["slots"], number)
    quarters = uniform(random, value["data"], number)
    jobs = []
    for j, (gpus, rate) in enumerate(zip(sizes, rates, strict=True)):
        chunk = quarters[j] / 4 if gpus > 1 else 0.0
        passes = 1 / rate - 0.03 * chunk - 0.01
        jobs.append(
            {
                "id": f"j{j + 1}",
                "gpus": gpus,
                "iterations": rate * slots[j],
                "gradient_size": chunk * gpus / (gpus - 1) if gpus > 1 else quarters[j] / 4,
                "batch_size": 8,
                "forward_time_per_sample": round(FORWARD * passes / 8, 15),
                "backward_time": round((1 - FORWARD) * passes, 15),
            }
        )
    return {
        "horizon": value["horizon"],
        "servers": [{"id": f"s{n}", "gpus": room} for n, room in enumerate(rooms, 1)],
        "jobs": jobs,
        "bandwidth_between": 40.0,
        "bandwidth_within": 100.0,
        "compute_speed": 100.0,
        "contention_factor": value["xi"],
        "overhead_per_server": 0.01,
        "degradation": {"kind": value["degradation"], "alpha": value["alpha"]},
        "rate_scale": value["rate_scale"],
    }
