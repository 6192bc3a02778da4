"""The blocks of docs/programs.md run in one session, in their order."""

import re
from pathlib import Path

import schedgap as sg
from schedgap.instances.families import OWN
from schedgap.models.family import family

PAGE = Path(__file__).parents[1] / "docs" / "programs.md"


def test_every_block_runs() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL)
    session: dict[str, object] = {}
    for number, block in enumerate(blocks, 1):
        exec(compile(block, f"programs.md, block {number}", "exec"), session)
    assert len(blocks) == 8 and session["changed"].objective == 14  # type: ignore[attr-defined]


def test_every_kind_of_index_is_described() -> None:
    text = PAGE.read_text()
    for name in OWN:
        row = re.search(rf"^\| `{name}` \|.*$", text, flags=re.MULTILINE)
        kinds = family(name).index_names(sg.generate(name, preset="toy"))
        assert row is not None
        assert {kind for kind in kinds if f"`{kind.upper()}`" not in row[0]} <= {"arriving", "used"}
