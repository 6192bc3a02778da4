"""The families by name, and loading of instances of any family."""

import importlib
import os
from collections.abc import Mapping

from schedgap.errors import InputError, UsageError, choices
from schedgap.instances.instance import Instance
from schedgap.instances.records import read_json

FAMILIES: dict[str, str] = {  # family -> class of its instances, imported when needed
    "hare": "schedgap.instances.hare:HareInstance",
    "elastic": "schedgap.instances.elastic:ElasticInstance",
    "edge": "schedgap.instances.edge:EdgeInstance",
    "ring": "schedgap.instances.ring:RingInstance",
    "dmlrs": "schedgap.instances.dmlrs:DmlrsInstance",
}


def instance_class(family: str) -> type[Instance]:
    """Return the class of a family's instances.

    Parameters
    ----------
    family : str
        Name of the family.

    Raises
    ------
    UsageError
        If there is no such family.
    """
    if family not in FAMILIES:
        raise UsageError(f"no family '{family}': {choices(family, FAMILIES)}")
    module, name = FAMILIES[family].split(":")
    cls: type[Instance] = getattr(importlib.import_module(module), name)
    return cls


def from_data(data: object) -> Instance:
    """Return an instance from JSON data, which name its family.

    Parameters
    ----------
    data : JSON data
        Content of an instance file.

    Raises
    ------
    InputError
        If the data are not a valid instance; names the JSON path and the fault.
    """
    if not isinstance(data, Mapping):
        raise InputError("need one JSON object")
    if "family" not in data:
        raise InputError("missing key", path="family")
    family = data["family"]
    if not isinstance(family, str) or family not in FAMILIES:
        raise InputError(f"unknown family: {choices(str(family), FAMILIES)}", path="family")
    return instance_class(family).from_data(data)


def load(file: str | os.PathLike[str]) -> Instance:
    """Read an instance file.

    Parameters
    ----------
    file : path
        The file.

    Raises
    ------
    InputError
        If the file is not a valid instance; names the file, the JSON path and the fault.
    """
    try:
        return from_data(read_json(file))
    except InputError as error:
        raise error.inside(str(file)) from None
