"""Tables as CSV text."""

import csv
import io
from collections.abc import Iterable, Sequence


def comma_separated(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table as CSV; None becomes an empty field.

    `columns`: names of the columns. `rows`: cells, one for each column.
    """
    text = io.StringIO()
    csv.writer(text).writerows([columns, *rows])
    return text.getvalue()
