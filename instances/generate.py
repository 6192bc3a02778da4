"""Generate instances of any family from presets, seeds, settings and public traces.

What presets are is in `presets`; its names can be imported from here too.
"""

import hashlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from schedgap.errors import FamilyError, UsageError, choices
from schedgap.instances.arguments import a_mapping, a_path, a_text, checked
from schedgap.instances.families import (
    FAMILIES,
    OWN,
    external_family,
    instance_class,
    unknown_family_message,
)
from schedgap.instances.instance import Instance
from schedgap.instances.loads import LOAD, at_load, machines_setting
from schedgap.instances.presets import Generated as Generated
from schedgap.instances.presets import Generator as Generator
from schedgap.instances.presets import Preset as Preset
from schedgap.instances.presets import Request as Request
from schedgap.instances.presets import load_presets
from schedgap.instances.presets import with_defaults as with_defaults
from schedgap.instances.records import read_bytes
from schedgap.instances.settings import whole_number
from schedgap.instances.traces import (
    JOB_FORMATS,
    MACHINE_FORMATS,
    RATE_FORMATS,
    read_jobs,
    read_machines,
    read_rates,
)

PathLike = str | os.PathLike[str]


def presets(family: str) -> dict[str, Preset]:
    """Return the presets of a family by name."""
    return dict(_generator(family).by_name)


def small_preset(family: str) -> str:
    """Return the name of the preset of small instances: `small`, or else the default one."""
    generator = _generator(family)
    return "small" if "small" in generator.by_name else generator.default


@checked(
    family=a_text,
    preset=a_text,
    settings=a_mapping,
    jobs_from=a_path,
    machines_from=a_path,
    rates_from=a_path,
)
def generate(
    family: str,
    *,
    preset: str | None = None,
    seed: int = 0,
    settings: Mapping[str, object] | None = None,
    jobs_from: PathLike | None = None,
    machines_from: PathLike | None = None,
    rates_from: PathLike | None = None,
    **more: object,
) -> Instance:
    """Generate an instance; the same arguments and files give the same bytes.

    Parameters
    ----------
    family : str
        Name of the family, such as 'hare'.
    preset : str, optional
        One of `presets(family)`; by default the default preset of the family.
    seed : int
        Random seed, >= 0.
    settings : mapping, optional
        Values of the preset's options by name; `format` sets the format of a trace.
    jobs_from, machines_from, rates_from : path, optional
        Public traces; data that they lack are drawn from the preset's distributions.
    **more
        Further settings by name: `jobs=3` is `settings={"jobs": 3}`.

    Raises
    ------
    UsageError
        If there is no such family, preset or setting, a setting is given twice, or a value is
        outside its domain.
    InputError
        If a trace is invalid or its format is unknown; names the file, the line and the column.
    """
    generator = _generator(family)
    files = {
        role: file
        for role, file in (("jobs", jobs_from), ("machines", machines_from), ("rates", rates_from))
        if file is not None
    }
    name = preset or (generator.default_with_files if files else "") or generator.default
    if name not in generator.by_name:
        raise UsageError(
            f"family {family} has no preset '{name}': {choices(name, generator.by_name)}"
        )
    chosen = generator.by_name[name]
    seed = whole_number(seed, "seed")
    for role in files:
        if role not in chosen.files:
            others = [other.name for other in generator.presets if role in other.files]
            hint = f": choose one of {', '.join(others)}" if others else ""
            raise UsageError(f"preset {name} takes no {role} from a file{hint}")
    for key in more.keys() & (settings or {}).keys():
        raise UsageError(f"setting {key}: given twice")
    given = {**(settings or {}), **more}
    values = chosen.parse(given)
    traces = _read(files, values.get("format"))
    by_name = {option.name: option for option in chosen.options}
    plain = {key: by_name[key].plain(values[key]) for key in given}
    meta: dict[str, Any] = {"generator": f"{family} {name}", "preset": name, "settings": plain}
    if chosen.seeded:
        meta["seed"] = seed
    if files:
        meta["files"] = {
            role: {"name": Path(file).name, "sha256": hashlib.sha256(read_bytes(file)).hexdigest()}
            for role, file in files.items()
        }
    title = _title(family, chosen, seed, plain, [files[role] for role in files])

    def build(pace: float, changed: Mapping[str, Any]) -> Instance:
        generated = chosen.make(
            Request(
                seed=seed,
                values={**values, **changed},
                given=frozenset(given),
                random=np.random.Generator(np.random.PCG64(seed)),
                **traces,
                pace=pace,
            )
        )
        if not isinstance(generated, Generated) or not isinstance(generated.fields, Mapping):
            need = "need Generated with the keys of the file"
            raise FamilyError(f"family {family}: preset {name}: returned something else, {need}")
        unit = {} if generated.time_unit is None else {"time_unit": generated.time_unit}
        head = {"family": family, "version": 1, "name": title}
        about = {"meta": {**unit, "source": generated.source, **meta}}
        return instance_class(family).from_data({**head, **about, **generated.fields})

    if LOAD not in chosen.options or values["load"] is None:
        return build(1.0, {})
    machines = machines_setting(family)
    return at_load(
        lambda pace, count: build(pace, {machines: count}),
        values["load"],
        values[machines],
        machines,
    )


def uniform(random: np.random.Generator, bounds: tuple[int, int], size: int) -> list[int]:
    """Draw uniform integers.

    `random`: source of random numbers. `bounds`: smallest and largest value. `size`: how many to
    draw.
    """
    drawn: list[int] = random.integers(*bounds, size, endpoint=True).tolist()
    return drawn


def slot_unit(seconds: float) -> str:
    """Return the time unit of an instance in slots, for `meta`.

    `seconds`: length of a slot.
    """
    return "slot of 1 h" if seconds == 3600 else f"slot of {seconds:g} s"


def check_settings(request: Request, replaced: Mapping[str, Sequence[str]], **needed: str) -> None:
    """Raise `UsageError` for settings that have no effect with the given files.

    `replaced`: role of a file -> settings that have no effect with it. `needed`: role of the file
    without which a setting has no effect, by setting; settings of all families are not named.
    """
    for key, role in {"first": "jobs", "take": "jobs", **needed}.items():
        if key in request.given and getattr(request, role) is None:
            raise UsageError(f"option {key}: only with {role} from a file (--{role}-from)")
    for role, keys in replaced.items():
        for key in keys:
            if key in request.given and getattr(request, role) is not None:
                raise UsageError(f"option {key}: the {role} file decides this")


def apportion(total: int, shares: Sequence[float]) -> list[int]:
    """Divide a total into integers in proportion to shares, by the largest-remainder method.

    Ties go to the earlier share.

    `total`: sum of the result, >= 0. `shares`: >= 0, not all 0.
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
        raise UsageError(f"no family '{family}': {unknown_family_message(family)}")
    generator: Generator | None = (
        _own(family) if family in OWN else external_family(family).generator
    )
    if generator is None:
        raise UsageError(f"family {family} generates no instances: it has files only")
    return generator


@cache
def _own(family: str) -> Generator:
    return load_presets(Path(__file__).parent / family / "presets.toml")


def _read(files: Mapping[str, PathLike], forced: str | None) -> dict[str, Any]:
    """Read each file with the reader of its role; `forced` sets the format of its role."""
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
    family: str, preset: Preset, seed: int, plain: Mapping[str, object], files: Sequence[PathLike]
) -> str:
    """Return a name that identifies the instance and can be a file name."""
    parts = [family, preset.name]
    parts += [Path(file).stem[:40] for file in files]
    if preset.seeded:
        parts.append(f"seed{seed}")
    parts += [f"{key}={_in_name(value)}" for key, value in plain.items()]
    return re.sub(r"[^A-Za-z0-9._=-]", "_", "-".join(parts))[:200]


def _in_name(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.12g}" if isinstance(value, float) else str(value)
