"""Data on a paper: equations, algorithms, guarantees and errata, with their place in the source.

`load_paper` reads them from a TOML file, such as `models/hare/paper.toml`.
"""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pydantic import ConfigDict, ValidationError

from schedgap.errors import InputError
from schedgap.instances.instance import Instance
from schedgap.instances.json_files import json_path, read_bytes, short
from schedgap.models.method import Lazy

if TYPE_CHECKING:
    from pydantic import TypeAdapter

STRICT = ConfigDict(extra="forbid")  # unknown keys of a file are errors
Kind = TypeVar("Kind")

EquationStatus = Literal["modelled", "implied", "replaced", "checked", "background"]


@dataclass(frozen=True, slots=True)
class Equation:
    """How an equation of the paper is represented in the source.

    `modelled`: by the rows named in `by`. `implied`: by these rows, for the reason in `note`.
    `replaced`: by these rows, because of the erratum in `note`. `checked`: the function in `by`
    evaluates it on a schedule. `background`: it constrains no schedule. `tex` states the equation
    as LaTeX, with the paper's symbols.
    """

    __pydantic_config__ = STRICT

    status: EquationStatus
    by: tuple[str, ...] = ()
    note: str = ""
    tex: str = ""


@dataclass(frozen=True, slots=True)
class Algorithm:
    """A printed algorithm: its title, its number of lines, and the function that implements it."""

    __pydantic_config__ = STRICT

    title: str
    lines: int
    function: str


@dataclass(frozen=True, slots=True)
class Guarantee:
    """A printed claim on the approximation ratio of an algorithm.

    `evaluate(instance)` returns `claim`, `factor` (None if there is none), `holds` (whether the
    instance meets the assumptions) and `failed` (the assumptions that it does not meet). It takes
    the method options named in `options` as keywords; if another option is changed, nothing is
    guaranteed. `verdict` says whether the claim is true; `tests` show it. With `ours`, the
    assumptions are not the paper's, and an instance that fails them may refute the claim. `measure`
    is for a claim that is not on a schedule's value. It returns the factor by which an instance
    misses the claim, or 1 if the claim holds. `near` guides a search among instances on which the
    claim holds. It returns how close an instance comes to missing the claim, from 0 to 1. `ratio`
    says whether the claim is on a method's ratio to the optimum."""

    __pydantic_config__ = STRICT

    claim: str
    source: str
    methods: tuple[str, ...]
    assumptions: tuple[str, ...]
    evaluate: Callable[..., Mapping[str, Any]]
    verdict: str
    tests: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    ours: bool = False
    measure: Callable[[Any], float] | None = None
    near: Callable[[Any], float] | None = None
    ratio: bool = True

    @property
    def searchable(self) -> bool:
        """Whether a search for bad instances has a score for the claim."""
        return self.ratio or self.measure is not None


@dataclass(frozen=True, slots=True)
class Erratum:
    """An error or gap of the paper: where, what it says, the problem, and our decision.

    `switch` names the option that restores the literal reading, if there is one. `tests` show the
    problem or check the decision; for editorial errors there are none, as `problem` says.
    """

    __pydantic_config__ = STRICT

    where: str
    printed: str
    problem: str
    decision: str
    switch: str = ""
    tests: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Symbol:
    """A symbol of the paper, its key in our files, its domain or unit, and its meaning."""

    __pydantic_config__ = STRICT

    letter: str
    key: str
    domain: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Paper:
    """Data on one paper; `problem` and `schedule` describe the problem and its schedules."""

    __pydantic_config__ = STRICT

    citation: str
    doi: str
    problem: str
    schedule: str
    rules: Mapping[str, str]
    symbols: tuple[Symbol, ...] = ()
    equations: Mapping[str, Equation] = field(default_factory=dict)
    algorithms: Mapping[str, Algorithm] = field(default_factory=dict)
    guarantees: Mapping[str, Guarantee] = field(default_factory=dict)
    errata: Mapping[str, Erratum] = field(default_factory=dict)

    def guarantee(
        self, instance: Instance, method: str, changed: Mapping[str, object]
    ) -> Mapping[str, Any]:
        """Return the paper's guarantee for a method on an instance; empty if there is none.

        Parameters
        ----------
        instance : Instance
            Instance whose numbers enter the guarantee.
        method : str
            Name of the method.
        changed : mapping
            Options of the method that do not have their defaults.
        """
        for claim in self.guarantees.values():
            if method in claim.methods and set(changed) <= set(claim.options):
                return claim.evaluate(instance, **changed)
        return {}


class _PaperFile(Paper):
    """A paper whose file is read when one of the fields is first used."""

    __slots__ = ("_file",)

    _file: str

    def __getattr__(self, name: str) -> Any:
        if name not in Paper.__match_args__:
            raise AttributeError(f"a paper has no attribute '{name}'")
        found = _read(self._file)
        for key in Paper.__match_args__:
            object.__setattr__(self, key, getattr(found, key))
        return getattr(found, name)


def load_paper(file: str | os.PathLike[str]) -> Paper:
    """Return the paper in a TOML file, which is read when one of the paper's fields is first used.

    The keys are the fields of `Paper`, `Equation` and so on. A symbol is a list of its four texts,
    and a function is written as "package.module:function" and imported when it is first called. A
    line break in a text counts as a space. A fault in the file is an InputError at first use, which
    names the file, the path inside it and what is wrong.

    Parameters
    ----------
    file : path
        Location of the TOML file, usually next to the family's modules.
    """
    paper = _PaperFile.__new__(_PaperFile)
    object.__setattr__(paper, "_file", os.path.abspath(file))
    return paper


@cache
def _validator(kind: Any) -> "TypeAdapter[Any]":
    from pydantic import TypeAdapter  # a command that needs no paper does not load it

    return TypeAdapter(kind)


_FUNCTIONS = {"evaluate", "measure", "near"}  # functions of a guarantee
_KEYS = {"unexpected_keyword_argument": "unknown key", "missing": "missing key"}  # told first
_NEED = {
    "dataclass_type": "need a table",
    "dict_type": "need a table",
    "string_type": "need a text",
    "tuple_type": "need a list",
}


def _read(file: str) -> Paper:
    try:
        return checked(Paper, _typed(read_toml(file)))
    except InputError as error:
        raise error.inside(file) from None


def read_toml(file: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the data in a TOML file, with each line break in a text as a space."""
    import tomllib  # late import, like TypeAdapter's

    try:
        data: dict[str, Any] = _folded(tomllib.loads(read_bytes(file).decode()))
    except ValueError as error:  # neither UTF-8 nor TOML
        raise InputError(str(error), file=os.fspath(file)) from None
    return data


def checked(kind: Callable[..., Kind], data: object) -> Kind:
    """Return data as a dataclass; a fault is an InputError with its path.

    `kind`: the dataclass, whose fields are the keys of the data.
    """
    try:
        found: Kind = _validator(kind).validate_python(data)
    except ValidationError as error:
        faults = error.errors(include_url=False)
        first = min(faults, key=lambda entry: [*_KEYS, entry["type"]].index(entry["type"]))
        what = f"{_NEED.get(first['type'], first['msg'])}, got {short(first['input'])}"
        raise InputError(_KEYS.get(first["type"], what), path=json_path(first["loc"])) from None
    return found


def _folded(data: Any) -> Any:
    """Return data with each line break in a text, and the spaces around it, as one space."""
    if isinstance(data, str):
        return " ".join(data.split())
    if isinstance(data, dict):
        return {key: _folded(value) for key, value in data.items()}
    return [_folded(item) for item in data] if isinstance(data, list) else data


def _typed(data: dict[str, Any]) -> dict[str, Any]:
    """Replace the names of functions by functions, and the lists of symbols by their fields."""
    claims, symbols = data.get("guarantees"), data.get("symbols")
    for label, claim in claims.items() if isinstance(claims, dict) else ():
        for key in _FUNCTIONS & claim.keys() if isinstance(claim, dict) else ():
            if not re.fullmatch(r"\w+(\.\w+)*:\w+", str(claim[key])):
                what = f'need "package.module:function", got {short(claim[key])}'
                raise InputError(what, path=json_path(["guarantees", label, key]))
            claim[key] = Lazy(claim[key])
        if isinstance(claim, dict) and "not_evaluated" in claim:
            reason = str(claim.pop("not_evaluated"))
            claim.setdefault("evaluate", partial(_not_evaluated, str(claim.get("claim")), reason))
    if isinstance(symbols, list):
        data["symbols"] = [_symbol(place, row) for place, row in enumerate(symbols)]
    return data


def _not_evaluated(claim: str, reason: str, _: Instance, **options: object) -> dict[str, object]:
    """Return that a claim is not evaluated on an instance."""
    return {"claim": claim, "factor": None, "holds": False, "failed": [f"not evaluated: {reason}"]}


def _symbol(place: int, row: Any) -> dict[str, Any]:
    names = Symbol.__match_args__
    if not isinstance(row, list) or len(row) != len(names):
        raise InputError(f"need a list of {', '.join(names)}", path=json_path(["symbols", place]))
    return dict(zip(names, row, strict=True))
