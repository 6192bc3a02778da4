"""Settings: what is not a family's own matter."""

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
