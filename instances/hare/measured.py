"""Measured steps per second, split into training and synchronization, for `from_traces`.

A step on g GPUs of a kind takes 1 / R_g. Of this, 1 / (g R_1) is training, an equal share of the
work of one GPU alone, and the rest is synchronization. If g GPUs are more than g times as fast as
one, all of it is training.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from schedgap.instances.generate import Request, uniform

JobType = tuple[str, int]  # measured job type: name, GPUs


@dataclass(frozen=True, slots=True)
class Step:
    """Seconds of one step of a whole job on GPUs of one kind."""

    train: float
    sync: float

    @property
    def length(self) -> float:
        """Duration from start to barrier."""
        return self.train + self.sync


Steps = Mapping[
    JobType, dict[str, Step] | str
]  # a step on each kind, or the reason why there is none


def base_kind(kind: str) -> str:
    """Return the name of a kind without its memory: `V100` for `V100M32`."""
    return re.sub(r"(?<=\d)M\d+$", "", kind.upper())


def measured_steps(
    request: Request, kinds: Mapping[str, int]
) -> dict[JobType, dict[str, Step] | str]:
    """Return the step of each job type on each kind, or the reason why it does not run there.

    `request`: input of the preset, with rates. `kinds`: number of GPUs by kind.
    """
    if request.rates is None:
        return {}
    table = request.rates.steps_per_second
    spread = request.values["placement"] == "spread"
    types = dict.fromkeys(key for rates in table.values() for key in rates)
    steps_by_type: dict[JobType, dict[str, Step] | str] = {}
    for name, gpus in types:
        steps: dict[str, Step] = {}
        for kind in kinds:
            alone = table.get((base_kind(kind), True), {}).get((name, 1))
            packed = gpus == 1 or not spread
            rate = table.get((base_kind(kind), packed), {}).get((name, gpus))
            if rate is None or alone is None:
                steps_by_type[name, gpus] = f"without a rate on {kind}"
                break
            if not rate or not alone:
                steps_by_type[name, gpus] = f"not running on {kind}"
                break
            train = min(1 / (gpus * alone), 1 / rate)
            steps[kind] = Step(train, 1 / rate - train)
        else:
            steps_by_type[name, gpus] = steps
    return steps_by_type


def running_types(steps: Steps, gpus: int) -> list[JobType]:
    """Return the job types that run on a number of GPUs of every kind, in file order.

    `steps`: as returned by `measured_steps`. `gpus`: number of GPUs.
    """
    return [key for key, step in steps.items() if key[1] == gpus and not isinstance(step, str)]


def draw_type(request: Request, steps: Steps, gpus: int) -> JobType:
    """Draw one of the job types that run on a number of GPUs; at least one must exist.

    `steps`: as returned by `measured_steps`. `gpus`: number of GPUs.
    """
    types = running_types(steps, gpus)
    return types[uniform(request.random, (0, len(types) - 1), 1)[0]]
