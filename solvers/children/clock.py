"""Time budget of a method, and whether a time limit had an influence on it.

The clocks of a task stand still while a module is loaded. Otherwise the first task of a process
would pay for imports that later tasks find done.
"""

import importlib
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

_SLACK = 0.05  # fraction of a limit; engines stop slightly before theirs
_reached = math.inf  # earliest time at which a clock of this process has used up its budget
_stopped = 0.0  # seconds for which the clocks of this process have stood still
_is_stopped = False


def now() -> float:
    """Return the time on the clocks of this process, in seconds from an arbitrary start."""
    return time.monotonic() - _stopped


def stop_during_imports(tell: Callable[[tuple[float, float] | None], None]) -> None:
    """Let the clocks of this process stand still while its main thread loads a module.

    `tell`: called with None before a module is loaded, and with the wall-clock and CPU seconds
    after it. What the module itself loads is included.
    """
    bootstrap: Any = importlib._bootstrap  # there is no public hook
    load = bootstrap._find_and_load  # called for modules that are not loaded yet, and no others

    def timed(*arguments: object) -> object:
        global _stopped, _is_stopped
        if _is_stopped or threading.current_thread() is not threading.main_thread():
            return load(*arguments)
        begun, cpu = time.monotonic(), time.process_time()
        _is_stopped = True
        tell(None)
        try:
            return load(*arguments)
        finally:
            seconds = time.monotonic() - begun
            _stopped += seconds
            _is_stopped = False
            tell((seconds, time.process_time() - cpu))

    bootstrap._find_and_load = timed


@dataclass(frozen=True, slots=True)
class Clock:
    """A wall-clock budget, which starts when the clock is created.

    Parameters
    ----------
    limit : float, optional
        Seconds; None means no limit.
    start : float
        Time at which the budget starts, as returned by `now`.
    """

    limit: float | None = None
    start: float = field(default_factory=now)

    def __post_init__(self) -> None:
        if self.limit is not None:
            _note(self.start + (1 - _SLACK) * self.limit)

    def __reduce__(self) -> tuple[Callable[..., "Clock"], tuple[float | None, float]]:
        return _received, (self.limit, self.start + _stopped)

    def elapsed(self) -> float:
        """Return the seconds since the start."""
        return now() - self.start

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


def _received(limit: float | None, start: float) -> Clock:
    """Return a clock of another process, whose clocks have stood still for another time."""
    return Clock(limit, start - _stopped)


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

    It may if a clock, or a share of one, has used up its budget. It may also if a method asked
    which fraction it has spent. Otherwise a larger limit gives the same result.
    """
    return now() >= _reached
