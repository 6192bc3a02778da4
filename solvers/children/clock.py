"""Time budget of a method."""

import math
import time
from dataclasses import dataclass, field


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
