"""Exact integers for decimal numbers: what a file shows is what an integer program gets."""

import math
from collections.abc import Iterable
from fractions import Fraction

from schedgap.errors import ScaleError

LARGEST_SCALE = 10**6  # steps in one unit


def decimal(number: float) -> Fraction:
    """Return the decimal that a file shows for a number: 0.1 is 1/10, not the binary float."""
    return Fraction(repr(float(number)))


def common_step(numbers: Iterable[float], what: str) -> Fraction:
    """Return the largest step of which every number is a whole multiple; 1 when all are 0.

    Parameters
    ----------
    numbers : iterable of float
        Times, or weights; >= 0 and finite.
    what : str
        Their name, for the error.

    Raises
    ------
    ScaleError
        When whole numbers would need more than a million steps in one unit.
    """
    values = {decimal(number) for number in numbers}
    scale = math.lcm(*(value.denominator for value in values))
    if scale > LARGEST_SCALE:
        raise ScaleError(
            f"{what} need {scale} integer steps per unit, at most {LARGEST_SCALE} are possible: "
            "round them to fewer decimals"
        )
    step = math.gcd(*(int(value * scale) for value in values))
    return Fraction(step, scale) if step else Fraction(1)
