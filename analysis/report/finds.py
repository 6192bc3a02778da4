"""The table of the library's worst cases in the report."""

import base64
import json
from collections.abc import Iterable

from schedgap.analysis.records.finds import Find
from schedgap.analysis.report.results import Row
from schedgap.analysis.report.tables import Cell, Table, number
from schedgap.analysis.report.words import UNKNOWN, at_least, ratio_text, value_text
from schedgap.models.family import family


def finds_table(rows: Iterable[Row], identifier: str) -> Table | None:
    """Return a table of the library's worst cases of the methods, or None if there are none.

    `rows`: methods of one family. `identifier`: identifier of the table in the page.
    """
    found = {find.instance.name: find for row in rows for find in row.finds}
    columns: list[tuple[str, list[Cell]]] = [
        ("instance", [_file(each) for each in found.values()]),
        ("method", [Cell(each.name) for each in found.values()]),
        ("ratio", [number(ratio_text(each.low, each.high), each.low) for each in found.values()]),
        ("factor", [_factor(each) for each in found.values()]),
        ("refutes", [_claim(each) for each in found.values()]),
        ("objective", [_value(each.objective) for each in found.values()]),
        ("optimum", [_value(each.reference) for each in found.values()]),
        ("jobs", [_size(each) for each in found.values()]),
        ("switches", [_switches(each) for each in found.values()]),
    ]
    shown = [
        column for column in columns if any(cell.text not in ("", UNKNOWN) for cell in column[1])
    ]
    if not found:
        return None
    return Table(
        identifier,
        "Instances of the library on which a method of this run is far from the optimum, found by "
        "schedgap worst-case; two exact methods prove the optimum. Factor: the paper's, on this "
        "instance, whether or not its assumptions hold there. The first column saves the instance.",
        tuple((name, cells[0].number) for name, cells in shown),
        tuple(zip(*(cells for _, cells in shown), strict=True)),
    )


def _file(find: Find) -> Cell:
    """Return the name of a find's instance, with its file."""
    text = json.dumps(find.instance.to_data(), indent=1, ensure_ascii=False) + "\n"
    code = base64.b64encode(text.encode()).decode()
    name = find.instance.name
    return Cell(name, link=f"data:application/json;base64,{code}", download=f"{name}.json")


def _factor(find: Find) -> Cell:
    known = find.claimed is not None
    return number(f"{find.claimed:.4g}" if known else UNKNOWN, find.claimed)


def _claim(find: Find) -> Cell:
    if not find.refutes or find.score is None:
        return Cell("")
    source = family(find.instance.family).paper.guarantees[find.refutes].source
    return Cell(f"{source} by a factor of {at_least(find.score)[2:]}", look="bad")


def _value(value: float | None) -> Cell:
    return number(value_text(value), value)


def _size(find: Find) -> Cell:
    jobs = len(find.instance.to_data()["jobs"])
    return number(str(jobs), jobs)


def _switches(find: Find) -> Cell:
    return Cell(", ".join(f"{key}: {value}" for key, value in find.variant))
