"""Options of presets and methods, as given by `--set name=value`."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import index
from typing import Any, Literal

from schedgap.errors import UsageError, choices

LARGEST = 1e15  # limit on all numbers
OptionType = Literal["bool", "int", "float", "text", "choice", "range", "list", "shares"]


@dataclass(frozen=True, slots=True)
class Option:
    """An option with its domain.

    A `range` is two integers `20-40`, or one, `20`; a `list` is integers `1,2,4`; `shares` are
    `NAME:NUMBER,NAME:NUMBER` or one of the `choices`. From Python, a pair, a sequence or a mapping
    is accepted for these. A number may also be one of the `choices`. All numbers lie between
    `least` and `most`.
    """

    name: str
    type: OptionType
    default: Any
    help: str
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None

    def parse(self, value: object) -> Any:
        """Return the typed value of a text from the command line or of a Python value.

        Parameters
        ----------
        value : object
            The text or value.

        Returns
        -------
        bool, int, float, str, tuple of int, dict of str to float, or None
            A range gives a pair; None is possible only if it is the default.

        Raises
        ------
        UsageError
            If the value is outside the domain.
        """
        if value is None and self.default is None:
            return None
        word = _word(value, self.type)
        try:
            match self.type:
                case "bool":
                    return {"true": True, "false": False}[word.lower()]
                case "text":
                    return word
                case "choice":
                    return {choice: choice for choice in self.choices}[word]
                case "int" | "float":
                    if word in self.choices:
                        return word
                    if isinstance(value, bool):
                        raise ValueError
                    return self._bounded(int(word) if self.type == "int" else float(word))
                case "range":
                    pair = re.fullmatch(r"(\d+)(?:\s*-\s*(\d+))?", word, re.ASCII)
                    if pair is None:
                        raise ValueError
                    low = self._bounded(int(pair[1]))
                    high = self._bounded(int(pair[2] or pair[1]))
                    if low > high:
                        raise ValueError
                    return low, high
                case "list":
                    return tuple(self._bounded(int(part)) for part in word.split(","))
                case "shares":
                    return word if word in self.choices else self._shares(word)
        except (KeyError, ValueError):
            raise UsageError(f"option {self.name}={_shown(word)}: need {self.domain}") from None

    def _bounded(self, number: Any) -> Any:
        if abs(number) >= LARGEST:
            word = _shown(str(number))
            raise UsageError(f"option {self.name}: {word} is too large: need less than {LARGEST:g}")
        if math.isnan(number) or (self.least is not None and number < self.least):
            raise ValueError
        if self.most is not None and number > self.most:
            raise ValueError
        return number

    def _shares(self, word: str) -> dict[str, float]:
        shares: dict[str, float] = {}
        for part in word.split(","):
            name, colon, number = (piece.strip() for piece in part.rpartition(":"))
            if not colon or not name or name in shares:
                raise ValueError
            shares[name] = self._bounded(float(number))
        if not sum(shares.values()) > 0:
            raise ValueError
        return shares

    def plain(self, value: object) -> Any:
        """Return a parsed value as JSON data, from which `parse` returns the same value.

        Parameters
        ----------
        value : object
            As returned by `parse`; ranges, lists and shares become text.
        """
        is_plain = isinstance(value, (bool, int, float)) or value is None
        return value if is_plain else _word(value, self.type)

    @property
    def domain(self) -> str:
        """Description of the allowed values."""
        named = f"one of {', '.join(self.choices)}, or " if self.choices else ""
        ends = ((">=", self.least), ("<=", self.most))
        bounds = " and".join(f" {sign} {end:g}" for sign, end in ends if end is not None)
        match self.type:
            case "bool":
                return "true or false"
            case "text":
                return "a text"
            case "choice":
                return "one of " + ", ".join(self.choices)
            case "int":
                return named + "an integer" + bounds
            case "float":
                return named + "a number" + bounds
            case "range":
                return f"whole numbers{bounds}, as 2 or 1-3"
            case "list":
                return f"whole numbers{bounds}, as 1,2,4"
            case "shares":
                return f"{named}shares{bounds} that are not all 0, as A:1,B:2"


def parse_settings(
    options: Sequence[Option], settings: Mapping[str, object], owner: str
) -> dict[str, Any]:
    """Return a value for every option.

    `settings`: values by option name; options that are not given have their defaults. `owner`:
    start of the error message for an unknown name, such as 'method fifo has no option'.

    Raises
    ------
    UsageError
        For an unknown name or a value outside its domain.
    """
    known = {option.name: option for option in options}
    for key in settings:
        if key not in known:
            raise UsageError(f"{owner} '{key}': {choices(key, known)}")
    return {
        name: option.parse(settings[name]) if name in settings else option.default
        for name, option in known.items()
    }


def whole_number(value: object, name: str, most: int | None = None) -> int:
    """Return an integer >= 0 as an `int`; NumPy integers are accepted.

    `name`: its name, for the error message. `most`: largest allowed value.

    Raises
    ------
    UsageError
        For any other value.
    """
    domain = "an integer >= 0" if most is None else f"an integer from 0 to {most}"
    try:
        number = index(value)  # type: ignore[arg-type]  # raises for other types
    except TypeError:
        number = -1
    if isinstance(value, bool) or number < 0 or (most is not None and number > most):
        raise UsageError(f"{name} {value}: need {domain}")
    return number


def _word(value: object, kind: OptionType) -> str:
    """Return a Python value as it is written on the command line."""
    if kind == "shares" and isinstance(value, Mapping):
        return ",".join(f"{name}:{str(part).removesuffix('.0')}" for name, part in value.items())
    if kind in ("range", "list") and isinstance(value, (tuple, list)):
        return ("-" if kind == "range" else ",").join(map(str, value))
    return str(value).strip()


def _shown(word: str) -> str:
    """Return a text of at most 40 printable characters."""
    word = word if word.isprintable() else ascii(word)
    return word if len(word) <= 40 else word[:37] + "..."
