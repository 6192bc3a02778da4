"""Presets, the named ways to generate instances: what one is, and how a file says it."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pkgutil import resolve_name
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, Field

from schedgap.errors import InputError, UsageError, choices
from schedgap.instances.json_files import json_path, read_bytes, short
from schedgap.instances.loads import LOAD
from schedgap.instances.records import Many, Record, field_error, validate
from schedgap.instances.settings import Option, OptionType, parse_settings
from schedgap.instances.traces import FORMATS, Jobs, Machines, Rates


@dataclass(frozen=True, slots=True)
class Request:
    """Input of a preset: the values of all options, the names of those set by the user, and files.

    `pace` multiplies all times between arrivals.

    All random numbers come from `random`, a PCG64 generator with the seed, in the order that the
    family's generator documents. Only uniform integers and permutations are drawn, so an
    instance is the same on every platform.
    """

    seed: int
    values: Mapping[str, Any]
    given: frozenset[str]
    random: np.random.Generator
    jobs: Jobs | None = None
    machines: Machines | None = None
    rates: Rates | None = None
    pace: float = 1.0

    def paced(self, slot: int) -> int:
        """Return a drawn slot of arrival, from 1, with its distance from slot 1 multiplied by pace.

        Parameters
        ----------
        slot : int
            The slot, >= 1.
        """
        return 1 + int((slot - 1) * self.pace)


@dataclass(frozen=True, slots=True)
class Generated:
    """Output of a preset: the family's keys, and the source and the time unit for `meta`."""

    fields: Mapping[str, Any]
    source: str
    time_unit: str | None = None


@dataclass(frozen=True, slots=True)
class Preset:
    """A named way to generate instances.

    `seeded` says whether the seed matters, `files` which traces are accepted.
    """

    name: str
    summary: str
    make: Callable[[Request], Generated]
    options: tuple[Option, ...] = ()
    seeded: bool = True
    files: tuple[str, ...] = ()  # accepted options, out of 'jobs', 'machines', 'rates'

    def parse(self, settings: Mapping[str, object]) -> dict[str, Any]:
        """Return a value for every option.

        Parameters
        ----------
        settings : mapping
            Values of options by name, as Python values or text.

        Raises
        ------
        UsageError
            For an unknown option or a value outside its domain.
        """
        return parse_settings(self.options, settings, f"preset {self.name} has no setting")


@dataclass(frozen=True, slots=True)
class Generator:
    """The presets of a family, the default one, and the default one if files are given."""

    presets: tuple[Preset, ...]
    default: str
    default_with_files: str = ""
    by_name: Mapping[str, Preset] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_name", {preset.name: preset for preset in self.presets})


def with_defaults(options: Sequence[Option], **defaults: object) -> tuple[Option, ...]:
    """Return options with some defaults replaced.

    Parameters
    ----------
    options : sequence of Option
        Settings of a preset, in the order of lists.
    **defaults
        New defaults by option name.
    """
    return tuple(replace(o, default=defaults.get(o.name, o.default)) for o in options)


# --- presets in a file -------------------------------------------------------------------------

NO_DEFAULT = "none"  # stands for None in a file
_TRACE_SETTINGS = (  # settings of presets that accept traces; a file need not say what they are
    Option(
        "format",
        "choice",
        None,
        "format of the file; by default recognised by its columns",
        FORMATS,
    ),
    Option("first", "int", 1, "number of the first job to take from the file, by arrival", least=1),
    Option("slot_seconds", "float", None, "length of a slot in seconds", least=1e-3),
    LOAD,
    Option(
        "take",
        "choice",
        "all",
        "use all data of the jobs in a file, or only their arrivals",
        ("all", "arrivals"),
    ),
)
SHARED = {option.name: option for option in _TRACE_SETTINGS}


def _function_name(name: str) -> str:
    if not re.fullmatch(r"\w+(\.\w+)*:\w+", name):
        raise field_error(f'need "package.module:function", got {short(name)}')
    return name


class _Setting(Record):
    """An `Option` without its name."""

    type: OptionType
    help: str
    default: Any = NO_DEFAULT
    choices: Many[str] = ()
    least: float | None = None
    most: float | None = None


class _Preset(Record):
    """A `Preset` without its name."""

    summary: str
    like: str = ""
    make: Annotated[str, AfterValidator(_function_name)] = ""
    fields: dict[str, Any] = Field(default_factory=dict)
    source: str = ""
    time_unit: str | None = None
    seeded: bool = True
    files: Many[Literal["jobs", "machines", "rates"]] = ()
    settings: dict[str, Any] = Field(default_factory=dict)


class _File(Record):
    default: str
    default_with_files: str = ""
    settings: dict[str, _Setting] = Field(default_factory=dict)
    presets: dict[str, _Preset]


def load_presets(file: str | os.PathLike[str]) -> Generator:
    """Return the presets in a TOML file, such as `instances/hare/presets.toml`.

    `default` and `default_with_files` are names of presets. `settings` says what each setting is:
    the fields of `Option`. `presets` has a table for each preset. The table has a summary, and
    `make`, the function "package.module:function" that makes an instance. A preset of one instance
    has `fields` instead, the keys of the instance, with `source` and perhaps `time_unit`. Its
    `settings` are in the order of lists, each with its default ("none" for None), or with a table
    of what differs in this preset. Whatever the table of a preset with `like` leaves out is as in
    the preset of that name.

    Parameters
    ----------
    file : path
        A `presets.toml`.

    Raises
    ------
    InputError
        If the file is invalid; names the file, the path inside it and what is wrong.
    """
    import tomllib  # a family of another package may do without

    try:
        content = validate(_File, tomllib.loads(read_bytes(file).decode()))
        for key in ("default", "default_with_files"):
            name = getattr(content, key)
            if name and name not in content.presets:
                raise InputError(f"no preset '{name}': {choices(name, content.presets)}", path=key)
        presets = tuple(_preset(content, name) for name in content.presets)
    except InputError as error:
        raise error.inside(str(file)) from None
    except ValueError as error:  # neither UTF-8 nor TOML
        raise InputError(str(error), file=str(file)) from None
    return Generator(presets, content.default, content.default_with_files)


def _preset(content: _File, name: str) -> Preset:
    own = base = content.presets[name]
    path = "presets", name
    if own.like:
        whole = [name for name, preset in content.presets.items() if not preset.like]
        if own.like not in whole:
            fault = f"no preset '{own.like}' of its own: {choices(own.like, whole)}"
            raise InputError(fault, path=json_path([*path, "like"]))
        base = content.presets[own.like]
    fields, make = {**base.fields, **own.fields}, own.make or base.make
    if bool(make) == bool(fields):
        raise InputError("need either 'make' or 'fields'", path=json_path(path))
    source, unit = own.source or base.source, own.time_unit or base.time_unit
    return Preset(
        name,
        own.summary,
        partial(_call, make) if make else partial(_given, Generated(fields, source, unit)),
        tuple(
            _option(content, base.settings, own.settings, *path, "settings", key)
            for key in {**base.settings, **own.settings}
        ),
        seeded=bool(make) and own.seeded and base.seeded,
        files=own.files or base.files,
    )


def _call(make: str, request: Request) -> Generated:
    found: Generated = resolve_name(make)(request)
    return found


def _given(generated: Generated, request: Request) -> Generated:
    return generated


def _option(content: _File, base: Mapping[str, Any], own: Mapping[str, Any], *path: str) -> Option:
    """Return a setting of a preset: what it is, then what differs in `base`, then in `own`."""
    name = path[-1]
    known: _Setting | Option | None = content.settings.get(name) or SHARED.get(name)
    if known is None:
        fault = f"no setting '{name}': {choices(name, {**content.settings, **SHARED})}"
        raise InputError(fault, path=json_path(path))
    table = {key: getattr(known, key) for key in _Setting.model_fields}
    for differing in (base, own):
        value = differing.get(name, {})
        table |= value if isinstance(value, dict) else {"default": value}
    setting = validate(_Setting, table, *path)
    option = Option(
        name, setting.type, None, setting.help, setting.choices, setting.least, setting.most
    )
    if setting.default == NO_DEFAULT:
        return option
    try:
        return replace(option, default=option.parse(setting.default))
    except UsageError as error:
        raise InputError(str(error), path=json_path(path)) from None
