"""Write a proof over an integer program as a VIPR certificate, for a checker from elsewhere.

The certificate states the program with the row cost x <= goal, and derives 0 >= 1 from it. Vectors
become linear combinations of rows and bounds. Reduced-cost fixing and three kinds of cuts become
roundings, and branches become pairs of assumptions that are discharged. A cut of another kind is
written as a row of the program whose name begins with `assumed`; the caller is told how many.

Everything is computed in integers and fractions. This writer need not be trusted: `viprchk` refuses
a wrong line.

References
----------
K. K. H. Cheung, A. Gleixner, D. E. Steffy, "Verifying integer programming results", Integer
Programming and Combinatorial Optimization, Lecture Notes in Computer Science 10328 (2017): the
format, of which the certificates are version 1.0.
V. Chvatal, "Edmonds polytopes and a hierarchy of combinatorial problems", Discrete Mathematics 4
(1973): rounding a combination of rows; cliques from the rows of their edges.
"""

import math
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, BinaryIO, NamedTuple, TypeVar

from schedgap.solvers.proofs.checker import Box, IntegerProgram, ProgramSpace, Row

DERIVED = ("cover", "round", "clique")  # kinds of cuts; the others are assumed
_KEPT_ENTRIES = 5_000_000  # entries of the cached combinations of rows
_ROOM = 12  # characters for a number that is written later

T = TypeVar("T")
Number = int | Fraction
Entries = Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Larger:
    """A program that has more columns than the refuted one, and vectors that fix these at 0.

    `program`: columns that the refuted one lacks are >= 0. `columns`: number here of each column of
    the refuted program. `rows`: number here of each of its rows, without cuts. `vectors`: vectors
    by which the columns are fixed, one after the other. The reduced costs of all columns that
    earlier ones leave are >= 0.
    """

    program: IntegerProgram
    columns: Sequence[int]
    rows: Sequence[int]
    vectors: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Exported:
    """What a certificate contains.

    `columns`, `rows`, `derivations`: `rows` counts section CON, the bounds of columns included.
    `assumed`: what the certificate assumes beyond the program.
    """

    columns: int
    rows: int
    derivations: int
    assumed: Sequence[str]


def export(
    space: ProgramSpace,
    proof: Mapping[str, Any],
    file: str | os.PathLike[str],
    *,
    larger: Larger | None = None,
    comments: Iterable[str] = (),
    assumed: Iterable[str] = (),
) -> Exported:
    """Write a proof that the checker has accepted as a certificate; say what it contains.

    `space`: what the proof refutes, with the cuts of the proof as the last rows. `proof`:
    `vectors`, `cuts` and `tree`. It must be one that `check_tree` accepts. `file`: it is written
    when complete, by way of a file `NAME.part`. `larger`: the program that the certificate states,
    if it is not the proof's. `comments`: lines for the head of the certificate. `assumed`:
    what else the caller assumes; the head says it, too.
    """
    part = f"{os.fspath(file)}.part"
    try:
        with open(part, "wb") as target:
            lines = _Lines(target)
            certificate = _Certificate(space, proof, larger, lines)
            named = [*assumed, *(f"row {name}" for name in certificate.assumed.values())]
            certificate.run([*comments, *(f"Assumed, not derived: {name}" for name in named)])
            lines.finish()
        os.replace(part, file)
    except BaseException:
        with suppress(OSError):
            os.unlink(part)
        raise
    return Exported(len(certificate.stated.cost), lines.rows, lines.derivations, named)


class _Row(NamedTuple):
    """A line of the certificate: its number, left-hand side and right-hand side."""

    line: int
    entries: Entries
    side: int
    is_equation: bool = False


Terms = Sequence[tuple[_Row, Number]]
"""Rows and their multipliers."""


@dataclass(slots=True)
class _Part:
    """A box and, of each column, the lines that state its bounds.

    `false` is a line 0 >= 1 that follows in this part; once it is known, the part needs no other.
    """

    box: Box
    lower: list[int]
    upper: list[int]
    false: int | None = None

    def low(self, j: int) -> _Row:
        return _Row(self.lower[j], {j: 1}, self.box[0][j])

    def high(self, j: int) -> _Row:
        return _Row(self.upper[j], {j: 1}, self.box[1][j])

    def copy(self, box: Box) -> "_Part":
        return _Part(box, list(self.lower), list(self.upper))


@dataclass(slots=True)
class _Branch:
    """A part that is split: how, its boxes, what each assumes, and what refutes the first one."""

    part: _Part
    branch: Sequence[Any]
    boxes: Sequence[Box] = ()
    assumed: Sequence[_Row] = ()
    refuted: int | None = None


class _Lines:
    """The lines of a certificate, numbered.

    A derivation ends with the last line that uses it; a checker can forget it afterwards. Room is
    left for this number, and for the number of derivations; `finish` fills in both.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._size = self._head = 0
        self.rows = 0
        self._last: list[int] = []  # line that uses a derivation
        self._ends: list[int] = []  # positions in the file at which the last uses are written

    @property
    def derivations(self) -> int:
        return len(self._last)

    def write(self, *words: object) -> None:
        self._size += self._file.write((" ".join(map(str, words)) + "\n").encode("ascii"))

    def row(self, name: str, sense: str, side: int, entries: str) -> int:
        self.write(name, sense, side, entries)
        self.rows += 1
        return self.rows - 1

    def begin(self) -> None:
        """Write the head of the derivations."""
        self.write("DER", " " * _ROOM)
        self._head = self._size - 1 - _ROOM

    def derivation(
        self, sense: str, side: int, entries: str, reason: str, used: Iterable[int]
    ) -> int:
        index = self.rows + len(self._last)
        for line in used:
            if line >= self.rows:
                self._last[line - self.rows] = index
        self._last.append(index)
        self.write(f"d{index}", sense, side, entries, "{", reason, "}", " " * _ROOM)
        self._ends.append(self._size - 1 - _ROOM)
        return index

    def finish(self) -> None:
        """Write the numbers for which room was left."""
        self._last[-1] = -1
        for end, last in zip([self._head, *self._ends], [self.derivations, *self._last],
                             strict=True):  # fmt: skip
            self._file.seek(end)
            self._file.write(str(last).encode("ascii"))


class _Conflicts:
    """Which of some columns exceed a row together; sets of these columns are bits of a number."""

    def __init__(self, rows: Iterable[_Row], columns: Sequence[int]) -> None:
        self._columns, self._at = columns, {j: k for k, j in enumerate(columns)}
        within = ((row, [j for j in columns if j in row.entries]) for row in rows)
        self._rows = [(row, own, self.bits(own)) for row, own in within if len(own) > 1]
        self._over: dict[tuple[int, int], int] = {}
        # `heavy` has the columns of each row of which any two exceed the row.
        self.heavy = [
            self.bits(j for j in own if row.entries[j] > 0 and 2 * row.entries[j] > row.side)
            for row, own, _ in self._rows
        ]

    def bits(self, columns: Iterable[int]) -> int:
        found = 0
        for j in columns:
            found |= 1 << self._at[j]
        return found

    def columns(self, bits: int) -> list[int]:
        found = []
        while bits:
            found.append(self._columns[(bits & -bits).bit_length() - 1])
            bits &= bits - 1
        return found

    def against(self, columns: Iterable[int]) -> list[int]:
        """Return, of each row, what exceeds it together with any of the columns."""
        given, found = list(columns), []
        bits = self.bits(given)
        for i, (row, own, members) in enumerate(self._rows):
            if bits & ~members:
                found.append(0)
                continue
            least = min(row.entries[j] for j in given)
            if (i, least) not in self._over:
                over = (j for j in own if row.entries[j] + least > row.side)
                self._over[i, least] = self.bits(over)
            found.append(self._over[i, least])
        return found

    def most(self, left: int, masks: Sequence[int]) -> tuple[_Row | None, int]:
        """Return the row that excludes the most of some columns, and these columns."""
        best, found = None, 0
        for (row, _, _), mask in zip(self._rows, masks, strict=True):
            if (own := mask & left).bit_count() > found.bit_count():
                best, found = row, own
        return best, found


class _Certificate:
    """One run over a proof, which writes its certificate."""

    def __init__(
        self, space: ProgramSpace, proof: Mapping[str, Any], larger: Larger | None, lines: _Lines
    ) -> None:
        self.space, self.program, self.proof, self.lines = space, space.program, proof, lines
        self.base = len(self.program.rows) - len(proof["cuts"])  # rows that are no cuts
        self.larger = larger
        self.stated = self.program if larger is None else larger.program
        self.cuts = list(enumerate(proof["cuts"], self.base))
        self.assumed = {
            i: f"assumed_{cut['why']}_{i - self.base}"
            for i, cut in self.cuts
            if cut["why"] not in DERIVED
        }
        self.at: Sequence[int] = range(len(self.stated.cost))  # number of each column in the file
        self.rows: list[tuple[_Row | None, _Row | None]] = []  # sides of each row
        self.uses: Counter[int] = Counter()  # key: vector
        for node in proof["tree"]:
            self.uses.update(node.get("fix", ()))
            self.uses.update([node["v"]] if "v" in node else [])
        self.combined: dict[int, _Row] = {}  # key: vector
        self.kept = 0
        self.left_out: list[_Row] = []  # rows that fix columns of the larger program at 0

    def run(self, comments: Iterable[str]) -> None:
        """Write all lines, the last of which is 0 >= 1."""
        part = self._state(comments)
        if self.larger is not None:
            for vector in self.larger.vectors:
                if part.false is None:
                    self._leave_out(part, self._terms(vector))
            if part.false is None:
                part = self._narrow(part, self.larger)
        if part.false is None:
            for i, cut in self.cuts:
                if i not in self.assumed:
                    row = self._derive_cut(part, self.program.rows[i], cut)
                    self.rows[i] = None, row
            self._walk(part)

    # --- the program -----------------------------------------------------------------------------

    def _state(self, comments: Iterable[str]) -> _Part:
        """Write the program; return its box."""
        lines, program = self.lines, self.stated
        rows = program.rows if self.larger is not None else program.rows[: self.base]
        width = len(program.cost)
        cost = {j: c for j, c in enumerate(program.cost) if c}
        sides = sum(1 if a == b else (a is not None) + (b is not None) for _, a, b in rows)
        for comment in comments:
            lines.write("%", comment)
        lines.write("VER 1.0")
        lines.write("VAR", width, *(f"x{j}" for j in range(width)))
        lines.write("INT", width, *range(width))
        lines.write("OBJ min", self._list(cost))
        lines.write("CON", 2 * width + sides + len(self.assumed) + 1, 2 * width)
        lower = [self._row(f"x{j}_low", "G", {j: 1}, a) for j, a in enumerate(program.lower)]
        upper = [self._row(f"x{j}_high", "L", {j: 1}, a) for j, a in enumerate(program.upper)]
        for i, (entries, low, high) in enumerate(rows):
            if low is not None and low == high:
                self.rows.append((self._row(f"r{i}", "E", entries, low),) * 2)
                continue
            first = None if low is None else self._row(f"r{i}_low", "G", entries, low)
            second = None if high is None else self._row(f"r{i}_high", "L", entries, high)
            self.rows.append((first, second))
        if self.larger is not None:
            self.at = self.larger.columns
        self.cut_rows: dict[int, _Row] = {}
        for i, name in self.assumed.items():
            entries, _, high = self.program.rows[i]
            self.cut_rows[i] = self._row(name, "L", entries, _present(high))
        self.at = range(width)
        self.goal = self._row("goal", "L", cost, program.goal)
        lines.write("RTP infeas")
        lines.write("SOL 0")
        lines.begin()
        if self.larger is None:
            self.rows += [(None, self.cut_rows.get(i)) for i, _ in self.cuts]
        box = list(program.lower), list(program.upper)
        return _Part(box, [row.line for row in lower], [row.line for row in upper])

    def _leave_out(self, part: _Part, terms: Terms) -> None:
        """Derive that the columns whose reduced costs exceed the slack of the terms are 0.

        The terms say that sum_j r_j x_j <= slack. Divided by the least r_j > slack, the right-hand
        side rounds down to 0.
        """
        total, side = _summed(terms)
        known = {j for row in self.left_out for j in row.entries}
        found = [j for j, a in total.items() if -a > -side and j not in known]
        if side > 0:
            self._refute(part, self._with_left_out("G", terms, {}))
        elif found:
            least = min(-total[j] for j in found)
            terms = [(row, -y) for row, y in terms]
            terms = self._with_left_out("L", terms, dict.fromkeys(found, least))
            terms = [(row, y / Fraction(least)) for row, y in terms]
            gone = self._derive(part, "L", "rnd", terms, dict.fromkeys(found, 1), 0)
            self.left_out.append(gone)

    def _with_left_out(self, sense: str, terms: Terms, wanted: Entries) -> Terms:
        """Return terms which lower bounds alone complete, as far as columns are left out."""
        total, sign = _summed(terms)[0], 1 if sense == "L" else -1
        more = []
        for row in self.left_out:
            most = max(sign * (wanted.get(j, 0) - total.get(j, 0)) for j in row.entries)
            if most > 0:
                more.append((row, sign * most))
        return [*terms, *more]

    def _narrow(self, part: _Part, larger: Larger) -> _Part:
        """Derive the rows of the refuted program; return the part of its columns."""
        sides, self.rows = self.rows, []
        for i, (entries, _, _) in zip(larger.rows, self.program.rows, strict=False):
            low, high = sides[i]
            self.rows.append((
                self._narrowed(part, "G", low, entries),
                self._narrowed(part, "L", high, entries),
            ))  # fmt: skip
        cost = {j: c for j, c in enumerate(self.program.cost) if c}
        self.goal = _present(self._narrowed(part, "L", self.goal, cost))
        self.rows += [(None, self.cut_rows.get(i)) for i, _ in self.cuts]
        self.at = larger.columns
        return _Part(
            ([part.box[0][j] for j in self.at], [part.box[1][j] for j in self.at]),
            [part.lower[j] for j in self.at],
            [part.upper[j] for j in self.at],
        )

    def _narrowed(self, part: _Part, sense: str, row: _Row | None, entries: Entries) -> _Row | None:
        """Derive a row without the columns that are left out."""
        assert self.larger is not None
        if row is None:
            return None
        if len(row.entries) == len(entries):
            return row._replace(entries=entries)
        wanted = {self.larger.columns[j]: a for j, a in entries.items()}
        terms = self._with_left_out(sense, [(row, 1)], wanted)
        found = self._derive(part, sense, "lin", terms, wanted, row.side)
        return found._replace(entries=entries)

    # --- the tree --------------------------------------------------------------------------------

    def _walk(self, part: _Part) -> None:
        """Refute all parts of the tree, and join them."""
        vectors = self.proof["vectors"]
        split: list[_Branch] = []
        for node in self.proof["tree"]:
            self._refute_if_empty(part)
            for k in node.get("fix", ()):
                if part.false is None:
                    part = self._reduce(part, vectors[k], self._terms_of(k))
                    self._refute_if_empty(part)
            if "b" in node:
                split.append(self._split(part, node["b"]))
                part = self._enter(split[-1], 0)
                continue
            if part.false is None:
                self._refute(part, self._terms_of(node["v"]))
            found = _present(part.false)
            while split and split[-1].refuted is not None:
                found = self._join(split.pop(), found)
            if split:
                split[-1].refuted = found
                part = self._enter(split[-1], 1)

    def _split(self, part: _Part, branch: Sequence[Any]) -> _Branch:
        """Assume each side of a branch."""
        if part.false is not None:
            return _Branch(part, branch)
        kind, number, at = branch
        if kind == "var":
            sides = ("L", {number: 1}, at), ("G", {number: 1}, at + 1)
        else:
            chosen = dict.fromkeys(list(self.program.rows[number][0])[: max(0, at)], 1)
            sides = ("G", chosen, 1), ("L", chosen, 0)
        assumed = [
            _Row(self.lines.derivation(sense, side, self._list(entries), "asm", ()), entries, side)
            for sense, entries, side in sides
        ]
        return _Branch(part, branch, self.space.split(part.box, branch), assumed)

    def _enter(self, split: _Branch, second: int) -> _Part:
        """Return a part of a branch, with the bounds that its assumption gives."""
        if split.part.false is not None:
            return split.part
        old, box, assumed = split.part, split.boxes[second], split.assumed[second]
        new = old.copy(box)
        kind, number, _ = split.branch
        if kind == "var":
            bounds = new.lower if second else new.upper
            if box[1 - second][number] != old.box[1 - second][number]:
                bounds[number] = assumed.line
            return new
        row = _present(self.rows[number][1])
        terms = [(assumed, -1)] if second else [(assumed, 1), (row, -1)]
        targets = [j for j in row.entries if box[1][j] != old.box[1][j]]
        self._tighten(old, new, terms, dict.fromkeys(targets, 1), targets)
        return new

    def _join(self, split: _Branch, second: int) -> int:
        """Refute a part from its two parts."""
        first = _present(split.refuted)
        if split.part.false is not None:
            return split.part.false
        used = first, split.assumed[0].line, second, split.assumed[1].line
        return self.lines.derivation("G", 1, "0", "uns {} {} {} {}".format(*used), used)

    # --- vectors ---------------------------------------------------------------------------------

    def _terms(self, vector: Mapping[str, Any]) -> Terms:
        """Return the rows and multipliers of a vector."""
        terms = [(self.goal, -vector["o"])]
        for i, y in vector["d"]:
            if y:
                terms.append((_present(self.rows[i][0 if y > 0 else 1]), y))
        return terms

    def _terms_of(self, k: int) -> Terms:
        """Return the terms of a vector of the proof; as one row, if it is used again."""
        terms = self._terms(self.proof["vectors"][k])
        if self.uses[k] < 2:
            return terms
        if k not in self.combined:
            entries, side = _summed(terms)
            if self.kept + len(entries) > _KEPT_ENTRIES:
                self.combined.clear()
                self.kept = 0
            self.kept += len(entries)
            self.combined[k] = self._derive(None, "G", "lin", terms, entries, side)
        return [(self.combined[k], 1)]

    def _refute(self, part: _Part, terms: Terms) -> None:
        """Derive 0 >= 1 from rows and the bounds of a part."""
        part.false = self._derive(part, "G", "lin", terms, {}, 1).line

    def _refute_if_empty(self, part: _Part) -> None:
        if part.false is None:
            for j, (a, b) in enumerate(zip(*part.box, strict=True)):
                if a > b:
                    return self._refute(part, [(part.low(j), 1), (part.high(j), -1)])

    def _reduce(self, old: _Part, vector: Mapping[str, Any], terms: Terms) -> _Part:
        """Return the part after reduced-cost fixing, with each new bound derived."""
        excess = self.space.excess(old.box, vector)
        if excess is None or excess > 0:
            self._refute(old, terms)
            return old
        new = old.copy(self.space.reduce(old.box, vector))
        reduced = {j: -a for j, a in _summed(terms)[0].items()}
        targets = [j for j, r in reduced.items() if r and new.box[r > 0][j] != old.box[r > 0][j]]
        self._tighten(old, new, terms, reduced, targets)
        return new

    def _tighten(
        self,
        old: _Part,
        new: _Part,
        terms: Terms,
        reduced: Entries,
        targets: Sequence[int],
    ) -> None:
        """Derive new bounds of some columns, all from the same combination of rows.

        The terms say that sum_j -r_j x_j >= side. Without all columns but one, by their bounds, it
        is a bound of that column. Half of the columns leave at a time, which is shorter in all.
        """
        if not targets:
            return
        if len(targets) == 1:
            (j,) = targets
            scale = Fraction(-1, reduced[j])
            terms = [(row, y * scale) for row, y in terms]
            if reduced[j] > 0:
                found = self._derive(old, "L", "rnd", terms, {j: 1}, new.box[1][j])
                new.upper[j] = found.line
            else:
                found = self._derive(old, "G", "rnd", terms, {j: 1}, new.box[0][j])
                new.lower[j] = found.line
            return
        total = self._derive(old, "G", "lin", terms, {j: -reduced[j] for j in targets})
        middle = len(targets) // 2
        for half in targets[:middle], targets[middle:]:
            self._tighten(old, new, [(total, 1)], reduced, half)

    # --- cuts ------------------------------------------------------------------------------------

    def _derive_cut(self, part: _Part, row: Row, cut: Mapping[str, Any]) -> _Row:
        """Derive the row of a cut by roundings."""
        entries, side = row[0], _present(row[2])
        if cut["why"] == "round":
            terms = [
                (_present(self.rows[i][1 if y > 0 else 0]), Fraction(y, cut["by"]))
                for i, y in cut["d"]
                if y
            ]
            return self._derive(part, "L", "rnd", terms, entries, side)
        if cut["why"] == "clique":
            return self._clique(part, cut["columns"])
        sets = [
            (columns, part.high(columns[0]) if choice is None else _present(self.rows[choice][1]))
            for columns, choice in cut["sets"]
        ]
        return self._cover(part, _present(self.rows[cut["row"]][1]), sets)

    def _cover(self, part: _Part, row: _Row, sets: Sequence[tuple[Iterable[int], _Row]]) -> _Row:
        """Derive that one of some sets, which together exceed a row, has no column.

        Each set comes with a row of at most one of its columns. Let w_k be the least weight in set
        k, and v the largest w_k. Add 1/v times the row and 1 - w_k/v times the row of each set. The
        sum limits the columns of all sets to |sets| - (sum of w_k - side)/v.
        """
        weights = [min(row.entries.get(j, 0) for j in columns) for columns, _ in sets]
        share = 1 / Fraction(max([1, *weights]))
        terms = [(row, share)]
        terms += [(own, 1 - share * w) for w, (_, own) in zip(weights, sets, strict=True)]
        entries = dict.fromkeys((j for columns, _ in sets for j in columns), 1)
        return self._derive(part, "L", "rnd", terms, entries, len(sets) - 1)

    def _clique(self, part: _Part, columns: Sequence[int]) -> _Row:
        """Derive that at most one of some columns is 1, any two of which exceed some row."""
        known = _Conflicts(self._packed_rows(), columns)
        found, left = None, known.bits(columns)
        while left:
            row, group = known.most(left, known.heavy)
            if row is None or group.bit_count() < 2:
                group = left & -left
                new = part.high(known.columns(group)[0])
            else:
                own = dict.fromkeys(known.columns(group), 1)
                share = 1 / Fraction(min(row.entries[j] for j in own))
                new = self._derive(part, "L", "rnd", [(row, share)], own, 1)
            left &= ~group
            found = new if found is None else self._united(part, known, found, new)
        return self._derive(part, "L", "lin", [], {}, 1) if found is None else found

    def _united(self, part: _Part, known: "_Conflicts", first: _Row, second: _Row) -> _Row:
        """Derive the clique of two cliques: by a row for many columns, or column by column."""
        left = known.bits(second.entries)
        while left:
            row, found = known.most(left, known.against(first.entries))
            if row is not None:
                own = known.columns(found)
                first = self._cover(part, row, [(list(first.entries), first), (own, second)])
            else:
                found = left & -left
                first = self._with_column(part, known, first, known.columns(found)[0])
            left &= ~found
        return first

    def _with_column(self, part: _Part, known: "_Conflicts", clique: _Row, j: int) -> _Row:
        """Derive the clique of a clique and one more column.

        Several rows say that it excludes the columns of the clique. Of each, a share of 1/k, and of
        the clique the rest, give at most 2 - 1/k.
        """
        masks, left, stars = known.against([j]), known.bits(clique.entries), list[_Row]()
        while left:
            row, found = known.most(left, masks)
            if row is None:
                raise ValueError(f"column {j} does not exclude all of a clique")
            own = known.columns(found)
            stars.append(self._cover(part, row, [([j], part.high(j)), (own, clique)]))
            left &= ~found
        share = Fraction(1, len(stars))
        terms = [*((row, share) for row in stars), (clique, 1 - share)]
        return self._derive(part, "L", "rnd", terms, {j: 1, **clique.entries}, 1)

    def _packed_rows(self) -> Sequence[_Row]:
        """Return the rows that columns can exceed together."""
        program = self.program
        return [
            row
            for (_, row), (entries, _, _) in zip(self.rows[: self.base], program.rows, strict=False)
            if row is not None and all(a >= 0 <= program.lower[j] for j, a in entries.items())
        ]

    # --- lines -----------------------------------------------------------------------------------

    def _row(self, name: str, sense: str, entries: Entries, side: int) -> _Row:
        line = self.lines.row(name, sense, side, self._list(entries))
        return _Row(line, entries, side, sense == "E")

    def _list(self, entries: Entries) -> str:
        """Return a left-hand side."""
        found = [f"{self.at[j]} {a}" for j, a in entries.items() if a]
        return " ".join([str(len(found)), *found])

    def _derive(
        self,
        part: _Part | None,
        sense: str,
        reason: str,
        terms: Terms,
        entries: Entries,
        side: int | None = None,
    ) -> _Row:
        """Derive a row from others; the bounds of a part make up for other coefficients.

        A weaker right-hand side may be given. Numbers are multiples of 1/unit.
        """
        given, is_equation = terms, all(row.is_equation for row, y in terms if y)
        unit = math.lcm(*(y.denominator for _, y in terms))
        terms = [(row, int(y * unit)) for row, y in terms]
        total, limit = _summed(terms)
        used: dict[int, int] = {}
        for row, y in terms:
            used[row.line] = used.get(row.line, 0) + int(y)
        for j in {**total, **entries}:
            if gap := unit * entries.get(j, 0) - total.get(j, 0):
                assert part is not None
                is_equation = False
                bound = part.low(j) if (gap > 0) == (sense == "G") else part.high(j)
                used[bound.line] = used.get(bound.line, 0) + gap
                limit += gap * bound.side
        if reason == "rnd" and is_equation and used:  # only inequalities can be rounded
            (row, y), *others = [(row, y) for row, y in given if y]
            same = "L" if (y > 0) == (sense == "L") else "G"
            first = self._derive(None, same, "lin", [(row, 1)], row.entries, row.side)
            return self._derive(part, sense, "rnd", [(first, y), *others], entries, side)
        down = (sense == "L") == (reason == "rnd")
        limit = limit // unit if down else -(-limit // unit)
        if side is None:
            side = limit
        if limit > side if sense == "L" else limit < side:
            raise ValueError(f"a line says {sense} {side}, its reason {limit}")
        used = {index: y for index, y in used.items() if y}
        numbers = [f"{index} {Fraction(y, unit) if y % unit else y // unit}"
                   for index, y in used.items()]  # fmt: skip
        text = " ".join([reason, str(len(numbers)), *numbers])
        index = self.lines.derivation(sense, side, self._list(entries), text, used)
        return _Row(index, entries, side)


def _summed(terms: Terms) -> tuple[dict[int, int], int]:
    """Return the left-hand and the right-hand side of a whole combination of rows."""
    total: dict[int, int] = {}
    side = 0
    for row, number in terms:
        if y := int(number):
            side += y * row.side
            for j, a in row.entries.items():
                total[j] = total.get(j, 0) + y * a
    return total, side


def _present(value: T | None) -> T:
    """Return what an accepted proof always has."""
    assert value is not None
    return value
