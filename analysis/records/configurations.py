"""Names of configurations: a method with engine, options, limits, code and versions.

Runs of one configuration with several seeds, or on several computers, are repetitions.
"""

from collections.abc import Callable, Iterable

from schedgap.analysis.records.folder import TaskRecord, alike

CODE_DIGITS = 4  # of the hash of the source, in a name, unless more are needed
Part = Callable[[TaskRecord], str]


def names(records: Iterable[TaskRecord]) -> dict[int, str]:
    """Return the name of each record's configuration, by `id(record)`.

    The name is the method with its non-default engine and options. What differs between the
    configurations of one family and method follows in brackets, as in `srtf [3 s]`; what they have
    in common does not.

    `records`: all records that are shown together.
    """
    known = list(records)
    numbers, some = alike(known)
    groups: dict[tuple[str, str], list[TaskRecord]] = {}
    for record in some:
        groups.setdefault((record.instance.family, record.label), []).append(record)
    named: dict[int, str] = {}
    for (_, label), group in groups.items():
        parts = _parts(group)
        texts: dict[tuple[object, ...], str] = {}
        for record in group:
            facts = _facts(record)
            if facts not in texts:
                shown = [text for text in (part(record) for part in parts) if text]
                texts[facts] = f"{label} [{', '.join(shown)}]" if shown else label
            named[id(record)] = texts[facts]
    texts_of = [named[id(record)] for record in some]
    return dict(zip(map(id, known), map(texts_of.__getitem__, numbers), strict=True))


def _facts(record: TaskRecord) -> tuple[object, ...]:
    versions = tuple(sorted(record.versions.items()))
    return record.time_limit, record.memory_limit, record.code, versions


def _parts(group: list[TaskRecord]) -> list[Part]:
    """Return what is to be said of each record of a method."""
    kinds = {_facts(record): record for record in group}
    if len(kinds) == 1:
        return []
    parts: list[Part] = []
    some = list(kinds.values())
    if len({record.time_limit for record in some}) > 1:
        parts.append(lambda record: _limit(record.time_limit, "time", "s"))
    if len({record.memory_limit for record in some}) > 1:
        parts.append(lambda record: _limit(record.memory_limit, "memory", "MB"))
    codes = {record.code for record in some}
    if len(codes) > 1:
        digits = next(
            count
            for count in range(CODE_DIGITS, max(map(len, codes)) + CODE_DIGITS + 1)
            if len({_short(code, count) for code in codes}) == len(codes)
        )
        parts.append(lambda record: f"code {_short(record.code, digits) or 'unknown'}")
    for package in dict.fromkeys(name for record in some for name in record.versions):
        if len({record.versions.get(package) for record in some}) > 1:
            parts.append(lambda record, name=package: _version(record, name))  # type: ignore[misc]
    return parts


def _limit(value: float | None, name: str, unit: str) -> str:
    return f"no {name} limit" if value is None else f"{value:g} {unit}"


def _short(code: str, digits: int) -> str:
    """Return the first digits of a hash, or of both: of the package's and of a user's source."""
    return "+".join(part[:digits] for part in code.split("+"))


def _version(record: TaskRecord, package: str) -> str:
    return f"{package} {record.versions[package]}" if package in record.versions else ""
