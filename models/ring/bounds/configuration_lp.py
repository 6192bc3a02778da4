"""`configuration-lp`: which jobs run in the same slot, and which rings are alone (ours).

In a slot a running job is at one of three levels: inside one server; alone, a ring on servers that
no other ring uses; or in company, a ring that shares a server with another one. A configuration is
a set of jobs with levels that may run in the same slot. Rings that are alone need separate
servers, and the rings in company have the other ones. The master program is

    min sum over configurations:  x_c  subject to, for each job j and each facet (u, v, w) of it,
        sum over configurations with j:  (w / d_j [inside] + u [alone] + v [company]) x_c >= w

where d_j is the execution time inside a server, and u a + v b >= w is a facet. The facets belong to
the convex hull of all pairs (a, b) in which a ring completes its iterations: numbers of slots,
alone and in company. These numbers are whole, since configurations change between slots only. The
bound knows what `pattern-lp` does not: rings that are too large for a server must slow each other,
or wait.

Prices of a slot at each level prove the bound in integers: see `bound`.

References
----------
A. Mingozzi, V. Maniezzo, S. Ricciardelli, L. Bianco, "An exact algorithm for the
resource-constrained project scheduling problem based on a new mathematical formulation", Management
Science 44 (1998): a linear bound from sets of concurrent jobs. The levels and facets are new here.
A. A. Farley, "A note on bounding a class of linear programming problems, including cutting stock
problems", Operations Research 38 (1990): the bound from the value of the pricing problem.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedgap.models.mechanisms.restricted_master import Priced, RestrictedMaster
from schedgap.models.ring.bounds.elementary import inside_slots
from schedgap.models.ring.rates import NEVER, RateTable
from schedgap.solvers.children.clock import Clock
from schedgap.solvers.loops.column_generation import Columns
from schedgap.solvers.programs.arrays import Floats

INSIDE, ALONE, COMPANY = range(3)  # levels
Configuration = tuple[tuple[int, int], ...]  # jobs and their levels
SlotPrices = Sequence[tuple[int, int, int]]  # [j][level] of a slot of a job, >= 0

_MOST_CELLS = 20_000_000  # size of the pricing problem: jobs x GPUs x GPUs x servers
_MOST_SLOTS = 10_000  # longer rings have one row instead of facets
_PRICE_UNITS = 10**6  # the largest price after rounding to integers


class Levels(NamedTuple):
    """What a job needs at each level."""

    inside: float  # execution time inside one server, or NEVER
    servers: int  # fewest servers of the job as a ring; 0 if it cannot be one
    alone: int  # largest progress in a slot alone
    company: int  # largest progress in a slot in company; 0 if that is impossible
    required: int  # progress until it is complete


@lru_cache(maxsize=16)
def levels(table: RateTable) -> tuple[Levels, ...]:
    """Return the levels [j]. The rates of a ring are largest on its fewest servers."""
    found = []
    for j, inside in enumerate(inside_slots(table)):
        n = max(2, table.fewest_servers[j])
        alone = table.rate(j, n, 1) if n <= table.most_servers[j] else 0
        company = table.rate(j, n, 2) if alone else 0
        found.append(Levels(inside, n if alone else 0, alone, company, table.required_progress[j]))
    return tuple(found)


def too_large(table: RateTable) -> str | None:
    """Return why the pricing problem is too large, or None."""
    cells = len(table.size) * (table.gpus + 1) ** 2 * (len(table.server_gpus) + 1)
    return f"{cells:.2g} cells, at most {_MOST_CELLS:.2g}" if cells > _MOST_CELLS else None


def least_paid(job: Levels, price: tuple[int, int, int]) -> int:
    """Return the least that a job pays in all its slots, at prices of a slot at each level."""
    options = []
    if job.inside != NEVER:
        options.append(int(job.inside) * price[INSIDE])
    if job.servers:
        options.append(_least_as_ring(job, price[ALONE], price[COMPANY]))
    return min(options)


def _least_as_ring(job: Levels, alone: int, company: int) -> int:
    """Return min alone a + company b over the integers a, b in which a ring completes."""
    most = -(-job.required // job.alone)
    if not job.company:
        return alone * most
    if most > _MOST_SLOTS:  # each unit of progress costs as much as at the cheaper level
        return min(-(-job.required * alone // job.alone), -(-job.required * company // job.company))
    return min(int(alone * a + company * b) for a, b in _slots(job).tolist())  # beyond 64 bits


def _slots(job: Levels) -> NDArray[np.int64]:
    """Return numbers of slots alone, and the fewest in company that complete the ring, in rows."""
    a = np.arange(-(-job.required // job.alone) + 1)
    return np.stack([a, -(-np.maximum(0, job.required - job.alone * a) // job.company)], axis=1)


def facets(job: Levels) -> list[tuple[int, int, int]]:
    """Return rows u a + v b >= w that all slots of a ring satisfy: the facets of their hull."""
    most = -(-job.required // job.alone)
    if not job.company:
        return [(1, 0, most)]
    if most > _MOST_SLOTS:
        return [(job.alone, job.company, job.required)]
    hull: list[list[int]] = []
    for point in _slots(job).tolist():
        while len(hull) >= 2 and _turn(hull[-2], hull[-1], point) <= 0:
            hull.pop()
        hull.append(point)
    rows = [(1, 0, hull[0][0]), (0, 1, hull[-1][1])]
    for (a, b), (c, d) in pairwise(hull):
        rows.append((b - d, c - a, (b - d) * a + (c - a) * b))
    return [row for row in rows if row[2] > 0]


def _turn(p: Sequence[int], q: Sequence[int], r: Sequence[int]) -> int:
    """Return a positive number if the path p, q, r turns left."""
    return (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])


def best_configurations(
    table: RateTable, values: NDArray[np.float64] | NDArray[np.int64]
) -> list[tuple[float, Configuration]]:
    """Return for each number of servers of rings that are alone a configuration of largest value.

    `values` [j, level]: of a job in a configuration, >= 0; all integers or all floats.

    Notes
    -----
    A dynamic program over the jobs; its state is the GPUs of all, the servers of the rings that are
    alone, and the GPUs of the rings in company. Rings alone on F servers leave the others at most N
    less the GPUs of the F smallest servers. Placements within servers are left out, so the value
    can only be too large.
    """
    n, servers = table.gpus, len(table.server_gpus)
    value = np.zeros((n + 1, servers + 1, n + 1), dtype=values.dtype)
    chosen = []
    for j, job in enumerate(levels(table)):
        g, best = table.size[j], np.full(value.shape, -1, dtype=np.int8)
        following = value.copy()
        steps = [(INSIDE, g, 0, 0)] if job.inside != NEVER else []
        steps += [(ALONE, g, job.servers, 0)] if job.servers else []
        steps += [(COMPANY, g, 0, g)] if job.company else []
        for level, *used in steps:
            if all(part <= size - 1 for part, size in zip(used, value.shape, strict=True)):
                a, b, c = used
                there = following[a:, b:, c:]
                tried = value[: n + 1 - a, : servers + 1 - b, : n + 1 - c] + values[j, level]
                better = tried > there
                there[better] = tried[better]
                best[a:, b:, c:][better] = level
        value = following
        chosen.append(best)
    smallest = [0, *accumulate(sorted(table.server_gpus))]
    found = []
    for taken in range(servers + 1):
        left = n - smallest[taken] if servers - taken >= 2 else 0
        at, configuration = (n, taken, left), []
        for j in range(len(chosen) - 1, -1, -1):
            level = int(chosen[j][at])
            if level >= 0:
                configuration.append((j, level))
                g = table.size[j]
                at = (
                    at[0] - g,
                    at[1] - (levels(table)[j].servers if level == ALONE else 0),
                    at[2] - (g if level == COMPANY else 0),
                )
        found.append((float(value[n, taken, left]), tuple(reversed(configuration))))
    return found


def bound(table: RateTable, prices: SlotPrices) -> int:
    """Return the lower bound on the makespan, in slots, that any prices prove, in integers.

    All slots of a job pay at least `least_paid`, and all jobs of a slot at most the largest value
    of a configuration. So there are at least as many slots as the one divided by the other.

    `table`: of an instance that `no_schedule` does not refute, and that is not `too_large`.
    """
    values = np.array(prices, dtype=np.int64)
    most = max(int(value) for value, _ in best_configurations(table, values))
    paid = sum(map(least_paid, levels(table), prices))
    return -(-paid // most) if most else 0


@dataclass(frozen=True, slots=True)
class ConfigurationBound:
    """The bound in slots, the prices that prove it, and the value of the linear program."""

    slots: int
    prices: tuple[tuple[int, int, int], ...]
    objective: float | None


def configuration_bound(table: RateTable, clock: Clock) -> ConfigurationBound | None:
    """Solve the master program by column generation; None if there was no time for prices.

    `table`: as of `bound`.
    """
    jobs = levels(table)
    rows = [
        (j, u, v, w)
        for j, job in enumerate(jobs)
        for u, v, w in (facets(job) if job.servers else [(0, 0, int(job.inside))])
    ]
    master = RestrictedMaster[Configuration]()
    block = master.rows("facets", len(rows), lower=[float(row[3]) for row in rows])
    of_job: dict[int, list[tuple[int, tuple[float, float, float]]]] = {}
    for i, (j, u, v, w) in zip(block.positions.tolist(), rows, strict=True):
        inside = w / jobs[j].inside if jobs[j].inside != NEVER else 0.0
        of_job.setdefault(j, []).append((i, (inside, float(u), float(v))))

    def columns(configurations: Sequence[Configuration]) -> Columns:
        entries = [
            {i: row[level] for j, level in configuration for i, row in of_job[j] if row[level]}
            for configuration in configurations
        ]
        return master.columns(np.ones(len(entries)), entries, configurations)

    def values(duals: Floats) -> Floats:
        """Return the values [j, level] at the duals of the facets."""
        dual = np.maximum(duals, 0.0)
        return np.array(
            [
                np.sum([dual[i] * np.array(row) for i, row in of_job[j]], axis=0)
                for j in range(len(jobs))
            ]
        )

    def pricing(duals: Floats) -> Priced | None:
        """Return configurations worth more than a slot, and Farley's bound."""
        if clock.expired():
            return None
        found = best_configurations(table, values(duals))
        most = max(value for value, _ in found)
        paid = float(np.maximum(block.extract(duals), 0.0) @ [row[3] for row in rows])
        dear = {configuration for value, configuration in found if value > 1 + 1e-9}
        return Priced(columns(sorted(dear)) if dear else None, paid / most if most else 0.0)

    single = [((j, INSIDE if job.inside != NEVER else ALONE),) for j, job in enumerate(jobs)]
    master.begin(columns(single))
    solved = master.solve(pricing, clock=clock)
    if solved.duals is None:
        return None
    best = values(solved.duals)
    units = np.ceil(best * (_PRICE_UNITS / max(best.max(), 1e-9)) - 1e-6).astype(np.int64)
    prices = tuple((int(p), int(q), int(r)) for p, q, r in units.tolist())
    return ConfigurationBound(bound(table, prices), prices, solved.result.objective)
