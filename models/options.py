"""The options of a method, read from the keyword arguments of its function.

A parameter with a default is an option if its annotation has a meaning, a text for users:

    def srtf(instance, *, backfill: Annotated[bool, "let later jobs start first"] = True): ...

The type gives the domain: bool, int, float, str, a `Literal` of texts, or a number or such a text.
`Ge` and `Le` of annotated_types limit numbers. None is a value only where it is the default. Other
parameters, such as a clock, are no options.
"""

import ast
import builtins
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, resolve_name
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, overload

from schedgap.instances.settings import Option, OptionType

_TYPES: dict[object, OptionType] = {bool: "bool", int: "int", float: "float", str: "text"}


@dataclass(frozen=True, slots=True)
class Lazy:
    """A function given by its name, `package.module:function`, and imported when first called.

    The tables of methods refer to their functions in this way: reading a table loads no
    search and no engine.
    """

    name: str

    @property
    def module(self) -> str:
        """Name of the function's module."""
        return self.name.partition(":")[0]

    def load(self) -> Callable[..., Any]:
        """Import the function and return it."""
        function = self.name.partition(":")[2]
        found: Callable[..., Any] = getattr(import_module(self.module), function)
        return found

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Call the function."""
        return self.load()(*arguments, **keywords)


class Wrapper:
    """A method made of a function, whose options it has."""

    __slots__ = ()
    function: Callable[..., Any]


def innermost(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function of which a method is made.

    `method`: a function, or a `Wrapper` of one.
    """
    if isinstance(method, Wrapper):
        return innermost(method.function)
    found: Callable[..., Any] = inspect.unwrap(method)
    return found


class Keywords(Sequence[Option]):
    """The options that functions declare; the functions are read when an option is asked for.

    Of a `partial`, keywords that it sets are no options. A `Lazy` function is not imported.
    """

    def __init__(self, *functions: Callable[..., Any]) -> None:
        """Name the functions, in the order of their options."""
        self._functions = functions

    @cached_property
    def _options(self) -> tuple[Option, ...]:
        return tuple(option for function in self._functions for option in _options(function))

    def __len__(self) -> int:
        """Return the number of options."""
        return len(self._options)

    @overload
    def __getitem__(self, index: int) -> Option: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Option, ...]: ...
    def __getitem__(self, index: int | slice) -> Option | tuple[Option, ...]:
        """Return one option, or some."""
        return self._options[index]

    def __repr__(self) -> str:
        """Return the options as text."""
        return repr(self._options)


def option(name: str, hint: object, default: Any) -> Option | None:
    """Return the option of a keyword argument, or None if its annotation has no meaning.

    `hint`: its annotation, evaluated.
    """
    parts = list(_parts(hint))
    texts = [part for part in parts if isinstance(part, str)]
    choices = tuple(get_args(part) for part in parts if get_origin(part) is Literal)
    kinds = [_TYPES[part] for part in parts if isinstance(part, type) and part in _TYPES]
    if not texts or not (kinds or choices):
        return None
    least, most = (
        next((getattr(part, end) for part in parts if hasattr(part, end)), None)
        for end in ("ge", "le")
    )
    kind: OptionType = kinds[0] if kinds else "choice"
    return Option(name, kind, default, texts[0], sum(choices, ()), least, most)


def _parts(hint: object) -> Iterator[object]:
    """Yield the types of a union and what stands next to them in an `Annotated`."""
    hint = getattr(hint, "__value__", hint)  # value of a `type` statement
    if get_origin(hint) is Annotated:
        first, *others = get_args(hint)
        yield from _parts(first)
        for argument in others:
            yield argument
            yield from getattr(argument, "metadata", ())  # a pydantic Field has its own
    elif get_origin(hint) in (Union, UnionType):
        for argument in get_args(hint):
            yield from _parts(argument)
    else:
        yield hint


def _options(function: Callable[..., Any]) -> Iterator[Option]:
    """Yield the options that a function declares."""
    if isinstance(function, partial):
        found = _options(function.func)
        yield from (option for option in found if option.name not in function.keywords)
        return
    inner = innermost(function)
    if inner is not function:
        yield from _options(inner)
        return
    read = _read(inner) if isinstance(inner, Lazy) else None
    yield from _declared(inner) if read is None else read


def _declared(function: Callable[..., Any]) -> Iterator[Option]:
    """Yield the options of a function, which is imported if it is `Lazy`.

    If it cannot be imported, it has no options: running it says why.
    """
    try:
        function = function.load() if isinstance(function, Lazy) else function
        parameters = inspect.signature(function).parameters.values()
    except Exception:  # noqa: BLE001 - its module may raise anything
        return
    for parameter in parameters:
        hint = evaluated(parameter.annotation, function)
        if parameter.default is not parameter.empty and (
            found := option(parameter.name, hint, parameter.default)
        ):
            yield found


def evaluated(hint: object, function: Callable[..., Any]) -> object:
    """Return an annotation of a function; one that is text and cannot be evaluated stays as it is.

    `hint`: as `inspect.signature` has it.
    """
    if not isinstance(hint, str):
        return hint
    try:
        return eval(hint, getattr(function, "__globals__", {}))
    except (NameError, SyntaxError, TypeError, AttributeError):
        return hint


# --- signatures of modules that are not imported -----------------------------------------------


def _read(function: Lazy) -> list[Option] | None:
    """Return the options of a function from its source; None if that takes an import."""
    source = _source(function.module)
    node = None if source is None else source.function(function.name.partition(":")[2])
    if source is None or node is None:
        return None
    first = [*node.args.posonlyargs, *node.args.args]
    defaults = [*node.args.defaults, *node.args.kw_defaults]
    known = [*first[len(first) - len(node.args.defaults) :], *node.args.kwonlyargs]
    options = []
    try:
        for parameter, default in zip(known, defaults, strict=True):
            if parameter.annotation is not None and default is not None:
                hint = source.value(parameter.annotation)
                if isinstance(hint, str):
                    hint = source.value(ast.parse(hint, mode="eval").body)
                if _UNKNOWN in _parts(hint):
                    return None
                if found := option(parameter.arg, hint, None):
                    options.append(replace(found, default=source.value(default)))
    except Exception:  # noqa: BLE001 - such as the sum of a number and a name that is not known
        return None
    values = [value for item in options for value in (item.default, item.least, item.most)]
    return None if any(isinstance(value, _Unread) for value in values) else options


class _Unread:
    """What a name stands for whose value is not known without an import."""

    __iter__ = None

    def __getattr__(self, name: str) -> "_Unread":
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, item: object) -> "_Unread":
        return self

    def __call__(self, *arguments: object, **keywords: object) -> "_Unread":
        return self

    def __or__(self, other: object) -> "_Unread":
        return _UNKNOWN if other is _UNKNOWN else self

    __ror__ = __or__


_UNKNOWN = _Unread()
_CLASS = _Unread()  # a class or a function of the package: no part of an option


_STATEMENT = re.compile(r"^(?=[^\s)\]}#])", re.MULTILINE)  # start of a statement outside a text
_START = re.compile(r"(?:def |class )?\w+")


def _parsed(text: str) -> list[ast.stmt]:
    """Return the statements of a text; none for other text, such as a docstring's."""
    try:
        return ast.parse(text).body
    except SyntaxError:
        return []


class _Source(dict[str, Any]):
    """Values of the names of a module, found in its source without running it.

    A name that is imported from a loaded module has the value there. One that is imported from
    another module of the same package is looked up in the source of that module.
    """

    def __init__(self, spec: ModuleSpec) -> None:
        super().__init__()
        self._spec = spec
        # Keys are names, "import" for imports; the last statement first.
        self._statements: dict[str, list[str]] = {"import": []}
        text = Path(str(spec.origin)).read_text(encoding="utf-8")
        for statement in reversed(_STATEMENT.split(text)):
            if statement.startswith(("from ", "import ")):
                self._statements["import"].append(statement)
            elif start := _START.match(statement):
                self._statements.setdefault(start[0], []).append(statement)

    def function(self, name: str) -> ast.FunctionDef | None:
        """Return a function of the module, or None if the name is bound in another way."""
        for text in self._statements.get(f"def {name}", ()):
            head = text.partition(":\n")[0] + ": ..."
            for statement in _parsed(head) or _parsed(text):
                if isinstance(statement, ast.FunctionDef):
                    return statement
        return None

    def value(self, expression: ast.expr) -> Any:
        """Evaluate an expression with the names of the module."""
        return eval(compile(ast.Expression(expression), self._spec.name, "eval"), {}, self)

    def __missing__(self, name: str) -> Any:
        self[name] = self._bound(name)
        return self[name]

    def _bound(self, name: str) -> Any:
        """Return what an import or an assignment at the top of the module binds to a name."""
        for text in self._statements.get(name, ()):
            for statement in _parsed(text):
                match statement:
                    case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
                        return self.value(value)
        for text in self._statements["import"]:
            for statement in _parsed(text) if name in text else ():
                match statement:
                    case ast.ImportFrom(names=names) | ast.Import(names=names):
                        for alias in names:
                            if name == (alias.asname or alias.name):
                                return self._imported(statement, alias.name)
        if hasattr(builtins, name):
            raise KeyError(name)
        own = {f"class {name}", f"def {name}"} & self._statements.keys()
        return _CLASS if own else _UNKNOWN

    def _imported(self, statement: ast.ImportFrom | ast.Import, name: str) -> Any:
        """Return what a name stands for in an import."""
        if isinstance(statement, ast.Import):
            return sys.modules.get(name, _UNKNOWN)
        place = "." * statement.level + (statement.module or "")
        module = resolve_name(place, self._spec.parent)
        if hasattr(sys.modules.get(module), name):
            return getattr(sys.modules[module], name)
        own = module.partition(".")[0] == self._spec.name.partition(".")[0]
        source = _source(module) if own else None
        return _UNKNOWN if source is None else source[name]


@cache
def _source(module: str) -> _Source | None:
    """Return the source of a module, or None if Python has none."""
    try:
        spec = find_spec(module)
        if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
            return None
        return _Source(spec)
    except (ImportError, OSError, ValueError):
        return None
