"""Tables as files: CSV, Parquet, LaTeX and Markdown."""

import io
import math
import re
from decimal import ROUND_HALF_EVEN
from pathlib import Path
from typing import Literal, get_args

import pandas as pd

from schedgap.analysis.intervals import (
    IntervalStyle,
    ends_text,
    interval_text,
    rounded,
    significant,
)
from schedgap.analysis.statistics.readable import readable
from schedgap.analysis.statistics.summary import SUMMARY_COLUMNS
from schedgap.errors import UsageError
from schedgap.instances.records import write_bytes, write_text

Format = Literal["csv", "parquet", "latex", "markdown"]
FORMATS: tuple[Format, ...] = get_args(Format)
TECHNICAL = ("key", "configuration", "label", "reused")  # never in text
CONSTANT = (  # columns that are shown in text only if their values differ
    "code", "engine", "host", "memory_limit", "note", "options", "preset", "problem", "schedgap",
    "session", "started", "time_limit",
)  # fmt: skip
# Intervals: the lower end is rounded down.
RATIOS = ("mean", "worst", "ratio", "gap", "boot", "bound")
P_VALUES = ("p", "holm")
_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}",
}  # fmt: skip


def export(frame: pd.DataFrame, format: Format, file: Path | str | None = None) -> str | bytes:
    """Return a table as text or, for Parquet, as bytes; write it if a file is given.

    CSV and Parquet have all columns and digits. LaTeX (with booktabs) and Markdown are for readers.
    A summary has the columns that the terminal shows. In other tables, one column has both ends of
    an interval, rounded outwards, and numbers have four digits. Columns that are empty, or constant
    and technical, are left out. Kinds of methods stand apart in LaTeX.

    `frame`: such as returned by `Run.table`, `Run.summary` or `Run.pairs`. `format`: the format.
    Parquet needs the extra `data`. `file`: where to write it.

    Raises
    ------
    UsageError
        If the format is unknown, or Parquet is not installed.
    InputError
        If the file cannot be written.
    """
    if format not in FORMATS:
        raise UsageError(f"no format {format!r}: choose one of {', '.join(FORMATS)}")
    if format == "parquet":
        data = _parquet(frame)
        if file is not None:
            write_bytes(file, data)
        return data
    if format == "csv":
        text = frame.to_csv(index=False, lineterminator="\n")
    else:
        is_summary = list(frame.columns) == SUMMARY_COLUMNS
        cells = readable(frame).astype(str) if is_summary else compact(frame)
        text = _latex(cells) if format == "latex" else _markdown(cells)
    if file is not None:
        write_text(Path(file), text)
    return text


def _parquet(frame: pd.DataFrame) -> bytes:
    buffer = io.BytesIO()
    try:
        frame.to_parquet(buffer, index=False)
    except ImportError:
        raise UsageError("Parquet needs pyarrow: pip install 'schedgap[data]'") from None
    return buffer.getvalue()


def compact(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table as text cells, with both ends of an interval in one column."""
    cells: dict[str, list[str]] = {}
    names = [str(name) for name in frame.columns]
    for name in names:
        stem, _, end = name.rpartition("_")
        if end == "low" and f"{stem}_high" in names:
            ends = frame[[name, f"{stem}_high"]].astype(float).itertuples(index=False)
            title = stem if stem not in names else f"{stem} interval"
            cells[title] = [interval_text(low, high, RATIO) for low, high in ends]
        elif name == "low" and "high" in names:
            ends = frame[["low", "high"]].astype(float).itertuples(index=False)
            cells["95 %"] = [
                "" if math.isnan(low) else ends_text(low, high, CONFIDENCE) for low, high in ends
            ]
        elif not (end == "high" and f"{stem}_low" in names) and name != "high":
            cells[name] = [_text(value, name) for value in frame[name]]
    shown = {
        name: column
        for name, column in cells.items()
        if any(column)
        and name not in TECHNICAL
        and not (name in CONSTANT and len(set(column)) == 1)
    }
    return pd.DataFrame(shown, index=range(len(frame)))


def _text(value: object, name: str) -> str:
    """Return a cell: empty for what is unknown."""
    if value is None or (isinstance(value, float) and math.isnan(value)) or value is pd.NA:
        return ""
    if isinstance(value, float):
        small = name in P_VALUES and 0 <= value < 0.0001
        return "< 0.0001" if small else _number(value)
    return " ".join(str(value).split())


def _number(value: float, how: str = ROUND_HALF_EVEN) -> str:
    """Return four significant digits, or all digits of an integer."""
    value = float(value)
    if value.is_integer():
        return str(int(value))
    return rounded(value, how, 0) if abs(value) >= 1000 else significant(value, how)


RATIO = IntervalStyle(rounded, unknown="")
CONFIDENCE = IntervalStyle(_number)


def _is_number(text: str) -> bool:
    return not text or bool(
        re.fullmatch(r"-|(<= |>= |< )?(-?[0-9.]+(e[+-][0-9]+)?|inf)( (to|\(n) .*)?", text)
    )


def _latex(cells: pd.DataFrame) -> str:
    """Return a `tabular` with rules of the package booktabs; numbers are aligned to the right."""

    def line(row: list[str]) -> str:
        return " & ".join(row) + r" \\"

    columns = [str(name) for name in cells.columns]
    sides = "".join("r" if all(map(_is_number, cells[name])) else "l" for name in columns)
    head = line([_escaped(name.replace("_", " ")) for name in columns])
    body: list[str] = []
    group = [name for name in ("family", "preset", "kind") if name in columns]
    for place, row in enumerate(cells.to_numpy().tolist()):
        if place and list(cells.iloc[place][group]) != list(cells.iloc[place - 1][group]):
            body.append(r"\addlinespace")
        body.append(line([_latex_cell(cell) for cell in row]))
    lines = [rf"\begin{{tabular}}{{{sides}}}", r"\toprule", head, r"\midrule", *body]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _latex_cell(text: str) -> str:
    if not text or not _is_number(text):
        return _escaped(text)
    text = re.sub(r"(?<![\w.])-(?=[0-9])", "$-$", text).replace("inf", r"$\infty$")
    for char, command in (("<= ", r"$\leq$ "), (">= ", r"$\geq$ "), ("< ", "$<$ "), (" to ", "--")):
        text = text.replace(char, command)
    return text


def _escaped(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)


def _markdown(cells: pd.DataFrame) -> str:
    columns = [str(name) for name in cells.columns]
    sides = ["---:" if all(map(_is_number, cells[name])) else "---" for name in columns]
    rows = [columns, sides, *cells.to_numpy().tolist()]
    lines = ["| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"
