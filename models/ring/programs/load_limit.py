"""The least limit on the loads of GPUs, without regard to time: (14)-(16) in compact form (ours).

Any schedule gives every job as many GPUs as it asks for; so a limit that no choice of GPUs meets is
below the makespan of every schedule, where loads count no job for longer than it takes at its best.
GPUs are alike, and so are jobs of equal size and length: the program counts how many jobs of a kind
use a GPU. Such counts, none above the number of jobs of the kind, can always be dealt out to them.
"""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from scipy import sparse

from schedgap.models.ring.rates import RateTable, load_increments
from schedgap.solvers.programs.arrays import LinearProgram


def estimated_loads(table: RateTable) -> tuple[float, ...]:
    """Return what (15) charges each job's GPUs with [j], in slots; at most d_j, for round-off."""
    pairs = zip(load_increments(table), table.best_slots, strict=True)
    return tuple(min(work, best) for work, best in pairs)


def trivial_limit(table: RateTable, loads: Sequence[float]) -> int:
    """Return a limit that holds without any choice: of the heaviest job, and of all GPUs alike."""
    work = math.fsum(size * load for size, load in zip(table.size, loads, strict=True))
    return max(math.ceil(max(loads) - 1e-6), math.ceil(work / table.gpus - 1e-6))


def build(table: RateTable, loads: Sequence[float]) -> LinearProgram:
    """Return the program that minimises the limit, a whole number of slots; it solves nothing.

    Parameters
    ----------
    table : RateTable
    loads : sequence of float
        [j] slots that a job adds to the load of each of its GPUs.

    Notes
    -----
    Source: (11), (15), (16). Columns: kinds of jobs times GPUs, then theta. GPUs are in order of
    their loads.
    """
    kinds = Counter(zip(table.size, loads, strict=True))
    K, N = len(kinds), table.gpus
    theta = K * N
    work = np.array([load for _, load in kinds])
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
        entries += [(len(names), k * N + g, work[k]) for k in range(K)]
        entries.append((len(names), theta, -1.0))
        lower.append(-math.inf)
        upper.append(0)
        names.append(f"eq_16[{g}]")
    for g in range(N - 1):
        for k in range(K):
            entries.append((len(names), k * N + g, work[k]))
            entries.append((len(names), k * N + g + 1, -work[k]))
        lower.append(0)
        upper.append(math.inf)
        names.append(f"cut_order[{g}]")
    row, column, value = (np.array(part) for part in zip(*entries, strict=True))
    most = np.repeat([float(count) for count in kinds.values()], N)
    cost = np.zeros(theta + 1)
    cost[theta] = 1.0
    return LinearProgram(
        cost=cost,
        lower=np.append(np.zeros(theta), trivial_limit(table, loads)),
        upper=np.append(most, math.ceil(sum(loads))),
        matrix=sparse.csr_array((value, (row, column)), shape=(len(names), theta + 1)),
        row_lower=np.array(lower, dtype=float),
        row_upper=np.array(upper, dtype=float),
        integer=np.ones(theta + 1, dtype=bool),
        column_names=[f"v[{k},{g}]" for k in range(K) for g in range(N)] + ["theta"],
        row_names=names,
    )
