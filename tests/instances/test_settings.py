"""Settings: what is not a family's own matter."""

import math

import pytest

from schedgap.errors import UsageError
from schedgap.instances.settings import Option

WINDOWS = Option("alpha", "int", 4, "windows", choices=("theory", "repaired"), least=1)


@pytest.mark.parametrize("value", [7, "7", " 7 "])
def test_a_number_or_a_word_is_a_number(value: object) -> None:
    assert WINDOWS.parse(value) == 7


def test_a_number_or_a_word_is_a_word() -> None:
    assert WINDOWS.parse("theory") == "theory"
    assert WINDOWS.plain(WINDOWS.parse("theory")) == "theory"


@pytest.mark.parametrize("value", ["0", "Theory", "1.5", True, ""])
def test_a_number_or_a_word_is_nothing_else(value: object) -> None:
    with pytest.raises(UsageError, match="need one of theory, repaired, or an integer >= 1"):
        WINDOWS.parse(value)


@pytest.mark.parametrize("value", [10**400, str(10**16), -(10**15), "1" * 50])
def test_a_number_that_is_too_large_is_told_so(value: object) -> None:
    with pytest.raises(UsageError, match=r"^option alpha: .{1,40} is too large: need less than"):
        WINDOWS.parse(value)


@pytest.mark.parametrize("value", [math.inf, "1e300", -math.inf])
def test_so_is_a_real_number(value: object) -> None:
    with pytest.raises(UsageError, match="is too large: need less than 1e"):
        Option("floor", "float", 0.0, "least price", least=0).parse(value)


def test_nan_is_no_number() -> None:
    with pytest.raises(UsageError, match="option floor=nan: need a number >= 0"):
        Option("floor", "float", 0.0, "least price", least=0).parse("nan")
