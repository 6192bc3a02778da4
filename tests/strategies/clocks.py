"""Clocks that expire at a chosen reading, to stop a search anywhere."""

from typing import Any

from schedgap.solvers import Clock

LONG = 1e6  # seconds that seem to remain before the end


class StopAt(Clock):
    """A clock that expires at its k-th reading; its shares have a common counter.

    Each call of `elapsed`, `remaining`, `expired`, `spent` or `share` is a reading. A copy in a
    child process starts with the number of readings that remained when it was sent.
    """

    __slots__ = ("left",)

    def __init__(self, k: int, left: list[int] | None = None, limit: float = LONG) -> None:
        super().__init__(limit=limit, start=0.0)
        object.__setattr__(self, "left", [k] if left is None else left)

    @property
    def readings_left(self) -> int:
        """Number of remaining readings."""
        return max(0, self.left[0])

    def elapsed(self) -> float:
        """Return 0 before the k-th reading and the limit from then on."""
        assert self.limit is not None
        self.left[0] -= 1
        return 0.0 if self.left[0] >= 0 else self.limit

    def spent(self) -> float:
        """Return 0 or 1."""
        return 0.0 if self.elapsed() == 0.0 else 1.0

    def share(self, fraction: float, *, most: float = LONG) -> "StopAt":
        """Return a clock with the same counter."""
        limit = min(self.remaining() * fraction, most)
        return StopAt(0, self.left, limit)

    def __reduce__(self) -> tuple[Any, ...]:
        return StopAt, (self.left[0], None, self.limit)
