"""Contention without slots: sets of rings that run concurrently, and for how long (ours).

The progress of a ring depends on the rings that run at the same time, but not on when. If few rings
fit into the cluster at once, there are few such sets. A variable for each set counts the slots in
which exactly its rings run. By inclusion and exclusion these variables are determined by the starts
and ends, so the model is exact. They also give a linear bound that knows which rings must share a
server before anything is placed.

References
----------
A. Mingozzi, V. Maniezzo, S. Ricciardelli, L. Bianco, "An exact algorithm for the
resource-constrained project scheduling problem based on a new mathematical formulation", Management
Science 44 (1998): variables for sets of concurrent jobs. The contention levels are new here.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING

from schedgap.models.ring.programs.jobs_as_intervals import IntervalProgram
from schedgap.models.ring.rates import RateTable

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import IntVar, LinearExpr

Rings = tuple[int, ...]  # jobs, ascending


def concurrent_sets(table: RateTable, rings: Sequence[int], most: int) -> list[Rings] | None:
    """Return all nonempty sets of rings whose total size is at most N, smaller sets first.

    `rings`: jobs that may be spread, ascending. `most`: largest number of sets.

    The result is None if there are more than `most` sets.
    """
    sets: list[Rings] = []
    layer: list[Rings] = [()]
    while layer:
        larger: list[Rings] = []
        for c in layer:
            idle = table.gpus - sum(table.size[j] for j in c)
            larger += [(*c, j) for j in rings if (not c or j > c[-1]) and table.size[j] <= idle]
            if len(sets) + len(larger) > most:
                return None
        sets += larger
        layer = larger
    return sets


def must_share_server(table: RateTable, job: int, others: Sequence[int]) -> bool:
    """Return whether a ring necessarily shares a server with one of others that run concurrently.

    The ring does, unless the servers can be split into two parts, each of two or more. One part has
    enough GPUs for the ring, and one has enough for the others. Only GPUs are counted, so False
    proves nothing.

    `others`: rings that run at the same time, each over several servers.
    """
    if not others:
        return False
    least, most = table.size[job], table.gpus - sum(table.size[k] for k in others)
    if most < least:
        return True
    return not _splits(table) >> least & ((1 << most - least + 1) - 1)


@lru_cache(maxsize=16)
def _splits(table: RateTable) -> int:
    """Return, as bits, the numbers of GPUs of all sets of 2+ servers whose complement has 2+.

    Bit g of reachable[a, b] is set if some split of the servers seen so far has g GPUs in the first
    part. This split has a servers in the first part and b in the second part, where 2 stands for
    two or more.
    """
    counts = (0, 1, 2)
    reachable = {(a, b): int(a == b == 0) for a in counts for b in counts}
    for gpus in table.server_gpus:
        extended = dict.fromkeys(reachable, 0)
        for (a, b), bits in reachable.items():
            extended[min(a + 1, 2), b] |= bits << gpus
            extended[a, min(b + 1, 2)] |= bits
        reachable = extended
    return reachable[2, 2]


def add_contention_by_sets(
    program: IntervalProgram, table: RateTable, sets: Sequence[Rings]
) -> None:
    """Add (6)-(9), with a variable for each set of rings that run concurrently.

    `program`: model without contention, to which variables and constraints are added. `sets`: all
    `concurrent_sets` of the jobs that may be spread.

    Notes
    -----
    slots[c] is the number of slots in which exactly the rings of c run. For every set b of rings,
    the sum of slots[c] over c >= b is the overlap of the intervals of b (`_equate_overlap`); these
    equations determine slots[c].

    Job j on n servers makes progress rate(n, 1) in all of its slots. In each slot with contention
    level p or more, it makes rate(n, p - 1) - rate(n, p) less. In a set c that level is reached if
    j and p - 1 other rings of c use a common server; then slowed >= slots[c].
    """
    model, horizon = program.model, program.horizon
    slots = {c: model.new_int_var(0, horizon, f"slots{c}") for c in sets}
    containing: dict[Rings, list[IntVar]] = {b: [] for b in sets}  # [b] slots[c] of c >= b
    for c, slots_c in slots.items():
        for size in range(1, len(c) + 1):
            for b in combinations(c, size):
                containing[b].append(slots_c)
    shared = {b: _equate_overlap(program, b, containing[b]) for b in sets}
    model.add(sum(slots.values()) <= (horizon if program.makespan is None else program.makespan))
    most = max(table.server_gpus)  # largest number of rings on a server
    slowed: dict[tuple[int, int], list[IntVar]] = {}  # [j, p] slots with level p or more
    progress_bound: dict[int, list[LinearExpr]] = {j: [] for j in program.spread}
    for c, slots_c in slots.items():
        for j in c:
            others = [k for k in c if k != j]
            certain = must_share_server(table, j, others)
            fewest = min(n for n, _ in program.server_counts(j))
            progress_bound[j].append(table.rate(j, fewest, 2 if certain else 1) * slots_c)
            for p in range(2, min(most, len(c)) + 1):
                if p == 2 and certain:
                    slowed.setdefault((j, 2), []).append(slots_c)
                    continue
                slowed_c = model.new_int_var(0, horizon, f"slowed[{j},{p}]{c}")
                slowed.setdefault((j, p), []).append(slowed_c)
                for rest in combinations(others, p - 1):
                    share = shared[tuple(sorted((j, *rest)))]
                    model.add(slowed_c >= slots_c).only_enforce_if(share)
    for j, spread in program.spread.items():
        # implied by the rows below, but linear without the choice of n
        required = table.required_progress[j]
        model.add(sum(progress_bound[j]) >= required * (1 if program.must_spread(j) else spread))
        for n, chosen in program.server_counts(j):
            progress = table.rate(j, n, 1) * sum(containing[(j,)])
            for p in range(2, most + 1):
                drop = table.rate(j, n, p - 1) - table.rate(j, n, p)
                progress -= drop * sum(slowed.get((j, p), ()))
            model.add(progress >= required).only_enforce_if(chosen)  # (9)


def _equate_overlap(
    program: IntervalProgram, rings: Rings, slots: Sequence["IntVar"]
) -> "IntVar | None":
    """Make the total of `slots` the overlap of the rings' intervals, where all are spread.

    Return the variable that is true if some server is used by all of them; None for one ring.
    """
    model, total = program.model, sum(slots)
    optional = [program.spread[j] for j in rings if not program.must_spread(j)]
    if len(rings) == 1:
        (j,) = rings
        model.add(total == program.duration[j]).only_enforce_if(optional)
        for spread in optional:
            model.add(total == 0).only_enforce_if(spread.negated())
        return None
    length = program.overlap(rings)
    overlap = model.new_int_var(0, program.horizon, f"overlap{rings}")
    model.add_max_equality(overlap, [0, length])
    model.add(total == overlap).only_enforce_if(optional)
    return program.sharing(rings)
