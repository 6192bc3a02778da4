"""Edits of JSON data at a path, for tests of what files may say."""

from collections.abc import Callable
from typing import Any

Edit = Callable[[dict[str, Any]], None]


def within(data: Any, path: tuple[str | int, ...]) -> Any:
    """Return what stands at a path."""
    for part in path:
        data = data[part]
    return data


def put(*path: str | int, value: Any) -> Edit:
    """Return the edit that puts a value at a path."""

    def edit(data: dict[str, Any]) -> None:
        within(data, path[:-1])[path[-1]] = value

    return edit


def drop(*path: str | int) -> Edit:
    """Return the edit that takes a key away."""

    def edit(data: dict[str, Any]) -> None:
        del within(data, path[:-1])[path[-1]]

    return edit


def twice(name: str) -> Edit:
    """Return the edit that repeats the first element of a list."""
    return lambda data: data[name].append(data[name][0])
