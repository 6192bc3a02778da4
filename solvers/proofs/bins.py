"""Bin completion: decide exactly whether units fit into bins, in integers (ours).

The largest remaining unit must be in some bin; the search branches on the maximal ways to fill that
bin. A bin must take so much that the other bins can hold the rest, which prunes most of them.

References
----------
R. E. Korf, "A new algorithm for optimal bin packing", AAAI (2002): branching on complete bins.
A. S. Fukunaga, R. E. Korf, "Bin completion algorithms for multicontainer packing, knapsack, and
covering problems", Journal of Artificial Intelligence Research 28 (2007).
"""

from collections.abc import Callable, Iterator, Sequence

Vector = tuple[int, ...]  # indexed by resource [r], or by kind of unit [k]


class OutOfTimeError(Exception):
    """A search ended before it was decided."""


class BinCompletion:
    """Depth-first search over the bins.

    `units` [k]: demand of one unit of each kind. `bins` [q]: capacity of each type of bin, and
    number of bins. `stop`: takes the number of nodes, and says whether the search shall end.
    """

    def __init__(
        self,
        units: Sequence[Vector],
        bins: Sequence[tuple[Vector, int]],
        stop: Callable[[int], bool],
    ) -> None:
        self.capacities, self.bins = [own for own, _ in bins], tuple(count for _, count in bins)
        total = [sum(own[r] * count for own, count in bins) for r in range(len(bins[0][0]))]
        size = [sum(a / b if b else a for a, b in zip(unit, total, strict=True)) for unit in units]
        self.order = sorted(range(len(units)), key=lambda k: -size[k])
        self.units, self.stop = [units[k] for k in self.order], stop
        self.nodes = 0

    def run(self, numbers: Sequence[int]) -> list[tuple[int, Vector]] | None:
        """Return bins that hold so many units [k] together, or None if there are none.

        A bin is its type and the numbers of units [k] in it; bins that are not used are left out.

        Raises
        ------
        OutOfTimeError
            When the search was stopped.
        """
        if self.stop(0):
            raise OutOfTimeError
        found = self._search(tuple(numbers[k] for k in self.order), self.bins)
        if found is None:
            return None
        place = {k: at for at, k in enumerate(self.order)}
        return [(q, tuple(own[place[k]] for k in range(len(own)))) for q, own in found]

    def _search(self, remaining: Vector, bins: Vector) -> list[tuple[int, Vector]] | None:
        """Return bins that hold the remaining units, or None."""
        failed: set[tuple[Vector, Vector]] = set()
        path: list[tuple[int, Vector]] = []
        states = [(remaining, bins)]
        fillings = [self._fillings(remaining, bins)]
        while fillings:
            remaining, bins = states[-1]
            if not any(remaining):
                return path
            filling = next(fillings[-1], None)
            if filling is None:
                failed.add(states.pop())
                fillings.pop()
                if path:
                    path.pop()
                continue
            q, own = filling
            state = (
                tuple(n - m for n, m in zip(remaining, own, strict=True)),
                tuple(n - (p == q) for p, n in enumerate(bins)),
            )
            if state not in failed:
                path.append(filling)
                states.append(state)
                fillings.append(self._fillings(*state))
        return None

    def _fillings(self, remaining: Vector, bins: Vector) -> Iterator[tuple[int, Vector]]:
        """Yield type and contents of a next bin that takes a unit of the first remaining kind."""
        need, capacity = self._sum(remaining, self.units), self._sum(bins, self.capacities)
        # A bin may leave at most this free.
        spare = tuple(b - a for a, b in zip(need, capacity, strict=True))
        if min(spare) < 0:
            return
        rest = [(0,) * len(need)]  # [k] demand of all units of this kind and the later ones
        for n, unit in zip(reversed(remaining), reversed(self.units), strict=True):
            rest.append(tuple(a + n * b for a, b in zip(rest[-1], unit, strict=True)))
        rest.reverse()
        first = next((k for k, n in enumerate(remaining) if n), len(remaining))
        for q, count in enumerate(bins):
            if count:
                own = [0] * len(remaining)
                for filled in self._fill_bin(
                    first, remaining, self.capacities[q], spare, rest, own
                ):
                    yield q, filled

    def _sum(self, counts: Vector, vectors: Sequence[Vector]) -> Vector:
        """Return the sum of some numbers of vectors."""
        pairs = list(zip(counts, vectors, strict=True))
        return tuple(sum(n * own[r] for n, own in pairs) for r in range(len(self.capacities[0])))

    def _fill_bin(
        self,
        k: int,
        remaining: Vector,
        capacity: Vector,
        spare: Vector,
        rest: Sequence[Vector],
        own: list[int],
    ) -> Iterator[Vector]:
        """Yield the maximal contents of one bin from kind k on, most of the first kinds first."""
        self.nodes += 1
        if self.stop(self.nodes):
            raise OutOfTimeError
        if k == len(remaining):
            if not any(
                n < most and all(a <= b for a, b in zip(unit, capacity, strict=True))
                for n, most, unit in zip(own, remaining, self.units, strict=True)
            ):
                yield tuple(own)
            return
        unit, started = self.units[k], any(own)
        most = min([remaining[k], *(b // a for a, b in zip(unit, capacity, strict=True) if a)])
        for n in range(most, -1 if started or not remaining[k] else 0, -1):
            after = tuple(b - n * a for a, b in zip(unit, capacity, strict=True))
            if any(a - c > f for a, c, f in zip(after, rest[k + 1], spare, strict=True)):
                break  # too much stays free, and fewer of this kind leave even more
            own[k] = n
            yield from self._fill_bin(k + 1, remaining, after, spare, rest, own)
        own[k] = 0
