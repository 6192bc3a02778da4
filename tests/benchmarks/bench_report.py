"""CPU seconds and size of the report of large runs, made by copying the records of a small one.

Run: `python tests/benchmarks/bench_report.py [RUN [TASKS...]]`. Without a run folder, the quick
suite is run first. The copies have instances with other names and hashes.
"""

import itertools
import json
import sys
import tempfile
import time
from pathlib import Path

from schedgap.instances.families import from_data


def enlarge(source: Path, target: Path, tasks: int) -> None:
    """Write a run folder with copies of the records of another one.

    Parameters
    ----------
    source : Path
        A run folder.
    target : Path
        The new run folder.
    tasks : int
        Number of records in it.
    """
    for name in ("tasks", "instances"):
        (target / name).mkdir(parents=True)
    hashes: dict[str, str] = {}
    records = [json.loads(file.read_text()) for file in sorted((source / "tasks").glob("*.json"))]
    for place, record in enumerate(itertools.islice(itertools.cycle(records), tasks)):
        turn = place // len(records)
        instance = record["instance"]
        name = f"{instance['name']}-{turn}"
        text = (source / "instances" / f"{instance['sha256']}.json").read_text()
        job = json.loads(text)["jobs"][0]["id"]
        ids = f'"{job}"', f'"{job}-{turn}"'  # the name is not part of the hash
        if name not in hashes:
            renamed = from_data(json.loads(text.replace(*ids)) | {"name": name})
            hashes[name] = renamed.sha256
            renamed.save(target / "instances" / f"{renamed.sha256}.json")
        sha256 = hashes[name]
        record = json.loads(json.dumps(record).replace(*ids))
        copy = record | {"key": f"{record['key']}-{turn}"}
        copy["instance"] = instance | {"name": name, "sha256": sha256}
        if record["solution"] is not None:
            copy["solution"] = record["solution"] | {"instance": name, "instance_sha256": sha256}
        (target / "tasks" / f"{copy['key']}.json").write_text(json.dumps(copy))


def main(arguments: list[str]) -> None:
    """Print CPU seconds of the first and the second report of each size, and its megabytes."""
    from schedgap.analysis.report.page import write_report

    with tempfile.TemporaryDirectory() as folder:
        if arguments:
            source = Path(arguments[0])
        else:
            import schedgap

            source = Path(folder) / "quick"
            schedgap.compare("quick", time_limit=1, run=source)
        for tasks in map(int, arguments[1:] or ["5000", "10000"]):
            run = Path(folder) / str(tasks)
            enlarge(source, run, tasks)
            for turn in ("first", "second"):
                began = time.process_time()
                page = write_report(run)
                seconds = time.process_time() - began
                size = page.stat().st_size / 1e6
                print(f"{tasks} tasks, {turn} report: {seconds:.2f} s of CPU, {size:.1f} MB")


if __name__ == "__main__":
    main(sys.argv[1:])
