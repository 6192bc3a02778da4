"""The least limit on the loads of GPUs without regard to time: (14)-(16) in compact form (ours).

Every schedule gives each job the number of GPUs it asks for. If a job's load is at most its best
execution time, no GPU has a load above the makespan; hence the least limit on loads over all
choices of GPUs is a lower bound on the makespan. GPUs are identical, and so are jobs of equal size
and load, which are called a kind. The program decides how many jobs of each kind use each GPU. If
no count exceeds the number of jobs of the kind, the counts can always be split into the jobs.
"""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from schedgap.models.ring.rates import RateTable, load_increments
from schedgap.solvers.programs.arrays import LinearProgram
from schedgap.solvers.programs.builder import ProgramBuilder


def estimated_loads(table: RateTable) -> tuple[float, ...]:
    """Return the load [j], in slots, that each job adds to its GPUs in (15).

    It is capped at d_j, which it can exceed by round-off only.

    `table`: of an instance that `no_schedule` does not refute.
    """
    return tuple(map(min, load_increments(table), table.best_slots))


def trivial_limit(table: RateTable, loads: Sequence[float]) -> int:
    """Return a lower bound on the least limit: the largest load of a job, or the mean over GPUs.

    `loads`: [j] slots that a job adds to the load of each of its GPUs.
    """
    work = math.fsum(size * load for size, load in zip(table.size, loads, strict=True))
    return max(math.ceil(max(loads) - 1e-6), math.ceil(work / table.gpus - 1e-6))


def build(table: RateTable, loads: Sequence[float]) -> LinearProgram:
    """Return the program that minimises the limit, an integer number of slots, without solving it.

    `loads`: [j] slots that a job adds to the load of each of its GPUs.

    Notes
    -----
    Source: (11), (15), (16). Columns: v[k, g], the number of jobs of kind k on GPU g, then theta.
    Rows: sum_g v[k, g] = (number of jobs) x (size) for each kind; sum_k load_k v[k, g] <= theta for
    each GPU; and GPUs in order of decreasing load, which breaks the symmetry.
    """
    kinds = Counter(zip(table.size, loads, strict=True))
    K, N = len(kinds), table.gpus
    size, load = (np.array(part)[:, None] for part in zip(*kinds, strict=True))  # [k, 0]
    jobs = np.array(list(kinds.values()))[:, None]
    k, g = np.indices((K, N))
    builder = ProgramBuilder()
    v = builder.columns("v", (K, N), upper=jobs, integer=True).positions
    theta = builder.columns(
        "theta",
        1,
        cost=1.0,
        lower=trivial_limit(table, loads),
        upper=math.ceil(sum(loads)),
        integer=True,
    ).positions
    workers = (jobs * size)[:, 0]
    builder.rows("eq_11", K, (k, v, 1.0), lower=workers, upper=workers)
    builder.rows("eq_16", N, (g, v, load), (range(N), theta, -1.0), upper=0.0)
    builder.rows(
        "cut_order",
        N - 1,
        (g[:, :-1], v[:, :-1], load),
        (g[:, :-1], v[:, 1:], -load),
        lower=0.0,
    )
    return builder.program(names=True)
