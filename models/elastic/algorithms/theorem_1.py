"""A study of Theorem 1: how far Algorithm 4's placements are from optimal, on random cases."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from schedgap.models.elastic.algorithms.subroutines import best_split, greedy_split
from schedgap.models.elastic.placement import Floats, ModeDemand, Placed, cheapest

Case = tuple[ModeDemand, Floats, Floats, Floats]  # demand, omega [h], zeta [h], free [h, r]


VARIANTS: dict[str, Callable[[ModeDemand, Floats, Floats, Floats], Placed | None]] = {
    "literal": partial(greedy_split, count_afresh=False, leave_one=False),
    "count afresh (E16)": partial(greedy_split, leave_one=False),
    "repaired (E16, E17)": greedy_split,
    "exact": cheapest,
}


@dataclass(slots=True)
class VariantResult:
    """Counts of failures of one variant of Algorithm 4."""

    variant: str
    nothing: int = 0  # no placement found although one exists
    invalid: int = 0  # too few workers, or all on one server
    worse: int = 0  # valid, at a cost above the optimum
    ratio: float = 1.0  # largest cost / optimum of a valid placement


def _cases(number: int, seed: int) -> Iterator[tuple[Case, float]]:
    """Yield random cases of (13), q = 0, that have a placement, with the least cost.

    2-3 servers, up to 4 workers, three resources, integers; prices of 1-9.
    """
    random = np.random.default_rng(seed)
    yielded = 0
    while yielded < number:
        hosts = int(random.integers(2, 4))
        worker = np.array([1, random.integers(0, 3), random.integers(1, 4)], dtype=float)
        ps = np.array([0, random.integers(1, 3), random.integers(1, 4)], dtype=float)
        demand = ModeDemand(int(random.integers(1, 5)), worker, ps, worker[2], ps[2])
        free = random.integers(0, 9, (hosts, 3)).astype(float)
        omega, zeta = (random.integers(1, 10, hosts).astype(float) for _ in range(2))
        case = demand, omega, zeta, free
        best = best_split(*case)
        if best is not None:
            yielded += 1
            yield case, best.cost


def study(number: int, seed: int) -> list[VariantResult]:
    """Return the results of each variant on the same random cases.

    Parameters
    ----------
    number : int
        Number of cases.
    """
    rows = [VariantResult(name) for name in VARIANTS]
    for case, optimum in _cases(number, seed):
        for row in rows:
            placement = VARIANTS[row.variant](*case)
            if placement is None:
                row.nothing += 1
            elif not _is_placement(case[0], placement):
                row.invalid += 1
            else:
                row.worse += placement.cost > optimum * (1 + 1e-9)
                row.ratio = max(row.ratio, placement.cost / optimum)
    return rows


def _is_placement(demand: ModeDemand, found: Placed) -> bool:
    """Return whether all workers are placed, with the PSs on at least two servers."""
    whole = sum(found.workers.values()) == demand.workers
    return whole and len({*found.workers, *found.ps}) >= 2
