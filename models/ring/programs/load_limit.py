"""The least limit on the loads of GPUs without regard to time: (14)-(16) in compact form (ours).

Every schedule gives each job the number of GPUs it asks for. If a job's load is at most its best
execution time, no GPU has a load above the makespan; hence the least limit on loads over all
choices of GPUs is a lower bound on the makespan. GPUs are identical, and so are jobs of equal size
and load, which are called a kind: the program decides how many jobs of each kind use each GPU. If
no count exceeds the number of jobs of the kind, the counts can always be split into the jobs.
"""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from scipy import sparse

from schedgap.models.ring.rates import RateTable, load_increments
from schedgap.solvers.programs.arrays import LinearProgram


def estimated_loads(table: RateTable) -> tuple[float, ...]:
    """Return the load [j], in slots, that each job adds to its GPUs in (15).

    It is capped at d_j, which it can exceed by round-off only.

    Parameters
    ----------
    table : RateTable
        Of an instance that `no_schedule` does not refute.
    """
    return tuple(map(min, load_increments(table), table.best_slots))


def trivial_limit(table: RateTable, loads: Sequence[float]) -> int:
    """Return a lower bound on the least limit: the largest load of a job, or the mean over GPUs.

    Parameters
    ----------
    table : RateTable
        Rates of the instance.
    loads : sequence of float
        [j] slots that a job adds to the load of each of its GPUs.
    """
    work = math.fsum(size * load for size, load in zip(table.size, loads, strict=True))
    return max(math.ceil(max(loads) - 1e-6), math.ceil(work / table.gpus - 1e-6))


def build(table: RateTable, loads: Sequence[float]) -> LinearProgram:
    """Return the program that minimises the limit, a whole number of slots, without solving it.

    Parameters
    ----------
    table : RateTable
        Rates of the instance.
    loads : sequence of float
        [j] slots that a job adds to the load of each of its GPUs.

    Notes
    -----
    Source: (11), (15), (16). Columns: v[k, g], the number of jobs of kind k on GPU g, then theta.
    Rows: sum_g v[k, g] = (number of jobs) x (size) for each kind; sum_k load_k v[k, g] <= theta for
    each GPU; and GPUs in order of decreasing load, which breaks the symmetry.
    """
    kinds = Counter(zip(table.size, loads, strict=True))
    K, N = len(kinds), table.gpus
    theta = K * N
    load = np.array([load for _, load in kinds])
    entries: list[tuple[int, int, float]] = []  # row, column, value
    lower: list[float] = []
    upper: list[float] = []
    names: list[str] = []
    for k, ((size, _), count) in enumerate(kinds.items()):
        entries += [(len(names), k * N + g, 1.0) for g in range(N)]
        lower.append(count * size)
        upper.append(count * size)
        names.append(f"eq_11[{k}]")
    for g in range(N):
        entries += [(len(names), k * N + g, load[k]) for k in range(K)]
        entries.append((len(names), theta, -1.0))
        lower.append(-math.inf)
        upper.append(0)
        names.append(f"eq_16[{g}]")
    for g in range(N - 1):
        for k in range(K):
            entries.append((len(names), k * N + g, load[k]))
            entries.append((len(names), k * N + g + 1, -load[k]))
        lower.append(0)
        upper.append(math.inf)
        names.append(f"cut_order[{g}]")
    row, column, value = (np.array(part) for part in zip(*entries, strict=True))
    most_jobs = np.repeat([float(count) for count in kinds.values()], N)
    cost = np.zeros(theta + 1)
    cost[theta] = 1.0
    return LinearProgram(
        cost=cost,
        lower=np.append(np.zeros(theta), trivial_limit(table, loads)),
        upper=np.append(most_jobs, math.ceil(sum(loads))),
        matrix=sparse.csr_array((value, (row, column)), shape=(len(names), theta + 1)),
        row_lower=np.array(lower, dtype=float),
        row_upper=np.array(upper, dtype=float),
        integer=np.ones(theta + 1, dtype=bool),
        column_names=[f"v[{k},{g}]" for k in range(K) for g in range(N)] + ["theta"],
        row_names=names,
    )
