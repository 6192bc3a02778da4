"""Seconds that `schedgap table` and `schedgap show` take on a run of many records.

Each command is a separate process: the first one without an index, then all twice with it. Five
methods run on 20 small instances, whose records are then copied under instances with other names
and hashes. Argument: the number of records.

    python tests/benchmarks/bench_listing.py 100000
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench_report import enlarge

import schedgap
from schedgap.analysis.records import index

METHODS = ["sjf-bco", "first-fit", "list-scheduling", "random", "area"]
COMMANDS = (["table"], ["show"], ["table", "--of", "results"])


def seconds(*words: str) -> tuple[float, float]:
    """Return wall-clock and CPU seconds of a command; its output is thrown away.

    Parameters
    ----------
    *words : str
        Arguments of `schedgap`.
    """
    began, before = time.perf_counter(), os.times()
    command = [sys.executable, "-m", "schedgap", *words]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = os.times()
    cpu = after.children_user + after.children_system
    return time.perf_counter() - began, cpu - before.children_user - before.children_system


def main(arguments: list[str]) -> None:
    """Print the seconds of each command, and the size of the index."""
    records = int(arguments[0]) if arguments else 100_000
    with tempfile.TemporaryDirectory() as folder:
        source, run = Path(folder) / "source", Path(folder) / "run"
        instances = [
            schedgap.generate("ring", preset="small", seed=seed, settings={"jobs": 3})
            for seed in range(20)
        ]
        schedgap.compare(instances, run=source, methods=METHODS, time_limit=5)
        enlarge(source, run, records)
        turns = ("without an index", COMMANDS[:1]), ("with it", COMMANDS), ("again", COMMANDS)
        for turn, commands in turns:
            for command in commands:
                wall, cpu = seconds(*command, str(run))
                what = f"{records} records, {turn}: schedgap {' '.join(command)}"
                print(f"{what}: {wall:.1f} s, {cpu:.1f} s of CPU", flush=True)
        print(f"index of {(run / index.NAME).stat().st_size / 1e6:.0f} MB")


if __name__ == "__main__":
    main(sys.argv[1:])
