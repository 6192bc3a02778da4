"""Check a proof that no schedule has a value of `goal` or less: in whole numbers, no solver.

A proof is a tree over parts of the search space. Every leaf names a vector of dual prices, and the
checker evaluates from these prices that the leaf holds nothing of value <= goal; every other node
says how it is split, and the checker derives both parts itself. What the prover believed plays no
part. Python's integers only; this file imports nothing of the prover.

References
----------
K. K. H. Cheung, A. Gleixner, D. E. Steffy, "Verifying integer programming results", IPCO 2017
(Lecture Notes in Computer Science 10328): proof files for branch and cut.
W. Cook, T. Koch, D. E. Steffy, K. Wolter, "A hybrid branch-and-bound approach for exact rational
mixed-integer programming", Mathematical Programming Computation 5 (2013).
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

VERSION = 1
MAX_NODES = 1_000_000
MAX_VECTORS = 200_000
MAX_BITS = 4096  # of a whole number in a proof file
MAX_CUTS, MAX_CUT_ENTRIES = 50_000, 5_000_000
_KEPT_VECTORS = 1000  # whose reduced costs are remembered


class RefusedError(Exception):
    """The proof does not show what it claims: where in the file, and why."""

    def __init__(self, where: str, why: str) -> None:
        super().__init__(f"{where}: {why}")
        self.where, self.why = where, why


R = TypeVar("R")


class SearchSpace(Protocol[R]):
    """What a proof is about: the schedules of an instance with a value of `goal` or less.

    A region is a set of candidates described by the family, such as windows of starts for each job.
    Each method may raise RefusedError, with a path relative to what it was given.
    """

    def root(self) -> R:
        """Return a region that holds every schedule of value <= goal."""
        ...

    def split(self, region: R, branch: Sequence[Any]) -> tuple[R, R]:
        """Return two regions that together hold all of a region."""
        ...

    def excess(self, region: R, vector: Mapping[str, Any]) -> int | None:
        """Return a number > 0 only if no candidate of the region has a value <= goal.

        None stands for +infinity: the region is empty.
        """
        ...

    def reduce(self, region: R, vector: Mapping[str, Any]) -> R:
        """Return the region without candidates that a vector shows to have a value > goal.

        An empty one where the vector shows it of all candidates.
        """
        ...


@dataclass(frozen=True, slots=True)
class Checked:
    """What was checked: numbers of leaves and of nodes."""

    leaves: int
    nodes: int


def check_tree(
    space: SearchSpace[R], proof: Mapping[str, Any], *, seconds: float = 600.0
) -> Checked:
    """Return how large the tree is when it proves that the search space is empty.

    Parameters
    ----------
    space : SearchSpace
    proof : mapping
        `vectors`: list of what `excess` and `reduce` take. `tree`: its nodes in preorder, each
        either `{"v": k}`, closed by vector k; or `{"empty": true}`, closed without prices; or
        `{"b": branch}` with the two parts behind it. In each, `"fix": [k, ...]` may name vectors by
        which the region is reduced first.
    seconds : float
        Time that the check may take.

    Raises
    ------
    RefusedError
        When a node is missing, open, or not what it says.
    """
    vectors, nodes = _list(proof, "vectors", MAX_VECTORS), _list(proof, "tree", MAX_NODES)
    regions = [space.root()]
    leaves, end = 0, time.monotonic() + seconds
    for number, node in enumerate(nodes):
        where = f"/tree/{number}"
        if time.monotonic() > end:
            raise RefusedError(where, f"not checked within {seconds:g} seconds")
        if not regions:
            raise RefusedError(where, "there is no part left for this node")
        if not isinstance(node, Mapping):
            raise RefusedError(where, "not a node")
        region = regions.pop()
        try:
            for k in _list(node, "fix", 100) if "fix" in node else []:
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
                    first, second = space.split(region, _list(node, "b", 100))
                    regions += [second, first]
                case keys:
                    raise RefusedError("", f"a node has one of v, empty and b, not {list(keys)}")
        except RefusedError as error:
            raise RefusedError(where + error.where, error.why) from None
    if regions:
        raise RefusedError("/tree", f"{len(regions)} parts of the search space have no node")
    return Checked(leaves, len(nodes))


def _list(owner: Mapping[str, Any], key: str, at_most: int) -> list[Any]:
    value = owner.get(key)
    if not isinstance(value, list) or len(value) > at_most:
        raise RefusedError(f"/{key}", f"needs a list of at most {at_most}")
    return value


def _vector(vectors: Sequence[Any], k: Any) -> Mapping[str, Any]:
    if type(k) is not int or not 0 <= k < len(vectors) or not isinstance(vectors[k], Mapping):
        raise RefusedError("", f"there is no vector {str(k)[:20]}")
    found: Mapping[str, Any] = vectors[k]
    return found


def whole(value: Any, where: str) -> int:
    """Return a whole number of a proof file; RefusedError for anything else.

    Parameters
    ----------
    value : object
        Out of the file.
    where : str
        Its path, for the message.
    """
    if type(value) is not int or value.bit_length() > MAX_BITS:
        raise RefusedError(where, f"needs a whole number of at most {MAX_BITS} bits")
    return value


# --- integer programs -----------------------------------------------------------------------------

Row = tuple[dict[int, int], int | None, int | None]
"""Coefficients by column, lower side, upper side; None where a side is free."""


@dataclass(frozen=True, slots=True)
class IntegerProgram:
    """Columns x_j in [lower_j, upper_j], all whole; the claim is that no x has cost x <= goal.

    Every number is whole: a family multiplies its rows by what makes them so. A row of coefficients
    1 and upper side 1 over columns >= 0 may be branched on: the order of its columns counts.
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

    A vector is `{"o": o, "d": [[i, y_i], ...]}`: o >= 0 times the objective less y_i times row i.
    Summed up, o cost x >= sum_i y_i side_i + sum_j r_j x_j with r = o cost - sum_i y_i a_i, where a
    price y_i > 0 meets the lower side of its row and one < 0 the upper side. In a box, r_j x_j is
    least at one end. With o = 0 this is Farkas' proof that the box has no solution.

    A branch is `["var", j, at]`, x_j <= at or x_j > at; or `["row", i, at]` on a row of which at
    most one column is 1: the first `at` columns, or the others, are 0 on the other side.
    """

    def __init__(self, program: IntegerProgram) -> None:
        self.program = program
        self._prepared: dict[int, tuple[Mapping[str, Any], _Evaluated]] = {}

    def root(self) -> Box:
        """Return the box of the program."""
        return list(self.program.lower), list(self.program.upper)

    def split(self, region: Box, branch: Sequence[Any]) -> tuple[Box, Box]:
        """Return the two boxes of a branch."""
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
        """Return what a vector proves of a box, less o times the goal."""
        lower, upper = region
        if any(a > b for a, b in zip(lower, upper, strict=True)):
            return None
        if not vector:
            return 0
        base, reduced, limit = self._evaluate(vector)
        return base + sum(r * (lower[j] if r > 0 else upper[j]) for j, r in reduced) - limit

    def reduce(self, region: Box, vector: Mapping[str, Any]) -> Box:
        """Return the box by reduced-cost fixing: without what costs more than the slack."""
        excess = self.excess(region, vector)
        lower, upper = list(region[0]), list(region[1])
        if excess is None or excess > 0:  # nothing is in it
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
        """Return the sum over the rows' sides, the reduced costs that are not 0, and o goal."""
        if (key := id(vector)) in self._prepared:  # kept below, so that no other has its id
            return self._prepared[key][1]
        program, o = self.program, whole(vector.get("o"), "/o")
        if o < 0:
            raise RefusedError("/o", "needs a number >= 0")
        base, reduced = 0, {j: o * c for j, c in enumerate(program.cost) if c}
        seen: set[int] = set()
        for pair in _list(vector, "d", len(program.rows)):
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
        if len(self._prepared) >= _KEPT_VECTORS:
            self._prepared.clear()
        self._prepared[key] = vector, found
        return found

    def _column(self, j: Any) -> int:
        if not 0 <= whole(j, "/b/1") < len(self.program.cost):
            raise RefusedError("/b/1", f"there is no column {j}")
        return int(j)

    def _choice(self, i: Any) -> list[int]:
        """Return the columns of a row of which at most one is 1, in the row's order."""
        if not 0 <= whole(i, "/b/1") < len(self.program.rows):
            raise RefusedError("/b/1", f"there is no row {i}")
        entries, _, high = self.program.rows[i]
        whole_choice = all(a == 1 and self.program.lower[j] >= 0 for j, a in entries.items())
        if high != 1 or not whole_choice:
            raise RefusedError("/b/1", f"row {i} is no choice of at most one column")
        return list(entries)


# --- cuts ---------------------------------------------------------------------------------------

Cut = Callable[[IntegerProgram, Mapping[str, Any]], Row]
"""From the program, with the cuts before it, and what the file says, to a row that holds."""


def cover_cut(program: IntegerProgram, data: Mapping[str, Any]) -> Row:
    """Return a cover cut: one column of each set together overfill a row, so one set has none.

    Parameters
    ----------
    program : IntegerProgram
    data : mapping
        `row`: a row with coefficients >= 0 and an upper side, over columns >= 0. `sets`: pairs
        [columns, row of choice or null]; of the columns of one set at most one is 1.
    """
    entries, _, high = _row(program, data.get("row"))
    if high is None or any(a < 0 or program.lower[j] < 0 for j, a in entries.items()):
        raise RefusedError("/row", "a cover needs coefficients and columns >= 0")
    seen: set[int] = set()
    choices: set[int] = set()
    weight = 0
    sets = _list(data, "sets", 10_000)
    for item in sets:
        if not isinstance(item, list) or len(item) != 2 or not isinstance(item[0], list):
            raise RefusedError("/sets", "needs pairs of columns and a row of choice")
        columns, choice = [whole(j, "/sets") for j in item[0]], item[1]
        if not columns or seen & set(columns) or len(set(columns)) != len(columns):
            raise RefusedError("/sets", "a set is empty, or shares a column")
        if choice is None:
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
    """Return a Chvatal-Gomory cut: rows summed up, divided, and rounded down.

    Parameters
    ----------
    program : IntegerProgram
        Columns with an entry have to be >= 0.
    data : mapping
        `d`: pairs of a row and its multiplier, > 0 for its upper side and < 0 for its lower side.
        `by`: the divisor > 0.
    """
    by, limit = whole(data.get("by"), "/by"), 0
    total: dict[int, int] = {}
    if by <= 0:
        raise RefusedError("/by", "needs a number > 0")
    for pair in _list(data, "d", len(program.rows)):
        if not isinstance(pair, list) or len(pair) != 2:
            raise RefusedError("/d", "needs pairs of a row and its multiplier")
        (entries, low, high), y = _row(program, pair[0]), whole(pair[1], "/d")
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
    """Return the program with the cuts of a proof, each derived anew.

    Parameters
    ----------
    program : IntegerProgram
    cuts : list of mapping
        Out of a file. `why` names the kind; the rest is what the kind reads. A cut may use those
        before it.
    kinds : mapping
        How each kind is derived: `CUTS`, and those of the family.
    """
    rows, entries = list(program.rows), 0
    grown = replace(program, rows=rows)  # the list that grows
    if not isinstance(cuts, list) or len(cuts) > MAX_CUTS:
        raise RefusedError("/cuts", f"needs a list of at most {MAX_CUTS}")
    for number, cut in enumerate(cuts):
        where = f"/cuts/{number}"
        why = cut.get("why") if isinstance(cut, Mapping) else None
        if not isinstance(why, str) or why not in kinds:
            raise RefusedError(where, f"no kind of cut: {str(why)[:40]!r}")
        try:
            row = kinds[why](grown, cut)
        except RefusedError as error:
            raise RefusedError(where + error.where, error.why) from None
        entries += len(row[0])
        if entries > MAX_CUT_ENTRIES or any(a.bit_length() > MAX_BITS for a in row[0].values()):
            raise RefusedError(where, "too large")
        rows.append(row)
    return grown


def _row(program: IntegerProgram, i: Any) -> Row:
    number = whole(i, "/row")
    if not 0 <= number < len(program.rows):
        raise RefusedError("/row", f"there is no row {number}")
    return program.rows[number]
