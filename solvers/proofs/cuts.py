"""Two more kinds of cuts than the checker's: cliques, and what fits into some rows together.

They are derived from an integer program alone, whatever its columns stand for. Like the checker,
this module uses Python's integers only. A family that wants them passes them to `with_cuts`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from schedgap.solvers.proofs.checker import IntegerProgram, RefusedError, Row, whole

MAX_STATES = 50_000  # sums of amounts, for one cut
MAX_STEPS = 10_000_000  # sums of amounts and comparisons, for one cut
MAX_CONFLICT_BITS = 2**30  # bits of the cached conflicts


class CliqueCut:
    """Derives cliques: at most one of columns that pairwise exceed some row.

    Data: `columns`, a list of columns.

    `program`: rows with an upper side, and coefficients and columns >= 0, are searched for
    conflicts.
    """

    def __init__(self, program: IntegerProgram) -> None:
        self._rows_of: list[list[int]] = [[] for _ in program.cost]
        self._rows: list[tuple[dict[int, int], int]] = []
        for entries, _, high in program.rows:
            if high is not None and all(a >= 0 <= program.lower[j] for j, a in entries.items()):
                for j in entries:
                    self._rows_of[j].append(len(self._rows))
                self._rows.append((entries, high))
        self._over: dict[tuple[int, int], int] = {}  # key: row and coefficient
        self._known: dict[int, int] = {}

    def __call__(self, program: IntegerProgram, data: Mapping[str, Any]) -> Row:
        """Return a row of at most one of the columns."""
        given, width = data.get("columns"), len(self._rows_of)
        if not isinstance(given, list) or not all(0 <= whole(j, "/columns") < width for j in given):
            raise RefusedError("/columns", "needs a list of columns")
        if any(program.upper[j] > 1 for j in given):
            raise RefusedError("/columns", "needs columns of at most 1")
        members = _bits(given, width)
        for j in given:
            if members & ~self.near(j) != 1 << j:
                raise RefusedError("/columns", f"column {j} does not exclude all the others")
        return dict.fromkeys(given, 1), None, 1

    def near(self, j: int) -> int:
        """Return the columns that cannot be 1 together with a column, as bits; without itself."""
        if j not in self._known:
            found, width = 0, len(self._rows_of)
            if (len(self._known) + len(self._over)) * width > MAX_CONFLICT_BITS:
                self._known.clear()
                self._over.clear()
            for i in self._rows_of[j]:
                entries, high = self._rows[i]
                key = i, entries[j]
                if key not in self._over:
                    over = [k for k, a in entries.items() if a + key[1] > high]
                    self._over[key] = _bits(over, width)
                found |= self._over[key]
            self._known[j] = found & ~(1 << j)
        return self._known[j]


def _bits(columns: Sequence[int], width: int) -> int:
    """Return a set of columns as the bits of a number."""
    found = bytearray(width // 8 + 1)
    for j in columns:
        found[j >> 3] |= 1 << (j & 7)
    return int.from_bytes(found, "little")


class SlotCut:
    """Derives cuts from some rows together: the most that one column of each job can be worth.

    The data of a cut are `rows` and `worth`. `rows` are rows with coefficients >= 0 and an upper
    side, such as the rows of a server in a slot. `worth` are pairs of an amount in each of these
    rows and an integer. A column is worth the largest integer of the pairs whose amounts are at
    most its own. Listing the sums of amounts of one column of each job that the rows allow gives
    the largest worth of all.

    `job`: of each column, 0 or 1; at most one column of each job is 1.
    """

    def __init__(self, job: list[int]) -> None:
        self._job = job

    def __call__(self, program: IntegerProgram, data: Mapping[str, Any]) -> Row:
        """Return the row of the worths of columns."""
        given, pairs = data.get("rows"), data.get("worth")
        if not isinstance(given, list) or not isinstance(pairs, list):
            raise RefusedError("", "needs lists of rows and of worths")
        rows = [self._row(program, i) for i in given]
        worth = [self._pair(pair, len(rows)) for pair in pairs]
        amounts = {j: [0] * len(rows) for entries, _ in rows for j in entries}
        for k, (entries, _) in enumerate(rows):
            for j, a in entries.items():
                amounts[j][k] = a
        value: dict[tuple[int, ...], int] = {}
        found: dict[int, int] = {}
        options: dict[int, dict[tuple[int, ...], int]] = {}  # key: job
        for j, own in amounts.items():
            key = tuple(own)
            if key not in value:
                below = (
                    w for use, w in worth if all(a <= b for a, b in zip(use, key, strict=True))
                )
                value[key] = max(below, default=0)
            if value[key]:
                found[j] = options.setdefault(self._job[j], {})[key] = value[key]
        return found, None, _most(options, [high for _, high in rows])

    def _row(self, program: IntegerProgram, i: Any) -> tuple[dict[int, int], int]:
        if not 0 <= whole(i, "/rows") < len(program.rows):
            raise RefusedError("/rows", f"there is no row {i}")
        entries, _, high = program.rows[i]
        if high is None or any(a < 0 for a in entries.values()):
            raise RefusedError("/rows", f"row {i} has no upper side, or coefficients below 0")
        return entries, high

    def _pair(self, pair: Any, rows: int) -> tuple[list[int], int]:
        if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], list):
            raise RefusedError("/worth", "needs pairs of amounts and a number")
        amounts, number = [whole(a, "/worth") for a in pair[0]], whole(pair[1], "/worth")
        if len(amounts) != rows or number < 0:
            raise RefusedError("/worth", f"needs {rows} amounts and a number >= 0")
        return amounts, number


def _most(options: Mapping[int, Mapping[tuple[int, ...], int]], room: list[int]) -> int:
    """Return the largest total worth of at most one option of each job within the room."""
    best, steps = {tuple(0 for _ in room): 0}, 0
    for own in options.values():
        steps += len(best) * len(own) * len(room)
        if steps > MAX_STEPS:
            raise RefusedError("/rows", "too many sums of amounts to be listed")
        grown = dict(best)
        for used, value in best.items():
            for use, worth in own.items():
                total = tuple(a + b for a, b in zip(used, use, strict=True))
                if all(a <= b for a, b in zip(total, room, strict=True)):
                    grown[total] = max(grown.get(total, 0), value + worth)
            if len(grown) > MAX_STATES:
                raise RefusedError("/rows", "too many sums of amounts to be listed")
        best = grown
    return max(best.values())
