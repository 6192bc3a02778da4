"""The document pages say what the source says."""

from pathlib import Path

import pytest

from schedgap.analysis.pages import page
from schedgap.instances import FAMILIES

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
