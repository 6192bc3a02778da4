"""Jobs that choose runs, and prices of what the runs use: which runs a good schedule can have.

For programs that would be too large, or slow, with all runs. Like the checker, this module uses
Python's integers only.

Lemma (pool). Let p >= 0 be prices of a unit of each capacity C in each slot. Let L_j be the least
sum of a run's cost and what the run pays, over the runs of job j. If the job may stay out, L_j is
at most 0. Let L = sum L_j - sum p C. A schedule with a run of job j at price L_j + x has a value of
at least L + x. So a run with x > goal - L is in no schedule of value <= goal. The same holds with o
>= 0 times all costs and the goal, which makes prices whole. What a run pays may be taken too low.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from schedgap.solvers.proofs.checker import (
    CUTS,
    Cut,
    IntegerProgram,
    ProgramSpace,
    RefusedError,
    whole,
    with_cuts,
)


class RunModel(ABC):
    """A program in which jobs choose runs; it is written after prices have left out some of them.

    `goal`: the program has a solution of cost <= goal for every schedule of value <= goal.
    `is_batch`: whether jobs may stay out. `capacity`: [server][resource]. `before`, `last`: no run
    uses the slots up to `before`, or those after `last`. `program`: the program as written.
    `kinds`: the kinds of cuts.
    """

    goal: int
    is_batch: bool
    capacity: list[list[int]]
    before: int
    last: int
    program: IntegerProgram
    kinds: Mapping[str, Cut] = CUTS

    @abstractmethod
    def priced(self, prices: "Prices") -> list[list[int]]:
        """Return for each job, and each of its runs, o times the cost and what the run pays."""

    @abstractmethod
    def keep(self, kept: list[list[bool]]) -> None:
        """Leave out runs, in the order of `priced`."""

    @abstractmethod
    def write(self) -> None:
        """Write the program over the runs that are left."""

    def reduce(self, pool: Mapping[str, Any]) -> int:
        """Leave out the runs that are too expensive, by the lemma on pools.

        Returns o times the goal, less the bound of the prices.

        `pool`: as `Prices` reads it.
        """
        prices = Prices(pool, self.capacity, self.before, self.last)
        costs, absent = self.priced(prices), [0] if self.is_batch else []
        least = [min([*absent, *own], default=0) for own in costs]
        slack = prices.slack(self.goal, least)
        self.keep(
            [
                [cost - bound <= slack for cost in own]
                for own, bound in zip(costs, least, strict=True)
            ]
        )
        return slack

    def written(self) -> IntegerProgram:
        """Return the program over all runs, without cuts."""
        self.write()
        return self.program

    def space(self, proof: Mapping[str, Any]) -> ProgramSpace:
        """Return the set that a proof shows to be empty.

        `proof`: its vectors with a key `p` are pools, by which runs are left out in their order;
        its `cuts` are derived again.
        """
        vectors = proof.get("vectors")
        for k, vector in enumerate(vectors if isinstance(vectors, list) else []):
            if isinstance(vector, Mapping) and "p" in vector:
                try:
                    self.reduce(vector)
                except RefusedError as error:
                    raise RefusedError(f"/vectors/{k}{error.where}", error.why) from None
        return ProgramSpace(with_cuts(self.written(), proof.get("cuts"), self.kinds))


class Prices:
    """The prices of a pool: `{"o": o, "p": [[server, resource, slot, price], ...]}`.

    `pool`: o times the objective, and prices of a unit of a resource on a server in a slot. Slots
    start from 1, servers and resources from 0. `capacity` [server][resource]. `before`, `last`: no
    run uses the slots up to `before`, or those after `last`. `paid`: what the prices pay for all
    capacity. `until`: price of a unit up to a slot, from slot `before` on, for each server and
    resource with prices.
    """

    def __init__(
        self, pool: Mapping[str, Any], capacity: Sequence[Sequence[int]], before: int, last: int
    ) -> None:
        self.o, cells = whole(pool.get("o"), "/o"), pool.get("p")
        if self.o < 0 or not isinstance(cells, list):
            raise RefusedError("/o", "needs a number >= 0 and a list of prices")
        price: dict[tuple[int, int], dict[int, int]] = {}
        self.paid = 0
        for cell in cells:
            if not isinstance(cell, list) or len(cell) != 4:
                raise RefusedError("/p", "needs [server, resource, slot, price]")
            h, r, t, p = (whole(number, "/p") for number in cell)
            inside = 0 <= h < len(capacity) and 0 <= r < len(capacity[0])
            if not inside or not 1 <= t <= last or p < 0 or t in price.get((h, r), ()):
                raise RefusedError("/p", "no such price, or a second one")
            price.setdefault((h, r), {})[t] = p
            if t > before:  # no job runs earlier, so a price there would only be paid
                self.paid += p * capacity[h][r]
        self._before = before
        self.until: dict[tuple[int, int], list[int]] = {}
        for key, own in price.items():
            self.until[key] = sums = [0]
            for t in range(before + 1, last + 1):
                sums.append(sums[-1] + own.get(t, 0))

    def of(self, server: int, resource: int, start: int, slots: int) -> int:
        """Return the price of a unit in so many slots from a start."""
        sums = self.until.get((server, resource))
        if sums is None:
            return 0
        return sums[start - self._before + slots - 1] - sums[start - self._before - 1]

    def slack(self, goal: int, least: Sequence[int]) -> int:
        """Return o times the goal less the bound of the prices; the lemma's o (goal - L).

        `least` [job]: the least of o times a run's cost plus what the run pays. It is at most 0 if
        the job may stay out.
        """
        return self.o * goal - sum(least) + self.paid
