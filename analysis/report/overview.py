"""The figure of the first screen: ratios of the papers' algorithms to the optimum, on one axis."""

import html
import math
from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from schedgap.analysis.plots.charts import shorten
from schedgap.analysis.report.results import Pair, Row
from schedgap.analysis.report.tables import equal_rows, named
from schedgap.analysis.report.words import count, ratio_text


class Form(NamedTuple):
    """Sizes of the picture in pixels; `page.css` chooses the form by the width of the screen."""

    name: str
    width: int
    height: int  # height of one algorithm
    left: int  # room for names; a narrow picture has them above the lines
    right: int  # room for mean ratios


FORMS = (Form("wide", 530, 30, 202, 56), Form("narrow", 340, 44, 8, 8))
TOP, BOTTOM = 8, 40
TICKS = (1, 1.2, 1.5, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
MIN_DISTANCE = 34  # least distance of the labels of two ticks, in pixels


def overview_figure(rows: Sequence[Row]) -> Markup | None:
    """Return a picture of mean and worst ratios and guarantees as SVG; None without a ratio.

    `rows`: as returned by `schedgap.analysis.report.tables.overview_rows`.
    """
    ends = [end for row in rows for name in ("mean", "worst") for end in row.pair(name)]
    known = [end for end in ends if 1 <= end < math.inf]
    if not known:
        return None
    last = max(1.2, 1.15 * max(known))
    groups = equal_rows(rows)
    label = f"Ratios of {count(len(rows), 'algorithm')} to the optimum; the table has the numbers."
    pictures = []
    for form in FORMS:
        bottom = TOP + form.height * len(groups)
        lines = (_line(same, k, last, form) for k, same in enumerate(groups))
        parts = [*_axis(last, bottom, form), *lines]
        pictures.append(
            f'<svg class="ratios {form.name}" viewBox="0 0 {form.width} {bottom + BOTTOM}" '
            f'role="img" aria-label="{html.escape(label)}">{"".join(parts)}</svg>'
        )
    return Markup("\n".join(pictures))


def _place(ratio: float, last: float, form: Form) -> float:
    """Return the place of a ratio on the logarithmic axis from 1 to `last`."""
    share = math.log(min(max(ratio, 1.0), last)) / math.log(last)
    return round(form.left + share * (form.width - form.left - form.right), 1)


def _axis(last: float, bottom: int, form: Form) -> list[str]:
    parts, free = [], -math.inf
    for tick in TICKS:
        x = _place(tick, last, form)
        if tick > last or x < free:
            continue
        free = x + MIN_DISTANCE
        style = "one" if tick == 1 else "grid"
        text = "1 = optimal" if tick == 1 else f"{tick:g}"
        parts.append(f'<path class="{style}" d="M{x} {TOP}V{bottom}"/>')
        beside = ' style="text-anchor: start"' if x < 40 else ""
        parts.append(f'<text class="tick" x="{x}" y="{bottom + 16}"{beside}>{text}</text>')
        free += (60 if beside else 20) * (tick == 1)
    middle = (form.left + form.width - form.right) / 2
    title = "ratio to the optimum, logarithmic"
    return [*parts, f'<text class="tick" x="{middle}" y="{bottom + 34}">{title}</text>']


def _line(same: Sequence[Row], k: int, last: float, form: Form) -> str:
    """Return the marks of algorithms with equal ratios."""
    narrow = form.name == "narrow"
    row, y = same[0], TOP + form.height * k + (form.height * 2 // 3 if narrow else form.height // 2)
    mean, worst, promised = row.pair("mean"), row.pair("worst"), row.pair("guarantee")
    low, high = (_place(end, last, form) for end in mean)
    name, text = html.escape(_name(same)), html.escape(_text(mean))
    if narrow:
        words = [f'<text x="{form.left + 4}" y="{y - 12}">{name}: {text}</text>']
    else:
        words = [
            f'<text class="name" x="{form.left - 12}" y="{y + 5}">{name}</text>',
            f'<text x="{form.width - form.right + 12}" y="{y + 5}">{text}</text>',
        ]
    bars = (_place(end, last, form) for end in worst)
    parts = [
        *words,
        *(f'<path class="worst" d="M{x} {y - 7}V{y + 7}"/>' for x in bars),
        f'<path class="mean" d="M{low} {y}H{high}"/>',
    ]
    if promised[0] < last:
        style = "limit exceeded" if row.exceeded else "limit"
        start, end = (_place(factor, last, form) for factor in promised)
        ticks = f"M{start} {y + 6}V{y + 12}M{start} {y + 9}H{max(end, start + 1)}"
        parts.append(f'<path class="{style}" d="{ticks}"/>')
    return "".join(parts)


def _name(same: Sequence[Row]) -> str:
    family, name = same[0].family, named(same)
    return shorten(name if same[0].method == family else f"{family} {name}", 26)


def _text(mean: Pair) -> str:
    return ratio_text(*mean, digits=2)
