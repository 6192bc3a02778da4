"""Names and modules that are imported when they are first used (PEP 562)."""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from sys import modules
from typing import Any


def attributes(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` for a module that imports names on demand.

    The names are those that the module re-exports to type checkers, in its `if TYPE_CHECKING:`
    block. It writes `from m import a as a`, or `b = a` to give `a` another name. Each name is thus
    written once. The source is read when the first name is asked for.

    `package`: the `__name__` of the module. Imported names are stored in it, so each is looked up
    once. If the module has no `__all__`, the names are its `__all__`. No submodule may have one
    of these names, because importing the submodule would replace the attribute.
    """

    @cache
    def places() -> dict[str, tuple[str, str]]:
        return _re_exported(package)

    def get(name: str) -> Any:
        if name == "__all__":
            return sorted(places())
        if name not in places():
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        module, attribute = places()[name]
        value = getattr(import_module(module), attribute)
        setattr(modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(modules[package]), *places()})

    return get, names


def _re_exported(package: str) -> dict[str, tuple[str, str]]:
    """Return the names that a module re-exports to type checkers: module, attribute."""
    import ast  # here, because it would slow down the import of the package
    from pathlib import Path

    source = Path(str(modules[package].__file__)).read_bytes()
    imported: dict[str, tuple[str, str]] = {}
    public: dict[str, tuple[str, str]] = {}
    for block in ast.parse(source).body:
        if not isinstance(block, ast.If) or ast.unparse(block.test) != "TYPE_CHECKING":
            continue
        for node in block.body:
            match node:
                case ast.ImportFrom(module=str(module), names=aliases):
                    for alias in aliases:
                        imported[alias.asname or alias.name] = module, alias.name
                        if alias.asname == alias.name:
                            public[alias.name] = module, alias.name
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name(id=other)):
                    public[name] = imported[other]
    return public


class Module:
    """A module that is imported when one of its attributes is first used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(import_module(self._name), attribute)
        setattr(self, attribute, value)  # found without this function from now on
        return value
