"""Write pages of families: `python -m schedgap.analysis.pages FOLDER [FAMILY ...]`."""

import sys
from pathlib import Path

from schedgap.analysis.pages import book
from schedgap.analysis.pages.engines import with_engines
from schedgap.analysis.pages.families import page, with_finds
from schedgap.analysis.pages.steps import steps_page
from schedgap.instances.families import OWN

for each in sys.argv[2:] or OWN:
    Path(sys.argv[1], f"{each}.md").write_text(page(each), encoding="utf-8")
worst = Path(sys.argv[1], "worst-cases.md")
if worst.exists():
    worst.write_text(with_finds(worst.read_text(encoding="utf-8")), encoding="utf-8")
steps = Path(sys.argv[1], "steps.md")
if steps.exists():
    steps.write_text(steps_page(), encoding="utf-8")
engines = Path(sys.argv[1], "benchmarking.md")
if engines.exists():
    text = engines.read_text(encoding="utf-8")
    engines.write_text(with_engines(text, engines.with_suffix("")), encoding="utf-8")
if Path(sys.argv[1], "record-book.md").exists():
    book.write(Path(sys.argv[1]))
