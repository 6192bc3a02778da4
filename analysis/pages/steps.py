"""The page on the steps of the papers' algorithms: each public function with its first line."""

import importlib
import inspect

from schedgap.instances.families import OWN
from schedgap.models.family import family

HEAD = """# Steps of the papers' algorithms

`sg.solve(instance, "sjf-bco")` runs an algorithm in a child process and verifies its schedule. You
can also print what each step sees, or change a step and call the next one: import the algorithm's
functions from `schedgap.steps.<family>`. They run in your process, unverified, so give their
schedules to `sg.judge`. `help(function)` describes arguments and results. The
[notebooks](../notebooks) show examples. Algorithms with `events` return their steps one by one,
each with its line of the printed pseudocode.

`make docs` writes this page from the source.
"""


def steps_page() -> str:
    """Return the page in Markdown."""
    parts = [HEAD]
    for name in OWN:
        module = importlib.import_module(f"schedgap.steps.{name}")
        parts.append(f"\n## {name}\n{family(name).title[0].upper()}{family(name).title[1:]}.\n")
        for each in sorted(module.__all__):
            found = getattr(module, each)
            first = inspect.getdoc(found).partition("\n")[0]  # type: ignore[union-attr]
            parts.append(f"- `{each}`: {first}")
    return "\n".join(parts) + "\n"
