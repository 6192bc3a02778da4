"""Whether units find room in bins: bin completion, a complete search in whole numbers (ours).

The largest unit that is left lies in some bin; that bin is filled so that nothing more fits. What a
bin must take, so that the other bins can hold the rest, cuts most of this short.
"""

from collections.abc import Iterator, Sequence

from schedgap.solvers.children.clock import Clock

Vector = tuple[int, ...]  # by resource, or by kind of unit

_CLOCK_INTERVAL = 1024  # nodes between two looks at the clock


class OutOfTimeError(Exception):
    """A search ended before it knew."""


def fill_bins(
    units: Sequence[Vector], counts: Vector, bins: Sequence[tuple[Vector, int]], clock: Clock
) -> list[tuple[int, Vector]] | None:
    """Return bins that hold all units together, or None: there is no way.

    Parameters
    ----------
    units, numbers
        What one unit of each kind [k] takes of each resource [r], and how many there are.
    bins
        Room [r] of each type of bin, and how many there are.
    clock : Clock
        Ends the search.

    Returns
    -------
    list of (int, tuple) or None
        Type of each bin that is used, and numbers of units [k] in it.

    Raises
    ------
    OutOfTimeError
        When the clock ended the search.
    """
    total = [sum(capacity[r] * count for capacity, count in bins) for r in range(len(bins[0][0]))]
    size = [sum(d / c if c else d for d, c in zip(unit, total, strict=True)) for unit in units]
    order = sorted(range(len(units)), key=lambda k: -size[k])
    search = _BinCompletion([units[k] for k in order], [capacity for capacity, _ in bins], clock)
    found = search.run(tuple(counts[k] for k in order), tuple(count for _, count in bins))
    if found is None:
        return None
    place = {k: at for at, k in enumerate(order)}
    return [(q, tuple(own[place[k]] for k in range(len(units)))) for q, own in found]


class _BinCompletion:
    def __init__(self, units: Sequence[Vector], capacities: Sequence[Vector], clock: Clock) -> None:
        self.units, self.capacities, self.clock = units, capacities, clock
        self.nodes = 0

    def run(self, remaining: Vector, bins: Vector) -> list[tuple[int, Vector]] | None:
        """Return bins that hold what is left; depth first."""
        failed: set[tuple[Vector, Vector]] = set()
        path: list[tuple[int, Vector]] = []
        states = [(remaining, bins)]
        fillings = [self._fillings(remaining, bins)]
        self._check_clock()
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
        """Yield what one bin may hold, with a unit of the first kind that is left."""
        need, capacity = self._sum(remaining, self.units), self._sum(bins, self.capacities)
        spare = tuple(b - a for a, b in zip(need, capacity, strict=True))  # so much in any one bin
        if min(spare) < 0:
            return
        rest = [(0,) * len(need)]  # [k] all units of this kind and the later ones
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

    def _check_clock(self) -> None:
        if self.clock.expired():
            raise OutOfTimeError

    def _sum(self, counts: Vector, vectors: Sequence[Vector]) -> Vector:
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
        """Yield the ways to fill one bin from kind k on, most of the largest kinds first."""
        self.nodes += 1
        if self.nodes % _CLOCK_INTERVAL == 0:
            self._check_clock()
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
                break  # fewer of this kind leave even more free
            own[k] = n
            yield from self._fill_bin(k + 1, remaining, after, spare, rest, own)
        own[k] = 0
