"""Exact integers for decimals."""

from fractions import Fraction

import pytest

from schedgap.errors import ScaleError
from schedgap.instances.scaling import as_fraction, common_step


def test_a_number_is_the_decimal_that_the_file_shows() -> None:
    assert as_fraction(0.1) == Fraction(1, 10)
    assert as_fraction(1e-3) == Fraction(1, 1000)
    assert as_fraction(12) == 12


@pytest.mark.parametrize(
    ("numbers", "step"),
    [
        ([3, 5], Fraction(1)),
        ([4, 6, 0], Fraction(2)),
        ([0.5, 1.5, 2], Fraction(1, 2)),
        ([0.1, 0.25], Fraction(1, 20)),  # 2/20 and 5/20
        ([0, 0], Fraction(1)),
        ([0.3, 0.6], Fraction(3, 10)),
    ],
)
def test_the_step_is_the_largest_that_divides_every_number(
    numbers: list[float], step: Fraction
) -> None:
    assert common_step(numbers, "times") == step


def test_a_scale_beyond_a_million_is_refused() -> None:
    assert common_step([0.000001], "times") == Fraction(1, 10**6)
    with pytest.raises(ScaleError, match="times need 10000000 integer steps"):
        common_step([1, 0.0000001], "times")
