"""Whether `exact` is at least as good as every bundled bound and schedule, at several time limits.

Prints a row for each instance and limit: the bound and the schedule of `exact`, and the method that
is better than either, if any. `make bench` runs it on one preset. Here with the processor shared:

    python tests/benchmarks/bench_anytime.py edge hare --presets small paper --limits 10 30 --spin 1
"""

import argparse
import multiprocessing
import tempfile
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

import schedgap as sg
from schedgap.instances.families import OWN
from schedgap.models.family import family

SAME = 1e-9  # relative: values that differ by less are equal


def spin() -> None:
    """Keep a core busy."""
    while True:
        pass


def row(instance: sg.Instance, limit: float) -> tuple[str, ...]:
    """Run `exact` and all bundled bounds and schedules, and return the row of their results."""
    owner = family(instance.family)
    names = ["exact", *(each.name for each in owner.methods if each.kind != "exact")]
    with tempfile.TemporaryDirectory() as folder:
        run = sg.compare([instance], methods=names, time_limit=limit, workers=1, run=folder)
        found = {each.method: each.solution for each in run.records if each.solution is not None}
        comparable = {each.method for each in run.records if not each.relaxed and not each.problem}
    sign = 1.0 if owner.sense(instance) == "min" else -1.0
    exact = found.pop("exact")
    others = {name: each for name, each in found.items() if name in comparable}

    def better(part: str, sign: float) -> str:
        """Return which other method has the smallest value of a part, if `exact` does not."""
        ours = getattr(exact, part)
        values = {n: getattr(s, part) for n, s in others.items() if getattr(s, part) is not None}
        if not values:
            return ""
        name = min(values, key=lambda name: sign * values[name])
        if ours is not None and sign * (ours - values[name]) <= SAME * abs(values[name]):
            return ""
        return f"{name}: {values[name]:.8g}"

    def shown(value: float | None) -> str:
        return "-" if value is None else f"{value:.8g}"

    return (
        instance.name, f"{limit:g}", f"{exact.seconds:.1f}", shown(exact.bound),
        shown(exact.objective), better("bound", -sign), better("objective", sign),
    )  # fmt: skip


def main(words: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("families", nargs="*", default=list(OWN))
    parser.add_argument("--presets", nargs="+", default=["medium"])
    parser.add_argument("--jobs", type=int, help="jobs, in the place of the preset's")
    parser.add_argument("--seeds", nargs="+", type=int, default=[8102])
    parser.add_argument("--limits", nargs="+", type=float, default=[10.0])
    parser.add_argument("--quick", action="store_true", help="preset small, 3 s")
    parser.add_argument("--spin", type=int, default=0, help="processes that keep a core busy")
    given: Any = parser.parse_args(words)
    presets, limits = (["small"], [3.0]) if given.quick else (given.presets, given.limits)
    settings = {} if given.jobs is None else {"jobs": given.jobs}
    busy = [multiprocessing.Process(target=spin, daemon=True) for _ in range(given.spin)]
    for process in busy:
        process.start()
    table = Table(
        "instance", "limit", "seconds", "bound", "schedule", "better bound", "better schedule"
    )
    for name in given.families or OWN:
        for preset in presets:
            for seed in given.seeds:
                instance = sg.generate(name, preset=preset, seed=seed, settings=settings)
                for limit in limits:
                    table.add_row(*row(instance, limit))
    for process in busy:
        process.kill()
    Console(width=150).print(table)


if __name__ == "__main__":
    main()
