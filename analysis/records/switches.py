"""Switches of instances: keys that have one of a few words, such as the objective or a reading."""

from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, get_origin

from schedgap.instances.families import instance_class

Variant = tuple[tuple[str, str], ...]  # switches of an instance and their values


def variant(name: str, data: Mapping[str, Any]) -> Variant:
    """Return the switches of an instance: its keys that have one of a few words.

    A ratio that was found for one objective or reading of the paper says nothing about another.

    `data`: data of the instance; absent keys have their defaults.
    """
    return tuple(
        (key, str(data.get(key, default)).lower()) for key, default in switches(name).items()
    )


@cache
def switches(name: str) -> Mapping[str, object]:
    """Return the defaults of the keys of a family's instances that are switches."""
    return {
        key: field.default
        for key, field in instance_class(name).model_fields.items()
        if key != "family" and (field.annotation is bool or get_origin(field.annotation) is Literal)
    }
