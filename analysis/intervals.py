"""Intervals as text: the lower end is rounded down and the upper end up, so they remain valid."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from functools import partial

Number = Callable[[float, str], str]  # writes an end, rounded in a direction of `decimal`
DIGITS = 4  # decimals of ratios as text
_WIDE = Context(prec=400)  # any float with its decimals


def without_round_off(value: float) -> Decimal:
    """Return a finite number without round-off, which would otherwise be rounded outwards."""
    return Decimal(repr(round(float(value), 10)))


def rounded(value: float, how: str, digits: int = DIGITS) -> str:
    """Return a number with `digits` decimals; it may be infinite."""
    if not math.isfinite(value):
        return str(value)
    place = Decimal(1).scaleb(-digits)
    return str(without_round_off(value).quantize(place, rounding=how, context=_WIDE))


def significant(value: float, how: str, digits: int = DIGITS) -> str:
    """Return a number with at most `digits` significant digits; it may be infinite."""
    if math.isfinite(value) and value:
        exact = Decimal(f"{value:.12g}")  # without round-off
        place = Decimal(1).scaleb(exact.adjusted() - digits + 1)
        value = float(exact.quantize(place, rounding=how))
    return f"{value:.{digits}g}"


@dataclass(frozen=True, slots=True)
class IntervalStyle:
    """How intervals are written; lower ends below `informative` are left out."""

    number: Number
    between: str = " to "
    at_least: str = ">= "
    at_most: str = "<= "
    unknown: str = "-"
    informative: float = -math.inf


PLAIN = IntervalStyle(rounded)
FOUR_DIGITS = IntervalStyle(partial(significant, digits=DIGITS))


def interval_text(low: float | None, high: float | None, style: IntervalStyle = PLAIN) -> str:
    """Return an interval as text, such as `1.25`, `1.2 to 1.3`, `>= 1.2`, or `-`.

    `low`, `high`: ends of the interval; None, NaN and an infinite `high` are unknown.
    """
    if low is None or math.isnan(low):
        return style.unknown
    if low in (high, math.inf):
        return style.number(low, ROUND_HALF_EVEN)
    shown = low >= style.informative
    if high is None or not math.isfinite(high):
        return f"{style.at_least}{style.number(low, ROUND_FLOOR)}" if shown else style.unknown
    if not shown:
        return f"{style.at_most}{style.number(high, ROUND_CEILING)}"
    return ends_text(low, high, style)


def ends_text(low: float, high: float, style: IntervalStyle = PLAIN) -> str:
    """Return both ends of an interval as text, even if they are equal."""
    return style.number(low, ROUND_FLOOR) + style.between + style.number(high, ROUND_CEILING)
