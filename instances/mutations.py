"""Random changes of instance files that keep them valid: the moves of a search over instances.

A family says in `instances/<family>/mutations.py`, one of another package with `Family.mutations`,
what may change. A number is scaled, moved by one, or replaced by a small integer or by the number
of another entry of its list. An entry of a list (a job, a machine) is removed, doubled or moved.
"""

import copy
import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

import numpy as np

from schedgap.errors import InputError, UsageError
from schedgap.instances.families import OWN, external_family, from_data, instance_class
from schedgap.instances.instance import Instance
from schedgap.instances.records import Record

Path = tuple[str | int, ...]  # keys and indices from the root of an instance file

_FIXED = frozenset({"family", "version", "name", "meta", "id"})
_LENGTH = 6  # largest length of a list, unless the family sets another
_TRIALS = 20  # changes tried before a move is given up
_MOST_CHANGES = 3  # changes in one move


def _unchanged(data: dict[str, Any]) -> None:
    """Leave the data as they are."""


@dataclass(frozen=True, slots=True)
class Space:
    """The instances of a family that a search may visit.

    Attributes
    ----------
    lists : mapping
        Name of a list of records that may become longer or shorter -> its largest length.
    fixed : frozenset of str
        Keys whose values, and all below them, stay as they are.
    repair : callable
        Changes the JSON data in place so that references between them are valid again.
    start : mapping
        Settings with which a search starts, of the preset `small` or else of the default one.
    """

    lists: Mapping[str, int]
    fixed: frozenset[str] = frozenset()
    repair: Callable[[dict[str, Any]], None] = field(default=_unchanged)
    start: Mapping[str, object] = field(default_factory=dict)


def space(family: str) -> Space:
    """Return what may change in the instances of a family.

    If one of another package does not say so: all numbers, and the lists of records with an id.

    Raises
    ------
    UsageError
        If there is no such list.
    """
    cls = instance_class(family)
    if family in OWN:
        own: Space = importlib.import_module(f"schedgap.instances.{family}.mutations").SPACE
        return own
    given: Space | None = external_family(family).mutations
    if given is not None:
        return given
    lists = {name: _LENGTH for name in cls.model_fields if _has_entries(cls, name)}
    if not lists:
        raise UsageError(f"family {family} does not say what a search may change: set mutations")
    return Space(lists={"jobs": _LENGTH, **lists} if "jobs" in lists else lists)


def _has_entries(cls: type[Instance], name: str) -> bool:
    """Return whether a key of an instance file has a list of records with an id."""
    items = get_args(cls.model_fields[name].annotation)
    return any(
        isinstance(item, type) and issubclass(item, Record) and "id" in item.model_fields
        for item in items
    )


def leaves(data: Mapping[str, Any], allowed: Space) -> list[Path]:
    """Return the paths of all numbers that may change, in the order of the file.

    `data`: JSON data of an instance. `allowed`: what may change.
    """
    return [path for path, value in _scalars(data, allowed, ()) if not isinstance(value, str)]


def _scalars(node: Any, allowed: Space, path: Path) -> Iterator[tuple[Path, Any]]:
    """Yield the paths and values of all numbers and texts that may change."""
    if isinstance(node, Mapping):
        for key, value in node.items():
            if key not in _FIXED and key not in allowed.fixed:
                yield from _scalars(value, allowed, (*path, key))
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from _scalars(value, allowed, (*path, index))
    elif isinstance(node, str | int | float) and not isinstance(node, bool):
        yield path, node


def value_at(data: Any, path: Path) -> Any:
    """Return the value at a path.

    `data`: of an instance. `path`: keys and indices.
    """
    for key in path:
        data = data[key]
    return data


def with_value(data: Mapping[str, Any], path: Path, value: object) -> dict[str, Any]:
    """Return a copy of the data with another value at a path.

    `data`: JSON data of an instance. `path`: keys and indices.
    """
    changed = copy.deepcopy(dict(data))
    value_at(changed, path[:-1])[path[-1]] = value
    return changed


def without_entry(data: Mapping[str, Any], name: str, index: int) -> dict[str, Any]:
    """Return a copy of the data without one entry of a list.

    `data`: JSON data of an instance.
    """
    changed = copy.deepcopy(dict(data))
    del changed[name][index]
    return changed


def valid(data: dict[str, Any], allowed: Space) -> Instance | None:
    """Return the instance of changed data, once repaired; None if they are no instance.

    `data`: JSON data; changed in place by the family's `repair`.
    """
    try:
        allowed.repair(data)
        return from_data(data)
    except (InputError, KeyError, IndexError):
        return None


def mutate(data: Mapping[str, Any], allowed: Space, random: np.random.Generator) -> Instance | None:
    """Return a valid instance that differs from the given one by one to three random changes.

    `data`: JSON data of an instance. `allowed`: what may change. `random`: where random numbers
    come from.

    The result is None if none of 20 attempts gave a valid instance.
    """
    for _ in range(_TRIALS):
        changed = copy.deepcopy(dict(data))
        for _ in range(min(_MOST_CHANGES, int(random.geometric(0.6)))):
            _change(changed, allowed, random)
        instance = valid(changed, allowed)
        if instance is not None:
            return instance
    return None


def _change(data: dict[str, Any], allowed: Space, random: np.random.Generator) -> None:
    """Make one random change in place."""
    moves = (_change_number, _change_number, _change_number, _copy_value, _change_list)
    moves[int(random.integers(len(moves)))](data, allowed, random)


def _change_number(data: dict[str, Any], allowed: Space, random: np.random.Generator) -> None:
    """Replace one number."""
    paths = leaves(data, allowed)
    if not paths:
        return
    path = paths[int(random.integers(len(paths)))]
    old = value_at(data, path)
    small = int(random.integers(0, 10))
    options = (small, small, old + 1, old - 1, old * 2, old / 2, old * 10, old / 10)
    new = options[int(random.integers(len(options)))]
    value_at(data, path[:-1])[path[-1]] = _alike(new, old)


def _alike(new: float, old: float) -> float:
    """Return a number of the type of another one, with six significant digits."""
    if isinstance(old, int):
        return round(new)
    return float(f"{new:.6g}")


def _copy_value(data: dict[str, Any], allowed: Space, random: np.random.Generator) -> None:
    """Copy a number or a text from one entry of a list to another entry."""
    name = _any_list(data, allowed, random)
    if name is None:
        return
    entries = data[name]
    source, target = (int(index) for index in random.integers(len(entries), size=2))
    paths = [path for path, _ in _scalars(entries[source], allowed, ())]
    if not paths:
        return
    path = paths[int(random.integers(len(paths)))]
    try:
        value_at(entries[target], path)
    except (KeyError, IndexError, TypeError):  # the other entry has another shape
        return
    value_at(entries[target], path[:-1])[path[-1]] = value_at(entries[source], path)


def _change_list(data: dict[str, Any], allowed: Space, random: np.random.Generator) -> None:
    """Remove, double or move an entry of a list."""
    name = _any_list(data, allowed, random)
    if name is None:
        return
    entries = data[name]
    index = int(random.integers(len(entries)))
    match int(random.integers(3)):
        case 0:
            if len(entries) > 1:
                del entries[index]
        case 1:
            if len(entries) < allowed.lists[name]:
                twin = copy.deepcopy(entries[index])
                twin["id"] = _new_id(data, name)
                entries.insert(int(random.integers(len(entries) + 1)), twin)
        case _:
            entries.insert(int(random.integers(len(entries))), entries.pop(index))


def _any_list(data: Mapping[str, Any], allowed: Space, random: np.random.Generator) -> str | None:
    """Return the name of a list that may change; half of the time the first one, the jobs."""
    names = [name for name in allowed.lists if data.get(name)]
    if not names:
        return None
    if random.random() < 0.5:
        return names[0]
    return names[int(random.integers(len(names)))]


def _new_id(data: Mapping[str, Any], name: str) -> str:
    """Return an id that no entry of any list has."""
    used = {
        entry.get("id")
        for entries in data.values()
        if isinstance(entries, list)
        for entry in entries
        if isinstance(entry, Mapping)
    }
    number = 1
    while f"{name[0]}{number}" in used:
        number += 1
    return f"{name[0]}{number}"
