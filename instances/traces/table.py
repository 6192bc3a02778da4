"""Rows of CSV and tab-separated files, with errors that name line and column."""

import csv
import io
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from schedgap.errors import InputError
from schedgap.instances.records import LARGEST, read_bytes

MOST_GPUS = 100_000  # GPUs of one job
NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Row:
    """One line: the text of each column, without surrounding blanks."""

    line: int
    cells: dict[str, str]

    def error(self, column: str, message: str) -> InputError:
        """Return an error in a column; the name of the file is added later.

        `message`: what is wrong.
        """
        return InputError(message, path=f"line {self.line} column {column}")

    def text(self, column: str) -> str:
        """Return a text of 1 to 200 characters."""
        value = self.cells[column]
        if not value:
            raise self.error(column, "empty")
        if len(value) > 200:
            raise self.error(column, "longer than 200 characters")
        return value

    def number(self, column: str, *, least: float = 0.0, scale: float = 1.0) -> float:
        """Return a finite number.

        `least`: smallest allowed number. `scale`: divisor of the result, such as 1000 for
        milliseconds.
        """
        word = self.cells[column]
        if NUMBER.fullmatch(word) is None:
            raise self._not("a number", column, word)
        value = float(word)
        if not abs(value) <= LARGEST:
            raise self.error(column, f"too large: {_short(word)}")
        if value < least:
            raise self.error(column, f"must be >= {least:g}, got {_short(word)}")
        return value / scale

    def whole(self, column: str, *, least: int = 0, most: int = 10**12) -> int:
        """Return an integer; `3.0` is accepted.

        `least`, `most`: smallest and largest allowed number.
        """
        value = self.number(column, least=least)
        if not value.is_integer():
            raise self._not("a whole number", column, self.cells[column])
        if value > most:
            raise self.error(column, f"too large: {_short(self.cells[column])}")
        return int(value)

    def maybe(self, column: str) -> bool:
        """Return whether the file has the column and the line has a value in it."""
        return bool(self.cells.get(column))

    def _not(self, what: str, column: str, word: str) -> InputError:
        return self.error(column, f"not {what}, got {_short(word)}" if word else "empty")


def _short(word: str) -> str:
    return ascii(word) if len(word) <= 40 else ascii(word[:37] + "...")


def read_text(file: str | os.PathLike[str]) -> str:
    """Return the text of a file without a byte order mark."""
    try:
        return read_bytes(file).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 text (byte {error.start})", file=str(file)) from None


def header_of(text: str) -> tuple[str, ...]:
    """Return the cells of the first line that is not blank."""
    line = next((line for line in text.splitlines() if line.strip()), "")
    if "\t" in line:
        return tuple(cell.strip() for cell in line.split("\t"))
    try:
        return tuple(cell.strip() for cell in next(csv.reader([line]), []))
    except csv.Error:
        return ()


def with_header(text: str, needed: Sequence[str]) -> Iterator[Row]:
    """Yield the rows of a CSV text whose first line names the columns.

    `needed`: columns that must exist.
    """
    lines = _lines(text)
    start, names = next(lines, (1, []))
    names = [name.strip() for name in names]
    for column in needed:
        if column not in names:
            raise InputError(f"no column '{column}'", path=f"line {start}")
    for name in names:
        if name and names.count(name) > 1:
            raise InputError(f"column {_short(name)} twice", path=f"line {start}")
    for line, cells in lines:
        yield Row(line, _cells(line, names, cells))


def without_header(text: str, layouts: Sequence[Sequence[str]], delimiter: str) -> Iterator[Row]:
    """Yield the rows of a text without header.

    `layouts`: possible names of the columns; their number determines the layout. `delimiter`:
    separator of cells.
    """
    by_size = {len(names): names for names in layouts}
    layout: Sequence[str] = ()
    for line, cells in _lines(text, delimiter):
        layout = layout or by_size.get(len(cells), ())
        if not layout:
            sizes = ", ".join(map(str, by_size))
            raise InputError(f"{len(cells)} columns, need {sizes}", path=f"line {line}")
        yield Row(line, _cells(line, layout, cells))


def with_ids(rows: Iterable[Row], column: str) -> Iterator[tuple[str, Row]]:
    """Yield rows with their ids; an id that occurs twice is an error.

    `column`: the column of the id.
    """
    seen: set[str] = set()
    for row in rows:
        name = row.text(column)
        if name in seen:
            raise duplicate_id(row, column)
        seen.add(name)
        yield name, row


def duplicate_id(row: Row, column: str) -> InputError:
    """Return the error that the id of a row occurs before."""
    return row.error(column, f"duplicate id {row.text(column)[:40]!a}")


def _cells(line: int, names: Sequence[str], cells: Sequence[str]) -> dict[str, str]:
    if len(cells) != len(names):
        raise InputError(f"{len(cells)} columns, need {len(names)}", path=f"line {line}")
    return {name: cell.strip() for name, cell in zip(names, cells, strict=True)}


def _lines(text: str, delimiter: str = ",") -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, cells) of each line that is not blank; with tabs, quotes are literal."""
    stream = io.StringIO(text, newline="")
    if delimiter == "\t":
        reader = csv.reader(stream, delimiter=delimiter, quoting=csv.QUOTE_NONE)
    else:
        reader = csv.reader(stream, delimiter=delimiter, strict=True)
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield reader.line_num, cells
    except csv.Error as error:
        raise InputError(f"not CSV: {error}", path=f"line {reader.line_num}") from None


def base_name(file: str | os.PathLike[str]) -> str:
    """Return the name of a file without folders, for `meta`."""
    return Path(file).name
