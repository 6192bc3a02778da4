"""Separation of cover cuts for the prover: columns that exceed a row, one of each choice.

References
----------
E. Balas, "Facets of the knapsack polytope", Mathematical Programming 8 (1975).
L. A. Wolsey, "Valid inequalities for 0-1 knapsacks and MIPs with generalised upper bound
constraints", Discrete Applied Mathematics (1990): covers with rows of choice.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from schedgap.solvers.programs.arrays import Floats
from schedgap.solvers.proofs.checker import Box, IntegerProgram

FULL = 0.6  # rows with a smaller fraction of their capacity in use are skipped
MOST_STATES = 400
LITTLE = 0.02  # column sets with a smaller total are not used in covers


class CoverSeparator:
    """Separates violated cover cuts of rows with coefficients >= 0.

    Notes
    -----
    A cover has, of each choice, the columns of at least some weight. Its cut is violated if
    the sum over its choices of 1 - (sum of these columns) is less than 1. A dynamic program over
    the choices minimizes this sum among the covers that exceed the row.
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
        """Return a cut for each row with a violated cover cut.

        `point` [j]: a fractional solution. `box`: bounds of the columns; not used.
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
        """Return the sets of a violated cover cut, or None."""
        classes: dict[int, list[tuple[int, int]]] = {}  # row of choice -> weights and columns
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
