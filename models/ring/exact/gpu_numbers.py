"""GPU numbers for a schedule's jobs such that no GPU is loaded more than it must be (ours).

Which GPUs of a server a job holds changes nothing but the loads of (15): a job's workers are
counted by server in all other rows. Servers are independent of each other.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

_CLOSE = 1e-12  # relative: loads that are sums of the same numbers in another order
_PAUSE = 2000  # steps between two questions whether to stop

Held = tuple[int, int]  # a job and its workers on a server


class StoppedError(Exception):
    """Time was up."""


@dataclass(frozen=True, slots=True)
class Numbering:
    """The least largest load of a server's GPUs, and the GPUs of each of its jobs, that way."""

    load: float
    gpus: tuple[tuple[int, ...], ...]


def overlaps(spans: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """Return for each span of slots which earlier ones in the list it meets, as bits."""
    return tuple(
        sum(
            1 << k
            for k, (first, last) in enumerate(spans[:i])
            if first <= spans[i][1] and spans[i][0] <= last
        )
        for i in range(len(spans))
    )


def least_load(
    room: int,
    held: Sequence[Held],
    meets: Sequence[int],
    loads: Sequence[float],
    stop: Callable[[], bool] = lambda: False,
) -> Numbering:
    """Return GPUs of one server for its jobs, no GPU for two at once, the largest load least.

    Parameters
    ----------
    room : int
        O_s.
    held : sequence
        Jobs and their workers here, in order of their starts; they fit.
    meets : sequence of int
        `overlaps` of them.
    loads : sequence of float
        [j] what job j adds to the load of each of its GPUs.

    Raises
    ------
    StoppedError
        When `stop` says so.

    Notes
    -----
    A complete search over how many GPUs with the same jobs so far each job takes.
    """
    work = [loads[j] for j, _ in held]
    total = sum(load * count for load, (_, count) in zip(work, held, strict=True))
    floor = max([*work, total / room], default=0.0) * (1 + _CLOSE)
    best = sum(work) * (1 + _CLOSE) + 1.0
    found: dict[int, int] = {}
    steps = 0

    def place(i: int, groups: dict[int, int], most: float) -> None:
        nonlocal best, found
        if i == len(held):
            best, found = most, groups
            return
        ways = [(mask, load_of(mask) + work[i]) for mask in groups if not mask & meets[i]]
        ways.sort(key=lambda way: way[1])
        for taken in shares(held[i][1], [groups[mask] for mask, _ in ways]):
            after = max([most, *(load for (_, load), n in zip(ways, taken, strict=True) if n)])
            if after * (1 + _CLOSE) >= best:
                continue
            more = dict(groups)
            for (mask, _), n in zip(ways, taken, strict=True):
                if n:
                    more[mask] -= n
                    more[mask | 1 << i] = n
            place(i + 1, {mask: n for mask, n in more.items() if n}, after)
            if best <= floor:
                return

    def load_of(mask: int) -> float:
        return sum(work[k] for k in range(len(held)) if mask >> k & 1)

    def shares(count: int, rooms: Sequence[int]) -> Iterator[tuple[int, ...]]:
        """Yield ways to take so many of groups, most of the first ones first."""
        nonlocal steps
        steps += 1
        if steps % _PAUSE == 0 and stop():
            raise StoppedError
        if not rooms:
            if count == 0:
                yield ()
            return
        if count > sum(rooms):
            return
        for n in range(min(count, rooms[0]), -1, -1):
            for rest in shares(count - n, rooms[1:]):
                yield (n, *rest)

    place(0, {0: room}, 0.0)
    gpus: list[list[int]] = [[] for _ in held]
    first = 0
    for mask, n in found.items():
        for k in range(len(held)):
            if mask >> k & 1:
                gpus[k] += range(first, first + n)
        first += n
    return Numbering(best, tuple(map(tuple, gpus)))
