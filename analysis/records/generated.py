"""The settings with which the instances of a run were generated."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from schedgap.analysis.records.stored import StoredRun
from schedgap.errors import UsageError
from schedgap.instances.generate import presets
from schedgap.instances.settings import Option


def generator_settings(run: StoredRun) -> pd.DataFrame:
    """Return the settings with which the instances of a run were generated.

    The table has a row for each instance, indexed by its name in the run. The columns are
    `instance_seed` and the settings that some instance of the preset was given; other instances
    have the preset's default. Instances that were not generated have empty cells.
    """
    facts = {name: _facts(run.facts[sha256]) for sha256, name in run.names.items()}
    given: dict[tuple[str, str], dict[str, None]] = {}
    for owner, values in facts.values():
        given.setdefault(owner, {}).update(dict.fromkeys(values))
    known: dict[tuple[str, str], Mapping[str, Any]] = {}
    rows: dict[str, dict[str, object]] = {}
    for name, (owner, values) in facts.items():
        if owner not in known:
            known[owner] = _defaults(*owner)
        rows[name] = {key: values.get(key, known[owner].get(key)) for key in given[owner]}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("instance").convert_dtypes()


def _facts(data: Mapping[str, Any]) -> tuple[tuple[str, str], dict[str, object]]:
    """Return the family and preset of an instance file, and its settings, which are not trusted."""
    meta = data.get("meta", {})
    preset, given = meta.get("preset"), meta.get("settings")
    if not isinstance(preset, str) or not isinstance(given, Mapping):
        return (str(data.get("family")), ""), {}
    values: dict[str, object] = {
        str(key): value
        for key, value in given.items()
        if value is None or isinstance(value, bool | int | float | str)
    }
    seed = meta.get("seed")
    first: dict[str, object] = {"instance_seed": seed} if isinstance(seed, int) else {}
    return (str(data.get("family")), preset), first | values


def _defaults(family: str, preset: str) -> dict[str, object]:
    try:
        options: Sequence[Option] = presets(family)[preset].options
    except (UsageError, KeyError):  # its package is missing or has another version
        return {}
    return {option.name: option.plain(option.default) for option in options}
