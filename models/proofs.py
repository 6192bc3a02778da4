"""Proof files: a claim that no schedule has a value of `goal` or less, and its check.

`models/<family>/proof.py` says what the claim is about, `solvers/proofs/checker.py` walks the tree.
Neither imports an engine, and neither shares code with the searches.
"""

import gzip
import hashlib
import json
import math
import os
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, Inexact
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from schedgap.errors import InputError
from schedgap.instances.families import FAMILIES
from schedgap.instances.instance import Instance
from schedgap.instances.json_files import parse_json, read_bytes
from schedgap.solvers.proofs.checker import (
    VERSION,
    Checked,
    IntegerProgram,
    RefusedError,
    Searched,
    TimeUpError,
    check_tree,
    whole,
)
from schedgap.solvers.proofs.limits import MEMORY_MB, SECONDS, limited

MAX_DIGITS = 1235  # digits of an integer; the checker refuses more than 4096 bits
MAX_BYTES = 64 * 2**20  # size of a proof, packed or not
KEYS = ("kind", "version", "family", "instance_sha256", "goal", "vectors", "cuts", "tree")


@dataclass(frozen=True, slots=True)
class ProofVerdict:
    """What the check of a proof says.

    `status`: "proved", "refused" or "unchecked". `goal`: no schedule has this value or less, in the
    family's units. `checked`: size of the tree, when proved. `reason`: when refused, the path in
    the file and what is wrong. When unchecked, what ended the check.
    """

    status: Literal["proved", "refused", "unchecked"]
    goal: int
    checked: Checked | None = None
    reason: str = ""


def proof_data(
    instance: Instance, goal: int, *, vectors: list[Any], cuts: list[Any], tree: list[Any]
) -> dict[str, Any]:
    """Return a proof file's data.

    `goal`: the claim: no schedule has this value or less. `vectors`, `cuts`, `tree`: as
    `check_tree` reads them.
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

    `objective`: of the schedule claimed optimal; None for the claim that there is no schedule.

    The result is None if the family has no proofs of this claim; `shortfall` says why.
    """
    try:
        return _goal(instance, objective)
    except RefusedError:
        return None


def _goal(instance: Instance, objective: float | None) -> int:
    owner = _family(instance)
    if owner is None:
        raise RefusedError("/family", f"no proofs for family {instance.family}")
    found: int = owner.goal(instance, objective)
    return found


def shortfall(
    instance: Instance, goal: int, objective: float | None, *, claim: str = "optimality"
) -> str:
    """Return why a proof of a goal does not show that an objective is optimal; empty if it does.

    `goal`: the proof shows that no schedule has this value or less, in the family's units.
    `objective`: of the schedule claimed optimal; None for the claim that there is no schedule.
    `claim`: what the proof should show, for the text.
    """
    if objective is None:
        claim = "that there is no schedule"
    try:
        needed = _goal(instance, objective)
    except RefusedError as error:
        return f"{error.where}: no proof can show {claim}: {error.why}"
    if goal >= needed:
        return ""
    shown, wanted = (excluded_text(instance, value) for value in (goal, needed))
    return f"/goal: the proof shows that {shown}; {claim} needs that {wanted}"


def excluded_text(instance: Instance, goal: int) -> str:
    """Return what a goal excludes in words, in the objective's unit.

    A value that has no short decimal form is rounded such that the text claims less.

    `goal`: in the family's units.
    """
    side, value = _family(instance).excluded(instance, goal)
    text = _decimal(value, ROUND_FLOOR if side == "<=" else ROUND_CEILING)
    return f"no schedule has value {side} {text}"


def excluded_objective(instance: Instance, goal: int) -> float:
    """Return the objective that is excluded with all better ones, rounded to the weaker side.

    `goal`: in the family's units.
    """
    side, value = _family(instance).excluded(instance, goal)
    nearest, weaker = float(value), -math.inf if side == "<=" else math.inf
    is_past = nearest > value if side == "<=" else nearest < value
    return math.nextafter(nearest, weaker) if is_past else nearest


def _decimal(value: Fraction, rounding: str) -> str:
    """Return a number with up to 17 digits if they are exact, else rounded to 12."""
    top, bottom = Decimal(value.numerator), Decimal(value.denominator)
    context = Context(prec=17)
    found = context.divide(top, bottom)
    if context.flags[Inexact]:
        found = Context(prec=12, rounding=rounding).divide(top, bottom)
    found = found.normalize(Context(prec=17))
    short = -10 < found.adjusted() < 17
    return f"{found:f}" if short else f"{found:e}"


def proof_width(instance: Instance, objective: float | None) -> float:
    """Return by how much a schedule may be better than one that is proved optimal, relatively.

    0 where a grid tells values apart: then the next better one is excluded.

    `objective`: of the schedule claimed optimal; None for the claim that there is none.
    """
    width = getattr(_family(instance), "within", None)
    return 0.0 if width is None or objective is None else float(width(instance, objective))


def integer_program(instance: Instance, goal: int) -> IntegerProgram | None:
    """Return the integer program that a proof refutes, or None where the family has another space.

    `goal`: in the family's units.
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
    """Return whether the family's checker has a complete search."""
    return hasattr(_family(instance), "search")


def search_again(instance: Instance, goal: int, *, seconds: float) -> Searched | None:
    """Search all schedules by the family's checker, without an engine.

    `goal`: in the family's units: is there a schedule of this value or less? `seconds`: time limit.

    The result is None if the family has no such search, or the instance is too large for it.
    """
    if not has_search(instance):
        return None
    try:
        searched: Searched = _family(instance).search(instance, goal, seconds=seconds)
    except RefusedError:  # too large
        return None
    return searched


def check_proof(
    instance: Instance,
    data: Mapping[str, Any],
    *,
    seconds: float = SECONDS,
    memory_mb: float = MEMORY_MB,
) -> ProofVerdict:
    """Return whether a proof shows its claim for an instance, checked in a child process.

    `data`: of a proof file; nothing in it is trusted. `seconds`: time that the check may take.
    `memory_mb`: memory that it may take, in MB.
    """
    goal = 0
    try:
        goal = _head(instance, data)
        text = _text(data)
    except RefusedError as error:
        return ProofVerdict("refused", goal, reason=str(error))
    found = limited(f"{__name__}:_check", instance, text, seconds,
                    seconds=seconds, memory_mb=memory_mb)  # fmt: skip
    stopped = not isinstance(found, ProofVerdict)
    return ProofVerdict("unchecked", goal, reason=found) if stopped else found


def _check(
    send: Callable[[object], None], instance: Instance, text: bytes, seconds: float
) -> ProofVerdict:
    """Check the text of a proof in this (child) process."""
    try:
        return check_here(instance, parse_proof(text), seconds=seconds)
    except InputError as error:
        return ProofVerdict("refused", 0, reason=str(error))


def check_here(
    instance: Instance, data: Mapping[str, Any], *, seconds: float = SECONDS
) -> ProofVerdict:
    """Return whether a proof shows its claim, checked in this process and without limits.

    `data`: of a proof file; nothing in it is trusted. `seconds`: the check ends after this time,
    but not within a node of the tree.
    """
    goal = 0
    try:
        goal = _head(instance, data)
        checked = check_tree(_family(instance).space(instance, goal, data), data, seconds=seconds)
    except TimeUpError as error:
        return ProofVerdict("unchecked", goal, reason=str(error))
    except RefusedError as error:
        return ProofVerdict("refused", goal, reason=str(error))
    return ProofVerdict("proved", goal, checked)


def _head(instance: Instance, data: Mapping[str, Any]) -> int:
    """Return the goal of a proof of the right kind for the right instance."""
    if _family(instance) is None:
        raise RefusedError("/family", f"no proofs for family {instance.family}")
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

    `file`: the solution file, `NAME.json`.
    """
    path = Path(file)
    return path.with_name(f"{path.name.removesuffix('.json')}.proof.json.gz")


def packed_proof(data: Mapping[str, Any]) -> bytes:
    """Return the bytes of a proof file; the same data give the same bytes.

    `data`: as `proof_data` returns it.
    """
    return gzip.compress(_text(data), mtime=0)


def _text(data: Mapping[str, Any]) -> bytes:
    """Return a proof as JSON; RefusedError if it is none."""
    try:
        return json.dumps(data, separators=(",", ":"), allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise RefusedError("", f"no JSON data: {error}") from None


def write_proof(file: str | os.PathLike[str], data: Mapping[str, Any]) -> str:
    """Write a proof file and return its sha256.

    `data`: as `proof_data` returns it.
    """
    packed = packed_proof(data)
    part = f"{os.fspath(file)}.part"
    with open(part, "wb") as target:
        target.write(packed)
    os.replace(part, file)
    return hashlib.sha256(packed).hexdigest()


def read_proof(file: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the data of a proof file.

    `file`: JSON, packed by gzip or not.

    Raises
    ------
    InputError
        When it cannot be read, is not a strict JSON object, or is larger than 64 MB when unpacked.
    """
    return parse_proof(read_bytes(file, most=MAX_BYTES), file=str(file))


def parse_proof(content: bytes, *, file: str = "") -> dict[str, Any]:
    """Return the data of a proof file from its bytes.

    `content`: JSON, packed by gzip or not.

    Raises
    ------
    InputError
        When it is not a strict JSON object, or is larger than 64 MB when unpacked.
    """
    try:
        if content[:2] == b"\x1f\x8b":
            unpacker = zlib.decompressobj(wbits=31)
            content = unpacker.decompress(content, MAX_BYTES + 1)
            if len(content) > MAX_BYTES:
                raise InputError(f"larger than {MAX_BYTES >> 20} MB when unpacked")
            if not unpacker.eof:
                raise InputError("the file ends too early")
            if unpacker.unused_data:
                raise InputError("something follows the packed data")
        data = parse_json(content, digits=MAX_DIGITS)
        if not isinstance(data, dict):
            raise InputError("need a JSON object")
    except zlib.error as error:
        raise InputError(f"cannot be read: {error}", file=file) from None
    except InputError as error:
        raise error.inside(file) from None
    return data
