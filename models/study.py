"""Command line of studies that print a table of random cases."""

import argparse
import sys
from collections.abc import Callable, Sequence


def main(
    module: str, table: Callable[[int, int], str], arguments: Sequence[str] | None = None
) -> None:
    """Print `table(cases, seed)`, with the values of `--cases N` and `--seed N`.

    `module`: name of the module, for the help text. `table`: takes the number of cases and the seed
    and returns the table. `arguments`: by default the command line's.
    """
    parser = argparse.ArgumentParser(prog=f"python -m {module}")
    parser.add_argument("--cases", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    sys.stdout.write(table(asked.cases, asked.seed) + "\n")
