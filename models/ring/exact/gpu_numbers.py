"""GPU numbers for the jobs of a schedule that minimise the largest load of a GPU (ours).

The choice of GPUs within a server affects only the loads of (15); all other rows count workers by
server. Servers are independent of each other.

References
----------
New here: an exhaustive search over how many GPUs with the same jobs so far each job takes. GPUs
with the same jobs are interchangeable, so no optimum is lost.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

_CLOSE = 1e-12  # relative: sums of the same loads in different orders differ by less
_PAUSE = 2000  # steps between two questions whether to stop

JobWorkers = tuple[int, int]  # a job and its workers on a server


class StoppedError(Exception):
    """The search was stopped."""


@dataclass(frozen=True, slots=True)
class Numbering:
    """GPU numbers of each job on a server, and the largest load of its GPUs, slots."""

    load: float
    gpus: tuple[tuple[int, ...], ...]


def overlaps(spans: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """Return for each span of slots which earlier spans it overlaps, as bits.

    `spans`: first and last slots.
    """
    return tuple(
        sum(
            1 << k
            for k, (first, last) in enumerate(spans[:i])
            if first <= spans[i][1] and spans[i][0] <= last
        )
        for i in range(len(spans))
    )


def least_load(
    capacity: int,
    jobs: Sequence[JobWorkers],
    overlap: Sequence[int],
    loads: Sequence[float],
    stop: Callable[[], bool] = lambda: False,
) -> Numbering:
    """Return GPU numbers on one server that minimise the largest load, no GPU used twice at once.

    `capacity`: o_s, the number of GPUs. `jobs`: jobs on the server and their workers, by start; the
    server has enough GPUs in every slot. `overlap`: `overlaps` of their spans. `loads`: [j] slots
    that job j adds to the load of each of its GPUs. `stop`: asked from time to time whether to
    stop.

    Raises
    ------
    StoppedError
        If `stop` says so.

    Notes
    -----
    A state of the search maps each set of jobs, as bits, to the number of GPUs with these jobs.
    """
    load = [loads[j] for j, _ in jobs]
    total = sum(each * count for each, (_, count) in zip(load, jobs, strict=True))
    # some GPU has the longest job, and some GPU has the mean load or more
    lower = max([*load, total / capacity], default=0.0) * (1 + _CLOSE)
    best_load = sum(load) * (1 + _CLOSE) + 1.0
    best_groups: dict[int, int] = {}
    steps = 0

    def place(i: int, groups: dict[int, int], largest: float) -> None:
        """Place the jobs from i on, given the groups and the largest load so far."""
        nonlocal best_load, best_groups
        if i == len(jobs):
            best_load, best_groups = largest, groups
            return
        # groups of GPUs whose jobs do not overlap job i, with their loads after taking it
        idle = [(mask, load_of(mask) + load[i]) for mask in groups if not mask & overlap[i]]
        idle.sort(key=lambda group: group[1])
        for taken in splits(jobs[i][1], [groups[mask] for mask, _ in idle]):
            after = max([largest, *(u for (_, u), n in zip(idle, taken, strict=True) if n)])
            if after * (1 + _CLOSE) >= best_load:
                continue
            split = dict(groups)  # n GPUs of a group go to the group that also has job i
            for (mask, _), n in zip(idle, taken, strict=True):
                if n:
                    split[mask] -= n
                    split[mask | 1 << i] = n
            place(i + 1, {mask: n for mask, n in split.items() if n}, after)
            if best_load <= lower:
                return

    def load_of(mask: int) -> float:
        return sum(load[k] for k in range(len(jobs)) if mask >> k & 1)

    def splits(count: int, sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
        """Yield the ways to take `count` GPUs from groups of these sizes, first groups first."""
        nonlocal steps
        steps += 1
        if steps % _PAUSE == 0 and stop():
            raise StoppedError
        if not sizes:
            if count == 0:
                yield ()
            return
        if count > sum(sizes):
            return
        for n in range(min(count, sizes[0]), -1, -1):
            for rest in splits(count - n, sizes[1:]):
                yield (n, *rest)

    place(0, {0: capacity}, 0.0)
    # number the GPUs group by group
    gpus: list[list[int]] = [[] for _ in jobs]
    first = 0
    for mask, n in best_groups.items():
        for k in range(len(jobs)):
            if mask >> k & 1:
                gpus[k] += range(first, first + n)
        first += n
    return Numbering(best_load, tuple(map(tuple, gpus)))
