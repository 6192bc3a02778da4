"""What the figures were drawn on: sizes of instances, and the method behind each name."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from schedgap.analysis.evaluations.judging import Row
from schedgap.analysis.solving.choices import Choice
from schedgap.models.family import family
from schedgap.models.figure import Experiment, Point
from schedgap.models.method import Method

Measured = Sequence[tuple[Experiment, Sequence[Row]]]
# A summary of an instance shows the first of these that it has.
PLACES = ("servers", "machines", "GPUs")


def sizes(figures: Measured) -> list[tuple[str, str, str, str]]:
    """Return the sizes of the instances: figures, scale, jobs and machines, replications.

    `figures`: of one family. Figures of the same size share a row.
    """
    found: dict[tuple[str, str, str], list[str]] = {}
    for experiment, rows in figures:
        summaries = [point.instance.summary() for point in _first(experiment)]
        place = next((key for key in PLACES if any(key in summary for summary in summaries)), "")
        words = [
            _range([summary.get(key, "") for summary in summaries], key) for key in ("jobs", place)
        ]
        scale = "quick" if experiment.quick else "full"
        key = scale, ", ".join(filter(None, words)), str(len({row.seed for row in rows}))
        found.setdefault(key, []).append(experiment.figure)
    return [(", ".join(names), *key) for key, names in found.items()]


def players(figures: Measured) -> list[tuple[str, str, str, str]]:
    """Return the methods of the paper's series and bars: name, figures, method, what it is.

    `figures`: of one family. Series that are ours by name are left out.
    """
    places: dict[tuple[str, str], dict[str, None]] = {}  # keys: name and method
    options: dict[tuple[str, str], dict[str, dict[str, None]]] = {}
    methods: dict[str, Method[Any, Any]] = {}
    for experiment, _ in figures:
        bars = experiment.series == (experiment.x,)
        for point in _first(experiment):
            name = str(point.x) if bars else point.series
            if "(ours)" in name:
                continue
            choice = Choice.read(point.method)
            method = family(experiment.family).method(choice.method)
            methods[method.name] = method
            key = name, method.name
            places.setdefault(key, {})[experiment.figure] = None
            for option, value in method.parse(dict(choice.settings)).items():
                options.setdefault(key, {}).setdefault(option, {})[_text(value)] = None
    return [
        (name, ", ".join(places[name, label]), _method(label, options.get((name, label), {})),
         _what(methods[label]))
        for name, label in places
    ]  # fmt: skip


def _what(method: Method[Any, Any]) -> str:
    ours = ", ours" if method.ours and method.source != "ours" else ""
    return f"{method.summary} ({method.source}{ours})"


def _first(experiment: Experiment) -> Iterator[Point]:
    """Yield the points of the first replication."""
    seed = None
    for point in experiment.draw():
        seed = point.seed if seed is None else seed
        if point.seed != seed:
            return
        yield point


def _range(texts: Sequence[str], unit: str) -> str:
    """Return the least and the greatest of counts, which texts such as `20 edge` start with."""
    numbers = sorted({int(found[0]) for text in texts if (found := re.match(r"\d+", text))})
    if not numbers:
        return ""
    ends = dict.fromkeys((numbers[0], numbers[-1]))
    return "-".join(map(str, ends)) + f" {unit if numbers[-1] > 1 else unit.removesuffix('s')}"


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    return "" if value is None else str(value)


def _method(name: str, options: Mapping[str, Iterable[str]]) -> str:
    shown = {key: ", ".join(filter(None, texts)) for key, texts in options.items()}
    words = "; ".join(f"{key}={text}" for key, text in shown.items() if text)
    return f"`{name}`" + (f" with {words}" if words else "")
