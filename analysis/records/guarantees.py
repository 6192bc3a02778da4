"""Guarantees of the papers on the instances of a run, kept in the run folder.

Some are evaluated on a run of the algorithm, or on all modes of all jobs, which takes long for
hundreds of instances. The file `guarantees.json` in the run folder has the results by instance,
method, options, and source code; it may be deleted at any time.
"""

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from schedgap.analysis.records.sources import family_code
from schedgap.errors import InputError
from schedgap.instances.families import OWN
from schedgap.instances.instance import Instance
from schedgap.instances.records import write_text
from schedgap.models.contract import Guard
from schedgap.models.family import Family

NAME = "guarantees.json"
SLOW = 0.5  # seconds of evaluation from which on the results are written


class Guarantees:
    """The guarantees that were evaluated for the instances of a run, read from its first folder.

    Parameters
    ----------
    folder : Path
        The run folder.
    """

    def __init__(self, folder: Path) -> None:
        self._file = folder / NAME
        self._known: dict[str, dict[str, Any]] = {}
        self._unsaved = 0.0
        with suppress(OSError, ValueError):
            data = json.loads(self._file.read_text(encoding="utf-8"))
            if isinstance(data, dict) and all(isinstance(each, dict) for each in data.values()):
                self._known = data

    def of(
        self,
        owner: Family,
        method: str,
        changed: Mapping[str, object],
        load: Callable[[str], Instance],
    ) -> Callable[[str], Mapping[str, Any]]:
        """Return the guarantee of a method, by hash of the instance; empty if there is none.

        Parameters
        ----------
        owner : Family
            The family.
        method : str
            Name of the method.
        changed : mapping
            Options of the method that do not have their defaults.
        load : callable
            Returns the instance with a hash; called only if the guarantee is not known.
        """
        options = json.dumps(sorted((name, repr(value)) for name, value in changed.items()))
        begins, ends = f"{_code(owner)} ", f" {method} {options}"

        def on(sha256: str) -> Mapping[str, Any]:
            key = f"{begins}{sha256}{ends}"
            if key not in self._known:
                began = time.perf_counter()
                self._known[key] = _evaluated(owner, load(sha256), method, changed)
                self._unsaved += time.perf_counter() - began
            return self._known[key]

        return on

    def save(self) -> None:
        """Write the results if their evaluation took long; do nothing if that cannot be done."""
        if self._unsaved > SLOW:
            with suppress(InputError):
                write_text(self._file, json.dumps(self._known))
            self._unsaved = 0.0


def _evaluated(
    owner: Family, instance: Instance, method: str, changed: Mapping[str, object]
) -> dict[str, Any]:
    """Return a guarantee as plain data; the fault of another package's names its family."""

    def evaluate() -> dict[str, Any]:
        return _facts(owner.paper.guarantee(instance, method, changed))

    return evaluate() if owner.name in OWN else Guard(owner.name, "guarantee", evaluate, dict)()


def _facts(guarantee: Mapping[str, Any]) -> dict[str, Any]:
    """Return claim, factor, holds and failed (a list) of a guarantee as plain JSON data."""
    if not guarantee:
        return {}
    factor, failed = guarantee.get("factor"), guarantee.get("failed") or ()
    return {
        "claim": str(guarantee.get("claim", "")),
        "factor": None if factor is None else float(factor),
        "holds": bool(guarantee.get("holds")),
        "failed": [failed] if isinstance(failed, str) else list(map(str, failed)),
    }


def _code(owner: Family) -> str:
    """Return a hash of the source of a family and of which guarantee is that of which method."""
    claims = [
        (name, each.methods, each.options, getattr(each.evaluate, "name", ""))
        for name, each in owner.paper.guarantees.items()
    ]
    return f"{family_code(owner.name)}-{hashlib.sha256(repr(claims).encode()).hexdigest()[:8]}"
