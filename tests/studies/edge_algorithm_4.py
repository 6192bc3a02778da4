"""A study of Algorithms 3 and 4: how far their placements are from cheapest, on random cases.

`python -m studies.edge_algorithm_4 --cases 3000 --seed 1`, run in tests/, prints the table.
Algorithm 4 is taken with the least mending that gives it a PS (E27). In a window of one slot, what
goes wrong is due to its shifts alone (E26, E27); in longer ones, with prices that fall as where
jobs start together and end one by one, also to prices of one slot for a whole window (E23).
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

import numpy as np

from schedgap.models.edge.algorithms.cheapest_schedule import (
    DECIMALS,
    Floats,
    Ints,
    PricingProblem,
    SlotWindows,
)
from schedgap.models.edge.algorithms.cost_c_cost_d import (
    ReportedPlacement,
    WindowPrices,
    cost_c,
    cost_d,
)
from schedgap.models.edge.modes import JobMode


class Case(NamedTuple):
    """Prices [s, t] and free units [s] in one window, and a number of workers."""

    worker_price: Floats
    ps_price: Floats
    free_workers: Ints
    free_ps: Ints
    workers: int

    def priced(self) -> WindowPrices:
        """Return what a subroutine is given; all servers are ready."""
        return WindowPrices(
            np.ones(len(self.free_workers), dtype=bool),
            np.where(self.free_workers > 0, self.worker_price[:, 0], np.inf),
            self.ps_price[:, 0],
            self.worker_price.sum(axis=1),
            self.ps_price.sum(axis=1),
            self.free_workers,
            self.free_ps,
        )


def _cheapest(case: Case, *, colocated: bool) -> ReportedPlacement | None:
    """Return what `PricingProblem` of `algorithms.cheapest_schedule` finds."""
    length = case.worker_price.shape[1]
    free = (np.repeat(each[:, None], length, axis=1) for each in (case.free_workers, case.free_ps))
    workers, ps = map(SlotWindows, (case.worker_price, case.ps_price), free)
    ready = np.zeros(len(case.free_workers), dtype=np.int64)
    found = PricingProblem(workers, ps).place(JobMode(case.workers, length, colocated), 0, ready)
    return None if found is None else ReportedPlacement(found.cost, dict(found.workers), found.ps)


def least_cost(case: Case, *, colocated: bool) -> float:
    """Return the least cost over all placements, one by one; inf when there is none."""
    given, hosts = case.priced(), range(len(case.free_workers))
    rents = {s: float(given.ps[s]) for s in hosts if case.free_ps[s] >= 1}
    best = np.inf
    for counts in product(*(range(min(case.workers, int(w)) + 1) for w in case.free_workers)):
        if sum(counts) != case.workers:
            continue
        wages = float(np.dot(given.worker, counts))
        for s, rent in rents.items():
            if not colocated or counts[s] == case.workers:
                best = min(best, wages + rent)
    return best


Subroutine = Callable[[Case], ReportedPlacement | None]
SUBROUTINES: dict[tuple[str, bool], Subroutine] = {  # name, together
    ("Algorithm 3, printed", True): lambda case: cost_c(case.priced(), case.workers),
    ("Algorithm 3, cheapest", True): lambda case: _cheapest(case, colocated=True),
    ("Algorithm 4, printed", False): lambda case: cost_d(case.priced(), case.workers),
    ("Algorithm 4, cheapest", False): lambda case: _cheapest(case, colocated=False),
}


@dataclass(slots=True)
class Row:
    """How one subroutine did with one kind of prices."""

    subroutine: str
    prices: str
    cases: int = 0  # that have a placement
    nothing: int = 0  # found none of them
    misreported: int = 0  # a cost that its placement does not have
    understated: int = 0  # a cost below the least there is
    ratios: list[float] = field(default_factory=list)  # cost of dearer placements / least cost


def cases(number: int, seed: int, *, falling: bool) -> Iterator[Case]:
    """Yield random cases: 2-4 servers, 1-5 workers, prices of 1-9 in 1 slot, or falling in 2-4."""
    random = np.random.default_rng(seed)
    for _ in range(number):
        hosts, length = int(random.integers(2, 5)), int(random.integers(2, 5)) if falling else 1
        prices = [random.integers(1, 10, (hosts, length)).astype(float) for _ in range(2)]
        worker, ps = (-np.sort(-each, axis=1) for each in prices)
        free = random.integers(0, 4, hosts), random.integers(0, 3, hosts)
        yield Case(worker, ps, *free, int(random.integers(1, 6)))


def study(number: int, seed: int) -> list[Row]:
    """Return what each subroutine made of the same random cases, with both kinds of prices."""
    rows = []
    for falling in (False, True):
        prices = "falling" if falling else "one slot"
        drawn = list(cases(number, seed, falling=falling))
        least = {
            colocated: [least_cost(case, colocated=colocated) for case in drawn]
            for colocated in (True, False)
        }
        for (name, colocated), subroutine in SUBROUTINES.items():
            row = Row(name, prices)
            for case, cost in zip(drawn, least[colocated], strict=True):
                if np.isfinite(cost):
                    _judge(row, case.priced(), subroutine(case), cost)
            rows.append(row)
    return rows


def placement_cost(given: WindowPrices, found: ReportedPlacement) -> float:
    """Return what a placement costs throughout the window, whatever was reported."""
    wages = sum(float(given.worker[s]) * count for s, count in found.workers.items())
    return wages + float(given.ps[found.ps])


def _judge(row: Row, given: WindowPrices, found: ReportedPlacement | None, least: float) -> None:
    row.cases += 1
    if found is None:
        row.nothing += 1
        return
    own = round(placement_cost(given, found), DECIMALS)
    row.misreported += round(found.cost, DECIMALS) != own
    row.understated += round(found.cost, DECIMALS) < least
    if own > least:
        row.ratios.append(own / least)


def table(rows: Sequence[Row]) -> str:
    """Return the study as text."""
    head = f"{'subroutine':23}{'prices':>9}{'cases':>7}{'nothing':>9}{'misreported':>13}"
    lines = [head + f"{'understated':>13}{'dearer':>8}{'median':>8}{'worst':>7}"]
    for row in rows:
        ratios = [f"{f(row.ratios):.2f}" if row.ratios else "-" for f in (np.median, max)]
        line = f"{row.subroutine:23}{row.prices:>9}{row.cases:7}{row.nothing:9}{row.misreported:13}"
        lines.append(f"{line}{row.understated:13}{len(row.ratios):8}{ratios[0]:>8}{ratios[1]:>7}")
    lines.append("cases: those that have a placement; median and worst: cost by least cost, dearer")
    return "\n".join(lines)


def tabulate(number: int, seed: int) -> str:
    """Return the study of so many random cases as text."""
    return table(study(number, seed))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table of `--cases N` random cases drawn with `--seed N`."""
    parser = argparse.ArgumentParser(prog="python -m studies.edge_algorithm_4")
    parser.add_argument("--cases", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    sys.stdout.write(tabulate(asked.cases, asked.seed) + "\n")


if __name__ == "__main__":
    main()
