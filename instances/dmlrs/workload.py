"""Jobs and machines of generated `dmlrs` instances, and the draws behind them.

From the paper (Numerical results): the ranges of epochs, samples, batch sizes, gradients, time per
sample, gamma, demands, and parameters of the sigmoid. The paper does not give capacities,
bandwidths, arrivals and the length of a slot (an hour here); these and `finishable` are our choice.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from schedgap.errors import UsageError
from schedgap.instances.generate import Request, uniform

Records = list[dict[str, Any]]  # machines or jobs of an instance file
RESOURCES = ("gpu", "cpu", "memory", "storage")
HOUR = 3600.0
MOST_TRIES = 10_000  # draws to get one job that can finish


@dataclass(frozen=True, slots=True)
class Draft:
    """A generated job; times and bandwidths are in slots."""

    id: str
    arrival: int
    epochs: int
    samples: int
    batch: int
    gradient: float  # MB
    time: float  # slots per sample
    ratio: int
    internal: float  # MB per slot
    external: float  # MB per slot
    worker: Mapping[str, float]
    ps: Mapping[str, float]
    utility: Mapping[str, Any]

    def worker_slots(self, bandwidth: float) -> float:
        """Return N, the worker-slots of the whole job.

        `bandwidth`: bandwidth in MB per slot, > 0.
        """
        exchange = self.ratio / self.batch * 2 * self.gradient / bandwidth
        return self.epochs * self.samples * (self.time + exchange)

    @property
    def least_slots(self) -> int:
        """Number of slots of the job across machines with its largest number of workers."""
        return max(1, math.ceil(self.worker_slots(self.external) / self.batch - 1e-9))

    def to_data(self) -> dict[str, object]:
        """Return the job as in an instance file."""
        return {
            "id": self.id,
            "arrival": self.arrival,
            "epochs": self.epochs,
            "samples": self.samples,
            "batch_size": self.batch,
            "gradient_size": self.gradient,
            "time_per_sample": self.time,
            "worker_ps_ratio": float(self.ratio),
            "internal_bandwidth": self.internal,
            "external_bandwidth": self.external,
            "worker_demand": dict(self.worker),
            "ps_demand": dict(self.ps),
            "utility": dict(self.utility),
        }


def equal_machines(request: Request, resources: tuple[str, ...]) -> Records:
    """Return machines with the capacities of the settings.

    `resources`: names of the resources.
    """
    capacity = {name: float(request.values[f"capacity_{name}"]) for name in resources}
    number = request.values["machines"]
    return [{"id": f"m{h}", "capacity": capacity} for h in range(1, number + 1)]


# --- the paper's ranges ------------------------------------------------------------------------


def paper_job(request: Request, name: str, arrival: int, seconds: float) -> Draft:
    """Draw one job in the ranges of the paper.

    Order of draws: epochs, samples, batch size, gradients, time per sample, gamma, demands of a
    worker, demands of a PS, utility, bandwidth between machines, bandwidth inside a machine.

    `name`: id of the job. `arrival`: slot of arrival. `seconds`: length of a slot.
    """
    E, K, F, g, time, ratio = (
        _one(request, key) for key in ("epochs", "samples", "batch", "gradient", "time", "ratio")
    )
    worker = _demands(request, "worker", RESOURCES)
    ps = _demands(request, "ps", RESOURCES)
    utility = _sigmoid(request, (100, 1500))
    external, internal = (
        mbps * seconds / 8 for mbps in (_one(request, "external"), _one(request, "internal"))
    )
    return Draft(
        name, arrival, E, K, F, float(g), round(time * 1e-7 * HOUR / seconds, 15), ratio,
        max(internal, external), external, worker, ps, utility,
    )  # fmt: skip


def finishing_job(request: Request, name: str, horizon: int, seconds: float, arrival: int) -> Draft:
    """Draw a job again until it can end by the horizon with F workers across machines.

    If `arrival` is 0, it is drawn before the rest of the job, from the first `arrive_within` per
    cent of the slots. Without the setting `finishable`,
    the first drawn job is returned.

    `name`: id of the job. `horizon`: last slot. `seconds`: length of a slot. `arrival`: slot of
    arrival, or 0.
    """
    last = math.ceil(horizon * request.values["arrive_within"] / 100)
    for _ in range(MOST_TRIES):
        slot = arrival or uniform(request.random, (1, last), 1)[0]
        draft = paper_job(request, name, slot, seconds)
        if not request.values["finishable"] or slot + draft.least_slots - 1 <= horizon:
            return draft
    raise UsageError(
        f"option horizon={horizon}: no job of these ranges that arrives in slot {slot} can finish: "
        "take a longer horizon or finishable=false"
    )


def _one(request: Request, key: str) -> int:
    return uniform(request.random, request.values[key], 1)[0]


def _demands(request: Request, kind: str, resources: tuple[str, ...]) -> dict[str, float]:
    """Draw the demands of a worker or a PS; a PS has no GPU."""
    return {
        name: 0.0 if (kind, name) == ("ps", "gpu") else float(_one(request, f"{kind}_{name}"))
        for name in resources
    }


def _sigmoid(request: Request, target: tuple[int, int]) -> dict[str, object]:
    """Draw a utility function; the range of its target is in hundredths of a slot."""
    priority = uniform(request.random, (100, 10_000), 1)[0]
    sensitivity = _one(request, "sensitivity")
    (aim,) = uniform(request.random, target, 1)
    return {
        "type": "sigmoid",
        "priority": priority / 100,
        "sensitivity": sensitivity / 1000,
        "target": aim / 100,
    }


# --- small instances ---------------------------------------------------------------------------


def small_job(request: Request, name: str, resources: tuple[str, ...]) -> Draft:
    """Draw a job that needs at least 2 worker-slots on one machine, and up to twice that across.

    Order of draws: arrival, epochs, samples, batch size, gamma, gradients, worker-slots on one
    machine in hundredths, extra work across machines in per cent, exchange on one machine in per
    cent; then demands and utility as in `paper_job`.

    `name`: id of the job. `resources`: names of the resources.
    """
    T, random = request.values["horizon"], request.random
    (arrival,) = uniform(random, (1, math.ceil(2 * T / 3)), 1)
    E, K, F, ratio, g = (
        _one(request, key) for key in ("epochs", "samples", "batch", "ratio", "gradient")
    )
    most = int(100 * F * max(2.0, (T - arrival + 1) / 2))
    each = uniform(random, (200, most), 1)[0] / 100 / (E * K)  # slots per sample
    more = _one(request, "stretch") / 100
    share = _one(request, "exchange") / 100
    exchange = ratio / F * 2 * g  # MB per sample
    return Draft(
        name, arrival, E, K, F, float(g), round((1 - share) * each, 12), ratio,
        round(exchange / (share * each), 6), round(exchange / ((more + share) * each), 6),
        _demands(request, "worker", resources), _demands(request, "ps", resources),
        _sigmoid(request, (100, max(100, 50 * T))),
    )  # fmt: skip
