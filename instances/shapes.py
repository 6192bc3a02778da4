"""Check the JSON types of a schedule before the rules are applied."""

from collections.abc import Mapping
from typing import Any, Literal

from schedgap.errors import InputError
from schedgap.instances.records import json_path, short

Shape = Literal["object", "list", "string", "number", "boolean"]
_TYPES: Mapping[Shape, Any] = {
    "object": Mapping,
    "list": (list, tuple),
    "string": str,
    "number": (int, float),
    "boolean": bool,
}


def require(value: object, shape: Shape, *path: str | int) -> None:
    """Raise `InputError` if a value has another JSON type; true and false are not numbers.

    `*path`: JSON path of the value in the schedule.
    """
    wrong_bool = isinstance(value, bool) and shape != "boolean"
    if wrong_bool or not isinstance(value, _TYPES[shape]):
        need = {"boolean": "true or false", "object": "an object"}.get(shape, f"a {shape}")
        raise schedule_error(f"need {need}, got {short(value)}", *path)


Shapes = Mapping[str, Shape]  # key -> shape of its value


def require_keys(
    data: Mapping[str, object], keys: Shapes, optional: Shapes, *path: str | int
) -> None:
    """Raise `InputError` for an unknown key, a missing key, or a value of another JSON type.

    `keys`, `optional`: JSON types of its required and optional keys. `*path`: JSON path of the
    object in the schedule.
    """
    for key in data:
        if key not in keys and key not in optional:
            raise schedule_error("unknown key", *path, key)
    for key, shape in {**keys, **optional}.items():
        if key in data:
            require(data[key], shape, *path, key)
        elif key in keys:
            raise schedule_error("missing key", *path, key)


def schedule_error(message: str, *path: str | int) -> InputError:
    """Return an error in the schedule.

    `message`: what is wrong. `*path`: JSON path of the fault in the schedule.
    """
    return InputError(message, path=json_path(("schedule", *path)))


def is_whole(value: object, least: int, most: int) -> bool:
    """Return whether a value is an integer in a range; 1.0 is not an integer.

    `least`, `most`: smallest and largest allowed value.
    """
    return type(value) is int and least <= value <= most
