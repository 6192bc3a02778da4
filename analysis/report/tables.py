"""Tables of the report as typed cells, which the template lays out."""

import html
import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from markupsafe import Markup

from schedgap.analysis.evaluations.judging import JUDGED, judge_claims, sentences
from schedgap.analysis.intervals import (
    IntervalStyle,
    ends_text,
    interval_text,
    rounded,
    significant,
)
from schedgap.analysis.records.rows import TaskRow
from schedgap.analysis.report.results import Pair, ReportData, Result, Row
from schedgap.analysis.report.words import (
    UNKNOWN,
    at_least,
    ratio_text,
    seconds_text,
    value_text,
)
from schedgap.instances.verdict import outside
from schedgap.models.family import family

SIGNIFICANT = 0.05  # adjusted p
CONFIDENCE = IntervalStyle(partial(rounded, digits=3), between=" – ")
FACTOR = IntervalStyle(partial(significant, digits=3), between=" – ")
OVER_BOUND = "optimum /\u00a0bound"
LESS_IMPORTANT = (  # columns that screens leave out if they do not fit, the first one first
    "kind", "geometric mean", "95 % of the mean", OVER_BOUND, "infinite", "family", "schedules",
    "time (s)", "optimal", "", "worst found", "guarantee", "sentences on figures", "n", "bound",
    "objective", "status", "versions", "seed", "limits", "instances", "note", "build (s)",
    "engine (s)", "seed.order", "preset", "nodes", "median (s)", "failed", "root gap",
    "with a schedule", "PAR2 (s)", "spread", "refused",
)  # fmt: skip
Span = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: its text, its sort value, its style, or a small chart."""

    text: str
    value: float | None = None
    number: bool = False
    look: str = ""
    whisker: Span | None = None  # ends of mean and of worst ratio, each in [0, 100]
    link: str = ""  # address
    download: str = ""  # name of the file, if the link has one


@dataclass(frozen=True, slots=True)
class Table:
    """A table; `columns` are (name, whether numeric), and the first cell of a row is its head.

    If it does not fit on a screen, columns of `LESS_IMPORTANT` are left out.
    """

    id: str
    caption: str
    columns: tuple[tuple[str, bool], ...]
    rows: tuple[tuple[Cell, ...], ...]

    @property
    def ranks(self) -> tuple[int | None, ...]:
        """For each column its place in the order in which columns are left out, if it may be."""
        order = {name: place for place, name in enumerate(LESS_IMPORTANT)}
        return (None, *(order.get(name) for name, _ in self.columns[1:]))

    def body(self, first: int = 0) -> Markup:
        """Return the rows as HTML."""
        heads = ["th scope=row", *["td"] * (len(self.columns) - 1)]
        rows = (f"<tr>{''.join(map(_cell, row, heads))}</tr>" for row in self.rows[first:])
        return Markup("\n".join(rows))


def _cell(cell: Cell, head: str) -> str:
    classes = " ".join(filter(None, ("number" if cell.number else "", cell.look)))
    style = f' class="{classes}"' if classes else ""
    if cell.number:
        style += f' data-value="{"" if cell.value is None else cell.value}"'
    content = _whisker_svg(cell) + html.escape(cell.text)
    if cell.link:
        name = f' download="{html.escape(cell.download)}"' if cell.download else ""
        content = f'<a href="{html.escape(cell.link)}"{name}>{content}</a>'
    return f"<{head}{style}>{content}</{head[:2]}>"


def _whisker_svg(cell: Cell) -> str:
    if cell.whisker is None:
        return ""
    low, high, *worst = cell.whisker
    return (
        '<svg class="whisker" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        f'<path class="track" d="M4 5H96"/>'
        f'<path class="worst" d="M{worst[0]} 1V9M{worst[1]} 1V9"/>'
        f'<path class="mean" d="M{low} 5H{high}"/></svg>'
    )


def number(text: str, value: float | None) -> Cell:
    """Return a cell with a number.

    `text`: how it is shown. `value`: by which it is sorted; None and NaN come last.
    """
    sortable = None if value is None or math.isnan(value) else value
    return Cell(text, sortable, number=True, look="faint" if text == UNKNOWN else "")


def _ratio(pair: Pair) -> Cell:
    low, high = pair
    return number(ratio_text(low, high), high if math.isfinite(high) else low)


def summary_table(rows: Iterable[Row], identifier: str) -> Table:
    """Return a table with a row for each method: ratios, counts, time, guarantee.

    `rows`: methods of one family. `identifier`: identifier of the table in the page.
    """
    rows = list(rows)
    ends = [end for row in rows for name in ("mean", "worst") for end in row.pair(name)]
    top = max((end for end in ends if 1 <= end < math.inf), default=1.0)
    columns: list[tuple[str, list[Cell]]] = [
        ("method", [Cell(row.method) for row in rows]),
        ("preset", [Cell(row.preset) for row in rows]),
        ("mean ratio", [_mean(row) for row in rows]),
        ("", [Cell("", whisker=_whisker(row, top)) for row in rows]),
        ("n", [_sample(row) for row in rows]),
        ("worst ratio", [_ratio(row.pair("worst")) for row in rows]),
        ("infinite", [number(str(n), n) for row in rows for n in (row.facts["infinite"],)]),
        (OVER_BOUND, [_bound_quality(row) for row in rows]),
        ("schedules", [_schedules(row) for row in rows]),
        ("optimal", [_optimal(row) for row in rows]),
        ("time (s)", [_seconds(row.facts["seconds"]) for row in rows]),
        ("guarantee", [_guarantee(row) for row in rows]),
        ("worst found", [_worst_found(row) for row in rows]),
        ("95 % of the mean", [_interval(row.pair("boot")) for row in rows]),
        ("geometric mean", [_ratio(_plus_1(row.pair("gap"))) for row in rows]),
        ("kind", [_kind(row) for row in rows]),
    ]
    optional = {"preset", "infinite", OVER_BOUND, "guarantee", "worst found"}
    shown = [
        (name, cells)
        for name, cells in columns
        if name not in optional or any(cell.text not in ("", "0", UNKNOWN) for cell in cells)
    ]
    apart = (
        f" {row.method} leaves out rules ({row.facts['outside']}), so it has no ratio."
        for row in rows
        if row.facts["outside"] and not row.preset
    )
    return Table(
        identifier,
        "Means over the n instances on which all compared methods have a ratio. The worst ratio is "
        "over all instances of the method." + "".join(apart),
        tuple((name, cells[0].number if cells else False) for name, cells in shown),
        tuple(zip(*(cells for _, cells in shown), strict=True)),
    )


def overview_table(report: ReportData) -> Table | None:
    """Return a table of the papers' algorithms: ratio to the optimum, guarantee, and verdicts.

    `report`: what the report shows.
    """
    rows = overview_rows(report)
    if not rows:
        return None
    verdicts = {name: _verdicts(report, name) for name in report.families}
    groups = equal_rows(rows)
    rows = [group[0] for group in groups]
    columns: list[tuple[str, list[Cell]]] = [
        ("family", [Cell(row.family) for row in rows]),
        ("algorithm", [Cell(named(group)) for group in groups]),
        ("mean ratio", [_mean(row) for row in rows]),
        ("n", [_sample(row) for row in rows]),
        ("worst ratio", [_ratio(row.pair("worst")) for row in rows]),
        ("guarantee", [_guarantee(row) for row in rows]),
        ("worst found", [_worst_found(row) for row in rows]),
        ("sentences on figures", [Cell(verdicts[row.family]) for row in rows]),
    ]
    columns = [
        (name, cells)
        for name, cells in columns
        if any(cell.text not in ("", UNKNOWN) for cell in cells)
    ]
    return Table(
        "overview-table",
        "Ratios to the optimum over the n instances on which the algorithm has one. 1 is optimal.",
        tuple((name, cells[0].number) for name, cells in columns),
        tuple(zip(*(cells for _, cells in columns), strict=True)),
    )


def overview_rows(report: ReportData) -> list[Row]:
    """Return the papers' algorithms with finite mean ratios, over their own instances.

    `report`: what the report shows.
    """
    rows = [row for row in report.rows if row.kind == "algorithm" and not row.ours and row.plain]
    rows = [_over_own_instances(report, row) for row in rows]
    return [row for row in rows if math.isfinite(row.pair("mean")[0])]


def equal_rows(rows: Sequence[Row]) -> list[list[Row]]:
    """Return the algorithms of a family that have the same ratios in one group.

    `rows`: as returned by `overview_rows`.
    """
    groups: dict[object, list[Row]] = {}
    for row in rows:
        pairs = (row.pair(name) for name in ("mean", "worst"))
        groups.setdefault((row.family, *pairs, row.exceeded), []).append(row)
    return list(groups.values())


def named(group: Sequence[Row]) -> str:
    """Return the name of the first algorithm of a group, and how many equal it."""
    name, equal = group[0].method, len(group) - 1
    return f"{name} (+ {equal} equal)" if equal else name


def _over_own_instances(report: ReportData, row: Row) -> Row:
    """Return a row with the means over all instances of the method, not over a common set."""
    own = report.own_means.get((row.family, row.method))
    (low, high), number = (own.mean, own.n) if own else ((math.nan, math.nan), 0)
    return replace(row, facts={**row.facts, "mean_low": low, "mean_high": high, "n": number})


def pairs_table(report: ReportData, name: str, identifier: str) -> Table | None:
    """Return a table of paired comparisons of a family's algorithms and baselines.

    `report`: what the report shows. `identifier`: identifier of the table in the page.
    """
    chosen = report.heuristics(name)
    rows = [row for row in report.pairs if row["family"] == name and not row["problem"]]
    cells: dict[tuple[str, str], Cell] = {}
    for row in rows:
        one, other = row["method"], row["other"]
        mark = "*" if row["holm"] < SIGNIFICANT else ""
        for pair, ratio, score in (
            ((one, other), row["ratio"], (row["wins"], row["ties"], row["losses"])),
            ((other, one), 1 / row["ratio"], (row["losses"], row["ties"], row["wins"])),
        ):
            known = math.isfinite(ratio)
            text = f"{ratio:.3f}{mark}" if known else UNKNOWN
            look = "" if not known or ratio == 1 else "better" if ratio < 1 else "worse"
            counts = "/".join(map(str, score))
            cells[pair] = Cell(f"{text} ({counts})", ratio if known else None, True, look)
    if not cells:
        return None
    return Table(
        identifier,
        "Two methods on the same instances, by objectives alone: how many times worse the method "
        "of the row is than that of the column (geometric mean; less than 1 is better), and its "
        "wins, ties and losses. An asterisk: the difference is significant (Wilcoxon signed-rank "
        "test, 5 %, with Holm’s correction).",
        (("method", False), *((method, True) for method in chosen)),
        tuple(
            (Cell(one), *(cells.get((one, other), Cell("", number=True)) for other in chosen))
            for one in chosen
        ),
    )


def _verdicts(report: ReportData, name: str) -> str:
    """Return how many sentences on the paper's figures were reproduced, mixed and refuted.

    A sentence counts over all of its parts and settings that the run has.
    """
    judged = (
        item
        for each, numbers in report.figures.values()
        if each.family == name
        for item in judge_claims(each, numbers)
    )
    count = Counter(each.verdict for each in sentences(judged))
    return ", ".join(f"{count[word]} {word}" for word in JUDGED if count[word])


def _sample(row: Row) -> Cell:
    count = int(row.facts["bound_n" if row.kind == "bound" else "n"])
    return number(str(count) if count else UNKNOWN, count or None)


def _mean(row: Row) -> Cell:
    cell = _ratio(row.pair("mean"))
    return replace(cell, text="outside") if cell.text == UNKNOWN and row.facts["outside"] else cell


def _schedules(row: Row) -> Cell:
    scheduled, instances = int(row.facts["scheduled"]), int(row.facts["instances"])
    if row.kind == "bound":
        return number(UNKNOWN, None)
    look = "bad" if row.facts["failed"] or row.facts["wrong"] else ""
    return Cell(f"{scheduled} of {instances}", scheduled, number=True, look=look)


def _optimal(row: Row) -> Cell:
    if row.kind != "exact":
        return number(UNKNOWN, None)
    names = ("optimal", "optimal_certified", "optimal_proved")
    optimal, certified, proved = (int(row.facts[name]) for name in names)
    on = f"{proved} proved" + (f", {certified - proved} certified" if certified > proved else "")
    text = f"{optimal} ({on})" if optimal else "0"
    return number(text, float(optimal))


def _bound_quality(row: Row) -> Cell:
    value = float(row.facts["bound_mean"])
    return number(ratio_text(1.0, value) if value > 1 else ratio_text(value, value), value)


def _plus_1(pair: Pair) -> Pair:
    return pair[0] + 1, pair[1] + 1


def _interval(pair: Pair) -> Cell:
    if not all(math.isfinite(end) for end in pair):
        return number(UNKNOWN, None)
    return number(ends_text(*pair, CONFIDENCE), pair[1])


def _guarantee(row: Row) -> Cell:
    """Return the guaranteed factor, and for how many instances its assumptions hold."""
    low, high = row.pair("guarantee")
    if math.isnan(high):
        return number(UNKNOWN, None)
    factor = interval_text(low, high, FACTOR)
    if row.exceeded:
        return Cell(f"{factor}: exceeded on {row.exceeded}", high, number=True, look="bad")
    share = float(row.facts["holds"])
    where = f"on {100 * share:.0f}\u00a0% of the instances" if share else "on no instance"
    text = factor if share == 1 else f"{factor}; its assumptions hold {where}"
    if row.facts["beyond"]:
        text += f", exceeded on {row.facts['beyond']} of the others"
    return Cell(text, high, number=True, look="" if share == 1 else "wrap")


def _worst_found(row: Row) -> Cell:
    """Return the worst certified ratio of the library, and the claims that its finds refute."""
    worst = row.worst_find
    claims = family(row.family).paper.guarantees
    refuted: dict[str, bool] = {}  # claim -> whether the worst find refutes it
    for find in row.finds:
        if find.refutes:
            refuted[find.refutes] = refuted.get(find.refutes, False) or find is worst
    parts = [] if worst is None else [at_least(worst.low)]
    for label, same in refuted.items():
        other = "" if same or worst is None else "another one "
        parts.append(f"{other}refutes {claims[label].source}")
    if not parts:
        return number(UNKNOWN, None)
    look = "bad wrap" if refuted else ""
    value = None if worst is None else worst.low
    return Cell("; ".join(parts), value, True, look, link=f"#{finds_id(row.family)}")


def finds_id(name: str) -> str:
    """Return the identifier of the table of a family's finds."""
    return f"finds-{name}"


def _kind(row: Row) -> Cell:
    whose = " (your own)" if row.own else " (ours)" if row.ours else ""
    return Cell(row.kind + (whose if row.kind == "algorithm" else ""))


def _seconds(value: float) -> Cell:
    return number(seconds_text(value), value)


def _whisker(row: Row, top: float) -> Span | None:
    """Return mean and worst ratio on a logarithmic scale from 1 (at 4) to `top` (at 96)."""
    mean, worst = row.pair("mean"), row.pair("worst")
    if not math.isfinite(mean[0]):
        return None
    low, high = (_place(each, top) for each in mean)
    return low, high, _place(worst[0], top), _place(worst[1], top)


def _place(ratio: float, top: float) -> float:
    """Return the place of a ratio on a logarithmic scale from 1 (at 4) to `top` (at 96)."""
    scale = math.log(top) if top > 1 else 1.0
    return round(4 + 92 * math.log(min(max(ratio, 1.0), top)) / scale, 1)


def result_table(results: Iterable[Result]) -> Table:
    """Return a table with a row for each instance and method.

    `results`: all results of the report.
    """
    columns = (
        ("instance", False), ("method", False), ("ratio", True), ("objective", True),
        ("bound", True), (OVER_BOUND, True), ("status", False), ("time (s)", True),
        ("family", False), ("kind", False), ("note", False),
    )  # fmt: skip
    rows = [
        (
            Cell(result.instance),
            Cell(result.method),
            _ratio(result.ratio),
            number(value_text(result.objective), result.objective),
            number(value_text(result.bound), result.bound),
            _ratio(result.bound_ratio),
            Cell(result.status, look="bad" if result.failed else ""),
            _seconds(result.seconds),
            Cell(result.family),
            Cell(result.task.kind),
            Cell("; ".join(filter(None, (_outside(result.task), result.note)))),
        )
        for result in results
    ]
    return Table(
        "every-result",
        "Every method on every instance; objective and bound in the unit of the instance.",
        columns,
        tuple(rows),
    )


def _outside(task: TaskRow) -> str:
    """Return a text that says if a result belongs to a variant of the problem."""
    parts = [f"problem: {task.problem}"] if task.problem else []
    return "; ".join(filter(None, [*parts, outside(task.relaxed)]))


def missing_table(results: Iterable[Result]) -> Table | None:
    """Return a table of failed and skipped runs by method and reason, or None if there are none.

    `results`: all results of the report.
    """
    counted: dict[tuple[str, str, str], list[str]] = {}
    for result in results:
        if result.failed or result.task.outcome in ("timeout", "skipped"):
            key = f"{result.method} ({result.family})", result.task.outcome, result.task.message
            counted.setdefault(key, []).append(result.instance)
    if not counted:
        return None
    rows = tuple(
        (
            Cell(method),
            Cell(outcome, look="" if outcome in ("timeout", "skipped") else "bad"),
            number(str(len(instances)), len(instances)),
            Cell(message),
            Cell(_few(instances)),
        )
        for (method, outcome, message), instances in counted.items()
    )
    columns = (("method", False), ("ended", False), ("runs", True), ("reason", False),
               ("instances", False))  # fmt: skip
    return Table(
        "not-run", "Runs that failed, and methods that do not support an instance.", columns, rows
    )


def _few(names: list[str], limit: int = 3) -> str:
    more = len(names) - limit
    return ", ".join(names[:limit]) + (f" and {more} more" if more > 0 else "")


def settings_table(results: Iterable[Result]) -> Table:
    """Return a table of the engines, options, limits, seeds and versions of each method.

    `results`: all results of the report.
    """
    names = ("engine", "options", "limits", "seed", "versions")
    by_method: dict[str, dict[str, dict[str, None]]] = {}
    for result in results:
        facts = by_method.setdefault(
            f"{result.method} ({result.family})", {name: {} for name in names}
        )
        for name, value in zip(names, _settings(result.task), strict=True):
            if value:
                facts[name][value] = None
    rows = tuple(
        (Cell(method), *(Cell("; ".join(facts[name]) or UNKNOWN) for name in names))
        for method, facts in by_method.items()
    )
    columns = (("method", False), *((name, False) for name in names))
    return Table(
        "with-what", "Engine, options, limits, seed and versions of each method.", columns, rows
    )


def _settings(task: TaskRow) -> tuple[str, str, str, str, str]:
    options = {name: value for name, value in task.options.items() if name != "time_limit"}
    limits = [
        f"{limit:g} {unit}"
        for limit, unit in ((task.time_limit, "s"), (task.memory_limit, "MB"))
        if limit is not None
    ]
    return (
        task.engine or "",
        ", ".join(f"{name}={_plain(value)}" for name, value in options.items()),
        ", ".join(limits),
        "" if task.seed is None else str(task.seed),
        ", ".join(f"{name} {version}" for name, version in task.versions.items()),
    )


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
