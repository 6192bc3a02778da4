"""JSON documents, tables and lines on the terminal."""

import json
import math
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pandas import DataFrame
    from rich.console import Console


PIPE_WIDTH = 160  # characters per line if the output is not a terminal


def out() -> "Console":
    """Return the console of standard output; lines are wide if that is not a terminal."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else PIPE_WIDTH, highlight=False)


def sentence(text: str) -> None:
    """Print a sentence: on a terminal in lines that end between words, elsewhere in one line."""
    console = out()
    console.print(text, markup=False, soft_wrap=not console.is_terminal)


def json_document(value: object) -> None:
    """Print one JSON document."""
    sys.stdout.write(json.dumps(value, indent=1, allow_nan=False) + "\n")


def one_line(text: str) -> str:
    """Return text on one line, with control characters escaped.

    `text`: text of any number of lines.
    """
    return _visible(" ".join(text.split()))


def lines(text: str) -> None:
    """Print lines, with control characters escaped.

    `text`: one or more lines.
    """
    sys.stdout.write("".join(f"{_visible(line)}\n" for line in text.split("\n")))


def _visible(line: str) -> str:
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in line)


def note(text: str) -> None:
    """Print one line on standard error.

    `text`: the message; line breaks become spaces.
    """
    print(f"schedgap: {one_line(text)}", file=sys.stderr)  # noqa: T201 - stderr, not a log


def number(value: float | None, digits: int = 6) -> str:
    """Return a number as text, or a dash for None.

    `digits`: significant digits.
    """
    return "-" if value is None else f"{value:.{digits}g}"


def table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], *, spare: Sequence[str] = ()
) -> list[str]:
    """Print a table, numbers aligned to the right, and return the columns that are left out.

    `columns`: names of the columns. `rows`: cells, one for each column. `spare`: columns to omit,
    in this order, while the table is wider than the terminal.
    """
    shown = list(columns)
    widths = {
        column: max([len(column), *(len(row[index]) for row in rows)]) + 2
        for index, column in enumerate(columns)
    }
    for column in spare:
        if sum(widths[name] for name in shown) > out().width and column in shown:
            shown.remove(column)
    from rich.markup import escape
    from rich.table import Table

    grid = Table(box=None, pad_edge=False)
    places = [list(columns).index(column) for column in shown]
    for index in places:
        numeric = all(row[index][:1] in "0123456789-[<>" for row in rows if row[index])
        justify: Literal["left", "right"] = "right" if numeric and rows else "left"
        grid.add_column(columns[index], justify=justify, header_style="bold")
    for row in rows:
        grid.add_row(*(escape(row[index]) for index in places))
    out().print(grid)
    return [column for column in columns if column not in shown]


def facts(items: Mapping[str, str]) -> None:
    """Print texts by name, one line each."""
    from rich.markup import escape

    width = max(map(len, items))
    for key, value in items.items():
        out().print(f"[bold]{escape(key):<{width}}[/]  {escape(value)}", soft_wrap=True)


def grid(frame: "DataFrame", *, as_json: bool) -> None:
    """Print a square table of ratios, a row for each method.

    `frame`: from `worst_grid`. `as_json`: print a JSON document instead: row -> column -> ratio,
    null where there is none.
    """
    rows = {
        str(name): {str(key): None if math.isnan(value) else value for key, value in row.items()}
        for name, row in frame.to_dict("index").items()
    }
    if as_json:
        json_document(rows)
        return
    table(
        ["worst ratio of", *(f"to {name}" for name in frame.columns)],
        [[name, *(number(value, 4) for value in row.values())] for name, row in rows.items()],
    )


def plain_text(text: str) -> None:
    """Print a document as it is."""
    sys.stdout.write(text)
