"""All schedules of a tiny instance: every start and placement, and GPU numbers of least load.

This is the pool that the paper has in mind in (10)-(16).

References
----------
Plain enumeration, no source. Ends follow from starts and placements by simulation, so that
enumerating these two reaches every schedule.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, product

from schedgap.errors import UsageError
from schedgap.instances.ring import RingInstance, RingSchedule, Run
from schedgap.models.method import Budget
from schedgap.models.ring.exact.gpu_numbers import Numbering, StoppedError, least_load, overlaps
from schedgap.models.ring.heuristics.initial import starting_schedule
from schedgap.models.ring.programs.load_limit import estimated_loads
from schedgap.models.ring.rates import NEVER, rate_table
from schedgap.models.ring.simulator import Placement, feasible_ends, schedule_of

MOST_PLANS = 200_000  # combinations of starts and placements

JobOnServer = tuple[int, int, int, int]  # first slot, job, workers, last slot


def count_plans(instance: RingInstance, latest: int) -> int:
    """Return the number of combinations of starts up to a slot and placements of all jobs.

    `latest`: last slot in which a job may start.

    Returns
    -------
    int
        `MOST_PLANS` + 1 if there are more than `MOST_PLANS`.
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


def latest_end(instance: RingInstance, *, budget: Budget | None = None) -> int:
    """Return a slot by which an optimal schedule ends: the makespan of a first schedule.

    Raises
    ------
    UsageError
        If there are more than `MOST_PLANS` starts and placements up to that slot.
    """
    first = starting_schedule(instance, budget=budget)
    latest = instance.horizon if first is None else first.makespan
    if count_plans(instance, latest) > MOST_PLANS:
        raise UsageError(
            f"complete pool: more than {MOST_PLANS} starts and placements up to slot {latest}: "
            "take fewer or shorter jobs, or a method without a pool"
        )
    return latest


def complete_pool(
    instance: RingInstance, latest: int, stop: Callable[[], bool] = lambda: False
) -> list[RingSchedule] | None:
    """Return one schedule for each vector of ends up to a given slot.

    `latest`: last slot in which a job may end. If some schedule ends by it, the pool has an optimal
    one. `stop`: asked after each schedule whether to stop.

    Returns
    -------
    list or None
        None if stopped.
    """
    pool: dict[tuple[int, ...], RingSchedule] = {}
    for starts, placements in _plans(instance, latest):
        if stop():
            return None
        schedule = schedule_of(instance, starts, placements)
        if schedule is not None and schedule.makespan <= latest:
            pool.setdefault(tuple(run.end for run in schedule.runs.values()), schedule)
    return list(pool.values())


def limit_pool(
    instance: RingInstance, latest: int, stop: Callable[[], bool] = lambda: False
) -> tuple[list[RingSchedule], float] | None:
    """Return a schedule that attains the least limit of (16) over all schedules and GPU numbers.

    `latest`: last slot in which a job may end. `stop`: asked after each schedule whether to stop.

    Returns
    -------
    list of RingSchedule
        The schedules that improved on all before them; the last one attains the least limit.
    float
        The least limit, slots; infinite if there is no schedule.

    Instead of both, None if stopped.
    """
    table = rate_table(instance)
    loads = estimated_loads(table)
    numberings: dict[object, Numbering] = {}
    pool: list[RingSchedule] = []
    least = math.inf

    def numbering(capacity: int, on_server: list[JobOnServer]) -> Numbering:
        """Return the best GPU numbers on one server; cached by what they depend on."""
        jobs = tuple((j, count) for _, j, count, _ in on_server)
        overlap = overlaps([(first, last) for first, _, _, last in on_server])
        key = capacity, jobs, overlap
        if key not in numberings:
            numberings[key] = least_load(capacity, jobs, overlap, loads, stop)
        return numberings[key]

    try:
        for starts, placements in _plans(instance, latest):
            if stop():
                return None
            ends = feasible_ends(table, starts, placements, latest)
            if ends is None:
                continue
            by_server = [
                sorted(
                    (starts[j], j, placed[s], ends[j])
                    for j, placed in enumerate(placements)
                    if s in placed
                )
                for s in range(len(table.server_gpus))
            ]
            # servers are independent: the limit of a schedule is the largest of their loads
            numbered = list(map(numbering, table.server_gpus, by_server))
            limit = max(on_server.load for on_server in numbered)
            if limit < least:
                least = limit
                pool.append(_with_gpus(instance, starts, ends, by_server, numbered))
    except StoppedError:
        return None
    return pool, least


def _with_gpus(
    instance: RingInstance,
    starts: Sequence[int],
    ends: Sequence[int],
    by_server: Sequence[Sequence[JobOnServer]],
    numbered: Sequence[Numbering],
) -> RingSchedule:
    """Return the schedule with the GPU numbers of each server."""
    gpus: list[dict[str, tuple[int, ...]]] = [{} for _ in starts]  # [j] by server id
    for server, on_server, numbering in zip(instance.servers, by_server, numbered, strict=True):
        for (_, j, _, _), numbers in zip(on_server, numbering.gpus, strict=True):
            gpus[j][server.id] = numbers
    runs = {
        job.id: Run(starts[j], ends[j], {s: len(held) for s, held in gpus[j].items()}, gpus[j])
        for j, job in enumerate(instance.jobs)
    }
    return RingSchedule(runs)


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
