"""An instance as a piece of HTML for notebooks: its jobs, its machines, and a picture."""

import html
from collections.abc import Mapping, Sequence
from typing import Any

from schedgap.instances.instance import Instance, html_table
from schedgap.instances.records import Record

MAX_ROWS = 12  # rows of a table
MAX_TEXT = 48  # characters of a cell
MAX_MARKS = 300  # jobs in the picture
_WIDTH, _HEIGHT = 480, 110
_CELL = "text-align:left;vertical-align:top"


def instance_page(instance: Instance) -> str:
    """Return the name, the size, the picture, and tables of the first jobs and machines.

    `instance`: of any family and size; the length of the result is bounded.
    """
    title = f"<b>{html.escape(instance.name)}</b> ({html.escape(instance.family)})"
    lists = {
        key: value
        for key in type(instance).model_fields
        if isinstance(value := getattr(instance, key), tuple)
        and value
        and all(isinstance(item, Record) for item in value)
    }
    order = ["jobs", *(key for key in lists if key != "jobs")]
    tables = "".join(_records(key, lists[key]) for key in order if key in lists)
    return f"<div>{title}{html_table(instance.summary())}{_picture(instance)}{tables}</div>"


def _records(key: str, records: Sequence[Record]) -> str:
    """Return a table of the first records."""
    shown = [
        {name: getattr(record, name) for name in type(record).model_fields if name != "meta"}
        for record in records[:MAX_ROWS]
    ]
    columns = [name for name in shown[0] if any(row[name] is not None for row in shown)]
    head = "".join(f"<th style='{_CELL}'>{html.escape(name)}</th>" for name in columns)
    body = "".join(
        "<tr>"
        + "".join(f"<td style='{_CELL}'>{_cell(row[name])}</td>" for name in columns)
        + "</tr>"
        for row in shown
    )
    more = len(records) - len(shown)
    rest = f" (the first {len(shown)} of {len(records)})" if more else f" ({len(records)})"
    caption = f"<b>{html.escape(key.replace('_', ' '))}</b>{rest}"
    return f"<p>{caption}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: Any) -> str:
    """Return a value as text of bounded length."""
    text = _text(value)
    return html.escape(text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 3] + "...")


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, Record):
        value = {name: getattr(value, name) for name in type(value).model_fields}
    if isinstance(value, Mapping):
        first = list(value.items())[:MAX_TEXT]
        return ", ".join(f"{key}: {_text(item)}" for key, item in first)
    if isinstance(value, (list, tuple)):
        return ", ".join(_text(item) for item in value[:MAX_TEXT])
    return f"{value:.6g}" if isinstance(value, float) else str(value)[: 2 * MAX_TEXT]


def _picture(instance: Instance) -> str:
    """Return an SVG picture: a line for each job, at its arrival, as high as its demand."""
    what, demands = instance.demands()
    jobs: Sequence[Any] = getattr(instance, "jobs", ())
    if not what or not demands or len(demands) != len(jobs):
        return ""
    has_arrivals = len({getattr(job, "arrival", None) for job in jobs}) > 1
    places = [float(job.arrival) if has_arrivals else float(n) for n, job in enumerate(jobs)]
    step = -(-len(jobs) // MAX_MARKS)
    first, last, most = min(places), max(places), max(demands) or 1.0
    width = (last - first) or 1.0
    marks = []
    for job, place, demand in list(zip(jobs, places, demands, strict=True))[::step]:
        x = 10 + (_WIDTH - 20) * (place - first) / width
        y = _HEIGHT - 22 - (_HEIGHT - 40) * demand / most
        tip = html.escape(f"{str(job.id)[:MAX_TEXT]}: {demand:.6g} {what}")
        marks.append(
            f"<line x1='{x:.1f}' y1='{_HEIGHT - 22}' x2='{x:.1f}' y2='{y:.1f}' stroke='#4477aa' "
            f"stroke-width='2'/><circle cx='{x:.1f}' cy='{y:.1f}' r='3' fill='#4477aa'>"
            f"<title>{tip}</title></circle>"
        )
    axis = "arrival" if has_arrivals else "job"
    left, right = (first, last) if has_arrivals else (1, len(jobs))
    texts = (
        (10, _HEIGHT - 6, "start", f"{left:.6g}"),
        (_WIDTH / 2, _HEIGHT - 6, "middle", axis),
        (_WIDTH - 10, _HEIGHT - 6, "end", f"{right:.6g}"),
        (10, 12, "start", f"{what}, up to {most:.6g}"),
    )
    labels = "".join(
        f"<text x='{x}' y='{y}' text-anchor='{anchor}' font-size='11' fill='currentColor'>"
        f"{html.escape(text)}</text>"
        for x, y, anchor, text in texts
    )
    base = f"<line x1='4' y1='{_HEIGHT - 22}' x2='{_WIDTH - 4}' y2='{_HEIGHT - 22}' stroke='#888'/>"
    size = f"width='{_WIDTH}' height='{_HEIGHT}' viewBox='0 0 {_WIDTH} {_HEIGHT}'"
    name = html.escape(f"{what} of each job by {axis}")
    return (
        f"<p><svg xmlns='http://www.w3.org/2000/svg' {size} role='img' aria-label='{name}'>"
        f"{base}{''.join(marks)}{labels}</svg></p>"
    )
