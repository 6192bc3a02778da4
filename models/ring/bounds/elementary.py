"""Closed-form bounds on the makespan, and the execution times on which all bounds are based.

The area bound also holds with job sizes mapped by a dual-feasible function.

References
----------
S. P. Fekete, J. Schepers, "New classes of fast lower bounds for bin packing problems", Mathematical
Programming (2001): dual-feasible functions, see `mechanisms.dual_feasible_functions`.
S. Martello, P. Toth, "Lower bounds and reduction procedures for the bin packing problem", Discrete
Applied Mathematics 28 (1990): the bound L2 with the same functions.
"""

from collections.abc import Sequence

from schedgap.models.mechanisms.dual_feasible_functions import threshold, thresholds
from schedgap.models.ring.rates import NEVER, RateTable


def inside_slots(table: RateTable) -> tuple[float, ...]:
    """Return the slots [j] that a job takes inside one server; NEVER if none is large enough."""
    largest = max(table.server_gpus)
    return tuple(
        table.slots(j, 1, 0) if size <= largest else NEVER for j, size in enumerate(table.size)
    )


def spread_slots(table: RateTable) -> tuple[float, ...]:
    """Return the shortest execution time [j] over several servers, slots; NEVER if impossible."""
    slots = []
    for j, fewest in enumerate(table.fewest_servers):
        n = max(2, fewest)
        possible = fewest and n <= table.most_servers[j]
        slots.append(table.slots(j, n, 1) if possible else NEVER)
    return tuple(slots)


def area_bound(table: RateTable, sizes: Sequence[int]) -> int:
    """Return ceil(sum_j sizes_j d_j / N) for the sizes or their images by a dual-feasible function.

    `table`: of an instance that `no_schedule` does not refute. `sizes`: [j] G_j or f(G_j), where f
    maps any sizes with sum N or less to sizes with sum N or less.
    """
    work = sum(size * int(d) for size, d in zip(sizes, table.best_slots, strict=True))
    return -(-work // table.gpus)


def width_dff(table: RateTable) -> tuple[int, int]:
    """Return the bound `width-dff` in slots, and the k of the function `threshold` that attains it.

    `table`: of an instance that `no_schedule` does not refute.

    Notes
    -----
    k = 0 gives `area`.
    """
    bounds = {
        k: area_bound(table, threshold(table.size, table.gpus, k))
        for k in (0, *thresholds(table.size, table.gpus))
    }
    best = max(bounds, key=bounds.__getitem__)
    return bounds[best], best
