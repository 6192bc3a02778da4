"""Names of configurations: a method with engine, options, limits, code and versions.

Runs of one configuration with several seeds, or on several computers, are repetitions.
"""

from collections.abc import Callable, Sequence

from schedgap.analysis.records.rows import TaskRow

CODE_DIGITS = 4  # digits of the source's hash in a name, unless more are needed
Part = Callable[[TaskRow], str]
Facts = tuple[object, ...]  # configurations of one method may differ in these


def names(rows: Sequence[TaskRow]) -> list[str]:
    """Return the name of each row's configuration.

    `rows`: all rows that are shown together.
    """
    groups: dict[tuple[str, str], dict[Facts, TaskRow]] = {}
    for row in rows:
        groups.setdefault((row.family, row.label), {})[_facts(row)] = row
    named: dict[tuple[str, str], dict[Facts, str]] = {}
    for key, group in groups.items():
        parts = _parts(list(group.values()))
        for facts, row in group.items():
            shown = [text for text in (part(row) for part in parts) if text]
            text = f"{row.label} [{', '.join(shown)}]" if shown else row.label
            named.setdefault(key, {})[facts] = text
    return [named[row.family, row.label][_facts(row)] for row in rows]


def _facts(row: TaskRow) -> Facts:
    versions = tuple(sorted(row.versions.items()))
    return row.time_limit, row.memory_limit, row.code, versions


def _parts(group: list[TaskRow]) -> list[Part]:
    """Return what is to be said of each of the rows of a method, which differ."""
    if len(group) == 1:
        return []
    parts: list[Part] = []
    if len({row.time_limit for row in group}) > 1:
        parts.append(lambda row: _limit(row.time_limit, "time", "s"))
    if len({row.memory_limit for row in group}) > 1:
        parts.append(lambda row: _limit(row.memory_limit, "memory", "MB"))
    codes = {row.code for row in group}
    if len(codes) > 1:
        digits = next(
            count
            for count in range(CODE_DIGITS, max(map(len, codes)) + CODE_DIGITS + 1)
            if len({_short(code, count) for code in codes}) == len(codes)
        )
        parts.append(lambda row: f"code {_short(row.code, digits) or 'unknown'}")
    for package in dict.fromkeys(name for row in group for name in row.versions):
        if len({row.versions.get(package) for row in group}) > 1:
            parts.append(lambda row, name=package: _version(row, name))  # type: ignore[misc]
    return parts


def _limit(value: float | None, name: str, unit: str) -> str:
    return f"no {name} limit" if value is None else f"{value:g} {unit}"


def _short(code: str, digits: int) -> str:
    """Return the first digits of a hash, or of both: of the package's and of a user's source."""
    return "+".join(part[:digits] for part in code.split("+"))


def _version(row: TaskRow, package: str) -> str:
    return f"{package} {row.versions[package]}" if package in row.versions else ""
