"""The document pages say what the source says."""

import re
from pathlib import Path

import pytest

from schedgap.analysis.pages.families import finds, page, with_finds
from schedgap.instances import FAMILIES
from schedgap.instances.library import library

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize("name", FAMILIES)
def test_the_page_of_a_family_is_up_to_date(name: str) -> None:
    assert (DOCS / f"{name}.md").read_text() == page(name), "run `make docs`"


@pytest.mark.parametrize("name", FAMILIES)
def test_every_table_row_has_the_cells_of_its_head(name: str) -> None:
    width = 0
    for line in page(name).splitlines():
        if not line.startswith("|"):
            width = 0
            continue
        cells = line.replace("\\|", "").count("|")
        assert width in (0, cells), line
        width = cells


def test_the_page_on_worst_cases_has_the_table_of_the_library() -> None:
    text = (DOCS / "worst-cases.md").read_text()
    assert text == with_finds(text), "run `make docs`"
    assert finds().count("\n") == len(library()) + 1


def test_the_blocks_of_the_page_on_worst_cases_run() -> None:
    text = (DOCS / "worst-cases.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "worst-cases.md", "exec"), names)
    assert len(blocks) == 2
    assert names["optimum"].objective == 4
