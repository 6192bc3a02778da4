"""Jobs in order of arrival, as given to online algorithms, and what is past at an arrival."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from schedgap.errors import ContradictionError

Known = TypeVar("Known")  # data of a job that are known from its arrival on


class Arriving(Generic[Known]):
    """The jobs of an instance in order of arrival; no job can be seen before it arrives.

    Asking for later jobs advances the clock, and no job can be started before the clock.
    """

    def __init__(self, arrival: Sequence[int], show: Callable[[int], Known]) -> None:
        """Sort the jobs by arrival, ties by position.

        `arrival`: arrival of each job [j]. `show`: returns the data of job j.
        """
        self._arrival, self._show = arrival, show
        self._coming = sorted(range(len(arrival)), key=arrival.__getitem__)
        self._next = 0
        self.now = 0

    def until(self, time: int) -> list[Known]:
        """Advance the clock and return the jobs that have arrived since.

        `time`: new time of the clock, not before the present one.
        """
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
        """Return whether all jobs have arrived."""
        return self._next == len(self._coming)

    def may_start(self, slot: int) -> int:
        """Return a slot in which a job is started, after checking that it is not in the past.

        `slot`: the slot; it must be later than the clock.
        """
        if slot <= self.now:
            raise ContradictionError(f"start in slot {slot}, decided at time {self.now}")
        return slot


Decision = Mapping[str, Any]


def past_rows(rows: Sequence[Decision], key: str, now: float) -> list[Decision]:
    """Return the rows of a schedule that lie before a time.

    `rows`: the rows, such as the assignments of tasks. `key`: key of the start, or of the slot.
    """
    return [row for row in rows if row[key] < now]


def past_runs(
    jobs: Mapping[str, Decision], now: float, end: Callable[[Decision], float]
) -> list[Decision]:
    """Return the runs and segments of jobs that start before a time, up to that time.

    `jobs`: of each job id its run, or its `segments`. `end`: from a run to the slot after its last
    one.
    """
    found: list[Decision] = []
    for name, run in jobs.items():
        for part in run.get("segments", [run]):
            if part["start"] < now:
                kept = {key: value for key, value in part.items() if key not in _ENDS}
                found.append({"job": name, **kept, "until": min(end(part), now)})
    return found


_ENDS = ("duration", "completion", "end")  # keys that say when a run ends
