"""Jobs one by one, as they arrive: what an online algorithm is given instead of the list."""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from schedgap.errors import ContradictionError

Known = TypeVar("Known")  # a job as it is known from its arrival on


class Arriving(Generic[Known]):
    """The jobs of an instance, one by one: nobody sees a job before its time.

    Who asks for later jobs moves the clock, and can no longer start anything before it.
    """

    def __init__(self, arrival: Sequence[int], show: Callable[[int], Known]) -> None:
        """Sort the jobs by arrival [j], then by place in the list; `show(j)` hands one out."""
        self._arrival, self._show = arrival, show
        self._coming = sorted(range(len(arrival)), key=arrival.__getitem__)
        self._next = 0
        self.now = 0

    def until(self, time: int) -> list[Known]:
        """Return the jobs of arrival <= time that have not been handed out; moves the clock."""
        if time < self.now:
            raise ContradictionError(f"the clock stands at {self.now}, asked for {time}")
        self.now = time
        found = []
        for j in self._coming[self._next :]:
            if self._arrival[j] > time:
                break
            found.append(self._show(j))
        self._next += len(found)
        return found

    def all_here(self) -> bool:
        """Whether no job is to come: there is nothing left to wait for."""
        return self._next == len(self._coming)

    def may_start(self, slot: int) -> int:
        """Return the slot of a start; slots up to now are past."""
        if slot <= self.now:
            raise ContradictionError(f"start in slot {slot}, decided at time {self.now}")
        return slot
