"""Certificates of small programs, read by a checker that shares no code with their export."""

import itertools
import math
import random
import shutil
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from schedgap.solvers.proofs import checker
from schedgap.solvers.proofs.checker import (
    CUTS,
    IntegerProgram,
    ProgramSpace,
    check_tree,
    with_cuts,
)
from schedgap.solvers.proofs.cuts import CliqueCut
from schedgap.solvers.proofs.vipr import Exported, Larger, export
from strategies.vipr import Certificate, Wrong, check
from tests.solvers.test_proofs import as_file, attempt, draw, with_goal

VIPRCHK = shutil.which("viprchk")
NO_COLUMN: Mapping[str, Any] = {
    "vectors": [{"o": 0, "d": [[0, 1]]}],
    "cuts": [],
    "tree": [{"v": 0}],
}  # fmt: skip


def space_of(program: IntegerProgram, data: Mapping[str, Any]) -> ProgramSpace:
    """Return what a proof refutes; the checker accepts it."""
    kinds = {**CUTS, "clique": CliqueCut(program), "other": given_cut}
    space = ProgramSpace(with_cuts(program, data["cuts"], kinds))
    check_tree(space, data)
    return space


def given_cut(program: IntegerProgram, data: Mapping[str, Any]) -> checker.Row:
    """Return a row of a kind that is not derived."""
    return dict.fromkeys(data["columns"], 1), None, data["most"]


def accepted(file: Path) -> bool:
    """Return what `viprchk` says."""
    assert VIPRCHK is not None
    done = subprocess.run([VIPRCHK, str(file)], capture_output=True, text=True, check=False)
    return done.returncode == 0 and "Infeasibility verified." in done.stdout


def written(program: IntegerProgram, data: Mapping[str, Any], file: Path) -> Certificate:
    """Return the certificate of a proof, after all checks of it."""
    return held(program, export(space_of(program, data), data, file), file)


def held(program: IntegerProgram, exported: Exported, file: Path) -> Certificate:
    """Check that a certificate is valid, and that it is about a program."""
    certificate = check(file.read_text(encoding="ascii"))
    assert exported.columns == len(certificate.names) == len(program.cost)
    assert exported.rows == len(certificate.rows)
    assert exported.derivations == certificate.derivations
    assert certificate.cost == {j: c for j, c in enumerate(program.cost) if c}
    stated = {name: row for name, row in certificate.rows.items() if "assumed" not in name}
    assert len(certificate.rows) - len(stated) == len(exported.assumed)
    for row in expected_rows(program):
        assert row in [(r.sense, r.side, r.entries) for r in stated.values()]
    assert len(stated) == len(expected_rows(program))
    if VIPRCHK is not None:
        assert accepted(file)
    return certificate


def expected_rows(program: IntegerProgram) -> list[tuple[int, int, dict[int, int]]]:
    """Return sense (1 for >=, -1 for <=), side and entries of all rows of a certificate."""
    rows: list[tuple[int, int, dict[int, int]]] = []
    for j, (a, b) in enumerate(zip(program.lower, program.upper, strict=True)):
        rows += [(1, a, {j: 1}), (-1, b, {j: 1})]
    for entries, low, high in program.rows:
        if low is not None and low == high:
            rows.append((0, low, entries))
            continue
        rows += [(1, low, entries)] if low is not None else []
        rows += [(-1, high, entries)] if high is not None else []
    return [*rows, (-1, program.goal, {j: c for j, c in enumerate(program.cost) if c})]


def test_proofs_of_random_programs_become_certificates(tmp_path: Path) -> None:
    kinds = Counter[str]()
    for seed in range(80):
        drawn, best = draw(random.Random(seed))
        program = with_goal(drawn, 10**6 if best is None else best - 1)
        data = as_file(attempt(program))
        kinds.update(written(program, data, tmp_path / "a.vipr").kinds)
    assert min(kinds[kind] for kind in ("asm", "lin", "rnd", "uns")) > 0
    assert [path.name for path in tmp_path.iterdir()] == ["a.vipr"]


def chain(number: int, most: int) -> list[checker.Row]:
    """Return rows of at most `most` of each two neighbours in a circle."""
    return [({i: 1, (i + 1) % number: 1}, None, most) for i in range(number)]


def binary(cost: Sequence[int], rows: list[checker.Row], goal: int) -> IntegerProgram:
    return IntegerProgram(cost, [0] * len(cost), [1] * len(cost), rows, goal)


def test_rows_are_summed_and_rounded(tmp_path: Path) -> None:
    program = binary([-1] * 5, chain(5, 1), -3)
    cut = {"why": "round", "d": [[i, 1] for i in range(5)], "by": 2}
    data = {"vectors": [{"o": 1, "d": [[5, -1]]}], "cuts": [cut], "tree": [{"v": 0}]}
    assert written(program, data, tmp_path / "a.vipr").kinds == {"rnd": 1, "lin": 1}


@pytest.mark.parametrize("prices", [[[0, 1]], [[0, 1], [1, -1]]])
def test_equations_are_rounded_by_way_of_an_inequality(
    prices: list[list[int]], tmp_path: Path
) -> None:
    """VIPR rounds inequalities only; twice two columns are 3, and twice two others 2."""
    odd, even = ({0: 2, 1: 2}, 3, 3), ({2: 2, 3: 2}, 2, 2)
    program = binary([1] * 4, [odd, even], 9)
    cut = {"why": "round", "d": prices, "by": 2}
    known = [[0, 1], [2, -2], *([[1, -1]] if len(prices) > 1 else [])]
    data = {"vectors": [{"o": 0, "d": known}], "cuts": [cut], "tree": [{"v": 0}]}
    assert written(program, data, tmp_path / "a.vipr").kinds == {"rnd": 1, "lin": 2}


def test_a_column_that_is_fixed_and_parts_that_are_empty(tmp_path: Path) -> None:
    """The sum is 2 or 3 of columns up to 3; what is fixed excludes it in one part."""
    program = IntegerProgram([2, 5], [0, 0], [3, 3], [({0: 1, 1: 1}, 2, 3)], 3)
    vectors = [{"o": 1, "d": [[0, 2]]}]
    data = {
        "vectors": vectors,
        "cuts": [],
        "tree": [{"b": ["var", 0, 1]}, {"fix": [0], "empty": True}, {"fix": [0], "v": 0}],
    }
    written(program, data, tmp_path / "a.vipr")
    data["tree"] = [{"b": ["var", 0, 3]}, {"v": 0}, {"empty": True}]
    written(program, data, tmp_path / "a.vipr")


@pytest.mark.parametrize("at", [-1, 0, 2, 4, 9])
def test_a_row_of_choice_is_divided(at: int, tmp_path: Path) -> None:
    """Both parts of a branch on a row are shown, also where one of them has no column left."""
    program = binary([3, 4, 5, 6], [(dict.fromkeys(range(4), 1), 1, 1)], 2)
    data = {
        "vectors": [{"o": 1, "d": [[0, 3]]}],
        "cuts": [],
        "tree": [{"b": ["row", 0, at]}, {"v": 0}, {"v": 0}],
    }
    kinds = written(program, data, tmp_path / "a.vipr").kinds
    assert (kinds["asm"], kinds["uns"]) == (2, 1)


def test_the_parts_of_a_row_of_choice_have_bounds(tmp_path: Path) -> None:
    """Half of the outer columns would weigh as much as one between them, for nothing."""
    rows: list[checker.Row] = [(dict.fromkeys(range(4), 1), 1, 1), ({1: 2, 2: 2, 3: 4}, 2, 2)]
    program = binary([0, 4, 4, 0], rows, 3)
    data = {
        "vectors": [{"o": 1, "d": [[1, 2]]}, {"o": 1, "d": [[0, 8], [1, -2]]}],
        "cuts": [],
        "tree": [{"b": ["row", 0, 2]}, {"v": 0}, {"v": 1}],
    }
    kinds = written(program, data, tmp_path / "a.vipr").kinds
    assert kinds["rnd"] == 4


@pytest.mark.parametrize("seed", range(40))
def test_covers_with_and_without_rows_of_choice_are_derived(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    groups = [list(range(3 * k, 3 * k + rng.randint(1, 3))) for k in range(rng.randint(2, 5))]
    width, weights = 15, {j: rng.randint(1, 9) for group in groups for j in group}
    choices: list[checker.Row] = [(dict.fromkeys(group, 1), None, 1) for group in groups]
    sets, total = [], 0
    for k, group in enumerate(groups):
        some = rng.sample(group, rng.randint(1, len(group)))
        sets.append([some, k if len(some) > 1 or rng.random() < 0.5 else None])
        total += min(weights[j] for j in some)
    packed: checker.Row = (weights, None, total - rng.choice([1, 1, 2, total]))
    cost = [-any(j in own for own, _ in sets) for j in range(width)]
    program = binary(cost, [*choices, packed], -len(sets))
    data = {
        "vectors": [{"o": 1, "d": [[len(sets) + 1, -1]]}],
        "cuts": [{"why": "cover", "row": len(sets), "sets": sets}],
        "tree": [{"v": 0}],
    }
    assert written(program, data, tmp_path / "a.vipr").kinds == {"rnd": 1, "lin": 1}


@pytest.mark.parametrize("seed", range(40))
def test_cliques_of_columns_that_exceed_some_row_are_derived(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    width = rng.randint(3, 14)
    rows: list[checker.Row] = []
    for _ in range(rng.randint(2, 9)):
        some = rng.sample(range(width), rng.randint(2, width))
        rows.append(({j: rng.randint(1, 9) for j in some}, None, rng.randint(4, 12)))
    program = binary([-1] * width, rows, -2)
    near = CliqueCut(program)
    best: list[int] = []
    for _ in range(20):
        clique = list[int]()
        for j in rng.sample(range(width), width):
            if all(near.near(j) >> k & 1 for k in clique):
                clique.append(j)
        best = max(best, clique, key=len)
    program = replace(program, cost=[-(j in best) for j in range(width)])
    data = {
        "vectors": [{"o": 1, "d": [[len(rows), -1]]}],
        "cuts": [{"why": "clique", "columns": best}],
        "tree": [{"v": 0}],
    }
    written(program, data, tmp_path / "a.vipr")


def test_a_clique_over_many_rows_is_derived(tmp_path: Path) -> None:
    """Each pair has a separate row, so columns join the clique one by one."""
    pairs = list(itertools.combinations(range(7), 2))
    program = binary([-1] * 7, [({i: 1, j: 1}, None, 1) for i, j in pairs], -2)
    data = {
        "vectors": [{"o": 1, "d": [[len(pairs), -1]]}],
        "cuts": [{"why": "clique", "columns": list(range(7))}],
        "tree": [{"v": 0}],
    }
    written(program, data, tmp_path / "a.vipr")


def test_a_cut_that_is_not_derived_is_named(tmp_path: Path) -> None:
    program = binary([-1] * 5, chain(5, 1), -3)
    data = {
        "vectors": [{"o": 1, "d": [[5, -1]]}],
        "cuts": [{"why": "other", "columns": [0, 1, 2, 3, 4], "most": 2}],
        "tree": [{"v": 0}],
    }
    file = tmp_path / "a.vipr"
    found = export(space_of(program, data), data, file, comments=["of a circle"], assumed=["more"])
    assert list(found.assumed) == ["more", "row assumed_other_0"]
    certificate = check(file.read_text(encoding="ascii"))
    assert certificate.comments == [
        "of a circle",
        "Assumed, not derived: more",
        "Assumed, not derived: row assumed_other_0",
    ]
    assert certificate.rows["assumed_other_0"] == (-1, 2, dict.fromkeys(range(5), 1))


def test_columns_left_out_are_derived_from_the_larger_program(tmp_path: Path) -> None:
    """Two steps leave out columns; the second gives one of the first a reduced cost below 0."""
    rows: list[checker.Row] = [
        (dict.fromkeys([0, 1, 2, 6], 1), 1, 1),
        (dict.fromkeys([3, 4, 5], 1), 1, 1),
        ({0: 3, 1: 1, 3: 2, 4: 1, 6: 4}, None, 5),
        ({0: 1, 3: 1}, None, 1),
    ]
    large = binary([1, 4, 30, 2, 6, 40, 3], rows, 5)
    first = {"o": 1, "d": [[0, 1], [1, 2]]}  # bound 3: columns cost 0 3 29 0 4 38 2 more
    second = {"o": 1, "d": [[0, 7], [1, 6], [2, -2]]}  # bound 3: 0 -1 23 0 2 34 4 more
    assert ProgramSpace(large).reduce(ProgramSpace(large).root(), first)[1] == [1, 0, 0, 1, 0, 0, 1]
    nothing = {"o": 1, "d": [[0, 4], [1, 5], [3, -3]]}  # bound 6: no solution is left
    cases: list[tuple[list[int], list[Any], int]] = [
        ([0, 3, 6], [first], 1),
        ([0, 3], [first, second], 2),
        ([], [first, second, nothing], 2),
    ]
    for columns, vectors, roundings in cases:
        number = {j: k for k, j in enumerate(columns)}
        own = [({number[j]: a for j, a in row.items() if j in number}, low, high)
               for row, low, high in rows]  # fmt: skip
        small = binary([large.cost[j] for j in columns], own, 5)
        data = as_file(attempt(small)) if columns else NO_COLUMN
        larger = Larger(large, columns, range(len(rows)), vectors)
        file = tmp_path / "a.vipr"
        found = held(large, export(space_of(small, data), data, file, larger=larger), file)
        assert found.kinds["rnd"] == roundings


def test_no_tampered_certificate_shows_what_is_false(tmp_path: Path) -> None:
    """What still is accepted is about another program, which has no solution either."""
    rng, refused, passed = random.Random(0), 0, 0
    for seed in range(40):
        drawn, best = draw(random.Random(seed))
        program = with_goal(drawn, 10**6 if best is None else best - 1)
        data = as_file(attempt(program))
        file = tmp_path / "a.vipr"
        export(space_of(program, data), data, file)
        text = file.read_text(encoding="ascii")
        for _ in range(12):
            other = tampered(rng, text)
            file.write_text(other, encoding="ascii")
            try:
                certificate = check(other)
            except Wrong:
                refused += 1
                continue
            passed += 1
            assert not has_solution(certificate, program)
    assert refused > passed > 0


def tampered(rng: random.Random, text: str) -> str:
    """Return a certificate with a number or a line changed."""
    lines = text.splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith("CON"))
    k = rng.randrange(first, len(lines))
    words = lines[k].split()
    at = rng.randrange(len(words))
    match rng.randrange(6):
        case 0:
            del lines[k]
        case 1:
            lines.insert(k, lines[rng.randrange(first, len(lines))])
        case 2:
            words[at] = {"L": "G", "G": "L", "lin": "rnd", "rnd": "lin"}.get(words[at], words[at])
            lines[k] = " ".join(words)
        case 3:
            other = rng.randrange(first, len(lines))
            lines[k], lines[other] = lines[other], lines[k]
        case _:
            numbers = [i for i, word in enumerate(words) if word.lstrip("-").isdigit()]
            if numbers:
                at = rng.choice(numbers)
                words[at] = str(int(words[at]) + rng.choice([-2, -1, 1, 2]))
                lines[k] = " ".join(words)
    return "\n".join(lines) + "\n"


def has_solution(certificate: Certificate, program: IntegerProgram) -> bool:
    """Return whether some point near the box of a program obeys all rows of a certificate."""
    ranges = [range(a - 2, b + 3) for a, b in zip(program.lower, program.upper, strict=True)]
    rows = list(certificate.rows.values())
    if len(ranges) > 5:  # only the points of the box itself
        ranges = [range(a, b + 1) for a, b in zip(program.lower, program.upper, strict=True)]
    points = np.array([*itertools.product(*ranges)])
    kept = np.ones(len(points), dtype=bool)
    for row in rows:
        scale = math.lcm(row.side.denominator, *(a.denominator for a in row.entries.values()))
        weights = np.zeros(len(ranges), dtype=np.int64)
        for j, a in row.entries.items():
            weights[j] = int(a * scale)
        side = int(row.side * scale)
        total = points @ weights
        kept &= {1: total >= side, 0: total == side, -1: total <= side}[row.sense]
    return bool(kept.any())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "VER 1.1\n",
        "VER 1.0\nVAR 1 x\nINT 1 0\nOBJ min 0\nCON 0 0\nRTP infeas\nSOL 0\nDER 0\n",
    ],
)
def test_the_reader_refuses_what_is_no_certificate(text: str) -> None:
    with pytest.raises(Wrong):
        check(text)


HEAD = "VER 1.0\nVAR 2 x y\nINT 1 0\nOBJ min 0\nCON 2 1\na L 1 1 0 2\nb G 1 2 0 1 1 1\nRTP infeas\n"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("1 d G 1 0 { lin 0 } -1", "does not follow"),
        ("1 d L 0 1 0 2 { rnd 1 0 1/2 } -1", "does not follow"),
        ("1 d L 0 2 0 1 1 1 { rnd 1 1 1 } -1", "cannot be rounded"),
        ("1 d G 1 0 { lin 2 0 1 1 1 } -1", "multipliers of both signs"),
        ("1 d G 1 0 { asm } -1", "rests on assumptions"),
        ("1 d G 1 0 { lin 1 2 1 } -1", "is not below"),
        ("2 d L 0 1 0 1 { rnd 1 0 1/2 } 2 e L 0 1 0 1 { lin 1 2 1 } -1", "after its last use"),
        ("2 d L 0 1 0 1 { rnd 1 0 1/2 } 3 e L 0 1 0 1 { lin 1 2 1 } -1", "no absurdity"),
        ("3 d L 0 1 0 1 { asm } -1 e G 2 1 0 1 { asm } -1 f G 1 0 { uns 2 2 3 3 } -1", "follow"),
    ],
)
def test_the_reader_refuses_a_line_that_does_not_follow(lines: str, message: str) -> None:
    with pytest.raises(Wrong, match=message):
        check(f"{HEAD}SOL 0\nDER {lines}\n")


@pytest.mark.skipif(VIPRCHK is None, reason="viprchk is not installed: build VIPR")
def test_viprchk_refuses_what_the_reader_refuses(tmp_path: Path) -> None:
    assert not accepted(tmp_path / "none.vipr")
    (tmp_path / "a.vipr").write_text(f"{HEAD}SOL 0\nDER 1 d G 1 0 {{ lin 0 }} -1\n")
    assert not accepted(tmp_path / "a.vipr")
