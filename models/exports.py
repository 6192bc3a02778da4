"""Write a checked proof as a certificate that checkers from elsewhere read.

Families `dmlrs`, `edge` and `elastic` refute an integer program; the format has no other proofs.
"""

import os
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from schedgap.errors import InputError, UsageError
from schedgap.instances.families import FAMILIES, load
from schedgap.instances.instance import Instance
from schedgap.models.proofs import check_here, excluded_text, read_proof
from schedgap.solvers.proofs.checker import ProgramSpace, RefusedError, whole
from schedgap.solvers.proofs.limits import SECONDS
from schedgap.solvers.proofs.vipr import Exported, export

NAMED = 5  # assumptions that the message names


def export_vipr(
    instance: Instance,
    data: Mapping[str, Any],
    file: str | os.PathLike[str],
    *,
    seconds: float = SECONDS,
) -> Exported | str:
    """Check a proof and write it as a VIPR certificate, or return why it does not prove its claim.

    `data`: of a proof file; nothing in it is trusted. `file`: of the certificate; written when it
    is complete. `seconds`: limit of the check.

    Raises
    ------
    UsageError
        If the proofs of the family are about no integer program.
    """
    models = FAMILIES[instance.family].models
    try:
        space = _space(f"{models}.proof", instance, data)
    except RefusedError as error:
        return str(error)
    if not isinstance(space, ProgramSpace):
        raise UsageError(
            f"proofs of family {instance.family} refute no integer program, so VIPR cannot express "
            "them"
        )
    verdict = check_here(instance, data, seconds=seconds)
    if verdict.status != "proved":
        return verdict.reason
    comments = [
        f"Proof that {excluded_text(instance, verdict.goal)},",
        f"for the {instance.family} instance of sha256 {instance.sha256}.",
        "That each such schedule is a solution of this program is not part of the certificate.",
    ]
    larger, assumed = None, list[str]()
    if (pooled := _pooled(f"{models}.exact.program_without_pools")) is not None:
        found = pooled(instance, verdict.goal, data)
        if found is not None and found.larger is None:
            assumed = [f"{found.left_out} columns that prices leave out of the program are 0"]
        elif found is not None:
            larger = found.larger
    return export(space, data, file, larger=larger, comments=comments, assumed=assumed)


def _space(module: str, instance: Instance, data: Mapping[str, Any]) -> Any:
    """Return what a proof refutes; None if the family has no proofs."""
    try:
        owner = import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        return None
    return owner.space(instance, whole(data.get("goal"), "/goal"), data)


def _pooled(module: str) -> Callable[[Instance, int, Mapping[str, Any]], Any] | None:
    """Return the function that derives what a family leaves out of its program, if it does."""
    try:
        found: Callable[[Instance, int, Mapping[str, Any]], Any] = import_module(module).pooled
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        return None
    return found


def exported(
    send: Callable[[object], None], instance_file: str, proof: str, file: str, seconds: float
) -> tuple[bool, str]:
    """Export a proof in this (child) process; return whether it was written, and one line.

    `send`: not used. `instance_file`, `proof`, `file`: names of files; the last is written.
    `seconds`: limit of the check.
    """
    instance = load(instance_file)
    try:
        found = export_vipr(instance, read_proof(proof), file, seconds=seconds)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=file) from None
    if isinstance(found, str):
        return False, found
    size = f"{found.columns} columns, {found.rows} rows, {found.derivations} derivations"
    size = size.removesuffix("s") if found.derivations == 1 else size
    text = f"EXPORTED: {file}: {size}; it assumes nothing beyond its program"
    if found.assumed:
        names = ", ".join(found.assumed[:NAMED])
        more = len(found.assumed) - NAMED
        names += f" and {more} more, listed in its head" if more > 0 else ""
        text = f"EXPORTED: {file}: {size}; it ASSUMES what viprchk does not check: {names}"
    return True, text
