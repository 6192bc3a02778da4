"""Numbers and sentences of the report: rounded outwards, intervals where only these are known."""

import math
from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal

UNKNOWN = "–"


def ratio_text(low: float | None, high: float | None) -> str:
    """Return a ratio in words: exact, an interval, or the one end that says something.

    The lower end is rounded down and the upper end up, so that what is shown stays true.
    """
    if low is None or math.isnan(low) or math.isinf(low):
        return "∞" if low is not None and low == math.inf else UNKNOWN
    if high is None or math.isnan(high) or math.isinf(high):
        return UNKNOWN if low < 1.001 else f"≥ {_round(low, ROUND_FLOOR)}"
    if low == high:
        return _round(low, ROUND_HALF_EVEN)
    least = "" if low < 1.001 else f"{_round(low, ROUND_FLOOR)} – "
    return f"{least or '≤ '}{_round(high, ROUND_CEILING)}"


def _round(value: float, how: str) -> str:
    """Return three decimals, up to six next to 1; the bare 1 is exactly 1."""
    if value == 1:
        return "1"
    excess = abs(value - 1)
    digits = 3 if excess >= 0.0005 else min(6, -math.floor(math.log10(excess)))
    return str(_decimal(value).quantize(Decimal(1).scaleb(-digits), rounding=how))


def _decimal(value: float) -> Decimal:
    """Return a number without the round-off of a division, which would be rounded outwards."""
    return Decimal(repr(round(value, 10)))


def percent_above(ratio: float) -> str:
    """Return by how many per cent a ratio exceeds 1, two digits, rounded up."""
    if ratio <= 1:
        return "0 %"
    excess = (_decimal(ratio) - 1) * 100
    place = min(0, excess.adjusted() - 1)
    return f"{excess.quantize(Decimal(1).scaleb(place), rounding=ROUND_CEILING).normalize():f} %"


def value_text(value: float | None) -> str:
    """Return an objective or a bound with up to ten significant digits."""
    return UNKNOWN if value is None or not math.isfinite(value) else f"{value:.10g}"


def seconds_text(value: float | None) -> str:
    """Return seconds with three significant digits."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}" if value >= 0.001 else "< 0.001"


def count(number: int, noun: str) -> str:
    """Return `1 instance`, `2 instances`."""
    return f"{number} {noun}" + ("" if number == 1 else "s")


def tightness(gaps: Sequence[float | None], infeasible: int = 0, variants: int = 0) -> str:
    """Return how tightly the optima are known, as the end of a sentence.

    Parameters
    ----------
    gaps : Sequence[float | None]
        For each instance the least proved ratio of any method: 1 is a proved optimum, infinite a
        schedule without a bound, None no schedule.
    infeasible : int
        Instances, not among the others, that were proved to have no schedule.
    variants : int
        Instances, not among the others, of which only another problem was solved.
    """
    within = [gap for gap in gaps if gap is not None and 1 < gap < math.inf]
    close = f"within {percent_above(max(within))} of the optimum" if within else ""
    numbers = (
        (sum(gap is not None and gap <= 1 for gap in gaps), "proved optimal"),
        (len(within), close),
        (sum(gap is not None and math.isinf(gap) for gap in gaps), "without a bound"),
        (sum(gap is None for gap in gaps), "without a schedule"),
        (infeasible, "proved infeasible"),
        (variants, "solved only as a variant of the problem"),
    )
    total = len(gaps) + infeasible + variants
    if total == 1:
        return next(what for number, what in numbers if number)
    return listing(
        f"{'all' if number == total else number} {what}" for number, what in numbers if number
    )


def listing(parts: Iterable[str]) -> str:
    """Return parts joined as in a sentence."""
    *first, last = [*parts] or [""]
    return f"{', '.join(first)} and {last}" if first else last


def times_the_optimum(mean: tuple[float, float], worst: tuple[float, float], schedules: int) -> str:
    """Return how far a method is from the optimum on average and at worst, to end a sentence."""
    low, high = mean
    if low == high == 1 and worst == (1, 1):
        return "optimal" if schedules == 1 else "always optimal"
    if math.isinf(high) and low <= 1:
        return "at an unknown distance from the optimum"
    return f"{in_words(ratio_text(*mean))} times the optimum{on_average(mean, worst)}"


def on_average(mean: tuple[float, float], worst: tuple[float, float]) -> str:
    """Return what follows a mean ratio: that it is one, and the worst, where they differ."""
    if mean == worst and math.isfinite(worst[1]):
        return ""
    at_worst = in_words(ratio_text(*worst))
    return " on average" + (f", at worst {at_worst} times" if math.isfinite(worst[1]) else "")


def in_words(ratio: str) -> str:
    """Return a ratio's text as it reads inside a sentence."""
    return ratio.replace("≤", "at most").replace("≥", "at least").replace(" – ", " to ")
