"""The claims of a paper as data: `load_claims` reads `claims.toml` next to a family's `figures.py`.

The file lists what the paper says of its figures, in the order of the paper:

    [[claims]]
    figures = ["2", "3"]
    source = "Section 7.1, Fig. {figure}"
    text = "A_online performs at least 30 % better than the other algorithms"
    [[claims.parts]]
    each = ["FIFO", "DRF"]
    text = "A_online is at least 30 % better than {each}"
    test = {by = "reduction", series = "A_online", others = ["{each}"], at_least = 30}
    unit = "%"

A part has the keys of its sentence, unless it has its own. An entry is one claim for each of its
figures and each name in `each`, which `{figure}` and `{each}` stand for. A name with "(ours)" makes
the claim ours. `test.by` names a comparison of `models/figure.py` or of the family's `figures.py`.
A comparison is a function with the other keys of `test` as arguments. It returns a claim. Or it has
a further argument `draw` and returns a number. The number is multiplied by `times` and compared
with all thresholds in `test`.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from inspect import signature
from itertools import product
from math import isfinite
from typing import Any, Literal

from schedgap.errors import InputError, choices
from schedgap.instances.json_files import short
from schedgap.models import figure
from schedgap.models.figure import TIE, Claim, Draw, Experiment, Standing
from schedgap.models.paper import STRICT, checked, read_toml

Claims = Mapping[str, tuple[Claim, ...]]  # keys are figures
COMPARISONS: dict[str, Callable[..., Any]] = {
    predicate.__name__: predicate
    for predicate in (
        figure.best, figure.monotone, figure.value, figure.difference, figure.growth, figure.drop,
        figure.percent, figure.reduction, figure.excess, figure.least_ratio, figure.largest_ratio,
    )
}  # fmt: skip
THRESHOLDS: dict[str, Callable[[float, float], bool]] = {
    "above": lambda number, limit: number > limit + TIE,
    "at_least": lambda number, limit: number >= limit - TIE,
    "below": lambda number, limit: number < limit - TIE,
    "at_most": lambda number, limit: number <= limit + TIE,
}


@dataclass(frozen=True, slots=True)
class Entry:
    """A claim as it is written in the file; see `Claim` for the keys with the same names.

    `judged` and `measured` say what we judge or measure, if the paper's words leave it open.
    """

    __pydantic_config__ = STRICT

    figures: tuple[str, ...]
    source: str
    text: str
    sentence: str = ""
    each: tuple[str, ...] = ("",)
    judged: str = ""
    measured: str = ""
    test: Mapping[str, Any] = field(default_factory=dict)
    unit: str = ""
    untestable: str = ""
    given: str = ""
    threshold: Literal["paper", "ours"] = "paper"
    standing: Standing = "paper"


@dataclass(frozen=True, slots=True)
class _File:
    """The tables of a file: what the paper says, and the values of names."""

    __pydantic_config__ = STRICT

    claims: list[dict[str, Any]]
    lists: dict[str, Any] = field(default_factory=dict)


def load_claims(
    file: str | os.PathLike[str], *functions: Callable[..., Any], **lists: Any
) -> Claims:
    """Return the claims in a TOML file, by figure.

    `functions`: comparisons of the family, which the file names. `**lists`: values of names, next
    to those in the file. A fault in the file is an InputError that names the file, the claim and
    what is wrong.
    """
    known = COMPARISONS | {function.__name__: function for function in functions}
    found: dict[str, list[Claim]] = {}
    where = ""
    try:
        data = checked(_File, read_toml(file))
        for sentence in _expanded(data.claims, data.lists | lists):
            where = _named(sentence)
            parts = sentence.pop("parts", [])
            if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
                raise ValueError(f"parts: need a list of tables, got {short(parts)}")
            shared = sentence | ({"sentence": sentence.get("text", "")} if parts else {})
            for part in parts or [{}]:
                keys = shared | part
                where = _named(keys)
                entry = checked(Entry, keys)
                if not (entry.figures and entry.each):
                    raise ValueError("figures and each: need at least one of both")
                for number, name in product(entry.figures, entry.each):
                    found.setdefault(number, []).append(_claim(entry, number, name, known))
    except (InputError, TypeError, ValueError) as error:
        if getattr(error, "file", ""):  # the file could not be read
            raise
        raise InputError(str(error), path=where, file=os.fspath(file)) from None
    return {number: tuple(claims) for number, claims in found.items()}


def _named(keys: Mapping[str, Any]) -> str:
    """Return what an error calls a claim."""
    return f"claim {short(keys.get('text', 'without text'))}"


def with_claims(figures: Iterable[Experiment], claims: Claims) -> list[Experiment]:
    """Return figures with their claims; at other settings only those with a number."""
    return [
        replace(figure, claims=tuple(
            claim for claim in claims.get(figure.figure, ())
            if claim.measure is not None or not figure.setting
        ))
        for figure in figures
    ]  # fmt: skip


def _expanded(data: Any, names: Mapping[str, Any]) -> Any:
    """Return data with the values of names: of a list, or inside a text as `{name}`."""
    if isinstance(data, str):
        if isinstance(names.get(data), list):
            return names[data]
        for name, value in names.items():
            data = data.replace(f"{{{name}}}", value) if isinstance(value, str) else data
        return data
    if isinstance(data, Mapping):
        return {key: _expanded(value, names) for key, value in data.items()}
    return [_expanded(item, names) for item in data] if isinstance(data, list) else data


def _claim(entry: Entry, number: str, name: str, known: Mapping[str, Callable[..., Any]]) -> Claim:
    """Return the claim that an entry states on one figure, for one name in `each`."""
    keys = _expanded(asdict(entry), {"figure": number, "each": name})
    words = [f"({key}: {keys[key]})" for key in ("judged", "measured") if keys[key]]
    fields = {key: keys[key] for key in ("source", "sentence", "untestable", "given", "threshold")}
    fields |= {"text": " ".join([keys["text"], *words]), "unit": entry.unit}
    if entry.test:
        fields |= _compared(keys["test"], known, fields)
    return Claim(**fields, standing="ours" if "(ours)" in name else entry.standing)


def _compared(
    test: dict[str, Any], known: Mapping[str, Callable[..., Any]], fields: Mapping[str, str]
) -> dict[str, Any]:
    """Return the fields of a claim that follow from its test, and from the other fields."""
    name = test.pop("by", "")
    if name not in known:
        raise ValueError(f"test.by: no comparison {short(name)}: {choices(str(name), known)}")
    function = known[name]
    if "draw" not in signature(function).parameters:
        made: Claim = function(text=fields["text"], source=fields["source"], **test)
        unit = fields["unit"] or made.unit
        return {"text": made.text, "holds": made.holds, "measure": made.measure, "unit": unit}
    for key in test.keys() & {"times", *THRESHOLDS}:
        value = test[key]
        if not isinstance(value, int | float) or isinstance(value, bool) or not isfinite(value):
            raise ValueError(f"test.{key}: need a number, got {short(value)}")
    times = test.pop("times", 1)
    limits = {key: test.pop(key) for key in THRESHOLDS if key in test}
    signature(function).bind(None, **test)  # TypeError for unknown or missing arguments

    def number(draw: Draw) -> float:
        found: float = times * function(draw, **test)
        return found

    def holds(draw: Draw) -> bool:
        found = number(draw)
        return all(THRESHOLDS[key](found, limit) for key, limit in limits.items())

    return {"holds": holds if limits else None, "measure": number}
