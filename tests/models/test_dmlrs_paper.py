"""The dmlrs paper's table is whole, and the tests that it names exist."""

import re
from pathlib import Path

from schedgap.models.dmlrs.paper import PAPER

TESTS = Path(__file__).resolve().parents[1]


def test_the_paper_is_told_whole() -> None:
    """The notes hold (1)-(28) and refer to (31) and (32); V1 to V7 are the rules."""
    assert list(PAPER.equations) == [str(n) for n in (*range(1, 29), 31, 32)]
    assert list(PAPER.errata) == [f"E{n}" for n in range(1, 31)]
    assert list(PAPER.rules) == [f"V{n}" for n in range(1, 8)]
    assert [a.lines for a in PAPER.algorithms.values()] == [4, 3, 5, 12]


def test_the_tests_that_the_table_names_exist() -> None:
    known = {
        name
        for path in TESTS.rglob("test_dmlrs_*.py")
        for name in re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE)
    }
    named = {name for erratum in PAPER.errata.values() for name in erratum.tests}
    assert named and named <= known, named - known
