"""Clocks that stop a search at a chosen reading, wherever that is."""

from typing import Any

from schedgap.solvers import Clock

LONG = 1e6  # seconds that seem to be left before the end


class StopAt(Clock):
    """A clock that has expired from its k-th reading on; shares of it count on together.

    A reading is any of `elapsed`, `remaining`, `expired`, `spent` and `share`. A copy in a child
    process starts with the readings that were left when it was sent.
    """

    __slots__ = ("left",)

    def __init__(self, k: int, left: list[int] | None = None, limit: float = LONG) -> None:
        super().__init__(limit=limit, start=0.0)
        object.__setattr__(self, "left", [k] if left is None else left)

    @property
    def readings_left(self) -> int:
        """How many more readings there are before the end."""
        return max(0, self.left[0])

    def elapsed(self) -> float:
        """Nothing before the k-th reading, all of the limit from then on."""
        assert self.limit is not None
        self.left[0] -= 1
        return 0.0 if self.left[0] >= 0 else self.limit

    def spent(self) -> float:
        """0 or 1."""
        return 0.0 if self.elapsed() == 0.0 else 1.0

    def share(self, fraction: float, *, most: float = LONG) -> "StopAt":
        """Return a clock with the same readings."""
        limit = min(self.remaining() * fraction, most)
        return StopAt(0, self.left, limit)

    def __reduce__(self) -> tuple[Any, ...]:
        return StopAt, (self.left[0], None, self.limit)
