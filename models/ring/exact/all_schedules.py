"""All schedules of a tiny instance: every start and placement.

This is the pool that the paper has in mind in (10)-(13).

References
----------
Plain enumeration, no source. Ends follow from starts and placements by simulation, so
enumerating these two reaches every schedule.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, product

from schedgap.instances.ring import RingInstance, RingSchedule
from schedgap.models.program import NotBuiltError
from schedgap.models.ring.rates import NEVER, rate_table
from schedgap.models.ring.simulator import Placement, schedule_of

MOST_PLANS = 200_000  # combinations of starts and placements


def count_plans(instance: RingInstance, latest: int) -> int:
    """Return the number of combinations of starts up to a slot and placements of all jobs.

    `latest`: last slot in which a job may start.

    The number is `MOST_PLANS` + 1 if there are more than `MOST_PLANS`.
    """
    table, number = rate_table(instance), 1
    for size in table.size:
        placements = sum(1 for _ in islice(_placements(table.server_gpus, size), MOST_PLANS))
        number *= latest * placements
        if number > MOST_PLANS:
            return MOST_PLANS + 1
    return number


def unsupported_reason(instance: RingInstance) -> str | None:
    """Return why there are too many schedules to enumerate, or None."""
    table = rate_table(instance)
    if table.longest == NEVER or count_plans(instance, int(table.longest)) <= MOST_PLANS:
        return None
    return f"more than {MOST_PLANS} starts and placements: for tiny instances only"


def complete_pool(instance: RingInstance, latest: int) -> list[RingSchedule]:
    """Return one schedule for each vector of ends up to a given slot.

    `latest`: last slot in which a job may end. If some schedule ends by it, the pool has an optimal
    one.

    Raises
    ------
    NotBuiltError
        If there are more than `MOST_PLANS` starts and placements up to that slot.
    """
    if count_plans(instance, latest) > MOST_PLANS:
        raise NotBuiltError(
            f"complete pool: more than {MOST_PLANS} starts and placements up to slot {latest}: "
            "take fewer or shorter jobs, or a method without a pool"
        )
    pool: dict[tuple[int, ...], RingSchedule] = {}
    for starts, placements in _plans(instance, latest):
        schedule = schedule_of(instance, starts, placements)
        if schedule is not None and schedule.makespan <= latest:
            pool.setdefault(tuple(run.end for run in schedule.runs.values()), schedule)
    return list(pool.values())


def _plans(
    instance: RingInstance, latest: int
) -> Iterator[tuple[tuple[int, ...], tuple[Placement, ...]]]:
    """Yield all starts and placements; skip those where a job ends after `latest` even alone."""
    table = rate_table(instance)
    by_job = [list(_placements(table.server_gpus, size)) for size in table.size]
    for placements in product(*by_job):
        fastest = [
            table.slots(j, len(placed), min(len(placed) - 1, 1))
            for j, placed in enumerate(placements)
        ]
        last = [latest + 1 - int(slots) if slots <= latest else 0 for slots in fastest]
        for starts in product(*(range(1, slot + 1) for slot in last)):
            yield starts, placements


def _placements(server_gpus: Sequence[int], size: int) -> Iterable[Placement]:
    """Yield every way to distribute the workers of a job over the servers."""

    def extend(s: int, workers: int, placed: dict[int, int]) -> Iterable[dict[int, int]]:
        if workers == 0:
            yield placed
        elif s < len(server_gpus) and workers <= sum(server_gpus[s:]):
            for count in range(min(workers, server_gpus[s]), -1, -1):
                yield from extend(s + 1, workers - count, placed | {s: count} if count else placed)

    return extend(0, size, {})
