"""Tables of methods and presets, as shown by `schedgap methods` and `schedgap presets`."""

from collections.abc import Iterator
from typing import Any

from schedgap.instances.families import FAMILIES
from schedgap.instances.generate import presets as presets_of
from schedgap.instances.settings import Option
from schedgap.models.family import Family, families, family
from schedgap.models.method import Method


class MethodList(list[dict[str, Any]]):
    """Rows as JSON data, shown as a table in a notebook."""

    def frame(self) -> Any:
        """Return the rows as a pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame(self)

    def _repr_html_(self) -> str:
        return str(self.frame()._repr_html_())


def methods(name: str | None = None) -> MethodList:
    """Return a row for each method and alias of one family or of all families.

    The keys are family, method, kind, engines (default first), source, ours, alias_of (None for a
    method itself), summary, options (each with name, type, default, choices, help).

    Parameters
    ----------
    name : str, optional
        A family; by default all.
    """
    chosen = families() if name is None else [family(name)]
    return MethodList(row for owner in chosen for row in _rows(owner))


def _rows(owner: Family) -> Iterator[dict[str, Any]]:
    for alias, target in owner.aliases.items():
        yield _row(owner, owner.method(target), alias, target)
    for method in owner.methods:
        yield _row(owner, method, method.name, None)


def _row(owner: Family, method: Method, name: str, alias_of: str | None) -> dict[str, Any]:
    return {
        "family": owner.name,
        "method": name,
        "kind": method.kind,
        "engines": list(method.engines),
        "source": method.source,
        "ours": method.ours,
        "alias_of": alias_of,
        "summary": method.summary,
        "options": [_option(option) for option in method.options],
    }


def presets(name: str | None = None) -> list[dict[str, Any]]:
    """Return a row for each preset of one family or of all families.

    The keys are family, preset, summary, seeded (whether the seed matters), files (which of jobs,
    machines and rates can come from a file), options (as for methods).

    Parameters
    ----------
    name : str, optional
        A family; by default all.
    """
    return [
        {
            "family": owner,
            "preset": preset.name,
            "summary": preset.summary,
            "seeded": preset.seeded,
            "files": list(preset.files),
            "options": [_option(option) for option in preset.options],
        }
        for owner in ([name] if name is not None else FAMILIES)
        for preset in presets_of(owner).values()
    ]


def _option(option: Option) -> dict[str, Any]:
    return {
        "name": option.name,
        "type": option.type,
        "default": option.plain(option.default),
        "choices": list(option.choices),
        "help": option.help,
    }
