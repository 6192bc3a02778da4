"""Edits of JSON data at a path, for tests of validation."""

from collections.abc import Callable
from typing import Any

Edit = Callable[[dict[str, Any]], None]


def within(data: Any, path: tuple[str | int, ...]) -> Any:
    """Return the value at a path."""
    for part in path:
        data = data[part]
    return data


def put(*path: str | int, value: Any) -> Edit:
    """Return an edit that sets the value at a path."""

    def edit(data: dict[str, Any]) -> None:
        within(data, path[:-1])[path[-1]] = value

    return edit


def drop(*path: str | int) -> Edit:
    """Return an edit that removes the key at a path."""

    def edit(data: dict[str, Any]) -> None:
        del within(data, path[:-1])[path[-1]]

    return edit


def twice(name: str) -> Edit:
    """Return an edit that repeats the first element of a list."""
    return lambda data: data[name].append(data[name][0])
