"""Proofs: true claims are proved, false ones never, tampering is refused; enumeration judges."""

import itertools
import json
import random
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from schedgap.solvers import Clock
from schedgap.solvers.proofs import checker, cuts, prover
from schedgap.solvers.proofs.checker import (
    CUTS,
    Checked,
    IntegerProgram,
    ProgramSpace,
    RefusedError,
    check_tree,
    with_cuts,
)
from schedgap.solvers.proofs.covers import CoverSeparator
from schedgap.solvers.proofs.prover import Proved, prove
from tests.strategies.clocks import StopAt
from tests.strategies.tampering import tampered


def draw(rng: random.Random) -> tuple[IntegerProgram, int | None]:
    """Return a small program without a goal, and its optimum, None when it is infeasible."""
    n = rng.randint(2, 8)
    rows: list[checker.Row] = []
    for _ in range(rng.randint(1, 5)):
        entries = {j: rng.randint(-3, 6) for j in range(n) if rng.random() < 0.6}
        entries = {j: a for j, a in entries.items() if a}
        b = rng.randint(0, 8)
        sides = rng.choice([(None, b), (None, b), (-b, None), (b // 2, None), (-b, b)])
        rows.append((entries, *sides))
    for _ in range(rng.randint(0, 2)):
        some = rng.sample(range(n), rng.randint(2, n))
        rows.append((dict.fromkeys(some, 1), rng.choice([None, 1]), 1))
    lower = [rng.choice([0, 0, -1]) for _ in range(n)]
    upper = [low + rng.choice([1, 1, 1, 2]) for low in lower]
    cost = [rng.randint(-5, 9) for _ in range(n)]
    best = None
    for x in itertools.product(*(range(a, b + 1) for a, b in zip(lower, upper, strict=True))):
        sums = [sum(a * x[j] for j, a in entries.items()) for entries, _, _ in rows]
        if all(
            (low is None or total >= low) and (high is None or total <= high)
            for total, (_, low, high) in zip(sums, rows, strict=True)
        ):
            value = sum(c * v for c, v in zip(cost, x, strict=True))
            best = value if best is None else min(best, value)
    return IntegerProgram(cost, lower, upper, rows, 0), best


def with_goal(program: IntegerProgram, goal: int) -> IntegerProgram:
    return IntegerProgram(program.cost, program.lower, program.upper, program.rows, goal)


def attempt(program: IntegerProgram, clock: Clock | None = None, *, cuts: bool = True) -> Proved:
    separators = [CoverSeparator(program)] if cuts else []
    return prove(program, clock=clock or Clock(60), separate=separators)


def as_file(attempted: Proved) -> dict[str, Any]:
    assert attempted.proof is not None
    proof = attempted.proof
    data = {"vectors": proof.vectors, "cuts": proof.cuts, "tree": proof.tree}
    loaded: dict[str, Any] = json.loads(json.dumps(data))
    return loaded


def checked(program: IntegerProgram, data: dict[str, Any]) -> Checked:
    return check_tree(ProgramSpace(with_cuts(program, data["cuts"], CUTS)), data)


def hold_to_enumeration(seed: int) -> None:
    rng = random.Random(seed)
    program, best = draw(rng)
    for goal in [10**6] if best is None else [best - 1, best, best + 1]:
        asked = with_goal(program, goal)
        attempted = attempt(asked, cuts=rng.random() < 0.7)
        if best is None or goal < best:
            assert attempted.reason == "", (seed, goal)
            checked(asked, as_file(attempted))
        else:
            assert attempted.proof is None, (seed, goal)
            assert attempted.better is not None
            x = attempted.better
            assert sum(c * v for c, v in zip(program.cost, x, strict=True)) <= goal


@pytest.mark.parametrize("seed", range(60))
def test_true_claims_are_proved_and_false_ones_answered_by_a_solution(seed: int) -> None:
    hold_to_enumeration(seed)


@pytest.mark.parametrize("seed", range(30))
def test_an_engine_without_fixed_columns_proves_the_same(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prover, "FEW_LEFT", 1.0)  # at every branch
    hold_to_enumeration(seed)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(20))
def test_thousands_of_claims(block: int) -> None:
    for seed in range(1000 + 200 * block, 1200 + 200 * block):
        hold_to_enumeration(seed)


def knapsack_claim() -> IntegerProgram:
    """Three of five items of a size above a third do not fit; two do."""
    size = [7, 8, 9, 10, 11]
    row = (dict(enumerate(size)), None, 20)
    return IntegerProgram([-s for s in size], [0] * 5, [1] * 5, [row], -21)


@pytest.mark.parametrize("stop", range(1, 12))
def test_a_prover_that_is_stopped_has_no_proof_or_a_true_one(stop: int) -> None:
    program, best = next(
        found for k in range(9) if (found := draw(random.Random(k)))[1] is not None
    )
    assert best is not None
    asked = with_goal(program, best - 1)
    attempted = attempt(asked, StopAt(stop))
    if attempted.proof is None:
        assert attempted.reason
    else:
        checked(asked, as_file(attempted))


def hold_tampering_to_the_truth(seed: int, number: int) -> int:
    """Tamper with a proof of a true claim, and present it for a false one; return what passed."""
    rng = random.Random(seed)
    program, best = draw(rng)
    if best is None:
        return 0
    data = as_file(attempt(with_goal(program, best - 1)))
    passed = 0
    for _ in range(number):
        other = tampered(rng, data)
        for goal in (best, best + rng.randint(1, 5)):
            with pytest.raises(RefusedError):
                checked(with_goal(program, goal), other)
        try:
            checked(with_goal(program, best - 1), other)
            passed += 1  # a change that leaves a proof of the true claim
        except RefusedError:
            pass
    return passed


@pytest.mark.parametrize("seed", range(12))
def test_no_tampering_proves_a_false_claim(seed: int) -> None:
    hold_tampering_to_the_truth(seed, 40)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(10))
def test_a_hundred_thousand_tamperings(block: int) -> None:
    for seed in range(100 * block, 100 * block + 100):
        hold_tampering_to_the_truth(seed, 100)


@pytest.mark.parametrize("seed", range(20))
def test_costs_of_many_digits_are_proved_like_small_ones(seed: int) -> None:
    program, best = draw(random.Random(seed))
    unit = 7**40 + 1
    large = IntegerProgram(
        [c * unit for c in program.cost], program.lower, program.upper, program.rows, 0
    )
    goal = 10**6 if best is None else best * unit - 1
    attempted = attempt(with_goal(large, goal))
    assert attempted.reason == ""
    checked(with_goal(large, goal), as_file(attempted))
    if best is not None:
        answered = attempt(with_goal(large, best * unit))
        assert answered.proof is None
        assert answered.better is not None
        assert sum(c * v for c, v in zip(large.cost, answered.better, strict=True)) == best * unit


@pytest.mark.parametrize("cost", [[], [0, 0], [3, -1]])
def test_a_goal_beyond_all_doubles_is_below_every_cost(cost: list[int]) -> None:
    asked = IntegerProgram(cost, [0] * len(cost), [1] * len(cost), [], -(1 << 1100))
    attempted = attempt(asked)
    assert attempted.reason == ""
    assert checked(asked, as_file(attempted)).leaves == 1


def test_rows_that_are_derived_when_needed_exclude_whole_points_too() -> None:
    """The program allows all of three items; a separate kind of cut, only two of them."""
    program = IntegerProgram([-1] * 3, [0] * 3, [1] * 3, [], -3)
    assert prove(program, clock=Clock(60)).better == (1, 1, 1)

    def two(program: IntegerProgram, data: object) -> checker.Row:
        return {0: 1, 1: 1, 2: 1}, None, 2

    kinds = {"two": two}
    attempted = prove(
        program, clock=Clock(60), separate=[lambda point, box: [{"why": "two"}]], kinds=kinds
    )
    data = as_file(attempted)
    assert data["cuts"] == [{"why": "two"}]
    assert check_tree(ProgramSpace(with_cuts(program, data["cuts"], kinds)), data).leaves == 1
    with pytest.raises(RefusedError, match="no kind of cut"):
        checked(program, data)


def test_a_leaf_that_is_open_says_where_and_by_how_much() -> None:
    program = knapsack_claim()
    data: dict[str, Any] = {"vectors": [{"o": 1, "d": []}], "cuts": [], "tree": [{"v": 0}]}
    with pytest.raises(RefusedError, match=r"^/tree/0/v: the leaf is open by 24 units$"):
        checked(program, data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "/vectors: needs a list"),
        ({"vectors": [], "tree": []}, "1 part of the search space without a node"),
        ({"vectors": [], "tree": [{}]}, "/tree/0: a node has one of"),
        ({"vectors": [], "tree": [[]]}, "/tree/0: not a node"),
        ({"vectors": [], "tree": [{"v": 0}]}, "/tree/0: there is no vector 0"),
        ({"vectors": [], "tree": [{"v": True}]}, "there is no vector"),
        ({"vectors": [], "tree": [{"empty": True}]}, "the leaf is not empty"),
        ({"vectors": [{"o": 1.0, "d": []}], "tree": [{"v": 0}]}, "/o: needs a whole number"),
        ({"vectors": [{"o": -1, "d": []}], "tree": [{"v": 0}]}, "/o: needs a number >= 0"),
        ({"vectors": [{"o": 1 << 5000, "d": []}], "tree": [{"v": 0}]}, "4096 bits"),
        ({"vectors": [{"o": 1, "d": [[0, 1]]}], "tree": [{"v": 0}]}, "row 0 has no such side"),
        (
            {"vectors": [{"o": 1, "d": [[0, -1], [0, -1]]}], "tree": [{"v": 0}]},
            "row 0 is not there, or",
        ),
        ({"vectors": [{"o": 1, "d": [[5, -1]]}], "tree": [{"v": 0}]}, "row 5 is not there"),
        ({"vectors": [], "tree": [{"b": ["var", 9, 0]}]}, "there is no column 9"),
        ({"vectors": [], "tree": [{"b": ["row", 0, 1]}]}, "no choice of at most one"),
        ({"vectors": [], "tree": [{"b": ["box"]}]}, "a branch is"),
    ],
)
def test_what_is_no_proof_is_refused_with_its_path(data: dict[str, Any], message: str) -> None:
    with pytest.raises(RefusedError, match=message):
        check_tree(ProgramSpace(knapsack_claim()), data)


@pytest.mark.parametrize(
    ("cut", "message"),
    [
        ({"why": "cover", "row": 0, "sets": [[[0], None], [[1], None]]}, "together they weigh 15"),
        ({"why": "cover", "row": 0, "sets": [[[0, 1], None], [[2], None]]}, "without a row of"),
        ({"why": "cover", "row": 0, "sets": [[[3], None], [[3], None], [[4], None]]}, "shares a"),
        ({"why": "cover", "row": 7, "sets": []}, "there is no row 7"),
        ({"why": "round", "by": 0, "d": []}, "needs a number > 0"),
        ({"why": "round", "by": 2, "d": [[0, -1]]}, "row 0 has no such side"),
        ({"why": "belief"}, "no kind of cut: 'belief'"),
        ([], "no kind of cut"),
    ],
)
def test_a_cut_that_does_not_hold_is_refused(cut: Any, message: str) -> None:
    with pytest.raises(RefusedError, match=message):
        with_cuts(knapsack_claim(), [cut], CUTS)


def test_cuts_that_hold_keep_every_solution() -> None:
    program = knapsack_claim()
    cover = {"why": "cover", "row": 0, "sets": [[[j], None] for j in (2, 3, 4)]}
    rounded = {"why": "round", "by": 7, "d": [[0, 1]]}
    grown = with_cuts(program, [cover, rounded], CUTS)
    for x in itertools.product((0, 1), repeat=5):
        if sum(a * x[j] for j, a in program.rows[0][0].items()) <= 20:
            for entries, _, high in grown.rows[1:]:
                assert high is not None
                assert sum(a * x[j] for j, a in entries.items()) <= high
    assert grown.rows[2] == (dict.fromkeys(range(5), 1), None, 2)


def test_covers_close_what_branching_alone_would_not_at_the_root() -> None:
    program = knapsack_claim()
    point = np.array([0.0, 0.0, 1.0, 0.6, 0.5])
    (cut,) = CoverSeparator(program)(point, (program.lower, program.upper))
    ((entries, _, high),) = with_cuts(program, [cut], CUTS).rows[1:]
    assert high is not None
    assert sum(point[j] * a for j, a in entries.items()) > high


def test_a_check_ends_when_its_time_is_up() -> None:
    program = knapsack_claim()
    data = as_file(attempt(program))
    with pytest.raises(RefusedError, match="not checked within"):
        check_tree(ProgramSpace(with_cuts(program, data["cuts"], CUTS)), data, seconds=-1.0)


@pytest.mark.parametrize("module", [checker, cuts])
def test_the_checker_imports_no_engine_and_no_numpy(module: ModuleType) -> None:
    source = module.__file__
    assert source is not None
    with open(source, encoding="utf-8") as file:
        lines = [line for line in file if line.startswith(("import", "from"))]
    names = {line.split()[1] for line in lines}
    allowed = {"time", "collections.abc", "dataclasses", "typing"}
    assert names - {"schedgap.errors", "schedgap.solvers.proofs.checker"} <= allowed


def test_a_message_is_one_short_line_whatever_the_file_says() -> None:
    text = str(RefusedError("/tree/0/\ud800", "no\n" + "x" * 3_000_000))
    assert text.startswith("/tree/0/\\ud800: no\\nxxx")
    assert text.encode().endswith(b"xxx...")
    assert len(text) == 300


def test_cliques_and_slot_cuts_of_any_program_keep_every_solution() -> None:
    """Few rows with any sign, few columns with any bounds; all points are listed."""
    cliques = slots = 0
    for seed in range(400):
        rng = random.Random(seed)
        lower = [rng.choice([0, 0, 0, -1]) for _ in range(4)]
        upper = [rng.choice([1, 1, 1, 2]) for _ in range(4)]
        few = rng.choice([[1, 2, 3], [0, 1, 2, 3], [-1, 2, 3]])
        rows: list[checker.Row] = [
            (
                {j: rng.choice(few) for j in rng.sample(range(4), 3)},
                None,
                rng.choice([None, 2, 3, 4]),
            )
            for _ in range(2)
        ]
        program = IntegerProgram([0] * 4, lower, upper, rows, 0)
        points = [
            x
            for x in itertools.product(*map(range, lower, [u + 1 for u in upper]))
            if all(
                high is None or sum(a * x[j] for j, a in row.items()) <= high
                for row, _, high in rows
            )
        ]
        derive = cuts.CliqueCut(program)
        for size in (1, 2, 3):
            for columns in itertools.combinations(range(4), size):
                try:
                    row, _, high = derive(program, {"columns": list(columns)})
                except RefusedError:
                    continue
                assert high is not None
                assert all(sum(a * x[j] for j, a in row.items()) <= high for x in points)
                cliques += size > 1
        job = [0, 0, 1, 1]  # at most one column of each
        worth = [[[rng.randint(0, 3), rng.randint(0, 3)], rng.randint(0, 5)] for _ in range(3)]
        try:
            row, _, high = cuts.SlotCut(job)(program, {"rows": [0, 1], "worth": worth})
        except RefusedError:
            continue
        assert high is not None
        for x in points:
            if set(x) <= {0, 1} and x[0] + x[1] <= 1 >= x[2] + x[3]:
                assert sum(a * x[j] for j, a in row.items()) <= high
                slots += high > 0
    assert cliques > 100
    assert slots > 100


@pytest.mark.parametrize("column", [5, -1, 10**30])
def test_a_cover_of_columns_that_are_not_there_is_refused(column: int) -> None:
    cut = {"why": "cover", "row": 0, "sets": [[[column], None]]}
    with pytest.raises(RefusedError, match="there is no column"):
        with_cuts(knapsack_claim(), [cut], CUTS)


def test_deep_lists_in_place_of_words_and_numbers_are_refused() -> None:
    deep: list[Any] = []
    for _ in range(20_000):
        deep = [deep]
    with pytest.raises(RefusedError, match="no kind of cut"):
        with_cuts(knapsack_claim(), [{"why": deep}], CUTS)
    with pytest.raises(RefusedError, match="there is no vector"):
        check_tree(ProgramSpace(knapsack_claim()), {"vectors": [], "tree": [{"v": deep}]})


def test_a_tree_may_be_deep() -> None:
    program = IntegerProgram([1], [0], [3000], [], -1)
    branches = [{"b": ["var", 0, at]} for at in reversed(range(1000, 3000))]
    leaves = [{"v": 0}] * (len(branches) + 1)
    proof = {"vectors": [{"o": 1, "d": []}], "tree": branches + leaves}
    assert check_tree(ProgramSpace(program), proof).leaves == 2001
    with pytest.raises(RefusedError, match="1 part of the search space without a node"):
        check_tree(ProgramSpace(program), proof | {"tree": proof["tree"][:-1]})


def test_reduced_costs_are_kept_only_as_far_as_there_is_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(checker, "_KEPT_COSTS", 20)
    space = ProgramSpace(knapsack_claim())
    vectors = [{"o": k, "d": []} for k in range(1, 50)]
    for vector in vectors:
        space.excess(space.root(), vector)
        assert sum(1 + len(kept[1][1]) for kept in space._prepared.values()) <= 20


def test_the_side_of_a_cut_has_no_more_bits_than_a_number_of_the_file() -> None:
    program = IntegerProgram([0], [0], [1], [({0: 1}, None, 7)], -1)
    first = {"why": "round", "by": 2, "d": [[0, 1]]}
    grown = [{"why": "round", "by": 1, "d": [[k, 1 << 4000]]} for k in (1, 2)]
    with pytest.raises(RefusedError, match=r"^/cuts/2: too large"):
        with_cuts(program, [first, *grown], CUTS)


def test_cuts_use_a_row_once() -> None:
    twice = {"why": "round", "by": 2, "d": [[0, 1], [0, 1]]}
    program = knapsack_claim()
    program.rows.append(program.rows[0])  # type: ignore[attr-defined]
    with pytest.raises(RefusedError, match="is there twice"):
        with_cuts(program, [twice], CUTS)


@pytest.mark.parametrize(
    ("choice", "lower"),
    [
        (({0: 1, 1: 1}, None, 2), 0),  # both may be 1
        (({0: 1, 1: 2}, None, 1), -1),  # x_1 may be -1, and x_0 be 2
        (({0: 1, 1: -1}, None, 1), 0),
        (({0: 1, 1: 1}, 1, None), 0),  # no upper side
    ],
)
def test_a_row_that_allows_several_columns_is_no_choice(choice: checker.Row, lower: int) -> None:
    """A cover counts at most one column of each choice, and a branch sets all but some to 0."""
    full = ({0: 5, 1: 5, 2: 5}, None, 9)
    program = IntegerProgram([0] * 3, [0, lower, 0], [2, 2, 1], [full, choice], 0)
    cut = {"why": "cover", "row": 0, "sets": [[[0, 1], 1], [[2], None]]}
    with pytest.raises(RefusedError, match=r"no choice of these columns|columns >= 0"):
        with_cuts(program, [cut], CUTS)
    with pytest.raises(RefusedError, match="no choice of at most one"):
        ProgramSpace(program).split((list(program.lower), list(program.upper)), ["row", 1, 1])
