"""What a method is asked, apart from the instance: engine, options, limits and seed."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a task in wall-clock seconds and MB; None means no limit."""

    time: float | None = None
    memory: float | None = None


NO_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Request:
    """How a method is to be run.

    `engine`: one of the method's engines; by default its first. `settings`: values of options, as
    Python values or as text, by name. `seed`: >= 0; by default 0 for a method that uses one.
    """

    engine: str | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
    limits: Limits = NO_LIMITS
    seed: int | None = None
