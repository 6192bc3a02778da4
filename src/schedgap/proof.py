"""Check a proof file: `python -m schedgap.proof check INSTANCE PROOF`.

Only the instance, the family's `models/<family>/proof.py` and `solvers/proofs/checker.py` are
loaded, no engine and no search. Exit codes: 0 proved, 1 the proof does not show its claim, 2 bad
input. The parts of the checker are names of this module, imported when they are first used.

>>> from schedgap.proof import check_proof, read_proof
"""

import sys
import time
from typing import TYPE_CHECKING

from schedgap import lazy
from schedgap.errors import InputError, UsageError

if TYPE_CHECKING:
    from schedgap.models.proofs import check_proof as check_proof
    from schedgap.models.proofs import read_proof as read_proof
    from schedgap.solvers.proofs.checker import IntegerProgram as IntegerProgram
    from schedgap.solvers.proofs.checker import ProgramSpace as ProgramSpace
    from schedgap.solvers.proofs.checker import RefusedError as RefusedError
    from schedgap.solvers.proofs.checker import check_tree as check_tree

_PUBLIC = {  # name -> module, imported on first use
    "IntegerProgram": "schedgap.solvers.proofs.checker",
    "ProgramSpace": "schedgap.solvers.proofs.checker",
    "RefusedError": "schedgap.solvers.proofs.checker",
    "check_proof": "schedgap.models.proofs",
    "check_tree": "schedgap.solvers.proofs.checker",
    "read_proof": "schedgap.models.proofs",
}

__all__ = [
    "IntegerProgram",
    "ProgramSpace",
    "RefusedError",
    "check_proof",
    "check_tree",
    "main",
    "read_proof",
]

__getattr__, __dir__ = lazy.attributes(__name__, _PUBLIC)


def main(arguments: list[str]) -> int:
    """Check a proof file, print what it proves, and return the exit code.

    Parameters
    ----------
    arguments : list of str
        The arguments of the command line, without the name of the program.
    """
    if len(arguments) != 3 or arguments[0] != "check":
        print("usage: python -m schedgap.proof check INSTANCE PROOF", file=sys.stderr)
        return 2
    from schedgap.instances.families import load
    from schedgap.models.proofs import check_proof, read_proof

    begin = time.monotonic()
    try:
        instance = load(arguments[1])
        verdict = check_proof(instance, read_proof(arguments[2]))
    except (InputError, UsageError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    seconds = time.monotonic() - begin
    if verdict.checked is None:
        print(f"NOT PROVED: {verdict.reason}")
        return 1
    print(
        f"PROVED: no schedule has a value <= {verdict.goal} in the family's whole units "
        f"({verdict.checked.leaves} leaves, checked in {seconds:.1f} s)"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
