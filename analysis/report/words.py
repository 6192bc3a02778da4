"""Numbers and sentences of the report; ends of intervals are rounded outwards."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from functools import partial
from types import MappingProxyType

from schedgap.analysis.intervals import (
    IntervalStyle,
    interval_text,
    rounded,
    without_round_off,
)
from schedgap.instances.solution import EVIDENCE, Evidence

UNKNOWN = "–"
DIGITS = 3  # decimals of ratios in the report


def _near_1(value: float, how: str, digits: int = DIGITS) -> str:
    """Return some decimals, or up to six near 1; the text `1` means exactly 1."""
    if value == 1:
        return "1"
    excess = abs(value - 1)
    if excess < 0.5 * 10**-digits:
        digits = min(6, -math.floor(math.log10(excess)))
    return rounded(value, how, digits)


RATIO = IntervalStyle(
    _near_1, between=" – ", at_least="≥ ", at_most="≤ ", unknown=UNKNOWN, informative=1.001
)


def ratio_text(low: float | None, high: float | None, digits: int = DIGITS) -> str:
    """Return a ratio as text: exact, an interval, or the only end that is informative.

    `digits`: decimals; near 1 there are more.
    """
    if low == math.inf:
        return "∞"
    return interval_text(low, high, replace(RATIO, number=partial(_near_1, digits=digits)))


def at_least(low: float) -> str:
    """Return the certain end of a ratio as text, rounded down."""
    return f"≥ {_near_1(low, ROUND_FLOOR)}"


def percent_above(ratio: float, digits: int = DIGITS) -> str:
    """Return by how many per cent a ratio exceeds 1, rounded up as `ratio_text` rounds it.

    `digits`: decimals of the ratio; there are at least two digits of the percentage.
    """
    if ratio <= 1:
        return "0 %"
    excess = (without_round_off(ratio) - 1) * 100
    place = min(2 - digits, excess.adjusted() - 1)
    return f"{excess.quantize(Decimal(1).scaleb(place), rounding=ROUND_CEILING).normalize():f} %"


def value_text(value: float | None) -> str:
    """Return an objective or a bound with up to ten significant digits.

    `value`: the value; None and infinity give a dash.
    """
    return UNKNOWN if value is None or not math.isfinite(value) else f"{value:.10g}"


def seconds_text(value: float | None) -> str:
    """Return seconds with three significant digits.

    `value`: the seconds; None and infinity give a dash.
    """
    if value is None or not math.isfinite(value):
        return UNKNOWN
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}" if value >= 0.001 else "< 0.001"


def count(number: int, noun: str) -> str:
    """Return a number with its noun, such as `1 instance` or `2 instances`.

    `noun`: the singular; the plural has an s.
    """
    return f"{number} {noun}" + ("" if number == 1 else "s")


def tightness(
    optimal: Mapping[Evidence, int],
    gaps: Sequence[float | None],
    others: Mapping[str, int] = MappingProxyType({}),
    digits: int = DIGITS,
) -> str:
    """Return a text, for the end of a sentence, on how well the optima are known.

    `optimal`: number of instances whose best schedule and best bound meet, by the evidence of the
    bound. `gaps`: for each other instance, best schedule / best bound (or its inverse): infinite if
    there is no bound, None if there is no schedule. `others`: number of further instances, by what
    is said of them. `digits`: decimals of ratios.
    """
    within = [gap for gap in gaps if gap is not None and gap < math.inf]
    close = f"within {percent_above(max(within), digits)} of the optimum" if within else ""
    numbers = (
        *((optimal.get(word, 0), f"{word} optimal") for word in reversed(EVIDENCE)),
        (len(within), close),
        (sum(gap is not None and math.isinf(gap) for gap in gaps), "without a bound"),
        (sum(gap is None for gap in gaps), "without a schedule"),
        *((number, what) for what, number in others.items()),
    )
    total = sum(optimal.values()) + len(gaps) + sum(others.values())
    if total == 1:
        return next(what for number, what in numbers if number)
    return listing(
        f"{'all' if number == total else number} {what}" for number, what in numbers if number
    )


def listing(parts: Iterable[str]) -> str:
    """Join parts as in a sentence: `a, b and c`."""
    *first, last = [*parts] or [""]
    return f"{', '.join(first)} and {last}" if first else last


def times_the_optimum(
    mean: tuple[float, float],
    worst: tuple[float, float],
    schedules: int,
    digits: int = DIGITS,
) -> str:
    """Return a text, for the end of a sentence, on a method's mean and worst ratio.

    `mean`, `worst`: ends of the mean and of the worst ratio. `schedules`: number of schedules.
    `digits`: decimals of ratios.
    """
    low, high = mean
    if low == high == 1 and worst == (1, 1):
        return "optimal" if schedules == 1 else "optimal on every instance"
    if math.isinf(high) and low <= 1:
        return "at an unknown distance from the optimum"
    ratio = in_words(ratio_text(*mean, digits))
    return f"{ratio} times the optimum{on_average(mean, worst, digits)}"


def on_average(mean: tuple[float, float], worst: tuple[float, float], digits: int = DIGITS) -> str:
    """Return the words that follow a mean ratio, if the worst one differs.

    `mean`, `worst`: ends of the mean and of the worst ratio. `digits`: decimals of ratios.
    """
    if mean == worst and math.isfinite(worst[1]):
        return ""
    at_worst = in_words(ratio_text(*worst, digits))
    return " on average" + (f", at worst {at_worst} times" if math.isfinite(worst[1]) else "")


def in_words(ratio: str) -> str:
    """Return the text of a ratio with signs replaced by words.

    `ratio`: as returned by `ratio_text`.
    """
    return ratio.replace("≤", "at most").replace("≥", "at least").replace(" – ", " to ")
