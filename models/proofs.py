"""Proof files: a claim that no schedule has a value of `goal` or less, and its check.

`models/<family>/proof.py` says what the claim is about, `solvers/proofs/checker.py` walks the tree.
Neither imports an engine, and neither shares code with the searches.
"""

import gzip
import hashlib
import json
import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from schedgap.errors import InputError
from schedgap.instances.families import FAMILIES
from schedgap.instances.instance import Instance
from schedgap.solvers.proofs.checker import (
    VERSION,
    Checked,
    IntegerProgram,
    RefusedError,
    Searched,
    check_tree,
    whole,
)

MAX_BYTES = 64 * 2**20  # of a proof when unpacked
KEYS = ("kind", "version", "family", "instance_sha256", "goal", "vectors", "cuts", "tree")


@dataclass(frozen=True, slots=True)
class ProofVerdict:
    """What the check of a proof says.

    Attributes
    ----------
    status : "proved" or "refused"
    goal : int
        No schedule has this value or less, in the family's units.
    checked : Checked or None
        Size of the tree, when proved.
    reason : str
        Path in the file and what is wrong, when refused.
    """

    status: Literal["proved", "refused"]
    goal: int
    checked: Checked | None = None
    reason: str = ""


def proof_data(
    instance: Instance, goal: int, *, vectors: list[Any], cuts: list[Any], tree: list[Any]
) -> dict[str, Any]:
    """Return a proof file's data.

    Parameters
    ----------
    instance : Instance
    goal : int
        The claim: no schedule has this value or less.
    vectors, cuts, tree : list
        As `check_tree` reads them.
    """
    head = {
        "kind": "tree",
        "version": VERSION,
        "family": instance.family,
        "instance_sha256": instance.sha256,
        "goal": goal,
    }
    return head | {"vectors": vectors, "cuts": cuts, "tree": tree}


def excluded_value(instance: Instance, objective: float | None) -> int | None:
    """Return the largest value that a proof of optimality has to exclude, in the family's units.

    Parameters
    ----------
    instance : Instance
    objective : float or None
        Of the schedule claimed optimal; None for the claim that there is no schedule.

    Returns
    -------
    int or None
        None where the family has no proofs for this instance.
    """
    owner = _family(instance)
    found: int | None = None if owner is None else owner.goal(instance, objective)
    return found


def proof_width(instance: Instance, objective: float | None) -> float:
    """Return by how much a schedule may be better than one that is proved optimal, relatively.

    0 where a grid tells values apart, so that the next better one is excluded.

    Parameters
    ----------
    instance : Instance
    objective : float or None
        Of the schedule claimed optimal; None for the claim that there is none.
    """
    width = getattr(_family(instance), "within", None)
    return 0.0 if width is None or objective is None else float(width(instance, objective))


def integer_program(instance: Instance, goal: int) -> IntegerProgram | None:
    """Return the integer program that a proof refutes, or None where the family has another space.

    Parameters
    ----------
    instance : Instance
    goal : int
        In the family's units.
    """
    owner = _family(instance)
    if not hasattr(owner, "program"):
        return None
    try:
        program: IntegerProgram = owner.program(instance, goal)
    except RefusedError:  # too large
        return None
    return program


def has_search(instance: Instance) -> bool:
    """Return whether the family's checker has a complete search.

    Parameters
    ----------
    instance : Instance
    """
    return hasattr(_family(instance), "search")


def search_again(instance: Instance, goal: int, *, seconds: float) -> Searched | None:
    """Search all schedules by the family's checker, without an engine.

    Parameters
    ----------
    instance : Instance
    goal : int
        In the family's units: is there a schedule of this value or less?
    seconds : float
        Time limit.

    Returns
    -------
    Searched or None
        None where the family has no such search, or the instance is too large for it.
    """
    if not has_search(instance):
        return None
    try:
        searched: Searched = _family(instance).search(instance, goal, seconds=seconds)
    except RefusedError:  # too large
        return None
    return searched


def check_proof(
    instance: Instance, data: Mapping[str, Any], *, seconds: float = 600.0
) -> ProofVerdict:
    """Return whether a proof shows its claim for an instance.

    Parameters
    ----------
    instance : Instance
    data : mapping
        Of a proof file; nothing in it is trusted.
    seconds : float
        Time that the check may take.
    """
    goal = 0
    try:
        goal = _head(instance, data)
        owner = _family(instance)
        if owner is None:
            raise RefusedError("/family", f"no proofs for family {instance.family}")
        checked = check_tree(owner.space(instance, goal, data), data, seconds=seconds)
    except RefusedError as error:
        return ProofVerdict("refused", goal, reason=str(error))
    return ProofVerdict("proved", goal, checked)


def _head(instance: Instance, data: Mapping[str, Any]) -> int:
    """Return the goal of a proof of the right kind for the right instance."""
    for key in data:
        if key not in KEYS:
            raise RefusedError(f"/{str(key)[:40]}", "unknown key")
    wanted = {
        "kind": "tree",
        "version": VERSION,
        "family": instance.family,
        "instance_sha256": instance.sha256,
    }
    for key, value in wanted.items():
        if data.get(key) != value or type(data.get(key)) is not type(value):
            raise RefusedError(f"/{key}", f"must be {value!r}")
    return whole(data.get("goal"), "/goal")


def _family(instance: Instance) -> Any:
    """Return the module that says what proofs of a family are about, or None."""
    try:
        return import_module(f"{FAMILIES[instance.family].models}.proof")
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.endswith(".proof"):
            return None
        raise


def proof_file(file: str | os.PathLike[str]) -> Path:
    """Return the name of the proof file of a solution file, `NAME.proof.json.gz`.

    Parameters
    ----------
    file : path
        The solution file, `NAME.json`.
    """
    path = Path(file)
    return path.with_name(f"{path.name.removesuffix('.json')}.proof.json.gz")


def packed_proof(data: Mapping[str, Any]) -> bytes:
    """Return the bytes of a proof file; the same data give the same bytes.

    Parameters
    ----------
    data : mapping
        As `proof_data` returns it.
    """
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return gzip.compress(text.encode(), mtime=0)


def write_proof(file: str | os.PathLike[str], data: Mapping[str, Any]) -> str:
    """Write a proof file and return its sha256.

    Parameters
    ----------
    file : path
    data : mapping
        As `proof_data` returns it.
    """
    packed = packed_proof(data)
    part = f"{os.fspath(file)}.part"
    with open(part, "wb") as target:
        target.write(packed)
    os.replace(part, file)
    return hashlib.sha256(packed).hexdigest()


def read_proof(file: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the data of a proof file.

    Parameters
    ----------
    file : path
        JSON, packed by gzip or not.

    Raises
    ------
    InputError
        When it cannot be read, is no JSON object, or is larger than 64 MB when unpacked.
    """
    try:
        with open(file, "rb") as source:
            packed = source.read(MAX_BYTES + 1)
        if packed[:2] == b"\x1f\x8b":
            unpacker = zlib.decompressobj(wbits=31)
            packed = unpacker.decompress(packed, MAX_BYTES + 1)
            if len(packed) <= MAX_BYTES and not unpacker.eof:
                raise InputError("the file ends too early", file=str(file))
        if len(packed) > MAX_BYTES:
            raise InputError(f"larger than {MAX_BYTES >> 20} MB when unpacked", file=str(file))
        data = json.loads(packed)
    except (OSError, zlib.error) as error:
        raise InputError(f"cannot be read: {error}", file=str(file)) from None
    except (ValueError, RecursionError) as error:
        message = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise InputError(f"no JSON: {message}", file=str(file)) from None
    if not isinstance(data, dict):
        raise InputError("need a JSON object", file=str(file))
    return data
