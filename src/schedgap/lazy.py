"""Names of a package that are imported when they are first used (PEP 562)."""

from collections.abc import Callable, Mapping
from importlib import import_module
from sys import modules
from typing import Any


def attributes(
    package: str, places: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package that imports some of its names on demand.

    Parameters
    ----------
    package : str
        Its `__name__`. What it imports is kept there, so that each name is looked up once.
    places : mapping
        Name -> the module that defines it, or `module:attribute` where the attribute has another
        name. No submodule of the package may have one of these names: importing it would put the
        module in the place of the attribute.
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
