"""Checks of the arguments of public functions: one line for what cannot be meant.

>>> @checked(seconds=positive(), file=a_path)
... def wait(seconds, file=None): ...
>>> wait("x")
Traceback (most recent call last):
schedgap.errors.UsageError: seconds 'x': need a number > 0
"""

import inspect
import os
import reprlib
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import wraps
from numbers import Real
from typing import Any, ParamSpec, TypeVar

from schedgap.errors import UsageError
from schedgap.instances.instance import Instance
from schedgap.instances.settings import LARGEST, whole_number

Rule = Callable[[object], str | None]  # maps an argument to what is needed instead, or to None

LONGEST_NAME = 255  # characters of a name, or bytes of a part of a path
_P = ParamSpec("_P")
_T = TypeVar("_T")


def checked(**rules: Rule) -> Callable[[Callable[_P, _T]], Callable[_P, _T]]:
    """Return a decorator that checks arguments before a function is called.

    An argument that is the default of its parameter is not checked.

    `**rules`: parameter -> rule.

    Raises
    ------
    UsageError
        By the function, for an argument that its rule refuses: the name of the parameter, the
        argument, and what is needed.
    """

    def decorate(function: Callable[_P, _T]) -> Callable[_P, _T]:
        signature = inspect.signature(function)
        defaults = {name: signature.parameters[name].default for name in rules}

        @wraps(function)
        def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
            try:
                given = signature.bind(*args, **kwargs).arguments
            except TypeError:  # Python's own message for wrong arguments
                return function(*args, **kwargs)
            for name, rule in rules.items():
                if name in given and given[name] is not defaults[name]:
                    refuse(name, given[name], rule)
            return function(*args, **kwargs)

        return call

    return decorate


def refuse(name: str, value: object, rule: Rule) -> None:
    """Raise UsageError if a rule refuses a value."""
    needed = rule(value)
    if needed is not None:
        raise UsageError(f"{name.replace('_', ' ')} {shown(value)}: need {needed}")


def shown(value: object) -> str:
    """Return a value as short text; an object of another class is named by it."""
    if isinstance(value, bool | int | float | str | bytes | None):
        return reprlib.repr(value) if isinstance(value, str | bytes) else str(value)[:40]
    return f"of type {type(value).__name__}"


def an_instance(value: object) -> str | None:
    """Need an instance."""
    made = "an instance, as load, generate or instance return it"
    return None if isinstance(value, Instance) else made


def an_instance_or_path(value: object) -> str | None:
    """Need an instance, or a path that the system can express."""
    if isinstance(value, str | os.PathLike):
        return a_path(value)
    return an_instance(value) and f"{an_instance(value)}, or its file"


def a_text(value: object) -> str | None:
    """Need a text."""
    return None if isinstance(value, str) else "a text"


def a_name(value: object) -> str | None:
    """Need a text that can stand in a table."""
    fits = isinstance(value, str) and value.strip() and value.isprintable()
    return None if fits and len(str(value)) <= LONGEST_NAME else "a printable text"


def a_path(value: object) -> str | None:
    """Need a path that the system can express."""
    if not isinstance(value, str | os.PathLike):
        return "a path"
    try:
        name = os.fsencode(value)
    except (TypeError, ValueError):
        return "a path without surrogates"
    if not name or b"\0" in name:
        return "a path"
    long = any(len(part) > LONGEST_NAME for part in name.split(os.sep.encode()))
    return "a path of shorter names" if long else None


def a_function(value: object) -> str | None:
    """Need something that can be called."""
    return None if callable(value) else "a function"


def a_flag(value: object) -> str | None:
    """Need true or false."""
    return None if isinstance(value, bool) else "True or False"


def a_mapping(value: object) -> str | None:
    """Need a mapping whose keys are texts."""
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return None
    return "a mapping from names to values"


def several(value: object) -> str | None:
    """Need a list, a tuple or another sequence of several things."""
    one = isinstance(value, str | bytes | Mapping)
    return "a list" if one or not isinstance(value, Iterable) else None


def texts(value: object) -> str | None:
    """Need a list of texts."""
    if isinstance(value, list | tuple | set | frozenset):
        return None if all(isinstance(item, str) for item in value) else "a list of texts"
    return "a list of texts"


def a_number(value: object) -> str | None:
    """Need a finite number."""
    number: Any = value
    fits = isinstance(value, Real) and not isinstance(value, bool)
    return None if fits and -LARGEST <= number <= LARGEST else "a number"


def numbers(value: object) -> str | None:
    """Need a list of finite numbers."""
    if isinstance(value, Collection) and not isinstance(value, str | bytes | Mapping):
        return "a list of numbers" if any(map(a_number, value)) else None
    return "a list of numbers"


def one_of(*names: str) -> Rule:
    """Return the rule of one of some texts."""

    def rule(value: object) -> str | None:
        known = isinstance(value, str) and value in names
        return None if known else f"one of {', '.join(names)}"

    return rule


def positive(most: float = LARGEST, *, none: bool = False) -> Rule:
    """Return the rule of a number above 0.

    `none`: whether None, no limit, is one too.
    """

    def rule(value: object) -> str | None:
        if value is None and none:
            return None
        if a_number(value) is not None or not float(value) > 0:  # type: ignore[arg-type]
            return "a number > 0"
        return None if float(value) <= most else f"at most {most:g}"  # type: ignore[arg-type]

    return rule


def an_integer(least: int = 0, most: int | None = None) -> Rule:
    """Return the rule of an integer.

    `least`, `most`: the smallest and the largest one.
    """

    def rule(value: object) -> str | None:
        try:
            number = whole_number(value, "", most)
        except UsageError:
            number = -1
        if number >= least:
            return None
        return f"an integer >= {least}" if most is None else f"an integer from {least} to {most}"

    return rule


A_LIMIT = positive(none=True)  # seconds, or None
MEMORY = positive(1e9)  # MB
