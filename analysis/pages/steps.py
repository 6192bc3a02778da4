"""The page on the steps of the papers' algorithms: each public function with its first line."""

import importlib
import inspect

from schedgap.instances.families import OWN
from schedgap.models.family import family

HEAD = """# Steps of the papers' algorithms

`sg.solve(instance, "sjf-bco")` runs an algorithm in a child process and verifies its schedule. To
take one apart (to print what each step sees, to change a step and call the next one), import its
functions from `schedgap.steps.<family>`. They run in your process, unverified: give their
schedules to `sg.judge`. `help(function)` says what arguments and results are; the
[notebooks](../notebooks) use them. Algorithms with `events` return what they did, step by step,
with the line of the printed pseudocode.

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
