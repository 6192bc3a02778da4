"""All schedules of a tiny instance: every start and placement, and GPU numbers of least load.

The pool that the paper has in mind in (10)-(16).
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, product

from schedgap.instances.ring import RingInstance, RingSchedule, Run
from schedgap.models.ring.exact.gpu_numbers import Numbering, StoppedError, least_load, overlaps
from schedgap.models.ring.programs.load_limit import estimated_loads
from schedgap.models.ring.rates import NEVER, RateTable, rate_table
from schedgap.models.ring.simulator import Placement, fits, schedule_of, simulate

MOST_PLANS = 200_000  # starts and placements of a complete pool


def count_plans(instance: RingInstance, latest: int) -> int:
    """Return how many starts, up to `latest`, and placements there are for all jobs together.

    Counting ends at `MOST_PLANS` + 1.
    """
    table, number = rate_table(instance), 1
    for size in table.size:
        ways = sum(1 for _ in islice(_placements(table.server_gpus, size), MOST_PLANS))
        number *= latest * ways
        if number > MOST_PLANS:
            return MOST_PLANS + 1
    return number


def unsupported_reason(instance: RingInstance) -> str | None:
    """Say why there are too many schedules to have them all, or None."""
    table = rate_table(instance)
    if table.longest == NEVER or count_plans(instance, int(table.longest)) <= MOST_PLANS:
        return None
    return f"more than {MOST_PLANS} starts and placements: for tiny instances only"


def complete_pool(
    instance: RingInstance, latest: int, stop: Callable[[], bool] = lambda: False
) -> list[RingSchedule] | None:
    """Return schedules with the ends of every schedule that ends by slot `latest`, each once.

    None when it was stopped. It holds an optimum when some schedule ends by `latest`.
    """
    found: dict[tuple[int, ...], RingSchedule] = {}
    for starts, placements in _plans(instance, latest):
        if stop():
            return None
        made = schedule_of(instance, starts, placements)
        if made is not None and made.makespan <= latest:
            found.setdefault(tuple(run.end for run in made.runs.values()), made)
    return list(found.values())


def limit_pool(
    instance: RingInstance, latest: int, stop: Callable[[], bool] = lambda: False
) -> tuple[list[RingSchedule], float] | None:
    """Return a schedule that keeps the least limit of (16), after those that keep ever lower ones.

    Looked at are all schedules that end by slot `latest`, with all GPU numbers. The second is the
    limit, infinite where there is no schedule. None when it was stopped.
    """
    table = rate_table(instance)
    work = estimated_loads(table)
    known: dict[object, Numbering] = {}
    pool: list[RingSchedule] = []
    least = math.inf

    def numbering(room: int, here: list[tuple[int, int, int, int]]) -> Numbering:
        held = tuple((j, count) for _, j, count, _ in here)
        meets = overlaps([(first, last) for first, _, _, last in here])
        key = room, held, meets
        if key not in known:
            known[key] = least_load(room, held, meets, work, stop)
        return known[key]

    try:
        for starts, placements in _plans(instance, latest):
            if stop():
                return None
            ends = _ends(table, starts, placements, latest)
            if ends is None:
                continue
            on = [
                sorted(
                    (starts[j], j, placed[s], ends[j])
                    for j, placed in enumerate(placements)
                    if s in placed
                )
                for s in range(len(table.server_gpus))
            ]
            numbered = [
                numbering(room, here) for room, here in zip(table.server_gpus, on, strict=True)
            ]
            limit = max(each.load for each in numbered)
            if limit < least:
                least = limit
                pool.append(_with_gpus(instance, starts, ends, on, numbered))
    except StoppedError:
        return None
    return pool, least


def _ends(
    table: RateTable, starts: Sequence[int], placements: Sequence[Placement], latest: int
) -> list[int] | None:
    """Return the last slots [j]; None where a job ends after `latest`, or GPUs do not suffice."""
    ends = simulate(table, starts, [tuple(placed) for placed in placements])
    known = [end for end in ends if end is not None and end <= latest]
    return known if len(known) == len(ends) and fits(table, starts, known, placements) else None


def _with_gpus(
    instance: RingInstance,
    starts: Sequence[int],
    ends: Sequence[int],
    on: Sequence[Sequence[tuple[int, int, int, int]]],
    numbered: Sequence[Numbering],
) -> RingSchedule:
    held: list[dict[str, tuple[int, ...]]] = [{} for _ in starts]
    for server, here, numbering in zip(instance.servers, on, numbered, strict=True):
        for (_, j, _, _), gpus in zip(here, numbering.gpus, strict=True):
            held[j][server.id] = gpus
    runs = {
        job.id: Run(starts[j], ends[j], {s: len(gpus) for s, gpus in held[j].items()}, held[j])
        for j, job in enumerate(instance.jobs)
    }
    return RingSchedule(runs)


def _plans(
    instance: RingInstance, latest: int
) -> Iterator[tuple[tuple[int, ...], tuple[Placement, ...]]]:
    """Yield all starts and placements of which no job alone would end after `latest`."""
    table = rate_table(instance)
    ways = [list(_placements(table.server_gpus, size)) for size in table.size]
    for placements in product(*ways):
        fastest = [
            table.slots(j, len(placed), min(len(placed) - 1, 1))
            for j, placed in enumerate(placements)
        ]
        last = [latest + 1 - int(slots) if slots <= latest else 0 for slots in fastest]
        for starts in product(*(range(1, each + 1) for each in last)):
            yield starts, placements


def _placements(room: Sequence[int], size: int) -> Iterable[Placement]:
    """Yield every way to put so many workers on servers."""

    def extend(s: int, left: int, placed: dict[int, int]) -> Iterable[dict[int, int]]:
        if left == 0:
            yield placed
        elif s < len(room) and left <= sum(room[s:]):
            for count in range(min(left, room[s]), -1, -1):
                yield from extend(s + 1, left - count, placed | {s: count} if count else placed)

    return extend(0, size, {})
