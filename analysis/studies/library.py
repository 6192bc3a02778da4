"""Search again for the worst cases of the library, each as its file says.

`python -m schedgap.analysis.studies.library ring elastic` rewrites the files of these families; of
all families without a name.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import schedgap.instances.library
from schedgap.analysis.studies.worst_case import worst_case
from schedgap.instances.instance import Instance
from schedgap.instances.library import library

_FOLDER = Path(schedgap.instances.library.__file__).parent


def searched(find: Instance) -> Instance:
    """Return what the search for a stored worst case finds."""
    call = find.meta["worst_case"]["found"]["call"]
    return worst_case(**call).instance.replace(name=find.name)


def main(arguments: Sequence[str] | None = None) -> None:
    """Search again for the worst cases of families.

    `arguments`: names of families; by default the arguments of the process.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    for find in [instance for name in given for instance in library(name)] if given else library():
        if "call" not in find.meta["worst_case"]["found"]:
            sys.stdout.write(f"{find.family} {find.name}: does not say how it was searched for\n")
            continue
        again = searched(find)
        again.save(_FOLDER / find.family / f"{find.name}.json")
        facts = again.meta["worst_case"]
        told = f"{find.family} {find.name}: {facts['ratio']}, {facts['found']['seconds']} s"
        sys.stdout.write(f"{told}\n")


if __name__ == "__main__":
    main()
