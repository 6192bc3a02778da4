"""The document pages say what the source says."""

import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from schedgap.analysis.book.records import RecordBook, records
from schedgap.analysis.pages import book, families
from schedgap.analysis.pages.engines import with_engines
from schedgap.analysis.pages.families import page as generated
from schedgap.analysis.pages.families import table_of_finds, with_finds
from schedgap.analysis.pages.steps import steps_page
from schedgap.analysis.records.finds import finds
from schedgap.instances import FAMILIES
from schedgap.instances.families import OWN
from schedgap.instances.library import library

DOCS = Path(__file__).resolve().parents[2] / "docs"


@cache
def page(name: str) -> str:
    """Return the page of a family, which takes seconds."""
    return generated(name)


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


def test_the_page_on_steps_is_up_to_date() -> None:
    text = (DOCS / "steps.md").read_text()
    assert text == steps_page(), "run `make docs`"
    assert "- `simulate`: " in text and all(f"\n## {name}\n" in text for name in OWN)


def test_the_page_on_worst_cases_has_the_table_of_the_library() -> None:
    text = (DOCS / "worst-cases.md").read_text()
    assert text == with_finds(text), "run `make docs`"
    assert table_of_finds().count("\n") == len(library()) + 1


def test_the_page_on_benchmarking_has_the_table_of_the_stored_run() -> None:
    text = (DOCS / "benchmarking.md").read_text()
    assert text == with_engines(text, DOCS / "benchmarking"), "run `make docs`"
    assert all(f"| `{name}` |" in text for name in OWN)


def test_the_worst_ratio_found_stands_beside_its_guarantee() -> None:
    text = page("ring")
    (claim,) = [line for line in text.splitlines() if line.startswith("**Theorem 5**")]
    assert (
        "Worst ratio in the library of `sjf-bco`: 10.000, where 3000 is claimed ([sjf-bco-2]("
        in claim
    )
    assert "`sjf-bco` refutes it by a factor of 1.120 ([sjf-bco-theorem-5-0](" in claim
    (lemma,) = [line for line in text.splitlines() if line.startswith("**Lemma 3**")]
    assert "Worst ratio" not in lemma  # it is not on the ratio to the optimum


def test_a_factor_that_nobody_claims_is_not_called_a_claim() -> None:
    (claim,) = [line for line in page("elastic").splitlines() if line.startswith("**Theorem 5**")]
    assert "where 4 alpha of the run is 16; the theorem's own alpha is 1, its claim 4" in claim
    assert "is claimed" not in claim


def test_only_the_certain_end_of_a_ratio_is_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    open_ended = replace(finds("ring")[0], low=2.99996, high=None)
    monkeypatch.setattr(families, "finds", lambda name: (open_ended,) if name == "ring" else ())
    text = generated("ring")
    assert "| ≥ 2.999 |" in text and "library of `sjf-bco`: ≥ 2.999, where" in text


def test_the_blocks_of_the_page_on_worst_cases_run() -> None:
    text = (DOCS / "worst-cases.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "worst-cases.md", "exec"), names)
    assert len(blocks) == 2
    assert names["optimum"].objective == 6


def test_the_page_on_the_record_book_has_its_tables_and_pictures(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = (DOCS / "record-book.md").read_text(encoding="utf-8")
    rows = records().rows()  # they generate all instances, so once is enough
    monkeypatch.setattr(RecordBook, "rows", lambda self: rows)
    assert text == book.with_records(text), "run `make docs`"
    for name in OWN:
        own = [row for row in rows if row["family"] == name]
        picture = (DOCS / "img" / f"records-{name}.svg").read_text(encoding="utf-8")
        assert picture == book.picture(own), "run `make docs`"
        assert all(f"| `{row['instance']}` |" in text for row in own if not row["problem"])
        for tier in book.LIMITS:
            more = {"c": book.SEARCHES[name]}
            if name == "hare":  # the only family with a variant
                more |= dict.fromkeys("ab", "exact:synchronization=fixed")
            methods = ",".join(["exact", *([more[tier]] if tier in more else [])])
            assert text.count(f"compare records/{name}-{tier} --methods {methods} ") == 1


def test_the_example_of_the_record_book_runs() -> None:
    text = (DOCS / "record-book.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    exec(text.partition("```python\n")[2].partition("```")[0], names)
    found = names["book"]
    assert f"book.instances  # {len(found.instances)} instances" in text
    assert found.table()["instance"].nunique() == len(found.instances)
    assert names["best"].status == "optimal"


def test_the_picture_of_records_has_a_bar_for_each_open_interval() -> None:
    rows = [
        {"instance": "hare-a1", "problem": "", "status": "closed", "low": 1.0, "high": 1.0},
        {"instance": "hare-c1", "problem": "", "status": "open", "low": 1.0, "high": 1.5},
        {"instance": "hare-c2", "problem": "", "status": "open", "low": 1.0, "high": 1.25},
        {"instance": "hare-c3", "problem": "", "status": "open", "low": None, "high": None},
    ]
    text = book.picture(rows)
    assert "hare-c3" not in text
    assert text.count("<circle") == 1
    ends = [float(x) for x in re.findall(r'x2="([\d.]+)" y2="\d+" stroke="#1f77b4"', text)]
    assert (ends[0] - book.LEFT) / (ends[1] - book.LEFT) == pytest.approx(2, rel=1e-3)
