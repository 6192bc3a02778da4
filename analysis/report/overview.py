"""The figure of the first screen: ratios of the papers' algorithms to the optimum, on one axis."""

import html
import math
from collections.abc import Sequence

from markupsafe import Markup

from schedgap.analysis.plots.charts import shorten
from schedgap.analysis.report.results import Pair, Row
from schedgap.analysis.report.words import count, ratio_text

WIDTH, HEIGHT = 530, 30  # width of the picture, height of one algorithm, in pixels
LEFT, RIGHT = 202, 56  # room for names, and for mean ratios
TOP, BOTTOM = 8, 40
TICKS = (1, 1.2, 1.5, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
MIN_DISTANCE = 34  # between the labels of two ticks


def overview_figure(rows: Sequence[Row]) -> Markup | None:
    """Return a picture of mean and worst ratios and guarantees as SVG; None without a ratio.

    `rows`: as returned by `schedgap.analysis.report.tables.overview_rows`.
    """
    ends = [end for row in rows for name in ("mean", "worst") for end in row.pair(name)]
    known = [end for end in ends if 1 <= end < math.inf]
    if not known:
        return None
    last = max(1.2, 1.15 * max(known))
    equal: dict[object, list[Row]] = {}
    for row in rows:
        pairs = (row.pair(name) for name in ("mean", "worst"))
        equal.setdefault((row.family, *pairs, row.exceeded), []).append(row)
    bottom = TOP + HEIGHT * len(equal)
    lines = (_line(same, k, last) for k, same in enumerate(equal.values()))
    parts = [*_axis(last, bottom), *lines]
    label = f"Ratios of {count(len(rows), 'algorithm')} to the optimum; the table has the numbers."
    return Markup(
        f'<svg class="ratios" viewBox="0 0 {WIDTH} {bottom + BOTTOM}" role="img" '
        f'aria-label="{html.escape(label)}">{"".join(parts)}</svg>'
    )


def _place(ratio: float, last: float) -> float:
    """Return the place of a ratio on the logarithmic axis from 1 to `last`."""
    share = math.log(min(max(ratio, 1.0), last)) / math.log(last)
    return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)


def _axis(last: float, bottom: int) -> list[str]:
    parts, free = [], -math.inf
    for tick in TICKS:
        x = _place(tick, last)
        if tick > last or x < free:
            continue
        free = x + MIN_DISTANCE
        style = "one" if tick == 1 else "grid"
        text = "1 = optimal" if tick == 1 else f"{tick:g}"
        parts.append(f'<path class="{style}" d="M{x} {TOP}V{bottom}"/>')
        parts.append(f'<text class="tick" x="{x}" y="{bottom + 16}">{text}</text>')
        free += 20 * (tick == 1)
    middle = (LEFT + WIDTH - RIGHT) / 2
    title = "ratio to the optimum, logarithmic"
    return [*parts, f'<text class="tick" x="{middle}" y="{bottom + 34}">{title}</text>']


def _line(same: Sequence[Row], k: int, last: float) -> str:
    """Return the marks of algorithms with equal ratios."""
    row, y = same[0], TOP + HEIGHT * k + HEIGHT // 2
    mean, worst, promised = row.pair("mean"), row.pair("worst"), row.pair("guarantee")
    low, high = (_place(end, last) for end in mean)
    parts = [
        f'<text class="name" x="{LEFT - 12}" y="{y + 5}">{html.escape(_name(same))}</text>',
        *(f'<path class="worst" d="M{_place(end, last)} {y - 7}V{y + 7}"/>' for end in worst),
        f'<path class="mean" d="M{low} {y}H{high}"/>',
        f'<text x="{WIDTH - RIGHT + 12}" y="{y + 5}">{html.escape(_text(mean))}</text>',
    ]
    if promised[0] < last:
        style = "limit exceeded" if row.exceeded else "limit"
        start, end = (_place(factor, last) for factor in promised)
        ticks = f"M{start} {y + 6}V{y + 12}M{start} {y + 9}H{max(end, start + 1)}"
        parts.append(f'<path class="{style}" d="{ticks}"/>')
    return "".join(parts)


def _name(same: Sequence[Row]) -> str:
    row, equal = same[0], len(same) - 1
    name = row.family if row.method == row.family else f"{row.family} {row.method}"
    return shorten(f"{name} (+ {equal} equal)" if equal else name, 26)


def _text(mean: Pair) -> str:
    return ratio_text(*mean, digits=2)
