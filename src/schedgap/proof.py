"""Check a proof file: `python -m schedgap.proof check INSTANCE PROOF [SOLUTION]`.

`python -m schedgap.proof export INSTANCE PROOF --vipr FILE` writes it for a checker from elsewhere.

Only the instance, the family's rules, its `models/<family>/proof.py` and `solvers/proofs/` are
loaded, no engine and no search. With a solution, the proof has to show that its schedule is
optimal. Exit codes: 0 proved, 1 not proved, 2 bad input. The parts of the checker are names of this
module, imported when they are first used.

>>> from schedgap.proof import check_proof, read_proof
"""

import argparse
import contextlib
import math
import os
import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from schedgap import lazy
from schedgap.errors import InputError, SchedgapError, one_line

if TYPE_CHECKING:
    from schedgap.instances.instance import Instance
    from schedgap.models.proofs import check_proof as check_proof
    from schedgap.models.proofs import read_proof as read_proof
    from schedgap.solvers.proofs.checker import IntegerProgram as IntegerProgram
    from schedgap.solvers.proofs.checker import ProgramSpace as ProgramSpace
    from schedgap.solvers.proofs.checker import RefusedError as RefusedError
    from schedgap.solvers.proofs.checker import check_tree as check_tree
else:
    __getattr__, __dir__ = lazy.attributes(__name__)

__all__ = [
    "IntegerProgram",
    "ProgramSpace",
    "RefusedError",
    "check_proof",
    "check_tree",
    "main",
    "read_proof",
]


def main(arguments: list[str]) -> int:
    """Check a proof file, print what it proves, and return the exit code.

    `arguments`: the arguments of the command line, without the name of the program.
    """
    from schedgap.solvers.proofs.limits import MEMORY_MB, SECONDS, limited

    parser = argparse.ArgumentParser(prog="python -m schedgap.proof", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    check = commands.add_parser("check", help="check a proof file")
    export = commands.add_parser("export", help="write a checked proof as a VIPR certificate")
    for command in check, export:
        command.add_argument("instance")
        command.add_argument("proof")
        command.add_argument("--seconds", type=_positive, default=SECONDS, help="limit of time")
        command.add_argument("--memory", type=_positive, default=MEMORY_MB, help="limit in MB")
    check.add_argument("solution", nargs="?")
    export.add_argument("--vipr", metavar="FILE", required=True, help="certificate to be written")
    asked = parser.parse_args(arguments)
    task, third = "schedgap.proof:_judge", asked.__dict__.get("solution")
    if asked.command == "export":
        task, third = "schedgap.models.exports:exported", asked.vipr
    try:
        found = limited(
            task, asked.instance, asked.proof, third, asked.seconds,
            seconds=asked.seconds, memory_mb=asked.memory,
        )  # fmt: skip
    except SchedgapError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    if isinstance(found, str) and asked.command == "export":
        with contextlib.suppress(OSError):  # the process was ended while it wrote
            os.unlink(f"{asked.vipr}.part")
    done, text = (False, found) if isinstance(found, str) else found
    try:
        print(one_line(text if done else f"NOT PROVED: {text}"), flush=True)
    except OSError as error:  # nobody reads it, so nothing is said
        with contextlib.suppress(OSError):
            print(f"error: standard output: {error}", file=sys.stderr)
        os._exit(2)
    return 0 if done else 1


def _positive(text: str) -> float:
    with contextlib.suppress(ValueError):
        if 0 < float(text) < math.inf:
            return float(text)
    raise argparse.ArgumentTypeError("need a number > 0")


def _judge(
    send: Callable[[object], None],
    instance_file: str,
    file: str,
    solution: str | None,
    limit: float,
) -> tuple[bool, str]:
    """Return whether a proof shows its claim, or that about a solution, and one line on it."""
    from schedgap.instances.families import load
    from schedgap.models.proofs import (
        check_here,
        excluded_text,
        proof_width,
        read_proof,
        shortfall,
    )

    begin = time.monotonic()
    instance, data = load(instance_file), read_proof(file)
    objective, reason = (None, "") if solution is None else _claimed(instance, solution)
    if reason:
        return False, reason
    verdict = check_here(instance, data, seconds=limit)
    reason = verdict.reason
    if solution is not None:
        reason = reason or shortfall(instance, verdict.goal, objective)
    if reason or verdict.checked is None:
        return False, reason
    leaves = "1 leaf" if verdict.checked.leaves == 1 else f"{verdict.checked.leaves} leaves"
    size = f"({leaves}, checked in {time.monotonic() - begin:.1f} s)"
    shown = excluded_text(instance, verdict.goal)
    if solution is None:
        if not shortfall(instance, verdict.goal, None):
            return True, f"PROVED: there is no schedule {size}"
        text = f"PROVED: {shown} {size}; whether this proves a schedule optimal depends on its"
        return True, f"{text} value: give the solution as third argument"
    if objective is None:
        return True, f"PROVED: there is no schedule {size}"
    width = proof_width(instance, objective)
    within = f" within {width:g} of its value" if width else ""
    value = repr(objective).removesuffix(".0")
    return True, f"PROVED: {solution} is optimal{within}: objective {value}, {shown} {size}"


def _claimed(instance: "Instance", file: str) -> tuple[float | None, str]:
    """Return the objective of a solution by the family's rules, or why it has none to be proved.

    The objective is None for the claim that there is no schedule.
    """
    from schedgap.instances.families import FAMILIES
    from schedgap.instances.records import is_instance, read_json, validate
    from schedgap.instances.solution import SolutionFile

    data: Any = read_json(file)
    schedule, options = data, dict[str, Any]()
    try:
        if not isinstance(data, dict):
            raise InputError("need a JSON object")
        if is_instance(data):
            raise InputError("an instance; need a solution")
        if data.keys() & SolutionFile.model_fields.keys():
            solution = validate(SolutionFile, data)
            if solution.instance_sha256 != instance.sha256:
                raise InputError("not a solution of this instance", path="instance_sha256")
            if solution.status == "infeasible" and solution.schedule is None:
                return None, ""
            if solution.schedule is None:
                raise InputError(f"status '{solution.status}' without a schedule", path="schedule")
            schedule, options = solution.schedule, solution.options
        rules = import_module(f"{FAMILIES[instance.family].models}.rules")
        for broken in rules.check(instance, schedule, options):
            return None, f"the schedule breaks rule {broken.rule}: {broken.message}"
        if hasattr(rules, "omitted_rules") and (relaxed := rules.omitted_rules(schedule)):
            return None, f"the schedule need not obey rule {', '.join(relaxed)}"
        return rules.objective(instance, schedule), ""
    except ModuleNotFoundError:
        raise InputError(f"no proofs for family {instance.family}", path="family") from None
    except InputError as error:
        raise error.inside(file) from None


if __name__ == "__main__":
    for stream in filter(None, (sys.stdout, sys.stderr)):  # names of files may have any characters
        stream.reconfigure(errors="backslashreplace")
    sys.exit(main(sys.argv[1:]))
