"""Guarantees of the papers on the instances of a run, kept in the run folder.

Some are evaluated on a run of the algorithm, or on all modes of all jobs, which takes long for
hundreds of instances. The file `guarantees.json` in the run folder stores the results by source
code, instance, method and options, and a check sum. Results of other source code do not count, nor
does a file that was edited or damaged. The next write removes them. The file may be deleted at any
time.
"""

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from schedgap.analysis.records.sources import family_hash, module_hash
from schedgap.errors import InputError
from schedgap.instances.contract import Guard
from schedgap.instances.families import OWN
from schedgap.instances.instance import Instance
from schedgap.instances.records import write_text
from schedgap.models.family import Family
from schedgap.models.method import Lazy

NAME = "guarantees.json"
VERSION = 3  # file format
SLOW = 0.5  # seconds of evaluation from which on the results are written
Known = dict[str, dict[str, dict[str, Any]]]  # keys: hash of the source, instance, method


class Guarantees:
    """The guarantees that were evaluated for the instances of a run, read from its first folder."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / NAME
        self._known = _read(self._file)
        self._present: set[str] = set()  # hashes of source code that were asked for
        self._unsaved = 0.0

    def of(
        self,
        owner: Family,
        method: str,
        changed: Mapping[str, object],
        load: Callable[[str], Instance],
    ) -> Callable[[str], Mapping[str, Any]]:
        """Return the guarantee of a method, by hash of the instance; empty if there is none.

        `changed`: options of the method that do not have their defaults. `load`: returns the
        instance with a hash; called only if the guarantee is not known.
        """
        options = json.dumps(sorted((name, repr(value)) for name, value in changed.items()))
        code = _code(owner)
        self._present.add(code)
        known = self._known.setdefault(code, {})

        def on(sha256: str) -> Mapping[str, Any]:
            key = f"{sha256} {method} {options}"
            if key not in known:
                began = time.perf_counter()
                known[key] = _evaluated(owner, load(sha256), method, changed)
                self._unsaved += time.perf_counter() - began
            return known[key]

        return on

    def save(self) -> None:
        """Write the results if their evaluation took long; do nothing if that cannot be done."""
        if self._unsaved > SLOW:
            known = {
                code: evaluated for code, evaluated in self._known.items() if code in self._present
            }
            text = json.dumps(known)
            with suppress(InputError):
                write_text(self._file, f"{_start(text)}{text}}}")
            self._unsaved = 0.0


def _read(file: Path) -> Known:
    """Return the results in a file; none if it is not as `save` has written it."""
    with suppress(OSError, ValueError, TypeError, LookupError):
        data = file.read_text(encoding="utf-8")
        text = data[len(_start("")) : -1]
        if data == f"{_start(text)}{text}}}":
            return cast(Known, json.loads(text))
    return {}


def _start(text: str) -> str:
    """Return what is before the results in the file: the version, and the check sum of the text."""
    head = {"version": VERSION, "sha256": hashlib.sha256(text.encode()).hexdigest()}
    return f'{json.dumps(head)[:-1]}, "guarantees": '


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
    """Return a hash of the source of a family and of the guarantee of each method."""
    claims = [
        (name, guarantee.methods, guarantee.options, _evaluator(owner.name, guarantee.evaluate))
        for name, guarantee in owner.paper.guarantees.items()
    ]
    return f"{family_hash(owner.name)}-{hashlib.sha256(repr(claims).encode()).hexdigest()[:8]}"


def _evaluator(name: str, evaluate: Callable[..., Any]) -> str:
    """Return what else than the source of its family identifies the function of a guarantee.

    That does not cover `paper.py`, where another package may have the function.
    """
    function = evaluate.function if isinstance(evaluate, Guard) else evaluate
    if name in OWN and isinstance(function, Lazy):
        return function.name
    return module_hash(function.load() if isinstance(function, Lazy) else function)
