"""Check a proof that no schedule has a value of `goal` or less, in integer arithmetic.

A proof is a tree over parts of the search space. Every leaf names a vector of dual values, from
which the checker derives that the leaf contains nothing of value <= goal. Every other node says how
it is split, and the checker derives both parts itself. It uses Python's integers only, no solver
and no code of the prover.

References
----------
K. K. H. Cheung, A. Gleixner, D. E. Steffy, "Verifying integer programming results", Integer
Programming and Combinatorial Optimization, Lecture Notes in Computer Science 10328 (2017): proof
files for branch and cut.
W. Cook, T. Koch, D. E. Steffy, K. Wolter, "A hybrid branch-and-bound approach for exact rational
mixed-integer programming", Mathematical Programming Computation 5 (2013).
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from schedgap.errors import one_line

VERSION = 1
MAX_BITS = 4096  # bits of an integer in a proof file
LONGEST = 300  # characters of a message, which may repeat what the file says
_KEPT_COSTS = 5_000_000  # number of reduced costs that are cached


class RefusedError(Exception):
    """A proof that does not show its claim; the message names the place in the file and why."""

    def __init__(self, where: str, why: str) -> None:
        text = one_line(f"{where}: {why}"[: LONGEST + 1])
        super().__init__(text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}...")
        self.where, self.why = where, why


class TimeUpError(RefusedError):
    """The check of a proof was stopped by its time limit; the proof may be right."""


R = TypeVar("R")


class SearchSpace(Protocol[R]):
    """The search space of a proof: the schedules of an instance with a value of `goal` or less.

    A region is a set of candidates described by the family, such as a window of start times for
    each job. Each method may raise RefusedError, with a path relative to its argument.
    """

    def root(self) -> R:
        """Return a region that contains every schedule of value <= goal."""
        ...

    def split(self, region: R, branch: Sequence[Any]) -> tuple[R, ...]:
        """Return regions that together contain all candidates of a region.

        `region`: a region of the search space. `branch`: how to split it, from the proof.
        """
        ...

    def excess(self, region: R, vector: Mapping[str, Any]) -> int | None:
        """Return a number > 0 only if no candidate of the region has a value <= goal.

        None stands for +infinity: the region is empty.

        `region`: a region of the search space.
        """
        ...

    def reduce(self, region: R, vector: Mapping[str, Any]) -> R:
        """Return the region without candidates whose value, as a vector shows, is > goal.

        An empty region where it shows this of all candidates.

        `region`: a region of the search space.
        """
        ...


@dataclass(frozen=True, slots=True)
class Searched:
    """Result of a complete search for a schedule of value <= goal by a family's checker.

    `complete`: whether all schedules were considered, before the time was up. `better`: a schedule
    of value <= goal, if one was found. `states`: number of states visited.
    """

    complete: bool
    better: Any = None
    states: int = 0

    @property
    def proved(self) -> bool:
        """Whether there is no schedule of value <= goal."""
        return self.complete and self.better is None


@dataclass(frozen=True, slots=True)
class Checked:
    """Size of a checked tree."""

    leaves: int
    nodes: int


def check_tree(
    space: SearchSpace[R], proof: Mapping[str, Any], *, seconds: float = 600.0
) -> Checked:
    """Check that a tree proves the search space to be empty, and return its size.

    `proof`: `vectors`: list of what `excess` and `reduce` take. `tree`: the nodes in preorder. A
    node is `{"v": k}`, closed by vector k; or `{"empty": true}`, closed without prices; or
    `{"b": branch}`, followed by the nodes of its parts. In each node, `"fix": [k, ...]` may name
    vectors that reduce the region first. `seconds`: time limit.

    Raises
    ------
    RefusedError
        If a node is missing, open or invalid.
    """
    vectors, nodes = _list(proof, "vectors"), _list(proof, "tree")
    regions = [space.root()]
    leaves, end = 0, time.monotonic() + seconds
    for number, node in enumerate(nodes):
        where = f"/tree/{number}"
        if time.monotonic() > end:
            raise TimeUpError(where, f"not checked within {seconds:g} seconds")
        if not regions:
            raise RefusedError(where, "there is no part left for this node")
        if not isinstance(node, Mapping):
            raise RefusedError(where, "not a node")
        region = regions.pop()
        try:
            for k in _list(node, "fix") if "fix" in node else []:
                if time.monotonic() > end:
                    raise TimeUpError("/fix", f"not checked within {seconds:g} seconds")
                region = space.reduce(region, _vector(vectors, k))
            match tuple(sorted(node.keys() - {"fix"})):
                case ("v",):
                    excess = space.excess(region, _vector(vectors, node["v"]))
                    if excess is not None and excess <= 0:
                        raise RefusedError("/v", f"the leaf is open by {-excess} units")
                    leaves += 1
                case ("empty",):
                    if space.excess(region, {}) is not None:
                        raise RefusedError("/empty", "the leaf is not empty")
                    leaves += 1
                case ("b",):
                    regions += reversed(space.split(region, _list(node, "b")))
                case keys:
                    raise RefusedError(
                        "", f"a node has one of v, empty and b, not {str(keys)[:80]}"
                    )
        except RefusedError as error:
            raise type(error)(where + error.where, error.why) from None
    if regions:
        parts = "1 part" if len(regions) == 1 else f"{len(regions)} parts"
        raise RefusedError("/tree", f"{parts} of the search space without a node")
    return Checked(leaves, len(nodes))


def _list(owner: Mapping[str, Any], key: str) -> list[Any]:
    value = owner.get(key)
    if not isinstance(value, list):
        raise RefusedError(f"/{key}", "needs a list")
    return value


def _vector(vectors: Sequence[Any], k: Any) -> Mapping[str, Any]:
    if type(k) is not int or not 0 <= k < len(vectors) or not isinstance(vectors[k], Mapping):
        raise RefusedError(
            "", f"there is no vector {k if type(k) is int and abs(k) < 10**9 else type(k).__name__}"
        )
    found: Mapping[str, Any] = vectors[k]
    return found


def whole(value: Any, where: str) -> int:
    """Return an integer of a proof file; raise RefusedError for anything else."""
    if type(value) is not int or value.bit_length() > MAX_BITS:
        raise RefusedError(where, f"needs a whole number of at most {MAX_BITS} bits")
    return value


# --- integer programs -----------------------------------------------------------------------------

Row = tuple[dict[int, int], int | None, int | None]
"""Coefficients by column, lower side, upper side; a side is None if it is free."""


@dataclass(frozen=True, slots=True)
class IntegerProgram:
    """Integer columns x_j in [lower_j, upper_j]; the claim is that no x has cost x <= goal.

    All numbers are integers; a family scales its rows accordingly. A row with coefficients 1 and
    upper side 1 over columns >= 0 can be branched on; then the order of its columns matters.
    """

    cost: Sequence[int]
    lower: Sequence[int]
    upper: Sequence[int]
    rows: Sequence[Row]
    goal: int


Box = tuple[list[int], list[int]]
_Evaluated = tuple[int, list[tuple[int, int]], int]


class ProgramSpace:
    """The solutions of an integer program with cost x <= goal; regions are boxes.

    A vector is `{"o": o, "d": [[i, y_i], ...]}` with o >= 0: o times the objective minus the sum of
    y_i times row i. Let r = o cost - sum_i y_i a_i. Then o cost x >= sum_i y_i side_i + sum_j r_j
    x_j. Here side_i is the lower side of row i if y_i > 0, and the upper side if y_i < 0. In a box,
    the minimum of r_j x_j is at one of the two bounds of x_j. With o = 0, this is a Farkas
    certificate that the box has no solution.

    A branch `["var", j, at]` divides into x_j <= at and x_j > at. A branch `["row", i, at]` is on a
    row of which at most one column is 1. In the first part the columns after the first `at` are 0,
    in the second part the first `at` columns are 0.
    """

    def __init__(self, program: IntegerProgram) -> None:
        self.program = program
        self._prepared: dict[int, tuple[Mapping[str, Any], _Evaluated]] = {}
        self._kept = 0

    def root(self) -> Box:
        """Return the box given by the bounds of the columns."""
        return list(self.program.lower), list(self.program.upper)

    def split(self, region: Box, branch: Sequence[Any]) -> tuple[Box, Box]:
        """Return the two boxes of a branch.

        `region`: bounds of the columns. `branch`: `["var", j, at]` or `["row", i, at]`.
        """
        lower, upper = region
        kind = branch[0] if len(branch) == 3 else None
        if kind == "var":
            j, at = self._column(branch[1]), whole(branch[2], "/b/2")
            first, second = list(upper), list(lower)
            first[j], second[j] = min(upper[j], at), max(lower[j], at + 1)
            return (lower, first), (second, upper)
        if kind == "row":
            columns, at = self._choice(branch[1]), whole(branch[2], "/b/2")
            first, second = list(upper), list(upper)
            for j in columns[max(0, at) :]:
                first[j] = min(first[j], 0)
            for j in columns[: max(0, at)]:
                second[j] = min(second[j], 0)
            return (lower, first), (lower, second)
        raise RefusedError("/b", "a branch is [var, j, at] or [row, i, at]")

    def excess(self, region: Box, vector: Mapping[str, Any]) -> int | None:
        """Return the bound that a vector proves for a box, minus o times the goal.

        `region`: bounds of the columns.
        """
        lower, upper = region
        if any(a > b for a, b in zip(lower, upper, strict=True)):
            return None
        if not vector:
            return 0
        base, reduced, limit = self._evaluate(vector)
        return base + sum(r * (lower[j] if r > 0 else upper[j]) for j, r in reduced) - limit

    def reduce(self, region: Box, vector: Mapping[str, Any]) -> Box:
        """Return the box after reduced-cost fixing.

        `region`: bounds of the columns.
        """
        excess = self.excess(region, vector)
        lower, upper = list(region[0]), list(region[1])
        if excess is None or excess > 0:  # it contains nothing
            lower[:1] = [value + 1 for value in upper[:1]]
            return lower, upper
        for j, r in self._evaluate(vector)[1]:
            step = -excess // abs(r)
            if r > 0:
                upper[j] = min(upper[j], lower[j] + step)
            else:
                lower[j] = max(lower[j], upper[j] - step)
        return lower, upper

    def _evaluate(self, vector: Mapping[str, Any]) -> "_Evaluated":
        """Return sum_i y_i side_i, the nonzero reduced costs, and o times the goal."""
        if (key := id(vector)) in self._prepared:  # it is stored, so its id is unique
            return self._prepared[key][1]
        program, o = self.program, whole(vector.get("o"), "/o")
        if o < 0:
            raise RefusedError("/o", "needs a number >= 0")
        base, reduced = 0, {j: o * c for j, c in enumerate(program.cost) if c}
        seen: set[int] = set()
        for pair in _list(vector, "d"):
            if not isinstance(pair, list) or len(pair) != 2:
                raise RefusedError("/d", "needs pairs of a row and its price")
            i, y = whole(pair[0], "/d"), whole(pair[1], "/d")
            if not 0 <= i < len(program.rows) or i in seen:
                raise RefusedError("/d", f"row {i} is not there, or is there twice")
            seen.add(i)
            entries, low, high = program.rows[i]
            side = low if y > 0 else high
            if y and side is None:
                raise RefusedError("/d", f"row {i} has no such side")
            base += y * (side or 0)
            for j, a in entries.items():
                reduced[j] = reduced.get(j, 0) - y * a
        found = base, [(j, r) for j, r in reduced.items() if r], o * program.goal
        self._kept += 1 + len(found[1])
        if self._kept > _KEPT_COSTS:
            self._prepared.clear()
            self._kept = 1 + len(found[1])
        self._prepared[key] = vector, found
        return found

    def _column(self, j: Any) -> int:
        if not 0 <= whole(j, "/b/1") < len(self.program.cost):
            raise RefusedError("/b/1", f"there is no column {j}")
        return int(j)

    def _choice(self, i: Any) -> list[int]:
        """Return the columns, in order, of a row of which at most one column is 1."""
        if not 0 <= whole(i, "/b/1") < len(self.program.rows):
            raise RefusedError("/b/1", f"there is no row {i}")
        entries, _, high = self.program.rows[i]
        whole_choice = all(a == 1 and self.program.lower[j] >= 0 for j, a in entries.items())
        if high != 1 or not whole_choice:
            raise RefusedError("/b/1", f"row {i} is no choice of at most one column")
        return list(entries)


# --- cuts ---------------------------------------------------------------------------------------

Cut = Callable[[IntegerProgram, Mapping[str, Any]], Row]
"""Takes the program with all earlier cuts and the data in the file, and returns a valid row."""


def cover_cut(program: IntegerProgram, data: Mapping[str, Any]) -> Row:
    """Return a cover cut: one column of each set would exceed a row, so one set has none.

    `data`: `row` is a row with coefficients >= 0 and an upper side, over columns >= 0. `sets` are
    pairs [columns, row of choice or null]; at most one column of each set is 1.
    """
    entries, _, high = _row(program, data.get("row"))
    if high is None or any(a < 0 or program.lower[j] < 0 for j, a in entries.items()):
        raise RefusedError("/row", "a cover needs coefficients and columns >= 0")
    seen: set[int] = set()
    choices: set[int] = set()
    weight = 0
    sets = _list(data, "sets")
    for item in sets:
        if not isinstance(item, list) or len(item) != 2 or not isinstance(item[0], list):
            raise RefusedError("/sets", "needs pairs of columns and a row of choice")
        columns, choice = [whole(j, "/sets") for j in item[0]], item[1]
        if not columns or seen & set(columns) or len(set(columns)) != len(columns):
            raise RefusedError("/sets", "a set is empty, or shares a column")
        if choice is None:
            if not 0 <= columns[0] < len(program.upper):
                raise RefusedError("/sets", f"there is no column {columns[0]}")
            if len(columns) > 1 or program.upper[columns[0]] > 1:
                raise RefusedError("/sets", "a set without a row of choice is one 0/1 column")
        else:
            owner, _, side = _row(program, choice)
            sound = side == 1 and all(a == 1 and program.lower[j] >= 0 for j, a in owner.items())
            if not sound or choice in choices or not set(columns) <= owner.keys():
                raise RefusedError("/sets", f"row {choice} is no choice of these columns")
            choices.add(choice)
        seen |= set(columns)
        weight += min(entries.get(j, 0) for j in columns)
    if weight <= high:
        raise RefusedError("/sets", f"together they weigh {weight}, the row allows {high}")
    return dict.fromkeys(sorted(seen), 1), None, len(sets) - 1


def rounding_cut(program: IntegerProgram, data: Mapping[str, Any]) -> Row:
    """Return a Chvatal-Gomory cut: a combination of rows, divided and rounded down.

    `program`: the program; columns in the cut must be >= 0. `data`: `d` are pairs of a row and its
    multiplier, > 0 for the upper side and < 0 for the lower side. `by` is the divisor, > 0.
    """
    by, limit = whole(data.get("by"), "/by"), 0
    total: dict[int, int] = {}
    seen: set[int] = set()
    if by <= 0:
        raise RefusedError("/by", "needs a number > 0")
    for pair in _list(data, "d"):
        if not isinstance(pair, list) or len(pair) != 2:
            raise RefusedError("/d", "needs pairs of a row and its multiplier")
        (entries, low, high), y = _row(program, pair[0]), whole(pair[1], "/d")
        if pair[0] in seen:
            raise RefusedError("/d", f"row {pair[0]} is there twice")
        seen.add(pair[0])
        side = high if y > 0 else low
        if side is None:
            raise RefusedError("/d", f"row {pair[0]} has no such side")
        limit += y * side
        for j, a in entries.items():
            total[j] = total.get(j, 0) + y * a
    if any(program.lower[j] < 0 for j in total):
        raise RefusedError("/d", "rounding down needs columns >= 0")
    return {j: a // by for j, a in total.items() if a // by}, None, limit // by


CUTS: Mapping[str, Cut] = {"cover": cover_cut, "round": rounding_cut}


def with_cuts(program: IntegerProgram, cuts: Any, kinds: Mapping[str, Cut]) -> IntegerProgram:
    """Return the program with the cuts of a proof, each of which is derived again.

    `cuts`: cuts of the file. `why` is the kind, the rest are its data. A cut may use earlier ones.
    `kinds`: function that derives a cut, by kind: `CUTS` and the family's.
    """
    rows = list(program.rows)
    grown = replace(program, rows=rows)  # shares the list to which cuts are appended
    if not isinstance(cuts, list):
        raise RefusedError("/cuts", "needs a list")
    for number, cut in enumerate(cuts):
        where = f"/cuts/{number}"
        why = cut.get("why") if isinstance(cut, Mapping) else None
        if not isinstance(why, str) or why not in kinds:
            raise RefusedError(
                where, f"no kind of cut: {why[:40]!r}" if isinstance(why, str) else "no kind of cut"
            )
        try:
            row = kinds[why](grown, cut)
        except RefusedError as error:
            raise RefusedError(where + error.where, error.why) from None
        if any(a.bit_length() > MAX_BITS for a in (*row[0].values(), row[1] or 0, row[2] or 0)):
            raise RefusedError(where, "too large")
        rows.append(row)
    return grown


def _row(program: IntegerProgram, i: Any) -> Row:
    number = whole(i, "/row")
    if not 0 <= number < len(program.rows):
        raise RefusedError("/row", f"there is no row {number}")
    return program.rows[number]
