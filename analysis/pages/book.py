"""The tables and pictures of docs/record-book.md, from the book on file."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING
from pathlib import Path
from typing import Any

from schedgap.analysis.book.records import RecordBook, ratio_of, records
from schedgap.analysis.intervals import rounded
from schedgap.analysis.pages.families import markdown_table
from schedgap.instances.book import TIERS, Book, Finder
from schedgap.instances.families import OWN
from schedgap.instances.library import library
from schedgap.models.family import family

LIMITS = {"a": 30, "b": 300, "c": 300, "p": 600}  # seconds of a method on an instance
FIXED = "exact:synchronization=fixed"  # tiers a and b of family hare, next to `exact`
SEARCHES = {  # tier c: `exact` has less time for the same search
    "hare": "local-search",
    "elastic": "lp-guided",
    "edge": "list",
    "ring": "local-search",
    "dmlrs": "colgen-heuristic",
}
WHY = {  # what the bounds of open instances leave out
    "hare": "The bounds relax the capacity of GPUs: they schedule each job alone at prices, or as "
    "a fluid over classes of GPUs. Those of the variant also let the tasks of a round start apart.",
    "elastic": "The bounds are linear relaxations, in which fractions of several runs may serve a "
    "job.",
    "edge": "The bounds are linear relaxations over runs of jobs. `type-bound`, for full scale, "
    "also merges the servers and leaves out the PSs.",
    "ring": "Most of the bounds take each job at its best rate, so they do not see contention.",
    "dmlrs": "The bounds for this size merge all machines.",
}
BEGIN, END = "<!-- records -->\n", "<!-- end of records -->"
CHANGES = 20  # lines of the changelog on the page

COMMANDS = """## How the records were found
By `exact`, which includes the searches and the bounds of its family. In tier c, a search had as
much time again:

```
%(commands)s
```

`schedgap records update runs/...` then enters what the runs have found. A record of any other
method is from an earlier edition, or is a bound of a variant. %(edition)s
"""


def with_records(text: str, book: RecordBook | None = None) -> str:
    """Return docs/record-book.md with the present tables.

    `text`: the page, with the tables between two comments. `book`: by default the one of this
    package.
    """
    book = book or records()
    rows = book.rows()
    parts = ["## Overview\n", _overview(rows), ""]
    for name in OWN:
        parts += _of_family(book, name, [row for row in rows if row["family"] == name])
    parts += [_commands(book), "## Changes", *_changes(), ""]
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + "\n".join(parts) + END + after


def _up(high: float) -> str:
    return rounded(high, ROUND_CEILING)


def _overview(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a table with a row for each family and tier: closed, open, width of the brackets."""
    cells = []
    for name in OWN:
        for tier, about in TIERS.items():
            own = [
                row
                for row in rows
                if (row["family"], row["tier"], row["problem"]) == (name, tier, "")
            ]
            high = sorted(math.inf if row["high"] is None else row["high"] for row in own)
            closed = sum(row["status"] == "closed" for row in own)
            middle = high[len(high) // 2] if high else math.inf
            cells.append(
                (f"`{name}`", f"{tier}: {about}", f"{closed}", f"{len(own) - closed}",
                 *("" if math.isinf(each) else _up(each) for each in (middle, high[-1])))
            )  # fmt: skip
    head = ("family", "tier", "closed", "open", "median ratio, at most", "worst ratio, at most")
    note = (
        "An empty cell means that an instance of the tier has no schedule or no bound yet. In the "
        "pictures below,\na bar spans the possible ratios of the best schedule to the optimum, and "
        "a dot is a closed instance.\n\n"
        f"Beside the book, the [worst-case library](worst-cases.md) has {len(library())} small "
        "instances on which methods do badly:\n`sg.library()` in Python returns them."
    )
    return f"{markdown_table(head, cells)}\n\n{note}"


def _of_family(book: RecordBook, name: str, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    entries = book.entries(name)
    cells = []
    for row in rows:
        entry = entries.get(row["instance"], {}).get(row["problem"])
        variant = f" ({row['problem']})" if row["problem"] else ""
        cells.append((
            f"`{row['instance']}`{variant}", row["about"],
            *("" if row[side] is None else f"{row[side]:.10g}" for side in ("schedule", "bound")),
            ratio_of(row),
            "" if entry is None or entry.schedule is None else _by(entry.schedule.by),
            "" if entry is None or entry.bound is None
            else f"{_by(entry.bound.by)}: {_kind(entry.bound.evidence)}",
        ))  # fmt: skip
    head = ("instance", "stands for", "schedule", "bound", "ratio", "schedule by", "bound by")
    title = family(name).title
    side = "at least" if family(name).sense(book.instance(f"{name}-a1")) == "min" else "at most"
    return [
        f"## {name}",
        f"{title[0].upper()}{title[1:]} ([paper]({name}.md)). The optimum is {side} the bound. "
        "`1.15 of 30 s` means that the method took 1.15 s under a limit of 30 s; CPU seconds are "
        "counted over all its processes.\n",
        markdown_table(head, cells),
        "",
        f"![The interval of each open instance](img/records-{name}.svg)\n",
        _open(name, rows),
        _holders(rows),
        "",
    ]


def _by(finder: Finder) -> str:
    limit = "" if finder.time_limit is None else f" of {finder.time_limit:g}"
    cpu = "" if finder.cpu_seconds is None else f" (CPU {finder.cpu_seconds:.3g} s)"
    return f"`{finder.method}`, {finder.seconds:.3g}{limit} s{cpu}, {finder.date}"


def _kind(evidence: str) -> str:
    return "proof" if evidence == "tree" else f"certificate `{evidence}`"


def _open(name: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """Return which instances are open, and why."""
    names = [
        f"`{row['instance']}`" + (f" ({row['problem']})" if row["problem"] else "")
        for row in rows
        if row["status"] == "open"
    ]
    if not names:
        return "All instances are closed."
    return f"**Open**: {', '.join(names)}. {WHY[name]}"


def _holders(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return how many records each method holds."""

    def counted(side: str) -> str:
        held = Counter(row[f"{side}_by"] for row in rows if row[f"{side}_by"])
        return ", ".join(f"`{method}` {count}" for method, count in held.most_common()) or "none"

    return (
        f"**Who holds the records**: schedules: {counted('schedule')}; bounds: {counted('bound')}."
    )


def _commands(book: RecordBook) -> str:
    commands = [
        f"schedgap compare records/{name}-{tier} "
        f"--methods {_methods(name, tier)} "
        f"--time-limit {limit} --workers 1 --seed 1 --run runs/{tier}"
        for tier, limit in LIMITS.items()
        for name in OWN
    ]
    return COMMANDS % {"commands": "\n".join(commands), "edition": _edition(book)}


def _methods(name: str, tier: str) -> str:
    if tier == "c":
        return f"exact,{SEARCHES[name]}"
    return f"exact,{FIXED}" if name == "hare" and tier in "ab" else "exact"


def _edition(book: RecordBook) -> str:
    """Return with which limits and on what machines the present records were found."""
    sides = [
        (instance.partition("-")[2][0], entry, side)
        for name in OWN
        for instance, entries in book.entries(name).items()
        for entry in entries.values()
        for side in (entry.schedule, entry.bound)
        if side is not None
    ]
    longest = {
        tier: max((side.by.time_limit or 0.0 for each, _, side in sides if each == tier), default=0)
        for tier in TIERS
    }
    machines = sorted({side.by.machine for *_, side in sides})
    texts = [f"{tier}: {limit:g} s" for tier, limit in longest.items() if limit]
    text = f"In this edition the longest limits were {', '.join(texts) or 'none'}. "
    text += f"Machines: {'; '.join(machines) or 'none'}."
    if loads := [side.by.load for *_, side in sides if side.by.load is not None]:
        text += f" Load at the start of a run: {min(loads):.2g} to {max(loads):.2g} processes."
    shorter = [
        tier
        for tier, limit in longest.items()
        if 0 < limit < LIMITS[tier] and any(at == tier and e.status == "open" for at, e, _ in sides)
    ]
    if shorter:
        text += f" In tier {' and '.join(shorter)} they were shorter than in the commands above, "
        text += "so better records are likely."
    return text


def _changes() -> list[str]:
    """Return the last changes of all families, newest first."""
    book = Book()
    found = [change for name in OWN for change in book.records(name).changes]
    found.sort(key=lambda change: change.date, reverse=True)
    cells = [
        (each.date, f"`{each.instance}`{f' ({each.problem})' if each.problem else ''}", each.side,
         "first" if each.before is None else f"{each.before:.10g}", f"{each.value:.10g}",
         f"`{each.method}`")
        for each in found if each.before is not None
    ][:CHANGES]  # fmt: skip
    first = sum(each.before is None for each in found)
    head = ("date", "instance", "side", "before", "now", "by")
    table = [markdown_table(head, cells)] if cells else []
    return [
        f"{first} schedules and bounds were the first of their instances. `records.json` of each "
        "family lists all changes.\n",
        *table,
    ]


# --- pictures -------------------------------------------------------------------------------------

WIDTH, LEFT, ROW = 720, 110, 20  # pixels of a picture, of the names, and of a row


def picture(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return an SVG with an interval for each instance: the ratio of the record to the optimum.

    It is written as text, which is the same on every computer.

    `rows`: of one family.
    """
    drawn = [row for row in rows if row["high"] is not None and not row["problem"]]
    most = max([1.01, *(row["high"] for row in drawn if math.isfinite(row["high"]))])
    step = _step(most - 1)
    top = 1 + step * math.ceil((most - 1) / step - 1e-9)
    scale = (WIDTH - LEFT - 30) / (top - 1)
    height = ROW * (len(drawn) + 2)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
    ]
    for k in range(round((top - 1) / step) + 1):
        x = LEFT + k * step * scale
        parts += [
            f'<line x1="{x:.1f}" y1="4" x2="{x:.1f}" y2="{height - ROW}" stroke="#ddd"/>',
            f'<text x="{x:.1f}" y="{height - 5}" text-anchor="middle">{1 + k * step:g}</text>',
        ]
    for place, row in enumerate(drawn):
        y = ROW * place + ROW - 4
        end = LEFT + (min(row["high"], top) - 1) * scale
        title = f"{row['instance']}: {ratio_of(row)}"
        parts.append(f'<g><title>{title}</title><text x="4" y="{y}">{row["instance"]}</text>')
        if row["status"] == "closed":
            parts.append(f'<circle cx="{LEFT}" cy="{y - 4}" r="4" fill="#1f77b4"/></g>')
        else:
            parts.append(
                f'<line x1="{LEFT}" y1="{y - 4}" x2="{end:.1f}" y2="{y - 4}" stroke="#1f77b4" '
                'stroke-width="6"/></g>'
            )
    return "\n".join([*parts, "</svg>", ""])


def _step(span: float) -> float:
    """Return a round distance of marks, of which a span has at most eight."""
    unit = 10 ** math.floor(math.log10(span / 8))
    return float(next(unit * k for k in (1, 2, 5, 10) if unit * k * 8 >= span))


def write(folder: Path) -> None:
    """Write the page and its pictures.

    `folder`: of the documentation; its pictures are in `img`.
    """
    book = records()
    rows = book.rows()
    page = folder / "record-book.md"
    page.write_text(with_records(page.read_text(encoding="utf-8"), book), encoding="utf-8")
    for name in OWN:
        own = [row for row in rows if row["family"] == name]
        target = folder / "img" / f"records-{name}.svg"
        target.write_text(picture(own), encoding="utf-8")
