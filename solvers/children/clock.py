"""The time that a method has left."""

import math
import time
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Clock:
    """A wall-clock budget in seconds that started when the clock was made; None is no limit."""

    limit: float | None = None
    start: float = field(default_factory=time.monotonic)

    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.start

    def remaining(self) -> float:
        """Seconds left, at least 0; infinite without a limit."""
        return math.inf if self.limit is None else max(0.0, self.limit - self.elapsed())

    def expired(self) -> bool:
        """True when nothing is left."""
        return self.remaining() <= 0

    def spent(self) -> float:
        """Return the part of the budget that is gone, from 0 to 1; 0 without a limit."""
        if self.limit is None:
            return 0.0
        return min(1.0, self.elapsed() / self.limit) if self.limit > 0 else 1.0

    def share(self, fraction: float, *, most: float = math.inf) -> "Clock":
        """Return a clock that starts now with a fraction of what is left, or `most` seconds."""
        seconds = min(self.remaining() * fraction, most)
        return Clock(None if math.isinf(seconds) else seconds)
