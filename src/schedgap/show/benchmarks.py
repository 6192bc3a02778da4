"""What a benchmark of engines shows."""

import json
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from schedgap.analysis.comparing.run import Run

from schedgap.show.console import json_document, lines, note, number, one_line, out, table
from schedgap.show.runs import warnings

SHOWN = {  # column -> title
    "family": "family",
    "preset": "preset",
    "method": "formulation and engine",
    "tasks": "tasks",
    "found": "schedules",
    "solved": "solved",
    "proved": "proved",
    "wrong": "wrong",
    "timeouts": "timeouts",
    "failed": "failed",
    "refused": "refused",
    "n": "n",
    "seconds": "mean s",
    "par2": "PAR2",
    "median": "median s",
    "ratio": "to best",
    "root_gap": "root gap",
    "nodes": "nodes",
    "spread": "spread",
    "note": "note",
}
MOST = 32  # characters of a note
SPARE = ("preset", "median s", "nodes", "failed", "n", "schedules", "root gap", "PAR2", "spread",
         "to best", "note")  # fmt: skip


def benchmark(result: "Run", *, as_json: bool, stored: bool = True) -> None:
    """Print the table of a benchmark, and wrong answers in red.

    `as_json`: whether to print JSON instead of text. `stored`: whether the run folder exists after
    the command.
    """
    frame = result.engines()
    places = " ".join(str(folder.path) for folder in result.folders)
    if as_json:
        json_document(
            {
                "run": [str(folder.path) for folder in result.folders],
                "engines": json.loads(frame.to_json(orient="records", double_precision=15)),
                "wrong": result.wrong_answers,
                "contradictions": result.contradictions,
                "warnings": result.warnings,
            }
        )
    else:
        spare = [column for column in SPARE if column != "failed" or not frame["failed"].any()]
        hidden = table(list(SHOWN.values()), _cells(frame), spare=spare)
        if hidden:
            where = f" (schedgap table {places} --of engines)" if stored else ""
            note(f"not shown at this width: {', '.join(hidden)}{where}")
        lines(clock_note(frame))
        after = f"schedgap report {places}" if stored else "not stored: --run DIR keeps the results"
        out().print(after, markup=False, soft_wrap=True)
    for record in result.failures:
        if record.outcome != "invalid" or not record.formulation:  # wrong answers follow
            note(f"{record.instance.name}: {record.label}: {record.outcome}: {record.message}")
    wrong_answers(result)
    warnings(result, times=True)


def wrong_answers(result: "Run") -> None:
    """Print the wrong answers of engines on standard error, in red."""
    if not result.wrong_answers:
        return
    from rich.console import Console
    from rich.markup import escape

    console = Console(stderr=True, highlight=False)
    for text in result.wrong_answers:
        console.print(f"[red]schedgap: {escape(one_line(f'wrong: {text}'))}[/]", soft_wrap=True)


def clock_note(frame: "pd.DataFrame") -> str:
    """Return what the times of a table are.

    `frame`: as returned by `Run.engines`.
    """
    counts = sorted({int(count) for count in frame["workers"].dropna()}) if len(frame) else [1]
    at_a_time = " or ".join(map(str, counts)) + (" task" if counts == [1] else " tasks")
    return (
        "mean s: shifted geometric mean (10 s) of building and engine, unsolved tasks at their "
        f"limit, {at_a_time} at a time"
    )


def _cells(frame: "pd.DataFrame") -> list[list[str]]:
    rows = frame.assign(note=frame["note"].map(_short)).to_dict("records")
    return [[_cell(row[name]) for name in SHOWN] for row in rows]


def _short(note: str) -> str:
    """Return why tasks were refused, in a few words."""
    text = note.removeprefix("refused: ")
    return text if len(text) <= MOST else f"{text[: MOST - 3]}..."


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    return number(float(value), 3) if isinstance(value, float) else str(value)
