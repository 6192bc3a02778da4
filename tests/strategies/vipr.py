"""A reader and checker of VIPR certificates of infeasibility, written from the format alone.

It follows the specification of version 1.0 to the letter and shares no code with the export. Every
number is a fraction. `Wrong` says which line does not follow.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

SENSES = {"G": 1, "E": 0, "L": -1}


class Wrong(Exception):  # noqa: N818
    """A certificate that does not show what it says."""


class Constraint(NamedTuple):
    sense: int
    side: Fraction
    entries: Mapping[int, Fraction]

    @property
    def absurd(self) -> bool:
        if self.entries:
            return False
        return (self.sense >= 0 and self.side > 0) or (self.sense <= 0 and self.side < 0)

    def dominates(self, other: "Constraint") -> bool:
        if self.absurd:
            return True
        if self.entries != other.entries:
            return False
        if other.sense > 0:
            return self.sense >= 0 and self.side >= other.side
        if other.sense < 0:
            return self.sense <= 0 and self.side <= other.side
        return self.sense == 0 and self.side == other.side


@dataclass
class Certificate:
    """What a certificate says: `rows` of the program by name, and number of derivations."""

    comments: list[str]
    names: list[str]
    cost: dict[int, Fraction]
    rows: dict[str, Constraint]
    derivations: int = 0
    kinds: dict[str, int] = field(default_factory=dict)


def check(text: str) -> Certificate:
    """Return what a certificate of infeasibility says, if every line of it follows."""
    try:
        return _Reader(text).read()
    except (ValueError, IndexError, KeyError, ZeroDivisionError, StopIteration) as error:
        raise Wrong(f"cannot be read: {error!r}") from error


class _Reader:
    def __init__(self, text: str) -> None:
        lines = text.split("\n")
        first = next(k for k, line in enumerate(lines) if not line.startswith("%"))
        self.comments = [line.removeprefix("% ") for line in lines[:first]]
        self.words: Iterator[str] = iter(" ".join(lines[first:]).split())

    def read(self) -> Certificate:
        self._expect("VER", "1.0", "VAR")
        names = [next(self.words) for _ in range(self._count())]
        self._expect("INT")
        integer = {self._index(len(names)) for _ in range(self._count())}
        self._expect("OBJ", "min")
        self.width, self.cost = len(names), {}
        self.cost = self._entries(next(self.words))
        self._expect("CON")
        number, bounds = self._count(), self._count()
        rows: dict[str, Constraint] = {}
        for k in range(number):
            name, row = self._constraint()
            if name in rows or (k < bounds and len(row.entries) != 1):
                raise Wrong(f"{name} is there twice, or is no bound")
            rows[name] = row
        self._expect("RTP", "infeas", "SOL", "0", "DER")
        found = Certificate(self.comments, names, self.cost, rows)
        self.known: list[tuple[Constraint, frozenset[int]] | None] = [
            (row, frozenset()) for row in rows.values()
        ]
        self.integer = integer
        last: dict[int, list[int]] = {}  # lines to forget after a line
        for _ in range(self._count()):
            name, row = self._constraint()
            self._expect("{")
            kind = next(self.words)
            found.kinds[kind] = found.kinds.get(kind, 0) + 1
            assumed = self._reason(name, kind, row)
            self._expect("}")
            index, until = len(self.known), int(next(self.words))
            self.known.append((row, assumed))
            if until >= 0:
                last.setdefault(until, []).append(index)
            for old in last.pop(index, ()):
                self.known[old] = None
            found.derivations += 1
        if next(self.words, None) is not None:
            raise Wrong("there is text after the last line")
        if not found.derivations or (final := self.known[-1]) is None:
            raise Wrong("nothing is derived")
        if not final[0].absurd or final[1]:
            raise Wrong("the last line is no absurdity, or rests on assumptions")
        return found

    def _reason(self, name: str, kind: str, row: Constraint) -> frozenset[int]:
        """Return the assumptions of a line that follows."""
        if kind == "asm":
            return frozenset([len(self.known)])
        if kind in ("lin", "rnd"):
            derived, assumed = self._combined()
            if kind == "rnd":
                if derived.sense == 0 or not self._is_whole(derived):
                    raise Wrong(f"{name}: cannot be rounded")
                rounded = math.floor if derived.sense < 0 else math.ceil
                derived = derived._replace(side=Fraction(rounded(derived.side)))
            if not derived.dominates(row):
                raise Wrong(f"{name}: does not follow")
            return assumed
        if kind != "uns":
            raise Wrong(f"{name}: {kind} is no reason")
        (first, own), (below, _) = self._line(i := self._old()), self._line(a := self._old())
        (second, others), (above, _) = self._line(j := self._old()), self._line(b := self._old())
        if not (first.dominates(row) and second.dominates(row)):
            raise Wrong(f"{name}: does not follow from lines {i} and {j}")
        if below.sense > 0:
            below, above = above, below
        split = below.sense == -1 and above.sense == 1 and below.entries == above.entries
        if not (split and self._is_whole(below) and below.side.denominator == 1):
            raise Wrong(f"{name}: lines {a} and {b} are no branch")
        if above.side != below.side + 1:
            raise Wrong(f"{name}: lines {a} and {b} leave something out")
        return (own - {a}) | (others - {b})

    def _combined(self) -> tuple[Constraint, frozenset[int]]:
        signs, side, assumed = set[int](), Fraction(0), frozenset[int]()
        entries: dict[int, Fraction] = {}
        seen = set[int]()
        for _ in range(self._count()):
            index, y = self._old(), Fraction(next(self.words))
            if index in seen:
                raise Wrong(f"line {index} is there twice")
            seen.add(index)
            row, own = self._line(index)
            if y:
                signs.add(row.sense * (1 if y > 0 else -1))
                side += y * row.side
                assumed |= own
                for j, a in row.entries.items():
                    entries[j] = entries.get(j, Fraction(0)) + y * a
        signs.discard(0)
        if len(signs) > 1:
            raise Wrong("multipliers of both signs")
        entries = {j: a for j, a in entries.items() if a}
        return Constraint(*signs or {0}, side, entries), assumed

    def _is_whole(self, row: Constraint) -> bool:
        return all(a.denominator == 1 and j in self.integer for j, a in row.entries.items())

    def _line(self, index: int) -> tuple[Constraint, frozenset[int]]:
        line = self.known[index]
        if line is None:
            raise Wrong(f"line {index} is used after its last use")
        return line

    def _old(self) -> int:
        return self._index(len(self.known))

    def _constraint(self) -> tuple[str, Constraint]:
        name, sense, side = next(self.words), SENSES[next(self.words)], Fraction(next(self.words))
        return name, Constraint(sense, side, self._entries(next(self.words)))

    def _entries(self, word: str) -> dict[int, Fraction]:
        if word == "OBJ":
            return self.cost
        found: dict[int, Fraction] = {}
        for _ in range(int(word)):
            j = self._index(self.width)
            if j in found:
                raise Wrong(f"column {j} is there twice")
            found[j] = Fraction(next(self.words))
        return {j: a for j, a in found.items() if a}

    def _index(self, below: int) -> int:
        number = int(next(self.words))
        if not 0 <= number < below:
            raise Wrong(f"{number} is not below {below}")
        return number

    def _count(self) -> int:
        number = int(next(self.words))
        if number < 0:
            raise Wrong(f"{number} is no number of lines")
        return number

    def _expect(self, *words: str) -> None:
        for word in words:
            if (found := next(self.words)) != word:
                raise Wrong(f"{word} is wanted, not {found}")
