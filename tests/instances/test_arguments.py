"""The rules of arguments: what each accepts, and what it refuses."""

import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import schedgap as sg
from schedgap.errors import UsageError
from schedgap.instances import arguments as rules
from schedgap.instances.settings import LARGEST

LONG = "x" * rules.LONGEST_NAME


@pytest.mark.parametrize(
    ("rule", "accepted", "refused"),
    [
        (rules.a_text, ["", "a"], [b"a", None, 3]),
        (rules.a_name, ["a b", LONG], ["", " ", "a\nb", f"{LONG}x", 3]),
        (rules.a_path, ["a", Path("a"), LONG, f"{LONG}{os.sep}{LONG}"],
         ["", "a\0b", f"a{os.sep}{LONG}x", b"a", 3]),
        (rules.a_function, [len], [None, "len"]),
        (rules.a_flag, [True, False], [1, 0, None, "true"]),
        (rules.a_mapping, [{}, {"a": 1}], [{1: "a"}, {"a": 1, 2: 3}, [("a", 1)], None]),
        (rules.several, [[], ("a",), range(2), {1}], ["ab", b"ab", {"a": 1}, 3, None]),
        (rules.texts, [[], ["a"], ("a", "b"), {"a"}], ["ab", ["a", 1], {"a": 1}, 3]),
        (rules.a_number, [0, -1.5, np.float64(2), Fraction(1, 3), LARGEST, -LARGEST],
         [True, "1", None, float("nan"), float("inf"), -float("inf"), -2 * LARGEST]),
        (rules.numbers, [[], [1, 2.5], np.array([1.0]), range(3)],
         [["1"], [1, None], [None, 1], "12", {1: 2}, 3]),
        (rules.one_of("a", "b"), ["a", "b"], ["c", "ab", None, ["a"]]),
        (rules.positive(), [1e-9, 5, LARGEST], [0, -1, True, None, float("nan")]),
        (rules.positive(2.0), [2, 0.5], [2.001, 0]),
        (rules.A_LIMIT, [None, 1], [0, -1, "x"]),
        (rules.MEMORY, [1e9], [None, 1.01e9]),
        (rules.an_integer(), [0, 3, np.int64(2)], [-1, 0.5, "x", None]),
        (rules.an_integer(2, 4), [2, 4], [1, 5]),
    ],
)  # fmt: skip
def test_a_rule_refuses_what_cannot_be_meant(
    rule: rules.Rule, accepted: list[Any], refused: list[Any]
) -> None:
    assert [value for value in accepted if rule(value) is not None] == []
    for value in refused:
        needed = rule(value)
        assert needed, repr(value)
        assert "\n" not in needed


def test_an_instance_is_not_its_data() -> None:
    toy = sg.generate("ring", preset="toy")
    assert rules.an_instance(toy) is None
    assert rules.an_instance(toy.to_data()) is not None


def test_only_the_default_itself_is_not_checked() -> None:
    @rules.checked(count=rules.a_flag)
    def function(count: object = 1) -> object:
        return count

    assert function() == function(1) == 1
    with pytest.raises(UsageError, match=r"count 1\.0: need True or False"):
        function(1.0)


def test_a_long_number_is_cut() -> None:
    assert rules.shown(10**100) == "1" + "0" * 39
    assert rules.shown([3]) == "of type list"
    assert rules.shown(None) == "None"
