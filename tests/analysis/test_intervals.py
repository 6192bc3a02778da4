"""Intervals as text: no lower end is rounded up, and no upper end down."""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN
from functools import partial

import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from schedgap.analysis.intervals import (
    IntervalStyle,
    ends_text,
    interval_text,
    rounded,
    significant,
)
from schedgap.analysis.report import tables
from schedgap.analysis.statistics import export

FINITE = st.floats(-1e12, 1e12) | st.floats(1, 2)
STYLES = {
    "decimals": IntervalStyle(rounded),
    "significant": IntervalStyle(significant),
    "factors of the report": tables.FACTOR,
    "confidence in the report": tables.CONFIDENCE,
    "confidence in files": export.CONFIDENCE,
}


@pytest.mark.parametrize(
    ("low", "high", "digits", "text"),
    [
        (1.23456, 1.23456, 4, "1.2346"),
        (1.23456, 1.34561, 4, "1.2345 to 1.3457"),
        (1.23456, 1.34561, 2, "1.23 to 1.35"),
        (1.2, 1.3 + 3e-16, 4, "1.2000 to 1.3000"),  # round-off is not rounded up
        (1.23456, math.inf, 4, ">= 1.2345"),
        (math.inf, math.inf, 4, "inf"),
        (math.nan, math.nan, 4, "-"),
    ],
)
def test_the_ends_of_an_interval_are_rounded_outwards(
    low: float, high: float, digits: int, text: str
) -> None:
    style = IntervalStyle(partial(rounded, digits=digits))
    assert interval_text(low, high, style) == text


def test_unknown_ends_are_left_out() -> None:
    assert interval_text(None, 2.0) == "-" and interval_text(1.25, None) == ">= 1.2500"
    style = IntervalStyle(rounded, at_most="at most ", informative=1.001, unknown="?")
    assert interval_text(1.0, 1.00001, style) == "at most 1.0001"
    assert interval_text(1.0, math.inf, style) == interval_text(math.nan, 2.0, style) == "?"


@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES)
@given(FINITE, FINITE)
@example(1.0004, 1.2346)
@example(999.96, 1000.04)
@example(-1.00049, -1.00041)
def test_no_style_narrows_an_interval(style: IntervalStyle, one: float, other: float) -> None:
    """Round-off does not count: 1e-11 of the number, or 1e-10."""
    low, high = sorted((one, other))
    ends = [float(end) for end in ends_text(low, high, style).split(style.between)]
    slack = [max(1e-10, 1e-11 * abs(end)) for end in (low, high)]
    assert ends[0] <= low + slack[0] and high - slack[1] <= ends[1]


@given(FINITE | st.integers(-(10**14), 10**14).map(float))
def test_significant_digits_are_those_of_python(value: float) -> None:
    """Rounded down or up, a number is one of the two neighbours that `.4g` chooses from."""
    down, near, up = (
        significant(value, how) for how in (ROUND_FLOOR, ROUND_HALF_EVEN, ROUND_CEILING)
    )
    assert near in (down, up) and f"{value:.4g}" in (down, up)


@pytest.mark.parametrize(
    ("value", "text"),
    [(12345.678, "12346"), (3.0, "3"), (0.123456, "0.1235"), (1e20, "100000000000000000000")],
)
def test_single_numbers_in_files(value: float, text: str) -> None:
    assert export.compact(pd.DataFrame({"x": [value]}))["x"].tolist() == [text]
