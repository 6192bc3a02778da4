"""What a family of another package does at run time is checked; one line says where it is wrong."""

import json
import math
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schedgap.errors import ContradictionError, FamilyError, SchedgapError
from schedgap.instances.records import short

Accept = Callable[[Any], Any]  # returns what was returned, in its proper form; or raises TypeError


@dataclass(frozen=True, slots=True)
class Guard:
    """A function of a family of another package: errors and unusable results name the part.

    `family`, `part`: names of the family and of its part. `function`: the family's function; errors
    of `schedgap.errors` pass. `accept`: returns the result in its proper form, or raises TypeError.
    `fresh`: whether the instance, the first argument, is read again from its data. Then no cached
    value that was changed since can influence a verdict. `passes`: further errors that pass.
    """

    family: str
    part: str
    function: Callable[..., Any]
    accept: Accept
    fresh: bool = False
    passes: tuple[type[Exception], ...] = ()

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Call the function.

        `*arguments`, `**keywords`: what the function is called with.

        Raises
        ------
        FamilyError
            If it fails, or what it returns breaks the contract.
        """
        if self.fresh:
            instance, *others = arguments
            arguments = (type(instance).from_data(instance.to_data()), *others)
        try:
            return self.accept(self.function(*arguments, **keywords))
        except (SchedgapError, ContradictionError):
            raise
        except Exception as error:
            if isinstance(error, self.passes):
                raise
            raise FamilyError(f"family {self.family}: {self.part}: {fault(error)}") from error


def guarded(
    family: object, part: str, function: Any, accept: Accept, *passes: type[Exception]
) -> Any:
    """Return a function of a family of another package as a `Guard`; what is none as it is.

    `function`: the family's function; a guard stays as it is. `accept`: as for `Guard`. `*passes`:
    as for `Guard`.
    """
    if not callable(function) or isinstance(function, Guard):
        return function
    return Guard(str(family), part, function, accept, passes=passes)


def fault(error: Exception) -> str:
    """Return an error in words, with the place where code of another package raised it.

    `error`: as raised.
    """
    frames = traceback.extract_tb(error.__traceback__)
    here = Path(__file__).name
    if isinstance(error, ReturnedError):
        return str(error)
    place = next((frame for frame in reversed(frames) if Path(frame.filename).name != here), None)
    at = "" if place is None else f" ({Path(place.filename).name}, line {place.lineno})"
    return f"{type(error).__name__}: {error}{at}" if str(error) else f"{type(error).__name__}{at}"


class ReturnedError(TypeError):
    """A function returned something else than the contract says."""

    def __init__(self, found: object, need: str) -> None:
        super().__init__(f"returned {_shown(found)}, need {need}")


def _shown(found: object) -> str:
    plain = found is None or isinstance(found, str | int | float)
    return short(found) if plain else f"an object of type {type(found).__name__}"


# --- what parts may return -------------------------------------------------------------------


def is_a(kind: type, need: str) -> Accept:
    """Accept objects of a class.

    `need`: in words.
    """

    def accept(found: Any) -> Any:
        if not isinstance(found, kind):
            raise ReturnedError(found, need)
        return found

    return accept


def one_of(*values: object) -> Accept:
    """Accept some values only."""

    def accept(found: Any) -> Any:
        if not any(found is word or (isinstance(found, str) and found == word) for word in values):
            raise ReturnedError(found, " or ".join(map(str, values)))
        return found

    return accept


def all_are(kind: type, need: str) -> Accept:
    """Accept iterables whose items are of a class; return them as a list.

    `need`: in words.
    """

    def accept(found: Any) -> list[Any]:
        if not isinstance(found, Iterable) or isinstance(found, str):
            raise ReturnedError(found, need)
        items = [*found]
        for item in items:
            if not isinstance(item, kind):
                raise ReturnedError(item, need)
        return items

    return accept


def texts(found: Any) -> tuple[str, ...]:
    """Accept sequences of texts."""
    return tuple(all_are(str, "a tuple of texts")(found))


def number(found: Any) -> float:
    """Accept finite numbers, also of NumPy."""
    try:
        value = math.nan if isinstance(found, str | bool) else float(found)
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if not math.isfinite(value):
        raise ReturnedError(found, "a finite number")
    return value


def step(found: Any) -> float | None:
    """Accept numbers above 0, and None."""
    if found is None:
        return None
    value = number(found)
    if value <= 0:
        raise ReturnedError(found, "a number > 0 or None")
    return value


def numbers(found: Any) -> dict[str, float]:
    """Accept mappings from texts to finite numbers."""
    if not isinstance(found, Mapping) or not all(isinstance(key, str) for key in found):
        raise ReturnedError(found, "a mapping from texts to numbers")
    return {key: number(value) for key, value in found.items()}


def optional(accept: Accept) -> Accept:
    """Accept None too.

    `accept`: what else is accepted.
    """
    return lambda found: None if found is None else accept(found)


def anything(found: Any) -> Any:
    """Accept anything: the caller checks it."""
    return found


def named_texts(found: Any) -> dict[str, str]:
    """Accept mappings from texts to texts."""
    if not isinstance(found, Mapping):
        raise ReturnedError(found, "texts by name")
    all_are(str, "texts by name")((*found.keys(), *found.values()))
    return dict(found)


def demands(found: Any) -> tuple[str, list[float]]:
    """Accept pairs of a text and a list of finite numbers."""
    pair = found if isinstance(found, tuple | list) and len(found) == 2 else ()
    if not pair or not isinstance(pair[0], str) or not isinstance(pair[1], Iterable):
        raise ReturnedError(found, "a name, and a number for each job")
    return pair[0], [number(item) for item in pair[1]]


def mapping(found: Any) -> dict[str, Any]:
    """Accept mappings from texts to anything."""
    if not isinstance(found, Mapping) or not all(isinstance(key, str) for key in found):
        raise ReturnedError(found, "a mapping with texts as keys")
    return dict(found)


def json_data(found: Any) -> Any:
    """Accept plain JSON data."""
    try:
        json.dumps(found, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ReturnedError(found, f"plain JSON data ({error})") from None
    return found


def json_object(found: Any) -> Any:
    """Accept JSON objects."""
    if not isinstance(found, Mapping):
        raise ReturnedError(found, "a JSON object")
    return json_data(found)
