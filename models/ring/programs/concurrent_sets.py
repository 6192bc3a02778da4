"""Contention without slots: which rings run at the same time, and for how long (ours).

A ring's progress depends on who runs beside it, not on when. Where few rings fit into the cluster
at once, the sets of them are few: a variable for each says in how many slots just these rings run.
By inclusion and exclusion these times follow from the starts and ends, so nothing is relaxed; and
before anything is placed they add up to a linear bound that knows which rings must meet.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from typing import Any

from schedgap.models.ring.programs.jobs_as_intervals import Program
from schedgap.models.ring.rates import RateTable

Rings = tuple[int, ...]  # jobs, ascending


def concurrent_sets(table: RateTable, rings: Sequence[int], most: int) -> list[Rings] | None:
    """Return the sets of rings that the cluster has GPUs for, small sets first.

    None where there are more than `most`. `rings` are ascending.
    """
    found: list[Rings] = []
    layer: list[Rings] = [()]
    while layer:
        wider: list[Rings] = []
        for held in layer:
            idle = table.gpus - sum(table.size[j] for j in held)
            wider += [
                (*held, j) for j in rings if (not held or j > held[-1]) and table.size[j] <= idle
            ]
            if len(found) + len(wider) > most:
                return None
        found += wider
        layer = wider
    return found


def must_share_server(table: RateTable, job: int, others: Sequence[int]) -> bool:
    """Return whether a ring surely shares a server with one of others that run beside it.

    It does unless some two servers or more have GPUs for it, and two or more of the rest for the
    others: a necessary condition, by counting GPUs.
    """
    if not others:
        return False
    least, most = table.size[job], table.gpus - sum(table.size[k] for k in others)
    if most < least:
        return True
    return not _shares(table) >> least & ((1 << most - least + 1) - 1)


@lru_cache(maxsize=16)
def _shares(table: RateTable) -> int:
    """Return as bits the numbers of GPUs that two servers or more have, of all but two or more."""
    some = (0, 1, 2)  # servers among these, and among the others: 0, 1, 2 or more
    sums = {(one, other): int(one == other == 0) for one in some for other in some}
    for room in table.server_gpus:
        after = dict.fromkeys(sums, 0)
        for (one, other), bits in sums.items():
            after[min(one + 1, 2), other] |= bits << room
            after[one, min(other + 1, 2)] |= bits
        sums = after
    return sums[2, 2]


def add_contention_by_sets(
    made: Program, table: RateTable, horizon: int, sets: Sequence[Rings]
) -> None:
    """Add (6)-(9) by sets of rings that run at the same time.

    Parameters
    ----------
    made : Program
        Jobs as intervals.
    horizon : int
        H of the intervals.
    sets : sequence
        All sets of `rings_at_once` among the jobs that may be spread.

    Notes
    -----
    For each set c: the slots in which the rings of c, and no others, run. Over the sets that hold
    all of some rings, these add up to the overlap of the rings. For job j in c and each crowd
    q >= 2: the slots of c, if j and q - 1 others of c use one server; the rate falls by
    rate(n, q - 1) - rate(n, q) in them.
    """
    model = made.model
    slots = {c: model.new_int_var(0, horizon, f"slots{c}") for c in sets}
    within: dict[Rings, list[Any]] = {part: [] for part in sets}
    for c, own in slots.items():
        for size in range(1, len(c) + 1):
            for part in combinations(c, size):
                within[part].append(own)
    shared = {part: _overlap(made, part, within[part], horizon) for part in sets}
    model.add(sum(slots.values()) <= (horizon if made.makespan is None else made.makespan))
    most = max(table.server_gpus)  # so many rings at most meet on a server
    slowed: dict[tuple[int, int], list[Any]] = {}  # (job, crowd) -> slots
    bound: dict[int, list[Any]] = {j: [] for j in made.spread}
    for c, own in slots.items():
        for j in c:
            others = [k for k in c if k != j]
            surely = must_share_server(table, j, others)
            fewest = min(n for n, _ in made.numbers(j))
            bound[j].append(table.rate(j, fewest, 2 if surely else 1) * own)
            for contention in range(2, min(most, len(c)) + 1):
                if contention == 2 and surely:
                    slowed.setdefault((j, 2), []).append(own)
                    continue
                late = model.new_int_var(0, horizon, f"slowed[{j},{contention}]{c}")
                slowed.setdefault((j, contention), []).append(late)
                for more in combinations(others, contention - 1):
                    met = shared[tuple(sorted((j, *more)))]
                    model.add(late >= own).only_enforce_if(met)
    for j, spread in made.spread.items():
        # implied, but linear whatever the number of servers is
        model.add(sum(bound[j]) >= table.required_progress[j] * (1 if made.always(j) else spread))
        for n, chosen in made.numbers(j):
            done = table.rate(j, n, 1) * sum(within[(j,)])
            for contention in range(2, most + 1):
                drop = table.rate(j, n, contention - 1) - table.rate(j, n, contention)
                done -= drop * sum(slowed.get((j, contention), ()))
            model.add(done >= table.required_progress[j]).only_enforce_if(chosen)  # (9)


def _overlap(made: Program, part: Rings, slots: Sequence[Any], horizon: int) -> Any:
    """Let the slots of the sets that hold these rings add up to their overlap.

    Return the variable that is true where some server is used by all of them.
    """
    model, total = made.model, sum(slots)
    maybe = [made.spread[j] for j in part if not made.always(j)]
    if len(part) == 1:
        (j,) = part
        model.add(total == made.duration[j]).only_enforce_if(maybe)
        for spread in maybe:
            model.add(total == 0).only_enforce_if(spread.negated())
        return None
    last = model.new_int_var(2, horizon + 1, f"last{part}")
    first = model.new_int_var(1, horizon, f"first{part}")
    model.add_min_equality(last, [made.end[j] for j in part])
    model.add_max_equality(first, [made.start[j] for j in part])
    overlap = model.new_int_var(0, horizon, f"overlap{part}")
    model.add_max_equality(overlap, [0, last - first])
    model.add(total == overlap).only_enforce_if(maybe)
    met = model.new_bool_var(f"met{part}")
    for s in range(len(made.instance.servers)):
        model.add_bool_or([*(made.use[j, s].negated() for j in part), met])
    return met
