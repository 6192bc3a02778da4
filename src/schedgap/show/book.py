"""The record book."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from schedgap.analysis.book.updating import Update

from schedgap.show.console import json_document, lines, number, one_line, table


def records(rows: Sequence[Mapping[str, Any]], worst_cases: int, *, as_json: bool) -> None:
    """Print the table of the record book.

    `rows`: as `RecordBook.rows` returns them. `worst_cases`: how many instances the worst-case
    library has for their families. `as_json`: whether to print JSON instead of text.
    """
    if as_json:
        json_document([*rows])
        return
    from schedgap.analysis.book.records import ratio_of

    several = any(row["problem"] for row in rows)
    columns = ["instance", *(["problem"] if several else []), "status", "schedule", "bound",
               "ratio", "schedule by", "bound by", "evidence", "what it stands for"]  # fmt: skip
    cells = [
        [
            row["instance"],
            *([row["problem"]] if several else []),
            row["status"],
            number(row["schedule"], 10),
            number(row["bound"], 10),
            ratio_of(row),
            row["schedule_by"] or "-",
            row["bound_by"] or "-",
            row["evidence"] or "-",
            row["about"],
        ]
        for row in rows
    ]
    table(columns, cells, spare=("what it stands for", "evidence", "bound by"))
    closed = sum(row["status"] == "closed" for row in rows)
    lines(f"{len(rows)} records, {closed} closed; ratio of the schedule to the optimum")
    lines(f"beside the book: {worst_cases} worst cases of methods, by sg.library() in Python")


def book_update(found: "Update", *, as_json: bool) -> None:
    """Print what an update has taken over and refused, apart from the lines shown meanwhile.

    `as_json`: whether to print JSON instead of text.
    """
    if as_json:
        document = {
            "taken": [change.model_dump(mode="json") for change in found.taken],
            "refused": [*found.refused],
            "left_out": [*found.left_out],
            "checked": found.checked,
        }
        json_document(document)
        return
    lines(
        f"{found.checked} files checked: {len(found.taken)} improvements, "
        f"{len(found.refused)} refused, {len(found.left_out)} left out"
    )


def book_verified(instances: int, faults: Sequence[str], *, as_json: bool) -> None:
    """Print what the verification of a record book found.

    `instances`: how many were checked. `as_json`: whether to print JSON instead of text.
    """
    if as_json:
        json_document({"instances": instances, "faults": [*faults]})
        return
    for fault in faults:
        lines(one_line(fault))
    lines(f"{instances} instances: {f'{len(faults)} faults' if faults else 'no faults found'}")
