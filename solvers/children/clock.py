"""Time budget of a method, and whether a time limit had an influence on it."""

import math
import time
from dataclasses import dataclass, field

_SLACK = 0.05  # fraction of a limit; engines stop slightly before theirs
_reached = math.inf  # earliest time at which a clock of this process has used up its budget


@dataclass(frozen=True, slots=True)
class Clock:
    """A wall-clock budget, which starts when the clock is created.

    Parameters
    ----------
    limit : float, optional
        Seconds; None means no limit.
    start : float
        Time at which the budget starts, on the monotonic clock.
    """

    limit: float | None = None
    start: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        if self.limit is not None:
            _note(self.start + (1 - _SLACK) * self.limit)

    def elapsed(self) -> float:
        """Return the seconds since the start."""
        return time.monotonic() - self.start

    def remaining(self) -> float:
        """Return the remaining seconds, at least 0; infinite without a limit."""
        return math.inf if self.limit is None else max(0.0, self.limit - self.elapsed())

    def expired(self) -> bool:
        """Return whether no time remains."""
        return self.remaining() <= 0

    def spent(self) -> float:
        """Return the used fraction of the budget, in [0, 1]; 0 without a limit."""
        if self.limit is None:
            return 0.0
        _note(-math.inf)  # the caller's next steps depend on the limit
        return min(1.0, self.elapsed() / self.limit) if self.limit > 0 else 1.0

    def share(self, fraction: float, *, most: float = math.inf) -> "Clock":
        """Return a new clock with a part of the remaining time.

        Parameters
        ----------
        fraction : float
            Fraction of the remaining time, in [0, 1].
        most : float
            Upper limit in seconds.
        """
        seconds = min(self.remaining() * fraction, most)
        return Clock(None if math.isinf(seconds) else seconds)


def _note(reached: float) -> None:
    global _reached
    _reached = min(_reached, reached)


def forget_limits() -> None:
    """Start a new task in this process: `limited` then tells of clocks created from now on."""
    global _reached
    _reached = math.inf


def was_limited() -> None:
    """Record that a time limit had an influence, as a child process reported."""
    _note(-math.inf)


def limited() -> bool:
    """Return whether a time limit may have had an influence on this task.

    That is so if a clock, or a share of one, has used up its budget, or if a method asked which
    fraction it has spent. Otherwise a larger limit gives the same result.
    """
    return time.monotonic() >= _reached
