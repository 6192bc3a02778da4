"""The families by name, of this package and of others, and loading of instances of any family."""

import importlib
import os
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from schedgap.errors import FamilyWarning, InputError, UsageError, choices
from schedgap.instances.instance import Instance
from schedgap.instances.records import is_solution, read_json

GROUP = "schedgap.families"  # entry points of other packages, such as `allox = "allox_family"`


@dataclass(frozen=True, slots=True)
class Source:
    """Where the parts of a family are, by names that are imported when they are needed.

    `models`: module with the `FAMILY`. `instances`: class of the instances, `module:name`; by
    default `FAMILY.instances`. `package`: the installed package that has announced the family.
    """

    models: str
    instances: str = ""
    package: str = ""

    def family(self) -> Any:
        """Import the module and return its `FAMILY`."""
        return importlib.import_module(self.models).FAMILY


class Families(Mapping[str, Source]):
    """The known families by name: of this package, registered at run time, and entry points."""

    def __init__(self, own: Mapping[str, Source]) -> None:
        self._known = dict(own)

    @cached_property
    def _installed(self) -> dict[str, Source]:
        """The families that installed packages announce; the names of this package are its own."""
        from importlib.metadata import entry_points

        found: dict[str, Source] = {}
        for point in sorted(
            entry_points(group=GROUP), key=lambda family: (family.name, family.value)
        ):
            if point.name in self._known:
                continue
            package = "" if point.dist is None else point.dist.name
            used = found.setdefault(point.name, Source(point.module, package=package))
            if used.package != package:
                text = f"family {point.name} of package {package} is left out: {used.package} has"
                warnings.warn(f"{text} one of this name", FamilyWarning, stacklevel=2)
        return found

    def __getitem__(self, name: str) -> Source:
        return self._known[name] if name in self._known else self._installed[name]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name in self._known or name in self._installed)

    def __iter__(self) -> Iterator[str]:
        return iter({**self._known, **self._installed})

    def __len__(self) -> int:
        return len({**self._known, **self._installed})

    def add(self, name: str, source: Source) -> None:
        """Add a family in this process.

        `source`: where its parts are.
        """
        self._known[name] = source

    def remove(self, name: str) -> None:
        """Remove a family that was added, if it was."""
        self._known.pop(name, None)


_CLASSES = {
    "hare": "HareInstance",
    "elastic": "ElasticInstance",
    "edge": "EdgeInstance",
    "ring": "RingInstance",
    "dmlrs": "DmlrsInstance",
}
OWN = tuple(_CLASSES)  # the families of this package
FAMILIES = Families(
    {
        name: Source(
            models=f"schedgap.models.{name}",
            instances=f"schedgap.instances.{name}:{cls}",
        )
        for name, cls in _CLASSES.items()
    }
)


def unknown_family_message(name: object) -> str:
    """Return a text for messages on an unknown family: the known ones, and what else to do."""
    text = choices(str(name), FAMILIES)
    if "did you mean" in text or not str(name).isidentifier():
        return text
    return f"{text}, or install the package that has '{name}'"


def external_family(family: str) -> Any:
    """Return a family of another package.

    Raises
    ------
    UsageError
        If it cannot be imported or breaks the contract.
    """
    source = FAMILIES[family]
    if not source.package:
        return source.family()
    cause: BaseException | None = None
    try:
        found = source.family()
        if not callable(getattr(type(found), "fault", None)):
            fault: str | None = f"FAMILY is of type {type(found).__name__}, not Family"
        elif not (fault := found.fault()) and found.name != family:
            fault = f"its name is '{found.name}'"
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - code of another package; it may call sys.exit
        fault, cause = f"{type(error).__name__}: {error}", error
    if fault:
        said = f"family {family} of package {source.package} cannot be used: {fault}"
        raise UsageError(said) from cause
    return found


def instance_class(family: str) -> type[Instance]:
    """Return the class of a family's instances.

    Raises
    ------
    UsageError
        If there is no such family.
    """
    if family not in FAMILIES:
        raise UsageError(f"no family '{family}': {unknown_family_message(family)}")
    source = FAMILIES[family]
    if source.instances:
        module, name = source.instances.split(":")
        cls: type[Instance] = getattr(importlib.import_module(module), name)
        return cls
    own: type[Instance] = external_family(family).instances
    return own


def from_data(data: object) -> Instance:
    """Return an instance from JSON data, which name its family.

    Raises
    ------
    InputError
        If the data are not a valid instance; names the JSON path and the fault.
    """
    if not isinstance(data, Mapping):
        raise InputError("need one JSON object")
    if is_solution(data):
        raise InputError("a solution; need an instance")
    if "family" not in data:
        raise InputError("missing key", path="family")
    family = data["family"]
    if not isinstance(family, str) or family not in FAMILIES:
        raise InputError(f"unknown family: {unknown_family_message(family)}", path="family")
    return instance_class(family).from_data(data)


def load(file: str | os.PathLike[str] | Mapping[str, object]) -> Instance:
    """Return the instance of a file, or of its JSON data.

    Raises
    ------
    InputError
        If the file is not a valid instance; names the file, the JSON path and the fault.
    """
    if isinstance(file, Mapping):
        return from_data(file)
    if not isinstance(file, str | os.PathLike):
        raise InputError(f"need a file or its data, not {type(file).__name__}")
    try:
        return from_data(read_json(file))
    except InputError as error:
        raise error.inside(str(file)) from None
