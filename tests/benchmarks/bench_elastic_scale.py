"""Bounds and schedules of family `elastic` at the paper's scale: value, seconds and memory.

Run by `make bench`, or alone:
`python tests/benchmarks/bench_elastic_scale.py [ps|ring] [JOBS ...] [METHOD ...]`.
"""

import sys

from rich.console import Console
from scale import SEED, Row, table

from schedgap.instances.generate import generate
from schedgap.models.elastic import rules

ARCHITECTURES = {"ps": "parameter_server", "ring": "ring_allreduce"}
ROWS: tuple[Row, ...] = (
    ("job-alone", {}, None),
    ("configuration-lp", {}, 300),
    ("wspt-list", {}, None),
    ("lp-guided", {"moves": 0}, None),
    ("lp-guided", {}, 300),
)


def main(words: list[str]) -> None:
    """Print a table for each architecture and number of jobs."""
    rows = [row for row in ROWS if row[0] in words] or ROWS
    for jobs in [int(word) for word in words if word.isdecimal()] or [100, 250]:
        for kind in [word for word in words if word in ARCHITECTURES] or list(ARCHITECTURES):
            given = {"jobs": jobs, "architecture": ARCHITECTURES[kind]}
            instance = generate("elastic", preset="paper", seed=SEED, settings=given)
            Console(width=120).print(table(instance, rows, rules))


if __name__ == "__main__":
    main(sys.argv[1:])
