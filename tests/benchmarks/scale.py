"""Tables of a family at its paper's scale: objective, seconds and memory of each method.

Each objective is divided by the best bound in the table, which limits its ratio to the optimum.
"""

import sys
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from schedgap.analysis.runners.request import Limits
from schedgap.analysis.runners.run import MethodRun
from schedgap.analysis.solving.choices import Choice
from schedgap.instances.generate import generate
from schedgap.instances.instance import Instance
from schedgap.models.family import family

SEED = 1
Row = tuple[str, dict[str, object], float | None]  # method, options, seconds


def runs(instance: Instance, rows: Sequence[Row]) -> Iterator[tuple[str, MethodRun]]:
    """Run each row of the table in a separate process."""
    for method, options, seconds in rows:
        words = " ".join(f"{key}={value}" for key, value in options.items())
        limit = "" if seconds is None else f"{seconds:g} s"
        choice = Choice(method).with_settings(options)
        run = choice.runner(instance, Limits(seconds)).run()
        yield " ".join(part for part in (method, words, limit) if part), run


def table(instance: Instance, rows: Sequence[Row], rules: Any) -> Table:
    """Return the table of one instance; `rules` is the module of the family's rules."""
    shown = Table("method", "bound", "value", "value / best bound", "seconds", "MB",
                  title=str(instance))  # fmt: skip
    done = list(runs(instance, rows))
    bounds = [found.result.bound for _, found in done if found.result and found.result.bound]
    largest = family(instance.family).sense(instance) == "max"
    best, side = (min(bounds), ">=") if largest else (max(bounds), "<=")
    for name, found in done:
        outcome = found.result
        bound = value = ratio = "-"
        if outcome is not None and outcome.bound is not None:
            bound = f"{outcome.bound:,.0f}"
        if outcome is not None and outcome.schedule is not None:
            data = outcome.schedule.to_data(instance)
            broken = next(rules.check(instance, data, {}), None)
            objective = rules.objective(instance, data)
            value = f"{objective:,.0f}" if broken is None else f"breaks {broken.rule}"
            ratio = f"{side} {objective / best:.3f}"
        shown.add_row(name, bound, value, ratio, f"{found.seconds:.1f}",
                      f"{found.peak_memory_mb or 0:.0f}")  # fmt: skip
    return shown


def main(name: str, rows: Sequence[Row], rules: Any) -> None:
    """Print the tables for the numbers of jobs on the command line, by default 100, 200 and 300."""
    for jobs in [int(word) for word in sys.argv[1:]] or [100, 200, 300]:
        instance = generate(name, preset="paper", seed=SEED, settings={"jobs": jobs})
        Console(width=120).print(table(instance, rows, rules))
