"""Exact scaling of decimal numbers to integers."""

import math
from collections.abc import Collection, Iterable
from fractions import Fraction

from schedgap.errors import ScaleError

LARGEST_SCALE = 10**6  # steps per unit


def as_fraction(number: float) -> Fraction:
    """Return the decimal value of a number as written in a file: 0.1 is 1/10."""
    return Fraction(repr(float(number)))


def common_step(numbers: Iterable[float], what: str) -> Fraction:
    """Return the largest step of which every number is a multiple; 1 if all are 0.

    `numbers`: times or weights, >= 0 and finite. `what`: their name, for the error message.

    Raises
    ------
    ScaleError
        If more than a million steps per unit would be needed.
    """
    step = largest_step({as_fraction(number) for number in numbers})
    if (scale := step.denominator) > LARGEST_SCALE:
        raise ScaleError(
            f"{what} need {scale} integer steps per unit, at most {LARGEST_SCALE} are possible: "
            "round them to fewer decimals"
        )
    return step


def largest_step(values: Collection[Fraction]) -> Fraction:
    """Return the largest step of which every value is a multiple; 1 if all are 0.

    `values`: in lowest terms, so the denominator of the step is the least one of all.
    """
    whole = math.lcm(*(value.denominator for value in values))
    step = math.gcd(*(int(value * whole) for value in values))
    return Fraction(step, whole) if step else Fraction(1)
