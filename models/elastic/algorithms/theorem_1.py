"""A study of Theorem 1: how far Algorithm 4's placements are from optimal, on random cases.

`python -m schedgap.models.elastic.algorithms.theorem_1 --cases 3000 --seed 1` prints the table.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from schedgap.models.elastic.algorithms.subroutines import PricedPlacement, best_split, greedy_split
from schedgap.models.elastic.placement import Floats, ModeDemand, cheapest
from schedgap.models.study import main as study_command

Case = tuple[ModeDemand, Floats, Floats, Floats]  # demand, omega [h], zeta [h], free [h, r]


def _exact(demand: ModeDemand, omega: Floats, zeta: Floats, free: Floats) -> PricedPlacement | None:
    found = cheapest(demand, omega, zeta, free)
    return None if found is None else PricedPlacement(*found)


VARIANTS: dict[str, Callable[[ModeDemand, Floats, Floats, Floats], PricedPlacement | None]] = {
    "literal": partial(greedy_split, count_afresh=False, leave_one=False),
    "count afresh (E16)": partial(greedy_split, leave_one=False),
    "repaired (E16, E17)": greedy_split,
    "exact": _exact,
}


@dataclass(slots=True)
class VariantResult:
    """How one variant did."""

    variant: str
    nothing: int = 0  # no placement found though there is one
    invalid: int = 0  # too few workers, or all on one server
    worse: int = 0  # valid, and dearer than the optimum
    ratio: float = 1.0  # the greatest cost by optimum of a valid one; infinite where that is 0


def cases(number: int, seed: int) -> Iterator[tuple[Case, float]]:
    """Yield random cases of (13), q = 0, that have a placement, with the least cost.

    2-3 servers, up to 4 workers, three resources, whole numbers; prices of 1-9.
    """
    random = np.random.default_rng(seed)
    found = 0
    while found < number:
        hosts = int(random.integers(2, 4))
        worker = np.array([1, random.integers(0, 3), random.integers(1, 4)], dtype=float)
        ps = np.array([0, random.integers(1, 3), random.integers(1, 4)], dtype=float)
        demand = ModeDemand(int(random.integers(1, 5)), worker, ps, worker[2], ps[2])
        free = random.integers(0, 9, (hosts, 3)).astype(float)
        omega, zeta = (random.integers(1, 10, hosts).astype(float) for _ in range(2))
        case = demand, omega, zeta, free
        best = best_split(*case)
        if best is not None:
            found += 1
            yield case, best.cost


def study(number: int, seed: int) -> list[VariantResult]:
    """Return what each variant made of the same random cases."""
    rows = [VariantResult(name) for name in VARIANTS]
    for case, least in cases(number, seed):
        for row in rows:
            found = VARIANTS[row.variant](*case)
            if found is None:
                row.nothing += 1
            elif not _is_placement(case[0], found):
                row.invalid += 1
            else:
                row.worse += found.cost > least * (1 + 1e-9)
                row.ratio = max(row.ratio, found.cost / least)
    return rows


def _is_placement(demand: ModeDemand, found: PricedPlacement) -> bool:
    """Whether all workers are there, and on at least two servers with the PSs."""
    whole = sum(found.workers.values()) == demand.workers
    return whole and len({*found.workers, *found.ps}) >= 2


def table(rows: Sequence[VariantResult], number: int) -> str:
    """Return the study as text."""
    lines = [f"{'variant':22}{'nothing':>9}{'invalid':>9}{'worse':>9}{'worst ratio':>13}"]
    for row in rows:
        ratio = "-" if row.invalid else f"{row.ratio:.2f}"
        counts = f"{row.nothing:9}{row.invalid:9}{row.worse:9}{ratio:>13}"
        lines.append(f"{row.variant:22}{counts}")
    lines.append(f"of {number} random cases of (13), q = 0, that have a placement")
    return "\n".join(lines)


def tabulate(number: int, seed: int) -> str:
    """Return the study of so many cases as text."""
    return table(study(number, seed), number)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    study_command("schedgap.models.elastic.algorithms.theorem_1", tabulate, arguments)


if __name__ == "__main__":
    main()
