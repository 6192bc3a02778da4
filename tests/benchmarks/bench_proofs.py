"""Which optima are proved: claimed, proved by kind, time for the proof, file size, time to check.

For each family and preset, `exact` solves instances of ten seeds within 60 s, and the search for a
proof gets as long again (at least 30 s). Arguments: families, `small` or `medium`, seeds.

    python tests/benchmarks/bench_proofs.py hare edge small 201 202 203
"""

import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

import schedgap as sg
from schedgap.models.proofs import proof_file

FAMILIES, PRESETS = ("hare", "edge", "elastic", "dmlrs", "ring"), ("small", "medium")
SEEDS = range(201, 211)
LIMIT, LEAST = 60.0, 10.0  # seconds


@dataclass(frozen=True, slots=True)
class Row:
    """One instance: status, kind of evidence, and what it cost."""

    status: str
    kind: str
    checked: bool
    solve_seconds: float
    proof_seconds: float
    kilobytes: float
    check_seconds: float


def measure(family: str, preset: str, seed: int, folder: Path) -> Row:
    """Solve one instance, look for a proof, and verify what was saved."""
    instance = sg.generate(family, preset=preset, seed=seed)
    solution = sg.solve(instance, "exact", time_limit=LIMIT, proof=LIMIT)
    file = folder / f"{family}-{preset}-{seed}.json"
    solution.save(file)
    begin = time.monotonic()
    verdict = sg.verify(instance, sg.load_solution(file, instance), search=LIMIT)
    seconds = time.monotonic() - begin
    proof = proof_file(file)
    return Row(
        solution.status,
        "" if solution.proof is None else solution.proof.kind,
        verdict.optimality_status == "checked",
        solution.seconds,
        float(solution.trace.get("proof_seconds", 0.0)),
        proof.stat().st_size / 1000 if proof.exists() else 0.0,
        seconds,
    )


def line(row: Row) -> list[str]:
    """Return what is printed of one instance."""
    return [
        row.status,
        row.kind,
        "checked" if row.checked else "not checked",
        f"{row.solve_seconds:.1f} s, {row.proof_seconds:.1f} s more, {row.check_seconds:.1f} s",
        f"to check, {row.kilobytes:.1f} KB",
    ]


def shown(rows: Sequence[Row]) -> list[str]:
    """Return the cells of one family and preset."""
    claimed = [row for row in rows if row.status in ("optimal", "infeasible")]
    proved = [row for row in claimed if row.checked]
    kinds = Counter(row.kind for row in claimed)
    extra = [row.proof_seconds / max(row.solve_seconds, 0.1) for row in proved]
    return [
        str(len(rows)),
        str(len(claimed)),
        str(len(proved)),
        ", ".join(f"{kind} {number}" for kind, number in kinds.most_common()),
        f"{statistics.median(extra):.0%} ({max(extra):.0%})" if extra else "-",
        f"{max(row.kilobytes for row in proved):.1f}" if proved else "-",
        f"{max(row.check_seconds for row in proved):.1f}" if proved else "-",
    ]


def main() -> None:
    """Print a row for each family and preset."""
    words = sys.argv[1:]
    families = [word for word in words if word in FAMILIES] or FAMILIES
    presets = [word for word in words if word in PRESETS] or PRESETS
    seeds = [int(word) for word in words if word.isdigit()] or SEEDS
    table = Table("family", "preset", "instances", "claimed", "proved", "evidence",
                  "extra time, median (most)", "KB at most", "check s at most")  # fmt: skip
    console = Console(width=140)
    with tempfile.TemporaryDirectory() as folder:
        for family in families:
            for preset in presets:
                rows = []
                for seed in seeds:
                    rows.append(measure(family, preset, seed, Path(folder)))
                    console.print(family, preset, seed, *line(rows[-1]), highlight=False)
                table.add_row(family, preset, *shown(rows))
    console.print(table)


if __name__ == "__main__":
    main()
