"""What the studies of single claims share: a command that prints one table of random cases."""

import argparse
import sys
from collections.abc import Callable, Sequence


def main(
    module: str, table: Callable[[int, int], str], arguments: Sequence[str] | None = None
) -> None:
    """Print `table(cases, seed)`; run as `python -m MODULE --cases N --seed N`."""
    parser = argparse.ArgumentParser(prog=f"python -m {module}")
    parser.add_argument("--cases", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    sys.stdout.write(table(asked.cases, asked.seed) + "\n")
