"""Cover cuts for the prover: columns that overfill a row, one of each choice.

References
----------
E. Balas, "Facets of the knapsack polytope", Mathematical Programming 8 (1975).
L. A. Wolsey, "Valid inequalities for 0-1 knapsacks and MIPs with generalised upper bound
constraints", Discrete Applied Mathematics 29 (1990): covers with rows of choice.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from schedgap.solvers.programs.arrays import Floats
from schedgap.solvers.proofs.checker import Box, IntegerProgram

FULL = 0.6  # a row filled to less than this is not looked at
MOST_STATES = 400
LITTLE = 0.02  # of a column set: less is not worth a place in a cover


class CoverSeparator:
    """Looks for covers of rows with coefficients >= 0 that a point breaks.

    Parameters
    ----------
    program : IntegerProgram

    Notes
    -----
    A cover takes from each choice the columns of at least some weight. It is broken when the
    shares that are missing, 1 - sum of the columns taken, sum up to less than 1 over its choices; a
    dynamic program over the choices looks for the least sum that overfills the row.
    """

    def __init__(self, program: IntegerProgram) -> None:
        self.program = program
        self.owner: dict[int, int] = {}  # row of choice by column
        choices = [
            (i, entries)
            for i, (entries, _, high) in enumerate(program.rows)
            if high == 1 and all(a == 1 and program.lower[j] >= 0 for j, a in entries.items())
        ]
        for i, entries in sorted(choices, key=lambda item: -len(item[1])):
            for j in entries:
                self.owner.setdefault(j, i)
        chosen = {i for i, _ in choices}
        self.rows = [
            (i, entries, high)
            for i, (entries, _, high) in enumerate(program.rows)
            if high is not None
            and i not in chosen
            and len(entries) > 1
            and all(a > 0 and program.lower[j] >= 0 for j, a in entries.items())
        ]

    def __call__(self, point: Floats, box: Box) -> Sequence[Mapping[str, Any]]:
        """Return a cut for each row that has a broken cover.

        Parameters
        ----------
        point : array [j]
        box : (lower, upper)
        """
        found = []
        for i, entries, high in self.rows:
            if sum(a * point[j] for j, a in entries.items()) >= FULL * high:
                cover = self._cover(entries, high, point)
                if cover is not None:
                    found.append({"why": "cover", "row": i, "sets": cover})
        return found

    def _cover(
        self, entries: Mapping[int, int], high: int, point: Floats
    ) -> list[list[Any]] | None:
        """Return the sets of a broken cover, or None."""
        classes: dict[int, list[tuple[int, int]]] = {}  # weight and column, by row of choice
        for j, a in entries.items():
            own = self.owner.get(j)
            if own is None and self.program.upper[j] > 1:
                continue
            classes.setdefault(-1 - j if own is None else own, []).append((a, j))
        states: dict[int, tuple[float, tuple[tuple[int, int], ...]]] = {0: (0.0, ())}
        for choice, items in classes.items():
            items.sort(reverse=True)
            options, share = [], 0.0
            for k, (a, j) in enumerate(items):
                share += float(point[j])
                if share > LITTLE and (k + 1 == len(items) or items[k + 1][0] < a):
                    options.append((a, max(0.0, 1 - share)))
            grown = dict(states)
            for weight, (missing, taken) in states.items():
                if weight > high:
                    continue
                for a, more in options:
                    total = min(weight + a, high + 1)
                    if missing + more < 0.98 and (
                        total not in grown or grown[total][0] > missing + more
                    ):
                        grown[total] = missing + more, (*taken, (choice, a))
            if len(grown) > MOST_STATES:
                order = sorted(grown, key=lambda w: grown[w][0] - 0.3 * w / (high + 1))
                grown = {w: grown[w] for w in order[:MOST_STATES]}
            states = grown
        missing, taken = states.get(high + 1, (1.0, ()))
        if missing > 0.97 or len(taken) < 2:
            return None
        return [
            [sorted(j for a, j in classes[choice] if a >= least), choice if choice >= 0 else None]
            for choice, least in taken
        ]
