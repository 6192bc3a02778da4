"""Names and modules that are imported when they are first used (PEP 562)."""

from collections.abc import Callable, Mapping
from importlib import import_module
from sys import modules
from typing import Any


def attributes(
    package: str, places: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` for a package that imports names on demand.

    Parameters
    ----------
    package : str
        The `__name__` of the package. Imported names are stored in it, so that each is looked up
        once.
    places : mapping
        Name -> module that defines it, or `module:attribute` if the attribute has another name. No
        submodule of the package may have one of these names, because importing the submodule would
        replace the attribute.
    """

    def get(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        module, _, attribute = places[name].partition(":")
        value = getattr(import_module(module), attribute or name)
        setattr(modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(modules[package]), *places})

    return get, names


class Module:
    """A module that is imported when one of its attributes is first used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(import_module(self._name), attribute)
        setattr(self, attribute, value)  # found without this function from now on
        return value
