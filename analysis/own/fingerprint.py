"""Hashes of what a user's own method consists of: functions, source files, commands.

A method with another hash is another method, so no result of older code is taken for one of the
present code. What belongs to an installed package counts by its name only; the versions of
Python and of this package are recorded anyway.
"""

import ast
import functools
import hashlib
import inspect
import shutil
import sys
import sysconfig
import types
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

DIGITS = 12  # hexadecimal digits of a hash
_PLACES = tuple(
    dict.fromkeys(
        Path(sysconfig.get_paths()[key]).resolve() for key in ("stdlib", "purelib", "platlib")
    )
)
# Ignored attributes of a class.
_UNSEEN = ("__dict__", "__weakref__", "__module__", "__doc__", "__firstlineno__")


def _digest(parts: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()[:DIGITS]


# --- source files ----------------------------------------------------------------------------


def file_hash(file: Path) -> str:
    """Return a hash of a Python file and of the files in its folder that it imports."""
    found: dict[str, bytes] = {}
    _collect(file.resolve(), file.resolve().parent, found)
    return _digest(part for name in sorted(found) for part in (name.encode(), found[name]))


def _collect(file: Path, folder: Path, found: dict[str, bytes]) -> None:
    """Add the content of a file and of what it imports, by path relative to the folder."""
    name = file.relative_to(folder).as_posix()
    if name in found:
        return
    found[name] = file.read_bytes().replace(b"\r\n", b"\n")
    try:
        tree = ast.parse(found[name])
    except (SyntaxError, ValueError):  # reported when it is loaded
        return
    for module in _imported(tree):
        for other in _files_of(module, folder):
            _collect(other, folder, found)


def _imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _files_of(module: str, folder: Path) -> Iterator[Path]:
    """Yield the files in a folder that the import of a module runs."""
    place = folder
    for part in module.split("."):
        place = place / part
        for file in (place.with_name(f"{part}.py"), place / "__init__.py"):
            if file.is_file():
                yield file


# --- commands --------------------------------------------------------------------------------


def command_hash(words: Sequence[str]) -> str:
    """Return a hash of a command: its words, and the content of the files that they name."""
    parts: list[bytes] = []
    for place, word in enumerate(words):
        file = Path((shutil.which(word) if place == 0 else None) or word)
        parts.append(word.encode("utf-8", "surrogateescape"))
        try:
            parts.append(file.read_bytes() if file.is_file() else b"")
        except (OSError, ValueError):
            parts.append(b"")
    return _digest(parts)


# --- functions -------------------------------------------------------------------------------


def installed(module: str | None) -> bool:
    """Return whether a module belongs to Python, to this package or to another installed one.

    `module`: name of the module; None belongs to nobody.
    """
    top = (module or "").partition(".")[0]
    if top in ("", "__main__"):
        return False
    if top == __name__.partition(".")[0] or top in sys.stdlib_module_names:
        return True
    file = getattr(sys.modules.get(module or ""), "__file__", None)
    if file is None:  # a namespace package, or made by hand
        return top in sys.builtin_module_names
    place = Path(file).resolve()
    return any(place.is_relative_to(folder) for folder in _PLACES)


def function_hash(function: object) -> tuple[str, set[str]]:
    """Return a hash of a function with all that it refers to, and the user's modules among it.

    The hash covers the compiled code, the defaults, and the variables of enclosing functions. It
    also covers the global variables that the function reads, such as other functions and data. File
    names, line numbers and comments do not count.

    `function`: a function, or any other callable object.
    """
    walk = _Walk()
    walk.add(function)
    module = getattr(function, "__module__", None)
    if module is not None and installed(module):  # a source file leaves it out, too
        walk.add(Path(inspect.getsourcefile(sys.modules[module]) or "").read_bytes())
    return _digest(walk.parts), walk.modules


class _Walk:
    """Describes objects as bytes, each once."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.modules: set[str] = set()
        self._seen: dict[int, int] = {}
        self._alive: list[object] = []  # objects whose `id` must not be used again

    def _emit(self, *words: object) -> None:
        self.parts.append("\0".join(map(str, words)).encode("utf-8", "surrogatepass"))

    def add(self, value: Any) -> None:
        """Describe an object and what it refers to."""
        if value is None or isinstance(
            value, bool | int | float | complex | str | bytes | type(...)
        ):
            self._emit(type(value).__name__, repr(value))
            return
        if type(value) not in (tuple, frozenset, types.CodeType):  # the others may refer to itself
            if id(value) in self._seen:
                self._emit("again", self._seen[id(value)])
                return
            self._seen[id(value)] = len(self._seen)
            self._alive.append(value)
        match value:
            case types.CodeType():
                self._code(value)
            case types.FunctionType():
                self._function(value)
            case types.ModuleType():
                self._module(value)
            case types.MethodType():
                self._many("method", (value.__self__, value.__func__))
            case functools.partial():
                self._many("partial", (value.func, value.args, value.keywords))
            case staticmethod() | classmethod():
                self._many(type(value).__name__, (value.__func__,))
            case property():
                self._many("property", (value.fget, value.fset, value.fdel))
            case type():
                self._class(value)
            case set() | frozenset():
                self._many("set", sorted(value, key=repr))
            case tuple() | list() if type(value) in (tuple, list):
                self._many(type(value).__name__, value)
            case dict() if type(value) is dict:
                self._many("dict", [part for item in value.items() for part in item])
            case types.BuiltinFunctionType():
                self._emit("builtin", value.__module__, value.__qualname__)
            case _:
                self._object(value)

    def _many(self, kind: str, values: Iterable[object]) -> None:
        held = list(values)
        self._emit(kind, len(held))
        for item in held:
            self.add(item)

    def _code(self, code: types.CodeType) -> None:
        self._emit("code", code.co_argcount, code.co_kwonlyargcount, code.co_flags)
        named = (code.co_names, code.co_varnames, code.co_freevars)
        self._many("names", [code.co_code, *(name for names in named for name in names)])
        self._many("constants", code.co_consts)

    def _function(self, function: types.FunctionType) -> None:
        if installed(function.__module__) and "<locals>" not in function.__qualname__:
            self._emit("installed", function.__module__, function.__qualname__)
            return
        self._note(function.__module__)
        self._emit("function", function.__name__)
        self.add(function.__code__)
        cells = [_content(cell) for cell in function.__closure__ or ()]
        self._many("given", (function.__defaults__, function.__kwdefaults__, *cells))
        known = function.__globals__
        for name in sorted(_names(function.__code__)):
            if name in known:
                self._emit("global", name)
                self.add(known[name])

    def _note(self, module: str | None) -> None:
        if module not in (None, "__main__") and module in sys.modules and not installed(module):
            self.modules.add(str(module))

    def _class(self, cls: type) -> None:
        if installed(cls.__module__) and "<locals>" not in cls.__qualname__:
            self._emit("installed", cls.__module__, cls.__qualname__)
            return
        self._note(cls.__module__)
        own = {name: value for name, value in vars(cls).items() if name not in _UNSEEN}
        self._emit("class", cls.__name__)
        self._many("bases", cls.__bases__)
        self._many("members", [item for name in sorted(own) for item in (name, own[name])])

    def _module(self, module: types.ModuleType) -> None:
        file = getattr(module, "__file__", None)
        self._emit("module", module.__name__)
        if file and file.endswith(".py") and not installed(module.__name__):
            self._emit(file_hash(Path(file)))

    def _object(self, value: Any) -> None:
        """Describe any other object by what it would be pickled from."""
        if hasattr(value, "sha256") and hasattr(value, "family"):  # an instance
            self._emit("instance", value.sha256)
            return
        try:
            made = value.__reduce_ex__(4)
        except Exception:  # noqa: BLE001 - it cannot be pickled, which is reported there
            self._emit("object", type(value).__qualname__)
            return
        if isinstance(made, str):
            self._emit("named", type(value).__module__, made)
            return
        self._many("object", (list(item) if isinstance(item, Iterator) else item for item in made))


def _content(cell: types.CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # not yet bound
        return None


def _names(code: types.CodeType) -> set[str]:
    """Return the names that a code object and those nested in it may look up."""
    nested = (constant for constant in code.co_consts if isinstance(constant, types.CodeType))
    return set(code.co_names).union(*map(_names, nested))
