"""The table of docs/benchmarking.md: which formulation and engine solves most, by family."""

from pathlib import Path

import pandas as pd

from schedgap.analysis.pages.families import markdown_table

NAME = "engines-small.csv"  # file in docs/benchmarking, written by `schedgap table --of engines`
BEGIN, END = "<!-- engines -->\n", "<!-- end of engines -->"


def with_engines(text: str, folder: Path) -> str:
    """Return docs/benchmarking.md with the table of the stored run.

    `text`: the page, with the table between two comments. `folder`: folder of the CSV file.
    """
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{table_of_engines(folder / NAME)}\n{END}{after}"


def table_of_engines(file: Path) -> str:
    """Return the table of a stored run in Markdown, the formulation that solves most first.

    `file`: as written by `schedgap table RUN --of engines --out FILE`.
    """
    frame = pd.read_csv(file)
    frame = frame.sort_values(
        ["family", "solved", "seconds"], ascending=[True, False, True], kind="stable"
    )
    head = ("family", "formulation", "engine", "tasks", "solved", "proved", "wrong", "mean s",
            "root gap", "note")  # fmt: skip
    rows = [
        (
            f"`{row['family']}`",
            f"`{row['formulation']}`",
            f"{row['engine']} {_text(row['version'])}".strip(),
            *(str(int(row[name])) for name in ("tasks", "solved", "proved", "wrong")),
            "" if pd.isna(row["seconds"]) else f"{row['seconds']:.3g}",
            "" if pd.isna(row["root_gap"]) else f"{row['root_gap']:.1%}",
            _text(row["note"]).removeprefix("refused: "),
        )
        for row in frame.to_dict("records")
    ]
    return markdown_table(head, rows)


def _text(value: object) -> str:
    """Return a cell of the file as text; an empty one is not a number."""
    return value if isinstance(value, str) else ""
