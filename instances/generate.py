"""Instances out of presets, seeds, settings and public traces, for every family."""

import hashlib
import importlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from schedgap.errors import UsageError
from schedgap.instances.families import FAMILIES, instance_class
from schedgap.instances.instance import Instance
from schedgap.instances.records import read_bytes
from schedgap.instances.settings import Option, parse_settings, whole_number
from schedgap.instances.traces import (
    FORMATS,
    JOB_FORMATS,
    MACHINE_FORMATS,
    RATE_FORMATS,
    Jobs,
    Machines,
    Rates,
    read_jobs,
    read_machines,
    read_rates,
)

PathLike = str | os.PathLike[str]
TRACE_OPTIONS = (  # of every preset that takes files
    Option("format", "choice", None, "format of a file; else told by its columns", FORMATS),
    Option("first", "int", 1, "first job to take from a file, by arrival", least=1),
    Option("slot_seconds", "float", None, "times in slots of so many seconds", least=1e-3),
)


@dataclass(frozen=True, slots=True)
class Request:
    """What a preset is asked for; `values` has every option, `given` names those set by the user.

    All randomness comes from `random`, PCG64 of the seed, drawn in the order that the family's
    generator documents; only uniform integers and permutations of them are drawn, so that an
    instance is the same on every platform.
    """

    seed: int
    values: Mapping[str, Any]
    given: frozenset[str]
    random: np.random.Generator
    jobs: Jobs | None = None
    machines: Machines | None = None
    rates: Rates | None = None


@dataclass(frozen=True, slots=True)
class Made:
    """What a preset makes: the family's own keys, and for `meta` the time unit and the sources."""

    fields: Mapping[str, Any]
    source: str
    time_unit: str | None = None


@dataclass(frozen=True, slots=True)
class Preset:
    """A named way to make instances. `seeded`: the seed matters. `files`: traces that it takes."""

    name: str
    summary: str
    make: Callable[[Request], Made]
    options: tuple[Option, ...] = ()
    seeded: bool = True
    files: tuple[str, ...] = ()  # of 'jobs', 'machines', 'rates'

    def parse(self, settings: Mapping[str, object]) -> dict[str, Any]:
        """Return every option with its value; UsageError for an unknown one."""
        return parse_settings(self.options, settings, f"preset {self.name} has no setting")


@dataclass(frozen=True, slots=True)
class Generator:
    """A family's presets, the one taken by default, and the one taken when files are given."""

    presets: tuple[Preset, ...]
    default: str
    default_with_files: str = ""
    by_name: Mapping[str, Preset] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_name", {preset.name: preset for preset in self.presets})


def with_defaults(options: Sequence[Option], **defaults: Any) -> tuple[Option, ...]:
    """Return a preset's options with some of the defaults replaced."""
    return tuple(replace(o, default=defaults.get(o.name, o.default)) for o in options)


def example(name: str, make: Callable[[Request], Made], *options: Option) -> Preset:
    """Return the preset of a worked example; its docstring "Return ..." tells what it is."""
    summary = (make.__doc__ or "").partition("\n")[0].removeprefix("Return ").removesuffix(".")
    return Preset(name, summary, make, options, seeded=False)


def presets(family: str) -> dict[str, Preset]:
    """Return a family's presets by name."""
    return dict(_generator(family).by_name)


def generate(
    family: str,
    *,
    preset: str | None = None,
    seed: int = 0,
    settings: Mapping[str, object] | None = None,
    jobs_from: PathLike | None = None,
    machines_from: PathLike | None = None,
    rates_from: PathLike | None = None,
) -> Instance:
    """Return the instance of a preset: the same seed and files give the same bytes.

    Parameters
    ----------
    family : str
        Such as 'hare'.
    preset : str, optional
        One of `presets(family)`; by default the family's own choice.
    seed : int
        >= 0.
    settings : mapping, optional
        Values by name of the preset's options; `format` forces the format of a trace.
    jobs_from, machines_from, rates_from : path, optional
        Public traces; what they lack is drawn from the preset's distributions.

    Raises
    ------
    UsageError
        No such family, preset or setting, or a value out of its domain.
    InputError
        A trace that is broken or of no known format: names file, line and column.
    """
    generator = _generator(family)
    files = {
        role: file
        for role, file in (("jobs", jobs_from), ("machines", machines_from), ("rates", rates_from))
        if file is not None
    }
    name = preset or (generator.default_with_files if files else "") or generator.default
    if name not in generator.by_name:
        known = ", ".join(generator.by_name)
        raise UsageError(f"family {family} has no preset '{name}': choose one of {known}")
    chosen = generator.by_name[name]
    seed = whole_number(seed, "seed")
    for role in files:
        if role not in chosen.files:
            able = [other.name for other in generator.presets if role in other.files]
            hint = f": choose one of {', '.join(able)}" if able else ""
            raise UsageError(f"preset {name} takes no {role} from a file{hint}")
    given = dict(settings or {})
    values = chosen.parse(given)
    traces = _read(files, values.get("format"))
    made = chosen.make(
        Request(
            seed=seed,
            values=values,
            given=frozenset(given),
            random=np.random.Generator(np.random.PCG64(seed)),
            **traces,
        )
    )
    by_name = {option.name: option for option in chosen.options}
    plain = {key: by_name[key].plain(values[key]) for key in given}
    meta: dict[str, Any] = {"source": made.source, "generator": f"{family} {name}"}
    if made.time_unit is not None:
        meta = {"time_unit": made.time_unit} | meta
    meta |= {"preset": name, "settings": plain}
    if chosen.seeded:
        meta["seed"] = seed
    if files:
        meta["files"] = {
            role: {"name": Path(file).name, "sha256": hashlib.sha256(read_bytes(file)).hexdigest()}
            for role, file in files.items()
        }
    title = _title(family, chosen, seed, plain, [files[role] for role in files])
    fields = {"family": family, "version": 1, "name": title, "meta": meta, **made.fields}
    return instance_class(family).from_data(fields)


def uniform(random: np.random.Generator, bounds: tuple[int, int], size: int) -> list[int]:
    """Return uniform whole numbers, both ends included."""
    drawn: list[int] = random.integers(*bounds, size, endpoint=True).tolist()
    return drawn


def check_settings(
    request: Request, needed: Mapping[str, str], replaced: Mapping[str, Sequence[str]]
) -> None:
    """Refuse settings that mean nothing with the files that are given, or without them.

    Parameters
    ----------
    request : Request
    needed : Mapping[str, str]
        Setting -> the role of the file without which it means nothing.
    replaced : Mapping[str, Sequence[str]]
        Role of a file -> the settings that it makes meaningless.
    """
    for key, role in needed.items():
        if key in request.given and getattr(request, role) is None:
            raise UsageError(f"option {key}: only with {role} from a file (--{role}-from)")
    for role, keys in replaced.items():
        for key in keys:
            if key in request.given and getattr(request, role) is not None:
                raise UsageError(f"option {key}: the {role} file decides this")


def apportion(total: int, shares: Sequence[float]) -> list[int]:
    """Return whole numbers that sum to `total` in proportion to the shares (largest remainder).

    Ties go to the earlier share.
    """
    whole = sum(shares)
    exact = [total * share / whole for share in shares]
    parts = [int(value) for value in exact]
    order = sorted(range(len(shares)), key=lambda k: (parts[k] - exact[k], k))
    for k in order[: total - sum(parts)]:
        parts[k] += 1
    return parts


def _generator(family: str) -> Generator:
    if family not in FAMILIES:
        raise UsageError(f"no family '{family}': choose one of {', '.join(FAMILIES)}")
    module = importlib.import_module(f"schedgap.instances.{family}.generator")
    found: Generator = module.GENERATOR
    return found


def _read(files: Mapping[str, PathLike], forced: str | None) -> dict[str, Any]:
    """Read each file with the reader of its role; a forced format counts for its own role."""
    readers: dict[str, tuple[Callable[..., Any], Mapping[str, Any]]] = {
        "jobs": (read_jobs, JOB_FORMATS),
        "machines": (read_machines, MACHINE_FORMATS),
        "rates": (read_rates, RATE_FORMATS),
    }
    if forced and not any(forced in readers[role][1] for role in files):
        raise UsageError(f"option format={forced}: no file of that kind is given")
    return {
        role: readers[role][0](file, forced if forced in readers[role][1] else None)
        for role, file in files.items()
    }


def _title(
    family: str, preset: Preset, seed: int, plain: Mapping[str, Any], files: Sequence[PathLike]
) -> str:
    """Return a name that tells instances of one family apart, fit for a file's name."""
    parts = [family, preset.name]
    parts += [Path(file).stem[:40] for file in files]
    if preset.seeded:
        parts.append(f"seed{seed}")
    parts += [f"{key}={_in_name(value)}" for key, value in plain.items()]
    return re.sub(r"[^A-Za-z0-9._=-]", "_", "-".join(parts))[:200]


def _in_name(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.12g}" if isinstance(value, float) else str(value)
