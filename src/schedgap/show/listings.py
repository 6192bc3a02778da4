"""Lists of methods, presets and programs."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    pass

from schedgap.show.console import lines, out, table


def methods(rows: Sequence[Mapping[str, Any]], *, options: bool, all_of_them: bool = False) -> None:
    """Print a table of methods; with options, begin with the methods to try first.

    `rows`: as returned by `schedgap.analysis.pages.listing.methods`. `options`: whether the methods
    are of one family: then also print the options of each printed method. `all_of_them`: whether to
    print the other methods of the family and further names, too.
    """
    from schedgap.analysis.pages.listing import beginners, rounding

    plain = [row for row in rows if not row["alias_of"]]
    if not options:
        _methods(plain)
        return
    family = plain[0]["family"]
    first = [row for name in beginners(family) for row in plain if row["method"] == name]
    others = [row for row in plain if row not in first]
    lines("Start with these:")
    _methods(first)
    if others and all_of_them:
        lines("\nAll others:")
        _methods(others)
    if all_of_them and (text := rounding(family)):
        out().print(f"\n{text}", markup=False)
    aliases = [f"{row['method']} = {row['alias_of']}" for row in rows if row["alias_of"]]
    if aliases and all_of_them:
        out().print(f"\nFurther names: {', '.join(aliases)}", markup=False)
    _settings("method", plain if all_of_them else first)
    if others and not all_of_them:
        lines(f"\nschedgap methods {family} --all lists {len(others)} more methods.")


def _methods(rows: Sequence[Mapping[str, Any]]) -> None:
    cells = [
        (
            row["family"],
            row["method"],
            row["kind"],
            ", ".join(row["engines"]) or "-",
            row["summary"],
            "ours" if row["ours"] else row["source"],
        )
        for row in rows
    ]
    table(("family", "method", "kind", "engines", "what it does", "source"), cells)


def engines(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print a table of engines.

    `rows`: as returned by `schedgap.analysis.pages.listing.engines`.
    """
    cells = [
        (
            row["engine"],
            f"{row['package']} {row['version']}" if row["version"] else "-",
            row["status"],
            ", ".join(row["takes"]),
            "any" if row["threads"] is None else str(row["threads"]),
            row["install"] if row["status"] == "not installed" else "",
        )
        for row in rows
    ]
    table(("engine", "package", "status", "programs", "threads", "to install"), cells)


def presets(rows: Sequence[Mapping[str, Any]], *, options: bool) -> None:
    """Print a table of presets.

    `rows`: as returned by `schedgap.analysis.pages.listing.presets`. `options`: whether to print a
    second table with the settings of each preset.
    """
    cells = [
        (row["family"], row["preset"], row["summary"], ", ".join(row["files"]) or "-")
        for row in rows
    ]
    table(("family", "preset", "what it makes", "from files"), cells)
    if options:
        _settings("preset", rows)


def models(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print a table of programs.

    `rows`: as returned by `schedgap.analysis.pages.listing.models`.
    """
    sizes = ("rows", "columns", "integers", "nonzeros")
    measured = sizes if rows and "rows" in rows[0] else ()
    cells = [
        (
            row["family"],
            ", ".join([row["model"], *row["also"]]),
            row["kind"],
            row["equations"] or "ours",
            *("-" if row[size] is None else str(row[size]) for size in measured),
            row.get("note") or row["summary"],
        )
        for row in rows
    ]
    columns = ("family", "model, also", "kind", "equations", *measured, "what it is")
    table(columns, cells)


def _settings(owner: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print a table of the options of methods or presets; `owner` is "method" or "preset"."""
    cells = [
        (
            row[owner],
            option["name"],
            _default(option),
            ", ".join(
                [*option["choices"], *([option["type"]] if option["type"] != "choice" else [])]
            ),
            option["help"],
        )
        for row in rows
        for option in row["options"]
    ]
    if cells:
        out().print()
        table((owner, "--set", "default", "values", "meaning"), cells)


def _default(option: dict[str, Any]) -> str:
    value = option["default"]
    if value is None:
        return "-"
    return str(value).lower() if isinstance(value, bool) else str(value)
