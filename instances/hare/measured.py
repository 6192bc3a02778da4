"""Steps per second, split into training and synchronization: the rates behind `from_traces`.

A step on g GPUs of a kind lasts 1 / R_g; of that, 1 / (g R_1) is training, an equal share of what
one GPU does alone, and the rest synchronization. Where g GPUs are more than g times as quick, all
of it is training.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from schedgap.instances.generate import Request, uniform

JobType = tuple[str, int]  # as measured: name, GPUs


@dataclass(frozen=True, slots=True)
class Step:
    """Seconds of one step of a whole job on GPUs of one kind."""

    train: float
    sync: float

    @property
    def length(self) -> float:
        """From start to barrier."""
        return self.train + self.sync


Steps = Mapping[JobType, dict[str, Step] | str]  # a step on each kind, or why there is none


def base_kind(kind: str) -> str:
    """Return a kind's name without its memory: `V100` for `V100M32`."""
    return re.sub(r"(?<=\d)M\d+$", "", kind.upper())


def measured_steps(
    request: Request, kinds: Mapping[str, int]
) -> dict[JobType, dict[str, Step] | str]:
    """Return a job type's step on each kind, or why it cannot run on all of them."""
    if request.rates is None:
        return {}
    table = request.rates.steps_per_second
    spread = request.values["placement"] == "spread"
    types = dict.fromkeys(key for rates in table.values() for key in rates)
    found: dict[JobType, dict[str, Step] | str] = {}
    for name, gpus in types:
        steps: dict[str, Step] = {}
        for kind in kinds:
            alone = table.get((base_kind(kind), True), {}).get((name, 1))
            packed = gpus == 1 or not spread
            rate = table.get((base_kind(kind), packed), {}).get((name, gpus))
            if rate is None or alone is None:
                found[name, gpus] = f"without a rate on {kind}"
                break
            if not rate or not alone:
                found[name, gpus] = f"not running on {kind}"
                break
            train = min(1 / (gpus * alone), 1 / rate)
            steps[kind] = Step(train, 1 / rate - train)
        else:
            found[name, gpus] = steps
    return found


def running_types(steps: Steps, gpus: int) -> list[JobType]:
    """Return the job types that run on so many GPUs of every kind, in the file's order."""
    return [key for key, step in steps.items() if key[1] == gpus and not isinstance(step, str)]


def draw_type(request: Request, steps: Steps, gpus: int) -> JobType:
    """Draw one of the job types that run on so many GPUs; there must be one."""
    types = running_types(steps, gpus)
    return types[uniform(request.random, (0, len(types) - 1), 1)[0]]
